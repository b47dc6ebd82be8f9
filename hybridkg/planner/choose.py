"""Choice of the strategy of a query: the applicable one with the lowest expected cost.

`choose` goes through these steps:

1. RERANK is split off: it reorders rows and does not affect how they are found.
2. A forced strategy is planned without comparison.
3. The first dominating strategy (by preference) that has operators wins.
4. So does a strategy whose bounds show that no other is cheaper by more than pricing takes (`Strategy.is_cheapest`).
5. All other strategies that apply are priced (planner/ranking_costs.py and planner/strategies/), those with a lower
   bound last. A strategy whose bound exceeds the best cost so far is pruned. The lowest estimate wins; ties go to the
   lower preference.
6. If the winner has no operators after all, the next cheapest is taken; `reference` always has some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import NamedTuple

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
    """Strategy that lost the comparison, and its expected microseconds; inf if unknown."""

    strategy: str
    cost: Cardinality


@dataclass(frozen=True)
class PhysicalPlan:
    """Physical plan: the operators that run, and the comparison that selected them.

    Args:
        root: the operator that returns the result.
        strategy: name of the chosen strategy.
        whole: returns the logical plan.
        price: returns the expected microseconds.
        costs: returns (strategy, cost) of all strategies compared, by preference.
        compared: the expected microseconds of a plan that was chosen by them.
        forced: whether the user named the strategy.
    """

    root: PhysicalOperator
    strategy: str
    whole: Callable[[], Plan]
    price: Callable[[], Cardinality] = lambda: UNPRICED
    costs: Callable[[], Sequence[tuple[str, Cardinality]]] = tuple
    compared: Cardinality | None = None
    forced: bool = False

    @cached_property
    def cost(self) -> Cardinality:
        """Expected microseconds; `UNPRICED` if there is no formula."""
        return self.price() if self.compared is None else self.compared

    @cached_property
    def rejected(self) -> tuple[RejectedPlan, ...]:
        """The other strategies that apply, cheapest first."""
        order = sorted(self.costs(), key=_estimate)
        at = next((at for at, (name, _) in enumerate(order, 1) if name == self.strategy), 0)
        return tuple(RejectedPlan(name, cost) for name, cost in order[at:])

    @cached_property
    def logical(self) -> Plan:
        """Logical plan that the operators compute."""
        return self.whole()


def choose(logical: Plan, planning: PlannerContext, strategy: str | None = None) -> PhysicalPlan:
    """Cheapest applicable strategy, or the forced one, as a physical plan.

    Raises:
        UnknownNameError: no strategy of that name.
        UnsupportedQueryError: the forced strategy does not apply to this query.
    """

    def whole() -> Plan:
        return planning.bound(logical)

    considered = planning.memoize_for_template(("considered", id(logical)), lambda: _Considered.of(logical, planning))
    if (below := considered.below_rerank) is not None:
        chosen = choose(below, planning, strategy)
        return replace(chosen, root=lowered(logical, {id(below): chosen.root}, planning), whole=whole)
    if strategy is not None:
        planning.switching = planning.may_sample = False  # nothing to compare
        root = planning.root(strategy, logical)
        if root is None:
            raise UnsupportedQueryError(
                f"the strategy {strategy!r} does not apply to this query",
                hint="leave the strategy out, or use 'reference', which always applies",
            )
        return PhysicalPlan(root, strategy, whole, _price(strategy_of(strategy), logical, planning), forced=True)
    for name, dominating in considered.dominating:
        if (root := planning.root(name, logical)) is not None:
            return PhysicalPlan(root, name, whole, _price(dominating, logical, planning))

    def costs() -> list[tuple[str, Cardinality]]:
        priced = sorted(considered.priced, key=itemgetter(0))
        return [(name, candidate.cost(logical, planning)) for _, name, candidate, _ in priced]

    for name, candidate, others in considered.bounded:
        if candidate.is_cheapest(others, logical, planning) and (root := planning.root(name, logical)) is not None:
            return PhysicalPlan(root, name, whole, _price(candidate, logical, planning), costs)
    planning.prefetch_match_counts(logical)
    best, expected, place = "", UNPRICED, inf
    for at, name, candidate, has_bound in considered.priced:
        if has_bound and candidate.least_cost(logical, planning) > expected.estimate:
            continue  # pruned; EXPLAIN computes its exact cost
        cost = candidate.cost(logical, planning)
        if cost.estimate < expected.estimate or (cost.estimate == expected.estimate and at < place):
            best, expected, place = name, cost, at
    root = planning.root(best, logical)
    if root is not None:
        return PhysicalPlan(root, best, whole, costs=costs, compared=expected)
    for name, _ in sorted(costs(), key=_estimate):
        root = planning.root(name, logical)
        if root is not None:
            return PhysicalPlan(root, name, whole, _price(strategy_of(name), logical, planning), costs)
    raise AssertionError("the reference always applies")


class _Considered(NamedTuple):
    """What a choice considers, whatever the parameter values.

    Args:
        below_rerank: the plan below a RERANK, which is chosen alone; None without a RERANK.
        dominating: the dominating strategies that apply, by preference.
        priced: (place by preference, name, strategy, whether it has a lower bound of its cost) of the other strategies
            that apply, in the order of pricing.
        bounded: (name, strategy, names of the others that apply) of those that may prove that they are the cheapest.
    """

    below_rerank: Plan | None
    dominating: tuple[tuple[str, Strategy], ...] = ()
    priced: tuple[tuple[int, str, Strategy, bool], ...] = ()
    bounded: tuple[tuple[str, Strategy, frozenset[str]], ...] = ()

    @classmethod
    def of(cls, logical: Plan, planning: PlannerContext) -> _Considered:
        below = below_rerank(logical)
        if below is not None:
            return cls(below)
        applying = [(name, one) for name, one in by_preference() if one.applies(logical, planning)]
        dominating = tuple((name, one) for name, one in applying if one.dominates)
        priced = [
            (at, name, one, _defines("least_cost", one)) for at, (name, one) in enumerate(applying) if not one.dominates
        ]
        names = frozenset(name for name, _ in applying)
        bounded = tuple((name, one, names - {name}) for name, one in applying if _defines("is_cheapest", one))
        return cls(None, dominating, tuple(sorted(priced, key=itemgetter(3, 0))), bounded)


def _defines(method: str, strategy: Strategy) -> bool:
    """Whether a strategy has a method of its own in place of the one that the protocol gives."""
    default = getattr(Strategy, method)
    return getattr(type(strategy), method, default) is not default


def _price(strategy: Strategy, logical: Plan, planning: PlannerContext) -> Callable[[], Cardinality]:
    return lambda: strategy.cost(logical, planning)


def _estimate(costed: tuple[str, Cardinality]) -> float:
    return costed[1].estimate


def with_limit(plan: Plan, limit: int | None) -> Plan:
    """Logical plan cut to `limit` rows, in addition to its own LIMIT; passages are still fetched last."""
    if limit is None:
        return plan
    match plan:
        case Snippet(child, _):
            return replace(plan, child=with_limit(child, limit))
        case Rerank():
            return Slice(cut(plan, limit), 0, limit)
        case Slice(Rerank() as child, offset, own):
            lower = limit if own is None else min(own, limit)
            return Slice(cut(child, offset + lower), offset, lower)
        case SparqlQuery(ast.SelectQuery(modifiers=modifiers) as form, relational):
            lower = limit if modifiers.limit is None else min(modifiers.limit, limit)
            cut_form = replace(form, modifiers=replace(modifiers, limit=lower))
            return SparqlQuery(cut_form, None if relational is None else with_limit(relational, limit))
        case SparqlQuery(ast.AskQuery()) | Slice(Project(columns=())):
            return plan  # the answer of an ASK has no rows to limit
        case Slice(child, offset, own):
            return Slice(child, offset, limit if own is None else min(own, limit))
    return Slice(plan, 0, limit)
