"""The operators of a plan in which every part is asked only about what the others leave."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hybridkg.algebra.certain import certain, certain_of
from hybridkg.algebra.nodes import (
    Extend,
    Filter,
    Fragment,
    Join,
    LeftJoin,
    Match,
    MatchEach,
    Minus,
    Plan,
    Union,
    children,
)
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.minus import BindMinus
from hybridkg.operators.score_rows import ScoreRows
from hybridkg.operators.snippet import Snippet
from hybridkg.operators.text_join import TextJoin
from hybridkg.operators.topk.relation_prefix import PrefixScan
from hybridkg.planner.lower import ExistsPlanner, Ready, left_condition, lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query import ast


def joined(
    plan: Plan,
    planning: PlannerContext,
    sliced: Collection[Match] = (),
    inner: Collection[Fragment] = (),
    settled: Collection[Fragment] = (),
) -> PhysicalOperator:
    """The reference's operators, but where a fragment or a MATCH meets rows that bind its variable.

    Args:
        plan: what to compute.
        planning: of the query.
        sliced: MATCHes of the plan whose relations an operator above chooses (operators/topk/relation_prefix.py). These nodes, and
            no others with the same score: in MINUS or a sub-select a score may have the name of one outside.
        inner: fragments whose every row that survives is joined with all of `sliced`.
        settled: fragments that a join with the sliced relations has nothing to ask any more.
    """
    joins = _Joins(planning, tuple(sliced), frozenset(map(id, inner)), frozenset(map(id, settled)))
    joins.collect(plan)
    return lowered(plan, joins.ready, planning)


def lowered(plan: Plan, ready: Ready, planning: PlannerContext) -> PhysicalOperator:
    """The operators of a plan of which some are ready, everything else by `joined`."""
    return lower(plan, ready, lambda part: joined(part, planning), planning.fragment, exists_in(planning))


def exists_in(planning: PlannerContext) -> ExistsPlanner:
    """How the patterns of EXISTS are made."""
    return lambda pattern, sliced: joined(pattern, planning, sliced)


@dataclass
class _Joins:
    planning: PlannerContext
    sliced: tuple[Match, ...] = ()
    inner: frozenset[int] = frozenset()
    settled: frozenset[int] = frozenset()
    ready: dict[int, PhysicalOperator] = field(default_factory=dict)

    def collect(self, plan: Plan) -> None:
        for child in children(plan):
            self.collect(child)
        found: PhysicalOperator | None = None
        match plan:
            case Match(match, score, early) if self._is_sliced(plan):
                found = PrefixScan(match, score)
                if early and isinstance(match, ast.Match):
                    found = Snippet(found, match, score)
            case Join(left, right):
                found = self._fragment_join(left, right) or self._fragment_join(right, left)
                found = found or self._looked_up(right, left) or self._looked_up(left, right)
            case LeftJoin(left, right):
                found = self._left_join(plan, left, right)
            case Minus(left, Fragment() as right):
                shared = min(certain(right.group) & bound_by_match(left), default="")
                if shared:
                    found = BindMinus(self._operator(left), self.planning.fragment(right), shared)
        if found is not None:
            self.ready[id(plan)] = found

    def _fragment_join(self, part: Plan, other: Plan) -> PhysicalOperator | None:
        """A fragment asked about the rows of the other part, where it can be."""
        if not isinstance(part, Fragment):
            return None
        shared = min(certain(part.group) & bound_by_match(other), default="")
        if not shared:
            return None
        if id(part) in self.settled:
            return self._operator(other)
        fragment = self.planning.fragment(part)
        if isinstance(other, Match) and self._is_plain(other):
            return TextJoin(other.match, other.score, fragment)
        return BindJoin(self._operator(other), fragment, shared, self._chosen(part, shared))

    def _chosen(self, fragment: Fragment, shared: str) -> tuple[tuple[str, str], ...]:
        """The sliced relations, but that of one variable, by which the rows of a fragment can be told beforehand."""
        if id(fragment) not in self.inner:
            return ()
        sure = certain(fragment.group) - {shared}
        return tuple((m.match.entity.name, m.score) for m in self.sliced if m.match.entity.name in sure)

    def _is_sliced(self, match: Match) -> bool:
        return any(match is one for one in self.sliced)

    def _looked_up(self, part: Plan, other: Plan) -> PhysicalOperator | None:
        """A MATCH asked about the rows of the other part, where it can be."""
        if isinstance(part, Match) and self._is_looked_up(part, other):
            return ScoreRows(self._operator(other), part.match, part.score)
        return None

    def _is_plain(self, match: Match) -> bool:
        return match.match.top is None and not match.snippet_early and not self._is_sliced(match)

    def _left_join(self, plan: LeftJoin, left: Plan, right: Plan) -> PhysicalOperator | None:
        if isinstance(right, Fragment):
            shared = min(certain(right.group) & bound_by_match(left), default="")
            if shared:
                condition, tests = left_condition(plan, self.planning.fragment, exists_in(self.planning))
                fragment = self.planning.fragment(right)
                return BindLeftJoin(self._operator(left), fragment, shared, condition, tests)
        if isinstance(right, Match) and not plan.conditions and self._is_looked_up(right, left):
            return ScoreRows(self._operator(left), right.match, right.score, optional=True)
        return None

    def _is_looked_up(self, match: Match, other: Plan) -> bool:
        """Whether only those entities of a MATCH are scored that the other side has."""
        if not self._is_plain(match):
            return False
        return match.match.entity.name in certain_of(other) and match.score not in other.variables

    def _operator(self, plan: Plan) -> PhysicalOperator:
        return lower(
            plan, self.ready, lambda part: joined(part, self.planning), self.planning.fragment, exists_in(self.planning)
        )


def bound_by_match(plan: Plan) -> frozenset[str]:
    """Variables that a MATCH binds in every row of the plan."""
    match plan:
        case Match(match, _, _):
            return frozenset({match.entity.name})
        case MatchEach(child, Match(match, _, _)):
            return bound_by_match(child) | {match.entity.name}
        case Join(left, right):
            return bound_by_match(left) | bound_by_match(right)
        case LeftJoin(left, _) | Minus(left, _) | Filter(left, _) | Extend(left, _, _):
            return bound_by_match(left)
        case Union(branches):
            return frozenset.intersection(*(bound_by_match(branch) for branch in branches))
        case _:
            return frozenset()
