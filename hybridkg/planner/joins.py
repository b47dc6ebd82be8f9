"""Joins of a physical plan in which each part is restricted to the values that the other parts leave."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hybridkg.algebra.certain import certain
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.nodes import (
    Extend,
    Filter,
    Fragment,
    Join,
    LeftJoin,
    Match,
    MatchEach,
    Minus,
    OrderBy,
    Plan,
    Project,
    Rank,
    Slice,
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
from hybridkg.operators.text_relation import TextRelation
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
    """Physical plan: the operators of the reference, except where a fragment or MATCH joins rows that bind its
    variable.

    Args:
        plan: logical plan.
        planning: of the query.
        sliced: MATCHes whose relations an operator above selects (operators/topk/relation_prefix.py), by identity: in
            MINUS or a sub-select another score may have the same name.
        inner: fragments each of whose surviving rows is joined with all of `sliced`.
        settled: fragments that are redundant after a join with the sliced relations.
    """
    joins = _Joins(planning, tuple(sliced), frozenset(map(id, inner)), frozenset(map(id, settled)))
    joins.collect(plan)
    return lowered(plan, joins.ready, planning)


def lowered(plan: Plan, ready: Ready, planning: PlannerContext) -> PhysicalOperator:
    """Physical plan with some operators given in `ready`, everything else by `joined`."""
    return lower(plan, ready, lambda part: joined(part, planning), planning.fragment, exists_in(planning))


def exists_in(planning: PlannerContext) -> ExistsPlanner:
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
        operator: PhysicalOperator | None = None
        match plan:
            case Match(match, score, early) if self._is_sliced(plan):
                operator = PrefixScan(match, score)
                if early and isinstance(match, ast.Match):
                    operator = Snippet(operator, match, score)
            case Match(match, score, False) if match.top is None:
                operator = TextRelation(match, score, scores_some=True)
            case Join(left, right):
                operator = self._fragment_join(left, right) or self._fragment_join(right, left)
                operator = operator or self._scored_join(right, left) or self._scored_join(left, right)
            case LeftJoin(left, right):
                operator = self._left_join(plan, left, right)
            case Minus(left, Fragment() as right):
                shared = min(certain(right.group) & bound_by_match(left), default="")
                if shared:
                    operator = BindMinus(self._operator(left), self.planning.fragment(right), shared)
        if operator is not None:
            self.ready[id(plan)] = operator

    def _fragment_join(self, part: Plan, other: Plan) -> PhysicalOperator | None:
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
        return BindJoin(self._operator(other), fragment, shared, self._prefilters(part, shared))

    def _prefilters(self, fragment: Fragment, shared: str) -> tuple[tuple[str, str], ...]:
        """Sliced relations, except that of one variable, that prefilter the rows of a fragment."""
        if id(fragment) not in self.inner:
            return ()
        sure = certain(fragment.group) - {shared}
        return tuple((m.match.entity.name, m.score) for m in self.sliced if m.match.entity.name in sure)

    def _is_sliced(self, match: Match) -> bool:
        return any(match is one for one in self.sliced)

    def _scored_join(self, part: Plan, other: Plan) -> PhysicalOperator | None:
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
        """Whether only the entities of the other side need scores."""
        if not self._is_plain(match):
            return False
        return match.match.entity.name in certain_of(other) and match.score not in other.variables

    def _operator(self, plan: Plan) -> PhysicalOperator:
        return lowered(plan, self.ready, self.planning)


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
        case Slice(child) | OrderBy(child) | Rank(child):
            return bound_by_match(child)
        case Project(child, columns):
            return bound_by_match(child) & frozenset(columns)
        case Union(branches):
            return frozenset.intersection(*(bound_by_match(branch) for branch in branches))
        case _:
            return frozenset()
