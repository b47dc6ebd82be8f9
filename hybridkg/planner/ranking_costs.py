"""Cost terms of a ranking, in microseconds, shared by the formulas of all strategies.

The size of the candidate set comes from the projection, with two bounds; match counts are exact to the posting. The
correlation of graph and text is unknown and decisive: words of the filter's subject leave ten times as many entities as
independence predicts, words of another subject none. A cost is therefore the mean over three cases (CORRELATIONS): a
plan that is cheap in one case and ruinous in another loses to a plan that is fair in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.operators.topk.filter_first import GROWTH
from hybridkg.planner.cardinality import CandidateEstimate, Lists, RankingShape, graph_of, joined
from hybridkg.planner.other_relations import other_relations
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast

EXACTLY = 1.5
"""Ratio of the time of an exact vector comparison to that of an approximate one: 1.4 on one core."""

ALMOST = 1.0 - 1e-9
"""Factor of a lower bound, which absorbs the rounding of a different order of summation."""

UNPRICED = Cardinality(0.0, inf, inf)
"""Cost of a strategy without a formula for the plan."""


def costs_of(ranking: RankedPlan, planning: PlannerContext) -> RankingCosts:
    """Costs of a ranking, computed once in a planning."""
    costs: RankingCosts | None = planning.costs.get(id(ranking))
    if costs is None:
        costs = planning.costs[id(ranking)] = RankingCosts(ranking, planning)
    return costs


def costs_of_plan(logical: Plan, planning: PlannerContext) -> RankingCosts | None:
    """Costs of the ranking of a plan, which every strategy asks for; None if it does not rank."""
    costed, costs = planning.costed
    if costed is not logical:
        ranking = planning.ranking(logical)
        costs = None if ranking is None else costs_of(ranking, planning)
        planning.costed = logical, costs
    found: RankingCosts | None = costs
    return found


def shape_of(ranking: RankedPlan, planning: PlannerContext) -> RankingShape:
    """Properties of a ranking, found once for a template."""
    return planning.memoize_for_template((id(ranking), "costs"), lambda: RankingShape.of(ranking, planning))


class RankingCosts:
    """Cardinalities of a ranking and the costs of its parts: the terms of the formulas of all strategies.

    Two strategies are priced here, `filter_first` and `filtered_topk`, because others switch to them during a run; the
    other formulas are in the files of their strategies. There are few functions on purpose: after another query has
    run, little of each function's data is left in the processor's caches.

    Args:
        ranking: the decomposed plan.
        planning: sizes and unit costs; it references this object, so this object must not reference it.

    Attributes:
        cost: the unit costs.
        switching: whether a strategy may switch to another.
        shape: properties that no parameter value changes.
        n: entities of the index, at least 1.
        k: LIMIT + OFFSET; 0 for all rows.
        kept: share of the rows of matching entities that joins with other relations leave; 1.0 without any.
        others_us: cost of evaluating these relations once.
        wanted: entities among which k rows are expected; inf for all.
        lists: match bounds of each MATCH.
        graphs: candidate set estimates, by variable.
        in_store: whether one of the patterns needs the store.
        passed_us: cost of passing a row from one operator to its parent.
        compared: postings[scored, then optional] read to compare the candidates with each fused NEAR.
        cases: for each of CORRELATIONS, (entities that satisfy the graph and match every scored text, microseconds left
            to spend after their selection); empty if several variables are ranked.
        filter_first: cost of finding the candidate set and scoring it.
        filtered_topk: cost of finding the candidate set and ranking it in the index.
        bind_join: cost of joining complete relations, computed on first use (strategies/bind_join.py).
    """

    def __init__(self, ranking: RankedPlan, planning: PlannerContext):
        self.ranking, self.cost, self.switching = ranking, planning.cost, planning.switching
        self.shape = shape = shape_of(ranking, planning)
        self.n, self.k = shape.entities if shape.entities > 1.0 else 1.0, float(ranking.k or 0)
        self.lists = lists = Lists(ranking, planning, shape)
        self.graphs: dict[str, CandidateEstimate] = {}
        self.in_store = False
        for variable in ranking.spine.variables:
            rarest = self._rarest(variable)
            graph = self.graphs[variable] = graph_of(
                ranking, variable, planning, shape.entities, lists.filters, self.scored_us, rarest
            )
            self.in_store = self.in_store or graph.in_store
        self.passed_us = self.cost.us_per_row_passed if self.in_store else self.cost.us_per_column_cell
        self.compared = self._comparisons(planning) if shape.is_fused else []
        self._rows: dict[str, float] = {}
        self._each: dict[str, float] = {}
        self.cases: list[tuple[float, float]] = []
        self.kept, self.others_us, self.wanted = 1.0, 0.0, self.k
        self.filter_first = self.filtered_topk = UNPRICED
        self.bind_join: Cardinality | None = None
        if len(ranking.variables) == 1:
            size = self.graphs[ranking.variables[0]].size.estimate
            read = lists.postings[0] if shape.only_texts else planning.read(ranking.scored[0].match, size)
            if ranking.spine.relations:
                self._find_kept(planning)
            self._price_candidates(self.graphs[ranking.variables[0]], read)

    def _find_kept(self, planning: PlannerContext) -> None:
        """Assigns `kept`, `others_us` and `wanted`."""
        others = other_relations(self.ranking, planning)
        if others is not None:
            variable, matching = self.ranking.variables[0], self.n
            for most in self.lists.scored:
                matching *= min(1.0, most / self.n)
            among = matching * self.graphs[variable].size.estimate / self.n * self.rows_each(variable)
            self.kept, self.others_us = min(1.0, max(others.rows, 0.5) / max(among, 1.0)), others.us
        self.wanted = self.k / self.kept

    def _comparisons(self, planning: PlannerContext) -> list[float]:
        ranking, postings = self.ranking, list[float]()
        among = self.graphs[ranking.variables[0]].size.estimate if ranking.is_restricted else self.n
        for match, most in zip(ranking.scored, self.lists.scored, strict=True):
            among = min(among, most) if isinstance(match.match, ast.Match) else among
        for match in (*ranking.scored, *ranking.optional):
            postings.append(planning.read(match.match, among) if isinstance(match.match, ast.Near) else 0.0)
        return postings

    def _rarest(self, variable: str) -> float:
        """Match bound of the rarest text of a variable; that of the first MATCH for a variable without one."""
        least = [self.lists.first]
        for match, most in zip(self.ranking.spine.matches, self.lists.joined, strict=True):
            least += [most] if match.match.entity.name == variable else []
        return min(least)

    def rows_each(self, variable: str) -> float:
        """Rows of the patterns for one entity; computed on demand."""
        rows = self._rows.get(variable)
        if rows is None:
            rows = 1.0
            for prepared, entities, in_store in self.graphs[variable].patterns:
                if prepared is None:
                    rows *= in_store
                elif len(prepared.variables) > 1:
                    rows *= max(1.0, prepared.size().estimate / max(entities, 1.0))
            self._rows[variable] = rows
        return rows

    def each_us(self, variable: str) -> float:
        """Cost of testing one entity together with others; computed on demand."""
        us = self._each.get(variable)
        if us is None:
            cost, us = self.cost, 0.0
            for prepared, *_ in self.graphs[variable].patterns:
                if prepared is None:
                    us += cost.us_per_probe_in_store
                else:
                    us += prepared.work_each(variable) * cost.us_per_adjacency_entry
            for match, most in zip(self.ranking.filters, self.lists.filters, strict=True):
                if match.match.entity.name == variable:
                    us += self.scored_us(1.0, min(1.0, most / self.n))
            self._each[variable] = us
        return us

    def _price_candidates(self, graph: CandidateEstimate, read: float) -> None:
        """Assigns `filter_first`, `filtered_topk` and `cases`; `read` is the postings read for the top k of the
        candidates.
        """
        ranking, cost, lists, scored = self.ranking, self.cost, self.lists.scored, len(self.lists.scored)
        wanted = self.wanted if ranking.k is not None and ranking.value is not None else inf
        variable, fragments = ranking.variables[0], self.shape.queried_fragments
        whole, each = self.once_us(fragments), self.entity_us(variable, fragments)
        matching = lists[0]
        if scored > 1:
            matching, *others = sorted(lists)
            for one in others:  # independent texts
                matching *= min(1.0, one / self.n)
        before = masked = graph.whole_us + graph.question_us - graph.paid_us
        before += scored * cost.us_per_text_scoring
        each_scored = 0.0
        if ranking.is_restricted:
            before += graph.size.estimate * scored * cost.us_per_scored_candidate
            each_scored = scored * cost.us_per_scored_posting if self.shape.is_remote else 0.0
        else:
            before += sum(lists) * cost.us_per_scored_posting
        if self.compared:
            before += EXACTLY * sum(self.compared) * cost.us_per_posting
        for most_added in self.lists.optional:
            before += cost.us_per_text_scoring
            before += min(graph.size.estimate * cost.us_per_scored_candidate, most_added * cost.us_per_scored_posting)
        masked = masked + cost.us_per_text_question + read * cost.us_per_posting
        masked += graph.size.estimate * cost.us_per_masked_candidate
        k, hit, cases = self.k or inf, cost.us_per_hit, self.cases
        pushdown = self.lists.pushdown_count
        if pushdown is not None and pushdown.variable != variable:
            pushdown = None
        for rows in joined(matching, graph.size, self.shape.entities, pushdown):
            rest = whole + each * (rows if rows < wanted else wanted)
            cases.append((rows, rest + self.others_us * self._rounds(rows) if self.others_us else rest))
        self.filter_first = mean([before + rows * each_scored + rest for rows, rest in cases])
        if self.shape.is_remote:
            self.filtered_topk = self.filter_first
        else:
            self.filtered_topk = mean([masked + (rows if rows < k else k) * hit + rest for rows, rest in cases])

    def _rounds(self, rows: float) -> float:
        """Expected slices of the candidates, each of which is joined with the other relations."""
        return 1.0 + log(max(min(rows, self.wanted) / max(self.k, 1.0), 1.0), GROWTH)

    def lists_us(self, depth: float, lists: Sequence[float]) -> float:
        """Cost of reading the scored relations, with the given match bounds, to a depth."""
        cost, us = self.cost, 0.0
        for most, read in zip(lists, self.lists.postings, strict=True):
            us += cost.us_per_text_question + read * cost.us_per_posting + min(depth, most) * cost.us_per_hit
        return us

    def scored_us(self, entities: float, matching: float) -> float:
        """Cost of scoring entities; a server returns each that matches as a row."""
        us = entities * self.cost.us_per_scored_candidate
        return us + matching * self.cost.us_per_scored_posting if self.shape.is_remote else us

    def once_us(self, fragments: int) -> float:
        """Fixed cost of reading rows of fragments and of the operators above the top-k operator."""
        operators = self.shape.operators + fragments
        question_us = self.cost.us_per_store_question if self.in_store else self.cost.us_per_graph_question
        return fragments * question_us + operators * self.cost.us_per_operator

    def row_us(self, fragments: int) -> float:
        """Cost of them for each row, in columns unless the store has the rows."""
        us = (self.shape.operators + fragments) * self.passed_us
        return us + fragments * self.cost.us_per_row_of_terms if self.in_store else us

    def entity_us(self, variable: str, fragments: int) -> float:
        """Cost of the rows of one entity: reading them, and each row."""
        us = self.row_us(fragments)
        return us * self.rows_each(variable) + self.each_us(variable) if fragments else us


def mean(costs: list[float]) -> Cardinality:
    """Cost over CORRELATIONS.

    >>> mean([1.0, 2.0, 6.0])
    Cardinality(low=1.0, estimate=3.0, high=6.0)
    """
    exclusive, independent, correlated = costs
    return Cardinality(min(costs), (exclusive + independent + correlated) / 3, max(costs))
