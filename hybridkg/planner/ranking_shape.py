"""Decomposition of a plan that ranks: the scores that order its rows, and the parts that can remove rows.

The spine of a plan is the part below its ranking in which every operator works row by row: joins, the left sides of
OPTIONAL and MINUS, filters, BIND. The rows of some entities are the rows of the plan over the relation of their MATCH
restricted to these entities, so a strategy may read a prefix of the relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from hybridkg.algebra.certain import certain
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.nodes import (
    Construct,
    Describe,
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
    Snippet,
)
from hybridkg.algebra.visible import scores_of
from hybridkg.interfaces.fusion import MOMENTS
from hybridkg.operators.rank_functions import reads
from hybridkg.operators.topk.rank_value import RankValue, rank_value
from hybridkg.query import ast
from hybridkg.query.walk import has, variables


@dataclass(frozen=True)
class Spine:
    """Parts of a plan in which every row takes part.

    Args:
        matches: MATCHes with a constant text, in the order of the plan.
        fragments: fragments joined with them.
        others: whether something else on the spine can remove rows.
        leading: number of MATCHes before everything else.
        optional: MATCHes that each stand alone, without a condition, in an OPTIONAL.
        relations: the other parts that are joined, such as a UNION or a sub-select.
    """

    matches: tuple[Match, ...]
    fragments: tuple[Fragment, ...]
    others: bool
    leading: int
    optional: tuple[Match, ...] = ()
    relations: tuple[Plan, ...] = ()

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Variables that the MATCHes rank or filter, each once."""
        return tuple(dict.fromkeys(match.match.entity.name for match in self.matches))


