"""Proof that a ranking of a small candidate set costs no more than any other strategy, without pricing these."""

from __future__ import annotations

from typing import NamedTuple

from hybridkg.algebra.nodes import Fragment
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import shape_of
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.query import ast

OTHERS = frozenset({"bind_join", "rank_first", "reference"})
"""Strategies whose costs the proof bounds; a plan to which another one applies is priced."""

PRICING_US = 25.0
"""Microseconds that pricing a ranking by one MATCH takes (2-core machine, warm caches): 25 to 30 of 200 in questions of
benchmarks.hybrid. A plan that may cost that much more than the cheapest is taken without a price."""


class FewCandidates(NamedTuple):
    """Bounds of the costs of a ranking by one local MATCH, in microseconds, without what all strategies spend.

    That is the cost of the rows of the selected entities; `filter_first` and `filtered_topk` find the candidate set
    first. The formulas are those of planner/ranking_costs.py and planner/strategies. For a set of few candidates all of
    them are within a few microseconds, and a set is few when the unit costs say so.

    Args:
        filter_first: of finding the candidates and scoring them.
        filtered_topk: of finding them and ranking them in the index; at most.
        least_filtered_topk: the same, at least.
        bind_join: of all matches and the joins, at least.
        rank_first: of one round, at least.
    """

    filter_first: float
    filtered_topk: float
    least_filtered_topk: float
    bind_join: float
    rank_first: float

    @property
    def is_filter_first_cheapest(self) -> bool:
        """Whether `filter_first` costs at most PRICING_US more than any other.

        >>> few = FewCandidates(filter_first=45.0, filtered_topk=60.0, least_filtered_topk=40.0, bind_join=70.0,
        ...                     rank_first=90.0)
        >>> few.is_filter_first_cheapest, few.is_filtered_topk_cheapest
        (True, False)
        """
        return self.filter_first <= min(self.least_filtered_topk, self.bind_join, self.rank_first) + PRICING_US

    @property
    def is_filtered_topk_cheapest(self) -> bool:
        """Whether `filtered_topk` costs no more than `filter_first`, and at most PRICING_US more than the others."""
        return (
            self.filtered_topk <= self.filter_first
            and self.filtered_topk <= min(self.bind_join, self.rank_first) + PRICING_US
        )

    @classmethod
    def of(cls, ranking: RankedPlan, planning: PlannerContext) -> FewCandidates | None:
        """The bounds of a ranking; None for one that they do not cover."""
        covered = planning.memoize_for_template((id(ranking), "few"), lambda: _Covered.of(ranking, planning))
        return None if covered is None else covered.bounds(planning)


class _Covered(NamedTuple):
    """A ranking that has bounds, whatever the parameter values.

    Args:
        match: the only one.
        variable: that it ranks.
        fragments: with the variable.
        entities: of the index, at least 1.
        k: LIMIT + OFFSET.
        queried: number of fragments whose rows are read once the entities are selected.
        more_joined: number of other fragments, which only joins read.
        operators: number of operators above the candidates, those of the queried fragments included.
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
    def of(cls, ranking: RankedPlan, planning: PlannerContext) -> _Covered | None:
        """None unless one MATCH of a local index, without TOP, ranks its entities among those of patterns."""
        spine = ranking.spine
        if len(spine.matches) != 1 or spine.relations or ranking.optional or ranking.filters:
            return None
        if not ranking.by_one_match or not ranking.of_one_variable or ranking.scored[0].match.top is not None:
            return None
        shape, (variable,) = shape_of(ranking, planning), ranking.variables
        fragments = ranking.by_variable[variable]
        if not fragments or not shape.only_texts or shape.is_remote:
            return None
        queried, entities = shape.queried_fragments, max(shape.entities, 1.0)
        more_joined, operators = len(spine.fragments) - queried, shape.operators + queried
        match = ranking.scored[0].match
        return cls(match, variable, fragments, entities, float(ranking.k or 0), queried, more_joined, operators)

    def bounds(self, planning: PlannerContext) -> FewCandidates | None:
        """The bounds; None where the projection cannot answer a pattern."""
        match, variable, fragments, entities, k, queried, more_joined, operators = self
        cost, candidates, high, entries = planning.cost, entities, entities, 0.0
        rows_each, each = 1.0, operators * cost.us_per_column_cell
        for fragment in fragments:
            prepared = planning.prepared(fragment)
            if prepared is None:
                return None
            _, estimate, most = prepared.size(variable)
            candidates *= estimate / entities
            high = min(high, most)
            entries += prepared.work(variable)
            if queried:
                each += prepared.work_each(variable) * cost.us_per_adjacency_entry
                if len(prepared.variables) > 1:
                    rows_each *= max(1.0, prepared.size().estimate / max(estimate, 1.0))
        candidates = max(candidates, 1.0)
        matching = planning.match_count_bound(match)
        questions = len(fragments) * cost.us_per_graph_question
        found = entries * cost.us_per_adjacency_entry + questions
        scoring, best = cost.us_per_text_scoring, cost.us_per_text_question + matching * cost.us_per_posting
        ranked = found + best + candidates * cost.us_per_masked_candidate
        return FewCandidates(
            found + scoring + candidates * cost.us_per_scored_candidate,
            ranked + min(k, matching) * cost.us_per_hit,
            ranked,
            scoring
            + matching * cost.us_per_scored_posting
            + more_joined * (cost.us_per_graph_question + cost.us_per_operator),
            # Its cost has the rows of its best case, for which it may have read enough, the others have the mean.
            cost.us_per_look + best + questions - min(matching, max(high, 1.0), k) * rows_each * each,
        )
