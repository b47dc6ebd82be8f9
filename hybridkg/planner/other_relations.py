"""Sub-selects, UNIONs and other relations that are joined with the rows of ranked entities."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from hybridkg.planner.joins import joined
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_shape import RankedPlan


class OtherRelations(NamedTuple):
    """Expected figures of a ranking with such relations.

    Args:
        rows: of the whole ranking, without LIMIT.
        us: of evaluating these relations alone, each completely.
    """

    rows: float
    us: float


def other_relations(ranking: RankedPlan, planning: PlannerContext) -> OtherRelations | None:
    """Expected figures, by the operators that read every relation; None where an operator has no estimate, and where a
    server has the texts or the graph.
    """
    if not ranking.spine.relations or planning.store is not None or planning.is_remote(ranking.matches):
        return None
    estimates, us = planning.estimates, 0.0
    below = ranking.order.child
    rows = estimates.rows(planning.open_operators(below, partial(joined, below, planning)))
    for part in ranking.spine.relations:
        operators = planning.open_operators(part, partial(joined, part, planning))
        own_us = planning.cost.of_operators(operators.walk(), estimates)
        if own_us is None:
            return None
        us += own_us
    return None if rows is None else OtherRelations(rows, us)
