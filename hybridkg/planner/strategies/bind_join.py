"""Bind join: the complete text relation first, the graph restricted to its entities."""

from __future__ import annotations

from typing import NamedTuple

from hybridkg.algebra.nodes import Plan, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.graph_fragment import NARROW_SHARE, GraphFragment
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.text_join import FEW_MATCHES, MATCHES_PER_PROBE, TextJoin
from hybridkg.planner.cardinality import CandidateEstimate
from hybridkg.planner.cardinality import joined as entities_joined
from hybridkg.planner.joins import joined
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import ALMOST, UNPRICED, RankingCosts, costs_of_plan, mean
from hybridkg.planner.small_rankings import is_small


class BindJoinStrategy(Strategy):
    """Reference plan with a probe or semi-join wherever a fragment joins a MATCH on a common variable.

    Exact: both operators return the rows of the HashJoin they replace.
    """

    preference = 80

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return not isinstance(logical, SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        costs = costs_of_plan(logical, planning)
        return UNPRICED if costs is None else bind_join_cost(costs)

    def least_cost(self, logical: Plan, planning: PlannerContext) -> float:
        costs = costs_of_plan(logical, planning)
        return 0.0 if costs is None else _least_us(costs)

    def is_cheapest(self, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
        """Whether the matches are few."""
        return is_small("bind_join", others, logical, planning)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        root = joined(logical, planning)
        own: tuple[type[PhysicalOperator], ...] = (TextJoin, BindJoin, BindLeftJoin)
        if planning.ranking(logical) is not None:
            own += (GraphFragment,)  # as of an EXISTS alone; where nothing is ranked, `columns` has it
        return root if any(isinstance(operator, own) for operator in root.walk()) else None


BIND_JOIN = BindJoinStrategy()


def bind_join_cost(costs: RankingCosts) -> Cardinality:
    """Cost of reading every relation completely and joining all rows; computed once."""
    if costs.bind_join is None:
        costs.bind_join = _priced(costs)
    return costs.bind_join


def _priced(costs: RankingCosts) -> Cardinality:
    cost, spine, (most, *others), first = costs.cost, costs.ranking.spine, costs.lists.joined, costs.lists.first
    variable, fragments = spine.variables[0], len(spine.fragments)
    graph, rows_each = costs.graphs[variable], costs.rows_each(variable)
    narrower = _narrower(costs, first * rows_each)
    if narrower is not None and narrower.variable == variable:  # only its matches are scored
        before = _scoring_us(costs, narrower.most, first)
        tested = narrower.most * min(1.0, first / costs.n)
    else:
        before, tested = cost.us_per_text_scoring + _first_us(costs), first
    queried = set[int]()
    for name, own in costs.graphs.items():
        patterns = set(map(id, costs.ranking.by_variable[name]))
        if patterns <= queried:
            continue  # it is read once
        queried |= patterns
        read_us = tested * costs.each_us(name)
        if costs.lists.is_too_long:  # the store returns that many rows before the fragment proves larger
            read_us = read_us + tested * cost.us_per_store_row if costs.in_store else own.whole_us
        if narrower is not None and narrower.variable != variable:
            read_us = min(read_us, narrower.most * costs.each_us(narrower.variable))
        before += min(own.whole_us, read_us)
    if spine.leading > 1:  # the second MATCH scores rows of the first, not ids
        before += _rows_us(costs, most)
    if narrower is not None:
        before += cost.us_per_text_scoring + narrower.most * cost.us_per_scored_posting
    before, row_us, cases = before + costs.once_us(fragments), costs.row_us(fragments), []
    for entities in entities_joined(
        most, _of_fragments(costs, graph), costs.shape.entities, costs.lists.pushdown_count
    ):
        rows, us = entities * rows_each, before
        if narrower is not None:
            rows *= min(1.0, narrower.most / costs.n)
        us += rows * row_us
        for place, own_most in enumerate(others):
            us += _scoring_us(costs, rows, own_most)
            if narrower is None or place != narrower.place:
                rows *= min(1.0, own_most / costs.n)
        for own_most in costs.lists.optional:
            us += _scoring_us(costs, rows, own_most)
        cases.append(us * costs.kept + costs.others_us)  # a join passes the values of its smaller side on
    return mean(cases)


class _Narrower(NamedTuple):
    """A MATCH joined after the first whose matches restrict everything below it.

    Args:
        place: among the joined MATCHes after the first.
        variable: its entities.
        most: bound on its matches.
    """

    place: int
    variable: str
    most: float


def _narrower(costs: RankingCosts, rows: float) -> _Narrower | None:
    """The MATCH of fewest matches, fewer than the rows that it would score (ScoreRows); None without one."""
    others = costs.ranking.spine.matches[1:]
    if not others or costs.in_store or costs.shape.is_remote or not costs.shape.only_texts:
        return None
    found = [
        _Narrower(place, match.match.entity.name, most)
        for place, (match, most) in enumerate(zip(others, costs.lists.joined[1:], strict=True))
        if match.match.entity.name in costs.graphs and match.match.top is None
    ]
    narrower = min(found, key=lambda one: one.most, default=None)
    return narrower if narrower is not None and narrower.most <= min(rows, NARROW_SHARE * costs.n) else None


def _first_us(costs: RankingCosts) -> float:
    """Cost of all matches of the first MATCH, or of scoring the candidate set if these are too many."""
    read = costs.lists.first * costs.cost.us_per_scored_posting
    if not costs.lists.is_too_long:
        return read
    return min(read, costs.scored_us(costs.graphs[costs.ranking.spine.variables[0]].size.estimate, 0.0))


def _least_us(costs: RankingCosts) -> float:
    cost, spine, most = costs.cost, costs.ranking.spine, costs.lists.joined[0]
    us = cost.us_per_text_scoring
    us += _first_us(costs) + costs.once_us(len(spine.fragments))
    if spine.leading > 1:
        us += _rows_us(costs, most)
    return ALMOST * us * costs.kept


def _rows_us(costs: RankingCosts, rows: float) -> float:
    """Cost of the rows of a relation."""
    return rows * (costs.passed_us + (costs.cost.us_per_row_of_terms if costs.in_store else 0.0))


def _of_fragments(costs: RankingCosts, graph: CandidateEstimate) -> Cardinality:
    """Size of the candidate set without the filters by text."""
    share = 1.0
    for most in costs.lists.filters:
        share *= min(1.0, max(most, 1.0) / costs.n)
    estimate = min(graph.size.estimate / share, costs.shape.entities)
    return Cardinality(graph.size.low, estimate, max(graph.size.high, estimate))


def _scoring_us(costs: RankingCosts, entities: float, most: float) -> float:
    """Cost of scoring some entities, or of the complete relation if that is not many times larger."""
    cost = costs.cost
    if costs.shape.is_remote and most <= FEW_MATCHES:
        return most * cost.us_per_scored_posting  # requested together with the first relation
    if costs.shape.is_remote or entities * MATCHES_PER_PROBE < most:
        return cost.us_per_text_scoring + costs.scored_us(entities, entities * min(1.0, most / costs.n))
    return cost.us_per_text_scoring + most * cost.us_per_scored_posting
