"""Which strategy runs a query: the one that is expected to cost least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hybridkg.algebra.nodes import Plan, Project, Slice, Snippet, Whole
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Size
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import UNPRICED, OfRanking, costs_of
from hybridkg.planner.planning import Planning
from hybridkg.query import ast

PREFERENCE = (
    "oxigraph",
    "text_topk",
    "filtered_topk",
    "filter_first",
    "rank_first",
    "threshold",
    "each_list",
    "rank_join",
    "bind_join",
    "reference",
)
"""In this order where costs are equal or unknown; what knows its cost comes before what does not."""

ALONE = ("oxigraph", "text_topk")
"""Where one of these applies, nothing else can do better."""


@dataclass(frozen=True)
class Alternative:
    """A strategy that was not taken.

    Args:
        strategy: its name.
        cost: what it was expected to take, in microseconds; inf where nobody knows.
    """

    strategy: str
    cost: Size


@dataclass(frozen=True)
class PhysicalPlan:
    """The operators that will run, and why.

    Args:
        root: the operator that gives the result.
        strategy: name of the strategy that won.
        whole: gives the logical plan.
        cost: what the strategy is expected to take, in microseconds; None where that is not known.
        costs: gives those of the strategies that it was compared with, in the order of PREFERENCE.
        forced: whether the user asked for the strategy.
    """

    root: PhysicalOperator
    strategy: str
    whole: Callable[[], Plan]
    cost: Size | None = None
    costs: Callable[[], Sequence[tuple[str, Size]]] = tuple
    forced: bool = False

    @cached_property
    def rejected(self) -> tuple[Alternative, ...]:
        """The others that apply, the cheapest first."""
        order = sorted(self.costs(), key=_guess)
        at = next((at for at, (name, _) in enumerate(order, 1) if name == self.strategy), 0)
        return tuple(Alternative(name, cost) for name, cost in order[at:])

    @cached_property
    def logical(self) -> Plan:
        """What the operators compute."""
        return self.whole()


def choose(logical: Plan, planning: Planning, strategy: str | None = None) -> PhysicalPlan:
    """The cheapest applicable strategy, or the one asked for.

    Raises:
        UnknownNameError: no strategy of that name.
        UnsupportedQueryError: the strategy asked for does not apply to this query.
    """

    def whole() -> Plan:
        return planning.filled(logical)

    if strategy is not None:
        planning.switching = False
        chosen, root = STRATEGIES.get(strategy), planning.root(strategy, logical)
        if root is None:
            raise UnsupportedQueryError(
                f"the strategy {strategy!r} does not apply to this query",
                hint="leave the strategy out, or use 'reference', which always applies",
            )
        return PhysicalPlan(root, strategy, whole, chosen.cost(logical, planning), forced=True)
    for name in planning.fixed("alone", lambda: [one for one in ALONE if planning.root(one, logical) is not None]):
        root = planning.root(name, logical)
        if root is not None:
            return PhysicalPlan(root, name, whole, STRATEGIES.get(name).cost(logical, planning))
    planning.ask_sizes(logical)
    ways = planning.fixed("ways", lambda: _priced(logical, planning))
    ranking = planning.ranking(logical)
    own = None if ranking is None else costs_of(ranking, planning)
    best, expected = "", UNPRICED
    for name, cost in ways:
        if own is None or not isinstance(cost, OfRanking):
            found = cost(logical, planning)
        elif cost.least is None or cost.least(own) < expected.guess:
            found = cost.of(own)
        else:
            continue  # dearer than another whatever its rows are: only EXPLAIN asks how dear
        if not best or found.guess < expected.guess:
            best, expected = name, found

    def costs() -> list[tuple[str, Size]]:
        return [(name, cost(logical, planning)) for name, cost in ways]

    root = planning.root(best, logical)
    if root is not None:
        return PhysicalPlan(root, best, whole, expected, costs)
    for name, found in sorted(costs(), key=_guess):
        root = planning.root(name, logical)
        if root is not None:
            return PhysicalPlan(root, name, whole, found, costs)
    raise AssertionError("the reference always applies")


def _guess(costed: tuple[str, Size]) -> float:
    return costed[1].guess


def _priced(logical: Plan, planning: Planning) -> list[tuple[str, Callable[[Plan, Planning], Size]]]:
    """The strategies that know what they cost, of those that are compared; no value of a parameter changes this."""
    ways = [(name, STRATEGIES.get(name).cost) for name in PREFERENCE if name not in ALONE]
    return [(name, cost) for name, cost in ways if cost(logical, planning) is not None]


def with_limit(plan: Plan, limit: int | None) -> Plan:
    """The plan cut to `limit` rows, beside the query's own LIMIT; passages are still fetched last."""
    if limit is None:
        return plan
    match plan:
        case Snippet(child, _):
            return replace(plan, child=with_limit(child, limit))
        case Whole(ast.SelectQuery(modifiers=modifiers) as form):
            least = limit if modifiers.limit is None else min(modifiers.limit, limit)
            return Whole(replace(form, modifiers=replace(modifiers, limit=least)))
        case Whole(ast.AskQuery()) | Slice(Project(columns=())):
            return plan  # the answer of an ASK has no rows to limit
        case Slice(child, offset, own):
            return Slice(child, offset, limit if own is None else min(own, limit))
    return Slice(plan, 0, limit)
