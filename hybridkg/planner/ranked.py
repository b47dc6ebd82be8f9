"""The operators of the strategies that look at a part of the ranked relations: they differ in one operator."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.algebra.certain import certain
from hybridkg.algebra.nodes import (
    Extend,
    Filter,
    Join,
    LeftJoin,
    Match,
    MatchEach,
    Minus,
    OrderBy,
    Plan,
    Project,
    Rank,
)
from hybridkg.interfaces.fusion import MOMENTS
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.best_rows import RankedTop
from hybridkg.operators.candidates import Candidates
from hybridkg.operators.rank_functions import reads
from hybridkg.planner.joins import joined, lowered
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.settled import settled
from hybridkg.query import ast


def ranked_top(ranking: Ranking) -> RankedTop:
    """What the operator of a strategy has to give."""
    assert isinstance(ranking.top, Project)
    column = ranking.order.score if isinstance(ranking.order, Rank) else ranking.order.keys[0][0]
    return RankedTop(
        matches=tuple((match.match, match.score) for match in ranking.scored),
        value=ranking.value,
        k=ranking.k,
        column=column,
        ties=ranking.order.tie_breakers,
        width=len(ranking.top.columns) if ranking.top.distinct else None,
        exact=ranking.filters_are_in_fragments,
        optional=tuple((match.match, match.score) for match in ranking.optional),
    )


def candidates_of(ranking: Ranking, variable: str, planning: Planning) -> Candidates:
    """How the candidate set of a ranked variable is found."""
    fragments = ranking.fragments_with(variable)
    names = {variable}.union(*(certain(fragment.group) for fragment in fragments))
    filters = tuple(match.match for match in ranking.filters if match.match.entity.name in names)
    return Candidates(variable, tuple(map(planning.fragment, fragments)), filters)


def rest_of(ranking: Ranking, planning: Planning) -> PhysicalOperator:
    """The operators of what is ranked, over the parts of the scored relations that an operator above chooses."""
    inner = ranking.spine.fragments if len(ranking.variables) > 1 else ()
    return joined(
        _slices_first(ranking.top, ranking.scored),
        planning,
        (*ranking.scored, *ranking.optional),
        inner,
        settled(ranking, planning),
    )


def _slices_first(plan: Plan, sliced: tuple[Match, ...]) -> Plan:
    """Join(Join(fragment, other MATCH), sliced MATCH) -> Join(Join(sliced MATCH, fragment), other MATCH).

    Joins commute and associate (SPARQL 1.1 section 18.3). From the few entities of a slice on, every part is asked
    about what is left; in the order of the text, the parts before the sliced one would be read whole.
    """
    match plan:
        case Join():
            waiting = sorted(_operands(plan), key=lambda part: not any(part is match for match in sliced))
            order = [waiting.pop(0)]
            while waiting:
                bound = frozenset().union(*(part.variables for part in order))
                at = next((i for i, part in enumerate(waiting) if part.variables & bound), 0)
                order.append(waiting.pop(at))
            together, *rest = [_slices_first(part, sliced) for part in order]
            for part in rest:
                together = Join(together, part)
            return together
        case LeftJoin(left, _) | Minus(left, _):
            return replace(plan, left=_slices_first(left, sliced))
        case Project() | Rank() | OrderBy() | Filter() | Extend() | MatchEach():
            return replace(plan, child=_slices_first(plan.child, sliced))
    return plan


def _operands(plan: Plan) -> list[Plan]:
    return [*_operands(plan.left), *_operands(plan.right)] if isinstance(plan, Join) else [plan]


def under(logical: Plan, ranking: Ranking, top: PhysicalOperator, planning: Planning) -> PhysicalOperator:
    """The operators of the whole plan, with `top` for what LIMIT and OFFSET cut."""
    return lowered(logical, {id(ranking.top): top}, planning)


def of_one_variable(ranking: Ranking | None) -> bool:
    """Whether all scores that rank are of one variable, and can be known before the rows are."""
    if ranking is None or len(ranking.variables) != 1:
        return False
    # Ranks are taken over all survivors, so who survives must be known before the rows are.
    return not ranking.has_functions or (ranking.value is not None and ranking.filters_are_in_fragments)


def ends_early(ranking: Ranking | None) -> bool:
    """Whether the best rows can be told from the best scores alone."""
    if ranking is None or ranking.k is None or ranking.optional:
        return False
    return ranking.value is not None and ranking.value.rising


def fuses(ranking: Ranking | None) -> bool:
    """Whether the best can be told from the best of several relations of one variable and from what all have."""
    if ranking is None or ranking.k is None or ranking.value is None or not ranking.value.fuses:
        return False
    if not ranking.filters_are_in_fragments or any(MOMENTS in reads(f) for f in ranking.value.functions):
        return False
    near = any(isinstance(match.match, ast.Near) for match in ranking.scored)
    return bool(ranking.value.functions or ranking.optional or (near and len(ranking.scored) > 1))


def by_one_match(ranking: Ranking | None) -> bool:
    """Whether the ranking is that of one MATCH, and can end early."""
    return ranking is not None and ends_early(ranking) and len(ranking.scored) == 1
