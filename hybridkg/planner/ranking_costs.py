"""Expected cost of each strategy for a ranking, in microseconds, before anything has run: what the formulas share.

The candidate set is the unknown: its size comes from the projection with two bounds. The matching entities of a MATCH
are known to the posting. What the graph and the text have to do with each other is not known, and it decides: words
that belong to the filter leave ten times as many entities as chance would, words of another subject none. So a cost is
the mean over three cases (CORRELATIONS), and a plan that is cheap in one of them and ruinous in another loses to one
that is fair in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.planner.cardinality import CandidateEstimate, Lists, RankingShape, graph_of, joined
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast

OPERATORS = 4
"""Operators of a ranked plan beside those of its fragments and MATCHes: LIMIT, projection, order, choice of rows."""

EXACTLY = 1.5
"""To compare vectors exactly takes so many times as long as to do it up to an error: 1.4 on one core."""

ALMOST = 1.0 - 1e-9
"""Factor of a lower bound: not more than the same sum in another order, whatever the rounding."""

UNPRICED = Cardinality(0.0, inf, inf)
"""Cost of a strategy that has no formula, or none for the plan."""


def costs_of(ranking: RankedPlan, planning: PlannerContext) -> RankingCosts:
    """Costs of a ranking; found out once in a planning."""
    known: RankingCosts | None = planning.costs.get(id(ranking))
    if known is None:
        known = planning.costs[id(ranking)] = RankingCosts(ranking, planning)
    return known


class RankingCosts:
    """Cardinalities of a ranking and the costs of its parts: the terms of the formulas of all strategies.

    Two strategies are priced here, `filter_first` and `filtered_topk`, because others switch to them in the middle of a
    run; the other formulas stand in the files of their strategies. There are few functions: after another query has
    run, little is left in the processor's caches of what each of them needs.

    Args:
        ranking: the plan, taken apart.
        planning: sizes and unit costs; it keeps this, so this does not keep it.

    Attributes:
        cost: the unit costs.
        switching: whether a strategy may give up for another one.
        fixed: what no value of a parameter changes.
        n: entities of the index, at least 1.
        k: LIMIT + OFFSET; 0 where all rows are wanted.
        lists: how many entities match each MATCH.
        graphs: by variable, what the patterns leave of its entities.
        in_store: whether the store is asked for one of the patterns.
        compared: postings[scored, then optional], what it takes to compare the candidates with each NEAR that is fused.
        cases: for each of CORRELATIONS, (entities that satisfy the graph and match every scored text, microseconds that
            are left to spend once they are chosen); empty where several variables are ranked.
        filter_first: to find the candidate set and to score it.
        filtered_topk: to find the candidate set and to rank it in the index.
        bind_join: to make rows of all that joins, priced on first use (strategies/bind_join.py).
    """

    def __init__(self, ranking: RankedPlan, planning: PlannerContext):
        self.ranking, self.cost, self.switching = ranking, planning.cost, planning.switching
        self.memoize_for_template = fixed = planning.memoize_for_template(
            (id(ranking), "costs"), lambda: RankingShape.of(ranking, planning)
        )
        self.n, self.k = max(fixed.entities, 1.0), float(ranking.k or 0)
        self.lists = lists = Lists.of(ranking, planning, fixed)
        self.graphs: dict[str, CandidateEstimate] = {}
        for variable in ranking.spine.variables:
            least = self._least_of(variable)
            self.graphs[variable] = graph_of(
                ranking, variable, planning, fixed.entities, lists.filters, self.scored_us, least
            )
        self.in_store = any(one is None for graph in self.graphs.values() for one, *_ in graph.patterns)
        self.compared = self._comparisons(planning) if fixed.is_fused else []
        self._rows: dict[str, float] = {}
        self._each: dict[str, float] = {}
        self.cases: list[tuple[float, float]] = []
        self.filter_first = self.filtered_topk = UNPRICED
        self.bind_join: Cardinality | None = None
        if len(ranking.variables) == 1:
            size = self.graphs[ranking.variables[0]].size.estimate
            read = lists.postings[0] if fixed.only_texts else planning.read(ranking.scored[0].match, size)
            self._price_candidates(self.graphs[ranking.variables[0]], read)

    def _comparisons(self, planning: PlannerContext) -> list[float]:
        """Finds `compared`: among the candidates that match every text."""
        ranking, found = self.ranking, list[float]()
        among = self.graphs[ranking.variables[0]].size.estimate if ranking.is_restricted else self.n
        for match, most in zip(ranking.scored, self.lists.scored, strict=True):
            among = min(among, most) if isinstance(match.match, ast.Match) else among
        for match in (*ranking.scored, *ranking.optional):
            found.append(planning.read(match.match, among) if isinstance(match.match, ast.Near) else 0.0)
        return found

    def _least_of(self, variable: str) -> float:
        """How many entities of a variable match the rarest of its texts; for one without a text, the first of all."""
        least = [self.lists.first]
        for match, most in zip(self.ranking.spine.matches, self.lists.joined, strict=True):
            least += [most] if match.match.entity.name == variable else []
        return min(least)

    def rows_each(self, variable: str) -> float:
        """Rows of the patterns for one entity; not every price takes it."""
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
        """To find out about one entity, asked with others; not every price takes it."""
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
        """Finds `filter_first`, `filtered_topk` and the cases.

        Args:
            graph: of the one ranked variable.
            read: postings that the best of the candidates are found among.
        """
        ranking, cost, lists, scored = self.ranking, self.cost, self.lists.scored, len(self.lists.scored)
        most = float(ranking.k or 0) if ranking.k is not None and ranking.value is not None else inf
        variable, asked = ranking.variables[0], self.memoize_for_template.asked
        whole, each = self.once_us(asked), self.row_us(variable, asked)
        each *= self.rows_each(variable) if asked else 1.0
        matching = lists[0]
        if scored > 1:
            matching, *others = sorted(lists)
            for one in others:  # as if the texts had nothing to do with each other
                matching *= min(1.0, one / self.n)
        before = masked = graph.whole_us + graph.question_us - graph.known_us
        before += scored * cost.us_per_text_scoring
        each_scored = 0.0
        if ranking.is_restricted:
            before += graph.size.estimate * scored * cost.us_per_scored_candidate
            each_scored = scored * cost.us_per_scored_posting if self.memoize_for_template.is_remote else 0.0
        else:
            before += sum(lists) * cost.us_per_scored_posting
        before += EXACTLY * sum(self.compared) * cost.us_per_posting
        for most_added in self.lists.optional:
            before += cost.us_per_text_scoring
            before += min(graph.size.estimate * cost.us_per_scored_candidate, most_added * cost.us_per_scored_posting)
        masked = masked + cost.us_per_text_question + read * cost.us_per_posting
        masked += graph.size.estimate * cost.us_per_masked_candidate
        k, hit = self.k or inf, cost.us_per_hit
        cases, scoring, ranked = self.cases, [], []
        agreed = (
            self.lists.pushdown_count
            if self.lists.pushdown_count is not None and self.lists.pushdown_count.variable == variable
            else None
        )
        for rows in joined(matching, graph.size, self.memoize_for_template.entities, agreed):
            rest = whole + each * min(rows, most)
            cases.append((rows, rest))
            scoring.append(before + rows * each_scored + rest)
            ranked.append(masked + min(rows, k) * hit + rest)
        self.filter_first = mean(scoring)
        self.filtered_topk = (
            self.filter_first if self.memoize_for_template.is_remote else mean(ranked)
        )  # the same to a server

    def lists_us(self, depth: float, lists: Sequence[float]) -> float:
        """To read the scored relations so deep, of which so many entities match."""
        cost, us = self.cost, 0.0
        for most, read in zip(lists, self.lists.postings, strict=True):
            us += cost.us_per_text_question + read * cost.us_per_posting + min(depth, most) * cost.us_per_hit
        return us

    def scored_us(self, entities: float, matching: float) -> float:
        """To score some entities: of a server, each that matches is a row that comes back."""
        us = entities * self.cost.us_per_scored_candidate
        return us + matching * self.cost.us_per_scored_posting if self.memoize_for_template.is_remote else us

    def once_us(self, fragments: int) -> float:
        """What asking for rows of some fragments, and the operators above the choice of the entities, take once."""
        operators = OPERATORS + fragments + len(self.ranking.spine.matches)
        question_us = self.cost.us_per_store_question if self.in_store else self.cost.us_per_graph_question
        return fragments * question_us + operators * self.cost.us_per_operator

    def row_us(self, variable: str, fragments: int) -> float:
        """What they take for each row."""
        cost = self.cost
        us = (OPERATORS + fragments + len(self.ranking.spine.matches)) * cost.us_per_row_passed
        return us + (fragments * cost.us_per_row_of_terms + self.each_us(variable)) if fragments else us


def mean(costs: list[float]) -> Cardinality:
    """The cost over CORRELATIONS.

    >>> mean([1.0, 2.0, 6.0])
    Size(low=1.0, guess=3.0, high=6.0)
    """
    return Cardinality(min(costs), sum(costs) / len(costs), max(costs))
