"""Bounds that show, without pricing, that no strategy is much cheaper for a ranking of few matches or candidates.

For a small ranking all strategies cost about the same, a few requests, and pricing them takes longer than they differ.
The bounds below follow the formulas of planner/ranking_costs.py and planner/strategies, which tests/planner compares.
"""

from __future__ import annotations

from typing import NamedTuple

from hybridkg.algebra.nodes import Fragment, Plan
from hybridkg.interfaces.graph_index import Cardinality, PreparedPattern
from hybridkg.planner.cardinality import joined as joined_cases
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import shape_of
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast

COMPARED = frozenset({"bind_join", "filter_first", "filtered_topk", "rank_first", "reference"})
"""Strategies whose costs the proof bounds; a plan to which another one applies is priced."""

PRICING_US = 25.0
"""Microseconds that pricing a ranking by one MATCH takes (2-core machine, warm caches): 20 to 60 of 200 in questions of
benchmarks.hybrid. A plan that may cost that much more than the cheapest is taken without a price."""


def is_small(strategy: str, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
    """Whether a plan ranks so little that a strategy costs at most PRICING_US more than any of the others."""
    ranking = planning.ranking(logical)
    if ranking is None or not others <= COMPARED:
        return False
    return bool(planning.memoize((id(ranking), "small"), lambda: _cheapest(ranking, planning)) == strategy)


def _cheapest(ranking: RankedPlan, planning: PlannerContext) -> str | None:
    small = planning.memoize_for_template((id(ranking), "small"), lambda: SmallRanking.of(ranking, planning))
    return None if small is None else small.cheapest(planning)


class SmallRanking(NamedTuple):
    """A ranking by one local MATCH, without TOP, of entities that patterns restrict; whatever the parameter values.

    Args:
        match: the MATCH.
        variable: that it ranks.
        fragments: with the variable.
        entities: of the index, at least 1.
        k: LIMIT + OFFSET, at least 1.
        queried: number of fragments whose rows are read once the entities are selected.
        more_joined: number of other fragments, which only joins read.
        operators: number of operators other than those of fragments.
    """

    match: ast.RankedItem
    variable: str
    fragments: tuple[Fragment, ...]
    entities: float
    k: float
    queried: int
    more_joined: int
    operators: int

    @classmethod
    def of(cls, ranking: RankedPlan, planning: PlannerContext) -> SmallRanking | None:
        """None for a ranking of another kind."""
        spine = ranking.spine
        if len(spine.matches) != 1 or spine.relations or ranking.optional or ranking.filters:
            return None
        if not ranking.by_one_match or not ranking.of_one_variable or ranking.scored[0].match.top is not None:
            return None
        if not ranking.k:  # the formulas price LIMIT 0 as all rows
            return None
        shape, (variable,) = shape_of(ranking, planning), ranking.variables
        fragments = ranking.by_variable[variable]
        if not fragments or not shape.only_texts or shape.is_remote:
            return None
        entities, queried = max(shape.entities, 1.0), shape.queried_fragments
        more_joined, match = len(spine.fragments) - queried, ranking.scored[0].match
        return cls(match, variable, fragments, entities, float(ranking.k), queried, more_joined, shape.operators)

    def cheapest(self, planning: PlannerContext) -> str | None:
        """The strategy that costs at most PRICING_US more than any other; None if the bounds do not show one."""
        prepared = [*map(planning.prepared, self.fragments)]
        patterns = [pattern for pattern in prepared if pattern is not None]
        if len(patterns) < len(prepared):
            return None  # the store answers a pattern
        matching = float(planning.match_count_bound(self.match))
        if self.queried:  # the candidates would be found first, and their rows then; a join does both at once
            return self._of_matches(matching, patterns, planning.cost) or self._of_candidates(
                matching, patterns, planning.cost
            )
        return self._of_candidates(matching, patterns, planning.cost) or self._of_matches(
            matching, patterns, planning.cost
        )

    def _of_matches(self, matching: float, patterns: list[PreparedPattern], cost: CostModel) -> str | None:
        """`bind_join` where the matches are few.

        It reads all matches and all rows of the patterns for them. The others find the candidates, or test some, by at
        least one request for each pattern. Left out is the fixed cost of reading rows, which all of them have.
        """
        best = cost.us_per_text_question + matching * cost.us_per_posting
        questions = len(patterns) * cost.us_per_graph_question
        others = questions + min(cost.us_per_text_scoring, best)
        us = cost.us_per_text_scoring + matching * cost.us_per_scored_posting
        us += self.more_joined * (cost.us_per_graph_question + cost.us_per_operator)
        if us > others + PRICING_US:
            return None
        tested_us, rows_each = self._each(patterns, cost)
        in_columns = (self.operators + self.queried + self.more_joined) * cost.us_per_column_cell
        us += matching * (tested_us + rows_each * in_columns)
        return "bind_join" if us <= others + PRICING_US else None

    def _of_candidates(self, matching: float, patterns: list[PreparedPattern], cost: CostModel) -> str | None:
        """`filtered_topk` or `filter_first` where the candidates are few.

        Both find all candidates. The first then ranks them in the index, and the second scores them. Left out are the
        rows of the selected entities, which all strategies read.
        """
        low, candidates, high, entries = self.entities, self.entities, self.entities, 0.0
        for pattern in patterns:
            least, estimate, most = pattern.size(self.variable)
            low = max(0.0, low + least - self.entities)
            candidates *= estimate / self.entities
            high = min(high, most)
            entries += pattern.work(self.variable)
        candidates, high = max(candidates, 1.0), max(high, 1.0)
        questions = len(patterns) * cost.us_per_graph_question
        found = entries * cost.us_per_adjacency_entry + questions
        best = cost.us_per_text_question + matching * cost.us_per_posting
        ranked = found + best + candidates * cost.us_per_masked_candidate
        scored = found + cost.us_per_text_scoring + candidates * cost.us_per_scored_candidate
        joined = cost.us_per_text_scoring + matching * cost.us_per_scored_posting
        joined += self.more_joined * (cost.us_per_graph_question + cost.us_per_operator)
        looked = cost.us_per_look + best + questions
        found_both = joined_cases(matching, Cardinality(low, candidates, high), self.entities, None)
        ranked += sum([rows if rows < self.k else self.k for rows in found_both]) / len(found_both) * cost.us_per_hit
        name, us, others = "filter_first", scored, min(ranked, joined, looked)
        if ranked <= scored:
            name, us, others = "filtered_topk", ranked, min(scored, joined, looked)
        if us > others + PRICING_US:
            return None
        # `rank_first` is priced with the rows of its best case, the others with the mean.
        tested_us, rows_each = self._each(patterns, cost) if self.queried else (0.0, 1.0)
        each = rows_each * (self.operators + self.queried) * cost.us_per_column_cell + tested_us
        rows = min(matching, high, self.k)
        return name if us <= min(others, looked - rows * each) + PRICING_US else None

    def _each(self, patterns: list[PreparedPattern], cost: CostModel) -> tuple[float, float]:
        """(microseconds of testing an entity together with others, rows of an entity that has any)."""
        entries, rows = 0.0, 1.0
        for pattern in patterns:
            entries += pattern.work_each(self.variable)
            if len(pattern.variables) > 1:
                rows *= max(1.0, pattern.size().estimate / max(pattern.size(self.variable).estimate, 1.0))
        return entries * cost.us_per_adjacency_entry, rows
