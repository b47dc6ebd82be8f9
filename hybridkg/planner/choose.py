"""Which strategy runs a query: the one that is expected to cost least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from hybridkg.algebra.nodes import Plan, Project, Rerank, Slice, Snippet, Whole
from hybridkg.algebra.reranking import below_rerank, cut
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Size
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.base import PhysicalOperator
from hybridkg.planner.costs import UNPRICED, Costs, costs_of, unpriced
from hybridkg.planner.joins import lowered
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking
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


Cost: TypeAlias = Callable[[Plan, Planning], Size]
Compared: TypeAlias = tuple[str, Cost, Callable[[Costs], Size] | None, Callable[[Costs], float] | None]


class Ways(NamedTuple):
    """The strategies that apply to a plan; no value of a parameter changes this.

    Args:
        alone: of ALONE; where there is one, nothing else is asked for.
        priced: the others, with what tells their cost.
        compared: those of them that know it, or all where none does: with a ranking, (name, what tells the cost, the
            same from the costs of the ranking, what tells no more at less effort).
        ranking: the plan taken apart, where it ranks.
        are_far: whether the index is a server.
    """

    alone: Sequence[str]
    priced: Sequence[tuple[str, Cost]] = ()
    compared: Sequence[Compared] = ()
    ranking: Ranking | None = None
    are_far: bool = False

    @classmethod
    def of(cls, logical: Plan, planning: Planning) -> Ways:
        """Asks all of them."""
        alone = [name for name in ALONE if planning.root(name, logical) is not None]
        if alone:
            return cls(alone)
        planning.ask_sizes(logical)
        ways: list[tuple[str, Any]] = [(name, STRATEGIES.get(name).cost) for name in PREFERENCE if name not in ALONE]
        priced = [(name, cost) for name, cost in ways if cost(logical, planning) is not None]
        known = [(name, cost) for name, cost in priced if cost is not unpriced] or priced
        compared: list[Compared] = []
        for name, cost in known:
            of, least = (cost.of, cost.least) if isinstance(cost, OfRanking) else (None, None)
            compared.append((name, cost, of, least))
        far = planning.text is not None and planning.text.text_limit is not None
        return cls(alone, priced, compared, planning.ranking(logical), far)


def choose(logical: Plan, planning: Planning, strategy: str | None = None) -> PhysicalPlan:
    """The cheapest applicable strategy, or the one asked for.

    Raises:
        UnknownNameError: no strategy of that name.
        UnsupportedQueryError: the strategy asked for does not apply to this query.
    """

    def whole() -> Plan:
        return planning.filled(logical)

    below = below_rerank(logical)
    if below is not None:  # what is reordered does not say how the rows are found
        chosen = choose(below, planning, strategy)
        return replace(chosen, root=lowered(logical, {id(below): chosen.root}, planning), whole=whole)
    if strategy is not None:
        planning.switching = planning.asking = False  # there is nothing to be weighed
        chosen, root = STRATEGIES.get(strategy), planning.root(strategy, logical)
        if root is None:
            raise UnsupportedQueryError(
                f"the strategy {strategy!r} does not apply to this query",
                hint="leave the strategy out, or use 'reference', which always applies",
            )
        return PhysicalPlan(root, strategy, whole, chosen.cost(logical, planning), forced=True)
    ways = planning.fixed("ways", lambda: Ways.of(logical, planning))
    for name in ways.alone:
        root = planning.root(name, logical)
        if root is not None:
            return PhysicalPlan(root, name, whole, STRATEGIES.get(name).cost(logical, planning))
    if ways.are_far:
        planning.ask_sizes(logical)
    own = None if ways.ranking is None else costs_of(ways.ranking, planning)
    best, expected = "", UNPRICED
    for name, cost, of, least in ways.compared:
        if own is None or of is None:
            found = cost(logical, planning)
        elif least is None or least(own) < expected.guess:
            found = of(own)
        else:
            continue  # dearer than another whatever its rows are: only EXPLAIN asks how dear
        if not best or found.guess < expected.guess:
            best, expected = name, found

    def costs() -> list[tuple[str, Size]]:
        return [(name, cost(logical, planning)) for name, cost in ways.priced]

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
        case Whole(ast.SelectQuery(modifiers=modifiers) as form):
            least = limit if modifiers.limit is None else min(modifiers.limit, limit)
            return Whole(replace(form, modifiers=replace(modifiers, limit=least)))
        case Whole(ast.AskQuery()) | Slice(Project(columns=())):
            return plan  # the answer of an ASK has no rows to limit
        case Slice(child, offset, own):
            return Slice(child, offset, limit if own is None else min(own, limit))
    return Slice(plan, 0, limit)
