"""The strategy protocol, ways to order graph and text work, and the registry of strategies.

A strategy is an object of one file, registered by one line here or, in another package, by an entry point of the group
`hybridkg.strategies`. The planner prices all of them and takes the least expensive (planner/choose.py).
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Protocol

from hybridkg.errors import HybridkgError
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
    """A way to run a query: whether it applies to a logical plan, its cost, and its operators.

    The rows of every strategy are those of `reference`, in the same order where the query ranks. A subclass defines its
    preference, applicability, cost and operators.
    """

    preference: ClassVar[int]
    """Breaks ties where costs are equal or unknown: the lowest wins. The built-in strategies have 0 to 90."""

    dominates: ClassVar[bool] = False
    """Whether no other strategy is considered where this one has operators."""

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        """Whether `cost` is defined, independent of the values of parameters; `plan` may still have no operators."""

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """Expected microseconds, by `planning.cost`, of a plan that it applies to.

        `UNPRICED` (planner/ranking_costs.py) where it is unknown: the strategy is taken where no other has operators.
        """

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        """Lower bound of the estimate of `cost`, at less effort, which rules the strategy out before it is priced."""
        return 0.0

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        """The operators; None where the strategy has none for this plan."""


def strategy_of(name: str) -> Strategy:
    """The strategy of a name.

    Raises:
        UnknownNameError: no such strategy; the message lists the names.
        MissingExtraError: it needs a package that is not installed.
    """
    strategy: Strategy = STRATEGIES.get(name)
    return strategy


@cache
def by_preference() -> tuple[tuple[str, Strategy], ...]:
    """All strategies with their names, in the order of `preference`, then of the name.

    A strategy of another package that cannot be loaded is left out, so that its fault does not fail every query; a
    query that forces it by name gets the error.
    """
    loaded: list[tuple[int, str, Strategy]] = []
    for name in STRATEGIES.names():
        try:
            strategy = strategy_of(name)
            loaded.append((strategy.preference, name, strategy))
        except (HybridkgError, ImportError, AttributeError) as e:
            if STRATEGIES.is_builtin(name):
                raise
            _log.warning("the strategy %r cannot be loaded and is not considered: %s", name, e)
    return tuple((name, strategy) for _, name, strategy in sorted(loaded, key=lambda one: one[:2]))
