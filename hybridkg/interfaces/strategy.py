"""Query strategies: ways to order the graph work and the text work of one query.

To add a strategy: inherit from `Strategy` in a file of planner/strategies, create one instance there, and register the
instance by a line of `STRATEGIES` below. Another package registers it by an entry point of the group
`hybridkg.strategies`. The planner prices all strategies that apply and runs the cheapest (planner/choose.py). A ranking
that differs from the others in one operator only inherits from `RankingStrategy` (planner/candidate_plan.py).
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Protocol

from hybridkg.registry import Registry

if TYPE_CHECKING:
    from hybridkg.algebra.nodes import Plan
    from hybridkg.interfaces.graph_index import Cardinality
    from hybridkg.operators.base import PhysicalOperator
    from hybridkg.planner.planner_context import PlannerContext

_log = logging.getLogger(__name__)

STRATEGIES = Registry(
    "strategy",
    "hybridkg.strategies",
    {
        "bind_join": "hybridkg.planner.strategies.bind_join:BIND_JOIN",
        "columns": "hybridkg.planner.strategies.columns:COLUMNS",
        "each_list": "hybridkg.planner.strategies.each_list:EACH_LIST",
        "filter_first": "hybridkg.planner.strategies.filter_first:FILTER_FIRST",
        "filtered_topk": "hybridkg.planner.strategies.filtered_topk:FILTERED_TOPK",
        "oxigraph": "hybridkg.planner.strategies.oxigraph:OXIGRAPH",
        "rank_first": "hybridkg.planner.strategies.rank_first:RANK_FIRST",
        "rank_join": "hybridkg.planner.strategies.rank_join:RANK_JOIN",
        "reference": "hybridkg.planner.strategies.reference:REFERENCE",
        "text_topk": "hybridkg.planner.strategies.text_topk:TEXT_TOPK",
        "threshold": "hybridkg.planner.strategies.threshold:THRESHOLD",
    },
)


class Strategy(Protocol):
    """Strategy: an applicability test, a cost and a physical plan for logical plans.

    Law: every strategy returns the rows of `reference`, in the same order where the query ranks. A subclass defines
    `preference`, `applies`, `cost` and `plan`.
    """

    preference: ClassVar[int]
    """Rank among strategies of equal or unknown cost, lowest first. The built-in strategies use 0 to 90."""

    dominates: ClassVar[bool] = False
    """Whether the strategy is taken without comparing costs whenever `plan` returns operators."""

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        """Whether `cost` may be called, whatever the parameter values; `plan` may still return None."""

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Expected microseconds at the unit costs of `planning.cost`, for a plan to which the strategy applies.

        `UNPRICED` (planner/ranking_costs.py) if there is no formula: the strategy then runs only if no priced one has
        operators.
        """

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        """Lower bound of the estimate of `cost`, quickly computed: the planner prunes a strategy whose bound loses."""
        return 0.0

    def is_cheapest(self, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
        """Whether bounds of the costs show that none of the other strategies that apply is cheaper by more than the
        time that pricing takes.

        The planner then takes this strategy without pricing any; `EXPLAIN` prices all.
        """
        return False

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        """Physical plan; None if the strategy has none for this logical plan."""


def strategy_of(name: str) -> Strategy:
    """Strategy of a name.

    Raises:
        UnknownNameError: no such strategy; the message lists the names.
        MissingExtraError: the strategy needs a package that is not installed.
    """
    strategy: Strategy = STRATEGIES.get(name)
    return strategy


@cache
def by_preference() -> tuple[tuple[str, Strategy], ...]:
    """All (name, strategy), ordered by `preference`, then by name.

    A strategy of another package that fails to load is left out with a warning, so that it does not break every query;
    a query that forces it by name raises the error.
    """
    loaded: list[tuple[int, str, Strategy]] = []
    for name in STRATEGIES.names():
        try:
            strategy = strategy_of(name)
            loaded.append((strategy.preference, name, strategy))
        except Exception as e:  # foreign code
            if STRATEGIES.is_builtin(name):
                raise
            _log.warning("the strategy %r cannot be loaded and is not considered: %s", name, e)
    return tuple((name, strategy) for _, name, strategy in sorted(loaded, key=lambda one: one[:2]))
