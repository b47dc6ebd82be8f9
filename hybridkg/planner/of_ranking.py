"""The cost of a strategy that ranks, as the planner asks for it (costs.py tells it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Size
from hybridkg.planner.costs import Costs, costs_of
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking


@dataclass(frozen=True)
class OfRanking:
    """What a strategy is expected to cost, in microseconds: a function of a plan and its planning.

    Args:
        of: tells it from what is known of the ranking.
        applies: whether it knows a ranking; no value of a parameter changes this.
        otherwise: for a plan that does not rank.
        least: no more than `of` tells, at less effort.
    """

    of: Callable[[Costs], Size]
    applies: Callable[[Ranking], bool] = lambda ranking: True
    otherwise: Size | None = None
    least: Callable[[Costs], float] | None = None

    def __call__(self, logical: Plan, planning: Planning) -> Size | None:
        """None where the strategy does not apply."""
        ranking = planning.ranking(logical)
        if ranking is None:
            return self.otherwise
        return self.of(costs_of(ranking, planning)) if self.applies(ranking) else None