@dataclass(frozen=True)
class RankedPlan:
    """Decomposed plan that ranks.

    Args:
        top: the Project under LIMIT and OFFSET, or the whole ranked plan without them.
        order: the ranking itself.
        k: LIMIT + OFFSET; None for all rows.
        value: rank score from the scores of `scored`; None if it reads other variables.
        spine: below `order`.
        scored: MATCHes that `value` reads.
        filters: the other MATCHes of the spine without TOP.
        first: first variable of the tie-breakers; empty without one.
        optional: MATCHes of OPTIONAL on the one scored variable that `value` reads, too.
    """

    top: Plan
    order: Rank | OrderBy
    k: int | None
    value: RankValue | None
    spine: Spine
    scored: tuple[Match, ...]
    filters: tuple[Match, ...]
    first: str
    optional: tuple[Match, ...] = ()

    @property
    def expression(self) -> ast.Expression | None:
        """The ranking as one expression, if it is one."""
        return _expression(self.order)

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """MATCHes of the spine and of OPTIONAL."""
        return (*self.spine.matches, *self.optional)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Variables that the scored MATCHes rank, each once."""
        return tuple(dict.fromkeys(match.match.entity.name for match in self.scored))

    def fragments_with(self, variable: str) -> tuple[Fragment, ...]:
        """Fragments that bind a variable in every row."""
        return self.by_variable[variable]

    @cached_property
    def by_variable(self) -> dict[str, tuple[Fragment, ...]]:
        """`fragments_with` of every ranked or filtered variable."""
        return {
            variable: tuple([fragment for fragment, sure in self._sure if variable in sure])
            for variable in self.spine.variables
        }

    def links(self, variable: str, other: str) -> bool:
        """Whether a fragment binds both variables in every row."""
        return any(variable in sure and other in sure for _, sure in self._sure)

    @cached_property
    def _sure(self) -> tuple[tuple[Fragment, frozenset[str]], ...]:
        return tuple((fragment, certain(fragment.group)) for fragment in self.spine.fragments)

    @cached_property
    def is_restricted(self) -> bool:
        """Whether more than the scored MATCHes decides which entities of the one ranked variable have a row."""
        return bool(self.filters or self.fragments_with(self.variables[0]))

    @cached_property
    def has_functions(self) -> bool:
        """Whether the ranking reads all surviving scores."""
        expression = self.order.expression if isinstance(self.order, Rank) else None
        return expression is not None and has(expression, ast.RankFunction)

    @cached_property
    def filters_are_in_fragments(self) -> bool:
        """Whether the candidate set of the one scored variable is exactly its entities with a row."""
        if self.spine.others or len(self.variables) != 1:
            return False
        (variable,) = self.variables
        bound = self.fragments_with(variable)
        if len(bound) != len(self.spine.fragments):
            return False
        names = {variable}.union(*(certain(fragment.group) for fragment in bound))
        # Two fragments that share more than the ranked variable may disagree on the rest.
        alone = len(bound) < 2 or not _share_more(bound, variable)
        return alone and all(match.match.entity.name in names for match in self.filters)

    @cached_property
    def of_one_variable(self) -> bool:
        """Whether all scores that rank are of one variable and can be computed before the rows."""
        if len(self.variables) != 1:
            return False
        # Ranks are over all survivors, which must be known before the rows.
        return not self.has_functions or (self.value is not None and self.filters_are_in_fragments)

    @cached_property
    def least_scores(self) -> tuple[tuple[str, ast.Expression], ...]:
        """(score variable, number or parameter) of the FILTERs that remove every row with a lower score."""
        return tuple(_least_scores(self.order.child, frozenset(match.score for match in self.scored)))

    @cached_property
    def ends_early(self) -> bool:
        """Whether the best scores determine the best rows."""
        return self.k is not None and not self.optional and self.value is not None and self.value.rising

    @cached_property
    def by_one_match(self) -> bool:
        """Whether the ranking is that of one MATCH and can end early."""
        return self.ends_early and len(self.scored) == 1

    @cached_property
    def fuses(self) -> bool:
        """Whether the top of several relations of one variable, with their statistics, determines the best rows."""
        if self.k is None or self.value is None or not self.value.fuses:
            return False
        if not self.filters_are_in_fragments or any(MOMENTS in reads(f) for f in self.value.functions):
            return False
        near = any(isinstance(match.match, ast.Near) for match in self.scored)
        return bool(self.value.functions or self.optional or (near and len(self.scored) > 1))


def ranked_plan_of(plan: Plan) -> RankedPlan | None:
    """Ranking at the top of a plan; None without one, or if its rows cannot be computed entity by entity."""
    while isinstance(plan, Snippet | Construct | Describe):
        plan = plan.child
    k: int | None = None
    top: Plan = plan
    if isinstance(plan, Slice):
        k, top = None if plan.limit is None else plan.offset + plan.limit, plan.child
    if not isinstance(top, Project) or not isinstance(top.child, Rank | OrderBy):
        return None
    order = top.child
    expression = _expression(order)
    spine = spine_of(order.child)
    if not spine.matches:
        return None
    of_score = {match.score for match in spine.matches}
    read = variables(expression) & scores_of(order.child) if expression is not None else frozenset()
    scored = tuple(match for match in spine.matches if match.score in read)
    filters = tuple(match for match in spine.matches if match not in scored and match.match.top is None)
    first = order.tie_breakers[0] if order.tie_breakers else ""
    ranking = RankedPlan(top, order, k, None, spine, scored, filters, first)
    if expression is None or not read:
        return ranking
    added = tuple(match for match in spine.optional if match.score in read - of_score)
    if not read <= of_score.union(match.score for match in added) or (added and not _adds(ranking, added)):
        return ranking
    return replace(ranking, value=rank_value(expression, frozenset(read)), optional=added)


def _adds(ranking: RankedPlan, added: tuple[Match, ...]) -> bool:
    """Whether the scores added by OPTIONALs are those of the candidates of the one scored variable.

    The floor of an absent score depends on all survivors; ORDER BY has no floor.
    """
    if not isinstance(ranking.order, Rank) or not ranking.filters_are_in_fragments:
        return False
    scores = [match.score for match in (*ranking.spine.matches, *added)]
    return len(set(scores)) == len(scores) and all(m.match.entity.name == ranking.variables[0] for m in added)


def _expression(order: Rank | OrderBy) -> ast.Expression | None:
    if isinstance(order, Rank):
        return order.expression
    name, descending = order.keys[0]
    if len(order.keys) > 1 or not descending:
        return None
    below: Plan = order.child
    while isinstance(below, Extend):
        if below.variable == name:
            return None if has(below.expression, ast.Exists) else below.expression
        below = below.child
    return ast.Var(name)


def spine_of(plan: Plan) -> Spine:
    """Spine of a plan."""
    parts = list(_parts(plan))
    return Spine(
        tuple(part for part in parts if isinstance(part, Match)),
        tuple(part for part in parts if isinstance(part, Fragment)),
        any(not isinstance(part, Match | Fragment) or (isinstance(part, Match) and part.match.top) for part in parts),
        len(list(takewhile(lambda part: isinstance(part, Match), parts))),
        tuple(_optional(plan)),
        tuple(part for part in parts if not isinstance(part, Match | Fragment | Join | Filter | MatchEach | Minus)),
    )


def _optional(plan: Plan) -> Iterator[Match]:
    """MATCHes that stand alone in an OPTIONAL of the spine, on a variable bound before in every row."""
    match plan:
        case Join(left, right):
            yield from _optional(left)
            yield from _optional(right)
        case LeftJoin(left, right, conditions):
            yield from _optional(left)
            if isinstance(right, Match) and not conditions and right.match.entity.name in certain_of(left):
                yield right
        case Extend(child, _, _):
            yield from _optional(child)


def _parts(plan: Plan) -> Iterator[Plan]:
    """Leaves of the spine, and its inner nodes that can remove rows."""
    match plan:
        case Match():
            yield plan
        case Fragment(group, _):
            if group.elements:
                yield plan
        case Join(left, right):
            yield from _parts(left)
            yield from _parts(right)
            if _added(left) & right.variables or _added(right) & left.variables:
                yield plan
        case LeftJoin(left, _):
            yield from _parts(left)
        case Extend(child, _, _):
            yield from _parts(child)
        case Filter(child, _, _) | MatchEach(child, _) | Minus(child, _):
            yield plan
            yield from _parts(child)
        case _:
            yield plan


def _least_scores(plan: Plan, scores: frozenset[str]) -> Iterator[tuple[str, ast.Expression]]:
    match plan:
        case Join(left, right):
            yield from _least_scores(left, scores)
            yield from _least_scores(right, scores)
        case Filter(child, condition, _):
            yield from _least_of(condition, scores)
            yield from _least_scores(child, scores)
        case LeftJoin(child, _) | Extend(child, _, _) | MatchEach(child, _) | Minus(child, _):
            yield from _least_scores(child, scores)


def _least_of(condition: ast.Expression, scores: frozenset[str]) -> Iterator[tuple[str, ast.Expression]]:
    match condition:
        case ast.Binary("&&", left, right):
            yield from _least_of(left, scores)
            yield from _least_of(right, scores)
        case ast.Binary(">" | ">=", ast.Var(name), number) | ast.Binary("<" | "<=", number, ast.Var(name)):
            if name in scores and not isinstance(number, ast.Var):
                yield name, number


def _added(plan: Plan) -> frozenset[str]:
    """Variables that OPTIONAL and BIND add. They remove no rows, but a join on these variables can."""
    match plan:
        case Join(left, right):
            return _added(left) | _added(right)
        case LeftJoin(left, right):
            return _added(left) | (right.variables - left.variables)
        case Extend(child, variable, _):
            return _added(child) | {variable}
    return frozenset()


def _share_more(fragments: tuple[Fragment, ...], variable: str) -> bool:
    seen: set[str] = set()
    for fragment in fragments:
        if seen & (fragment.variables - {variable}):
            return True
        seen |= fragment.variables
    return False
