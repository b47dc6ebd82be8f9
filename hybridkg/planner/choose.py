"""Which strategy runs a query: the one that is expected to cost least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hybridkg.algebra.nodes import Plan, Project, Rerank, Slice, Snippet, SparqlQuery
from hybridkg.algebra.reranking import below_rerank, cut
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy, by_preference, strategy_of
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.joins import lowered
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.query import ast


@dataclass(frozen=True)
class RejectedPlan:
    """A strategy that was not taken.

    Args:
        strategy: its name.
        cost: what it was expected to take, in microseconds; inf where nobody knows.
    """

    strategy: str
    cost: Cardinality


@dataclass(frozen=True)
class PhysicalPlan:
    """The operators that will run, and why.

    Args:
        root: the operator that gives the result.
        strategy: name of the strategy that won.
        whole: gives the logical plan.
        cost: what the strategy is expected to take, in microseconds; None where that is not known.
        costs: gives those of the strategies that it was compared with, in the order of preference.
        forced: whether the user asked for the strategy.
    """

    root: PhysicalOperator
    strategy: str
    whole: Callable[[], Plan]
    cost: Cardinality | None = None
    costs: Callable[[], Sequence[tuple[str, Cardinality]]] = tuple
    forced: bool = False

    @cached_property
    def rejected(self) -> tuple[RejectedPlan, ...]:
        """The others that apply, the cheapest first."""
        order = sorted(self.costs(), key=_guess)
        at = next((at for at, (name, _) in enumerate(order, 1) if name == self.strategy), 0)
        return tuple(RejectedPlan(name, cost) for name, cost in order[at:])

    @cached_property
    def logical(self) -> Plan:
        """What the operators compute."""
        return self.whole()


def choose(logical: Plan, planning: PlannerContext, strategy: str | None = None) -> PhysicalPlan:
    """The cheapest applicable strategy, or the one asked for.

    Raises:
        UnknownNameError: no strategy of that name.
        UnsupportedQueryError: the strategy asked for does not apply to this query.
    """

    def whole() -> Plan:
        return planning.bound(logical)

    below = below_rerank(logical)
    if below is not None:  # what is reordered does not say how the rows are found
        chosen = choose(below, planning, strategy)
        return replace(chosen, root=lowered(logical, {id(below): chosen.root}, planning), whole=whole)
    if strategy is not None:
        planning.switching = planning.asking = False  # there is nothing to be weighed
        root = planning.root(strategy, logical)
        if root is None:
            raise UnsupportedQueryError(
                f"the strategy {strategy!r} does not apply to this query",
                hint="leave the strategy out, or use 'reference', which always applies",
            )
        return PhysicalPlan(root, strategy, whole, strategy_of(strategy).cost(logical, planning), forced=True)
    for name, dominating in by_preference():
        if dominating.dominates and (root := planning.root(name, logical)) is not None:
            return PhysicalPlan(root, name, whole, dominating.cost(logical, planning))
    planning.ask_sizes(logical)
    applying = planning.memoize_for_template(("applying", id(logical)), lambda: _applying(logical, planning))
    best, expected = "", UNPRICED
    for name, one in applying:
        if best and one.least_cost(logical, planning) >= expected.estimate:
            continue  # dearer than another whatever its rows are: only EXPLAIN asks how dear
        found = one.cost(logical, planning)
        if not best or found.estimate < expected.estimate:
            best, expected = name, found

    def costs() -> list[tuple[str, Cardinality]]:
        return [(name, one.cost(logical, planning)) for name, one in applying]

    root = planning.root(best, logical)
    if root is not None:
        return PhysicalPlan(root, best, whole, expected, costs)
    for name, found in sorted(costs(), key=_guess):
        root = planning.root(name, logical)
        if root is not None:
            return PhysicalPlan(root, name, whole, found, costs)
    raise AssertionError("the reference always applies")


def _applying(logical: Plan, planning: PlannerContext) -> tuple[tuple[str, Strategy], ...]:
    """The strategies that are weighed; no value of a parameter changes which."""
    return tuple((name, one) for name, one in by_preference() if not one.dominates and one.applies(logical, planning))


def _guess(costed: tuple[str, Cardinality]) -> float:
    return costed[1].estimate


def with_limit(plan: Plan, limit: int | None) -> Plan:
    """The plan cut to `limit` rows, beside the query's own LIMIT; passages are still fetched last."""
    if limit is None:
        return plan
    match plan:
        case Snippet(child, _):
            return replace(plan, child=with_limit(child, limit))
        case Rerank():
            return Slice(cut(plan, limit), 0, limit)
        case Slice(Rerank() as child, offset, own):
            least = limit if own is None else min(own, limit)
            return Slice(cut(child, offset + least), offset, least)
        case SparqlQuery(ast.SelectQuery(modifiers=modifiers) as form):
            least = limit if modifiers.limit is None else min(modifiers.limit, limit)
            return SparqlQuery(replace(form, modifiers=replace(modifiers, limit=least)))
        case SparqlQuery(ast.AskQuery()) | Slice(Project(columns=())):
            return plan  # the answer of an ASK has no rows to limit
        case Slice(child, offset, own):
            return Slice(child, offset, limit if own is None else min(own, limit))
    return Slice(plan, 0, limit)
