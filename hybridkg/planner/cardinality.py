"""Cardinality estimates of a ranking: sizes of its ranked relations and of the candidate sets of its graph patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, sqrt
from typing import NamedTuple

from hybridkg.algebra.nodes import Fragment, Match
from hybridkg.interfaces.graph_index import Cardinality, PreparedPattern
from hybridkg.interfaces.graph_store import PrefixSample
from hybridkg.operators.pushdown_conditions import whole
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext, PushdownCount, StoreEstimate
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.redundant_fragments import redundant_fragments
from hybridkg.query import ast
from hybridkg.query.walk import has

MIN_READING_US = 500.0
"""Minimum expected text work, plus a round trip, before the planner samples the first solutions of a pattern."""

PART_READ = 2.5
"""Upper bound on sampling: 1/2.5 of the cost of a plan that starts with the text, and of both plans at their break-even
point. A useless sample costs less than half a plan."""

MAX_READ = 2_000
"""Maximum number of solutions sampled."""

UNKNOWN_SHARE = 0.1
"""Estimated share of entities in a pattern that only the store can evaluate, before any sample."""

OPERATORS = 4
"""Operators of a ranked plan other than fragments and MATCHes: LIMIT, projection, order, top-k rows."""

CORRELATIONS = (1 / 8, 1.0, 8.0)
"""Ratio of the actual overlap of graph and text to that of independent sets: exclusive, independent, correlated. The
three cases are equally likely."""


class RankingShape(NamedTuple):
    """Properties of a ranking that are equal for all parameter values.

    Args:
        queried_fragments: number of fragments whose rows are read once the entities are selected.
        is_fused: whether lists are fused.
        only_texts: whether no scored item is a NEAR.
        is_remote: whether one of the relations is on a server.
        entities: entities of the index.
        scored: positions of the scored MATCHes among those of the spine.
        operators: number of operators other than fragments.
    """

    queried_fragments: int
    is_fused: bool
    only_texts: bool
    is_remote: bool
    entities: float
    scored: tuple[int, ...]
    operators: int

    @classmethod
    def of(cls, ranking: RankedPlan, planning: PlannerContext) -> RankingShape:
        queried_fragments = len(ranking.spine.fragments) - len(redundant_fragments(ranking, planning))
        only_texts = all(isinstance(match.match, ast.Match) for match in ranking.scored)
        place = {id(match): at for at, match in enumerate(ranking.spine.matches)}
        scored = tuple(place[id(match)] for match in ranking.scored)
        is_remote = planning.is_remote(ranking.matches)
        operators = OPERATORS + len(ranking.spine.matches)
        return cls(queried_fragments, ranking.fuses, only_texts, is_remote, float(planning.entities), scored, operators)


class Lists:
    """Upper bounds on the entities that match each MATCH of a ranking, and the postings read for its top k.

    Attributes:
        joined: bounds of the MATCHes of the spine.
        scored: bounds of the scored MATCHes.
        optional: bounds of the scored MATCHes of OPTIONAL.
        filters: bounds of the MATCHes that filter.
        pushdown_count: count of a remote index for the first MATCH with its pushed-down graph conditions.
        first: bound of the first MATCH, with the pushed-down conditions.
        best_first: `scored` for a plan that reads the best first; includes the pushed-down conditions if one MATCH is
            scored.
        postings: postings among which the top k of each scored MATCH are found.
        is_too_long: whether a remote index has so many matches that the graph goes first (operators/text_join.py).
    """

    def __init__(self, ranking: RankedPlan, planning: PlannerContext, shape: RankingShape):
        def bounds(matches: Sequence[Match]) -> list[float]:
            return [float(planning.match_count_bound(match.match)) for match in matches]

        self.joined = bounds(ranking.spine.matches)
        self.scored = [*map(self.joined.__getitem__, shape.scored)]
        self.optional = bounds(ranking.optional) if ranking.optional else []
        self.filters = bounds(ranking.filters) if ranking.filters else []
        self.pushdown_count = planning.pushdown_count(ranking) if shape.is_remote else None
        self.first = self.joined[0] if self.pushdown_count is None else self.pushdown_count.most
        self.best_first = [self.first] if shape.scored == (0,) else self.scored
        self.postings = self.scored
        if not shape.only_texts:
            self.postings = [planning.read(match.match) for match in ranking.scored]
        self.is_too_long = False
        if shape.is_remote and planning.text is not None:
            text, is_text = planning.text, isinstance(ranking.spine.matches[0].match, ast.Match)
            is_remote = text.text_is_remote if is_text else text.is_remote
            self.is_too_long = is_remote and self.first > text.max_remote_scan


class ColumnsEstimate(NamedTuple):
    """Figures of a pattern that operators over columns evaluate, under the names of PreparedPattern.

    Args:
        variables: of its rows.
        rows: expected rows.
        values: expected values of the ranked variable.
        entries: the price of all operators, in adjacency entries.
    """

    variables: tuple[str, ...]
    rows: float
    values: float
    entries: float

    def size(self, variable: str | None = None) -> Cardinality:
        """Expected rows, or values of the ranked variable."""
        expected = self.rows if variable is None else self.values
        return Cardinality(0.0, expected, max(expected, self.values))

    def work(self, variable: str) -> float:
        """Work of all rows."""
        return self.entries

    def work_each(self, variable: str) -> float:
        """Work of the rows of one value."""
        return self.entries / max(self.values, 1.0)

    @classmethod
    def of(cls, fragment: Fragment, variable: str, planning: PlannerContext) -> ColumnsEstimate | None:
        """None for a pattern that the projection or only the store evaluates, or whose work is unknown."""
        operator, estimates = planning.bound_fragment(fragment), planning.estimates
        root = None if planning.graph is None else operator.relational
        us = None if root is None else planning.cost.of_operators(root.walk(), estimates)
        if root is None or us is None:
            return None
        rows, values = estimates.rows(root), estimates.variable_size(root, variable)
        if rows is None or values is None:
            return None
        return cls(operator.columns, rows, values.values, us / planning.cost.us_per_adjacency_entry)


class CandidateEstimate(NamedTuple):
    """Size of the candidate set of one variable, and the cost of finding it.

    Args:
        size: of the candidate set.
        whole_us: cost of finding all of it.
        question_us: fixed cost of testing one set of entities.
        paid_us: part of both already paid by sampling.
        in_store: whether one of the patterns needs the store.
        patterns: for each fragment (compiled pattern or its operators over columns, None if only the store can answer;
            values of the variable; store rows for each value, 1 if unknown).
    """

    size: Cardinality
    whole_us: float
    question_us: float
    paid_us: float
    in_store: bool
    patterns: list[tuple[PreparedPattern | ColumnsEstimate | None, float, float]]


def graph_of(
    ranking: RankedPlan,
    variable: str,
    planning: PlannerContext,
    entities: float,
    filters: Sequence[float],
    scored_us: Callable[[float, float], float],
    matching: float,
) -> CandidateEstimate:
    """Estimate of the candidate set of a variable.

    `filters` are the match bounds of the filtering MATCHes, `scored_us` the cost of scoring (entities, matching ones),
    and `matching` the entities tested by the graph if the text goes first.
    """
    cost, n = planning.cost, max(entities, 1.0)
    low = estimate = high = entities
    whole_us = question = paid = 0.0
    in_store = False
    patterns: list[tuple[PreparedPattern | ColumnsEstimate | None, float, float]] = []
    passing = inf  # the fewest entities that a filter by text leaves
    if filters:
        names = [match.match.entity.name for match in ranking.filters]
        passing = min((bound for name, bound in zip(names, filters, strict=True) if name == variable), default=inf)
    for fragment in ranking.by_variable[variable]:
        prepared: PreparedPattern | ColumnsEstimate | None = planning.prepared(fragment)
        prepared, rows_each = prepared or ColumnsEstimate.of(fragment, variable, planning), 1.0
        if prepared is None:
            in_store = True
            expected = planning.store_estimate(fragment, variable)
            sized = None if expected is None else expected.values
            wanted = _worth_reading(matching, ranking.k, n, cost, sized)
            sample = planning.sample_prefix(fragment, variable, wanted) if wanted else None
            size = sampled_size(sample, entities, sized)
            rows_each = _rows_each(sample, expected, fragment, variable)
            rows = n if _has_closure(fragment) else size.estimate * rows_each
            if expected is not None:
                rows = max(rows, expected.read)

            rows_us = min(rows * cost.us_per_store_row, passing * cost.us_per_probe_in_store)
            whole_us += rows_us
            question += cost.us_per_store_question
            paid += rows_us + cost.us_per_store_question if sample is not None and sample.is_whole else 0.0
        else:
            size = prepared.size(variable)
            whole_us += prepared.work(variable) * cost.us_per_adjacency_entry
            question += cost.us_per_graph_question
        patterns.append((prepared, size.estimate, rows_each))
        low = max(0.0, low + size.low - entities)
        estimate = estimate * size.estimate / n
        high = min(high, size.high)
    for match, bound in zip(ranking.filters, filters, strict=True) if filters else ():
        entity, share = match.match.entity.name, min(1.0, bound / n)
        question += cost.us_per_text_scoring
        if entity == variable:
            # Either the entities left by the fragments are scored, or the complete relation is read.
            whole_us += min(bound * cost.us_per_scored_posting, scored_us(estimate, estimate * share))
            estimate, high = estimate * share, min(high, bound)
        else:
            whole_us += bound * cost.us_per_scored_posting
            if ranking.links(variable, entity):
                estimate *= share
        low = 0.0
    size = Cardinality(low, max(estimate, 1.0), max(high, 1.0))
    return CandidateEstimate(size, whole_us, question, paid, in_store, patterns)


def _worth_reading(
    matching: float, k: int | None, entities: float, cost: CostModel, expected: Cardinality | None
) -> int:
    """Number of solutions of a pattern to sample before a plan is chosen; 0 if the text is cheap, the size is known, or
    more solutions than can be sampled are expected. `matching` is as in `graph_of`, `expected` from the statistics of
    the graph.
    """
    if expected is not None and expected.low == expected.high:
        return 0
    matches_us = matching * (cost.us_per_scored_posting + cost.us_per_probe_in_store)
    if matches_us < MIN_READING_US + cost.us_per_store_question:
        return 0
    even_us = matches_us + cost.us_per_text_scoring + cost.us_per_store_question
    if k is not None:  # the best k of s candidates are among the best k * entities / s of the text
        each = cost.us_per_hit + cost.us_per_probe_in_store
        even_us = min(even_us, sqrt(max(k, 1) * entities * each * cost.us_per_store_row))
    maximum = min(MAX_READ, int(even_us / cost.us_per_store_row / PART_READ))
    return 0 if expected is not None and expected.estimate > maximum else maximum


def _rows_each(sample: PrefixSample | None, expected: StoreEstimate | None, fragment: Fragment, variable: str) -> float:
    """Solutions of a fragment for each value of a variable, from its sample or from statistics."""
    if fragment.variables == {variable} and whole(fragment.group) is not fragment.group:
        return 1.0
    if sample is not None:
        return max(1.0, sample.rows / max(sample.values, 1))
    return 1.0 if expected is None else max(1.0, expected.rows / max(expected.values.estimate, 1.0))


def _has_closure(fragment: Fragment) -> bool:
    """Whether a pattern has `*` or `+`, for which an engine visits every entity: 200 ms for 18 of 20,000 (Oxigraph
    0.5.13, Fuseki 5.6).
    """
    return has(fragment.group, ast.PathRepeat)


def sampled_size(sample: PrefixSample | None, entities: float, expected: Cardinality | None = None) -> Cardinality:
    """Estimate of the entities of a pattern that only the store can evaluate, from a sample and from statistics, if
    any.

    >>> sampled_size(PrefixSample(rows=60, values=40, is_whole=True), 10_000.0)
    Cardinality(low=0.0, estimate=40.0, high=40.0)
    >>> sampled_size(PrefixSample(rows=300, values=100, is_whole=False), 10_000.0)  # 9,900 / ln(100): log-uniform
    Cardinality(low=100.0, estimate=2149.7576854210965, high=10000.0)
    >>> sampled_size(PrefixSample(rows=300, values=100, is_whole=False), 10_000.0, Cardinality(0.0, 40.0, 500.0))
    Cardinality(low=100.0, estimate=248.53397382384475, high=500.0)
    """
    if sample is None:
        if expected is None:
            return Cardinality(0.0, entities * UNKNOWN_SHARE, entities)
        return Cardinality(*(min(size, entities) for size in expected))
    maximum = entities if expected is None else min(entities, expected.high)
    values = min(float(sample.values), entities)
    if sample.is_whole or max(values, 1.0) >= maximum:
        return Cardinality(0.0, values, values)
    return Cardinality(values, (maximum - values) / log(maximum / max(values, 1.0)), maximum)


def joined(matching: float, size: Cardinality, entities: float, pushdown: PushdownCount | None) -> list[float]:
    """Entities that satisfy the graph and match, in each of CORRELATIONS.

    `matching` is the match bound, `size` the candidate set, `pushdown` the count of a remote index.

    >>> joined(100.0, Cardinality(0.0, 500.0, 1_000.0), 10_000.0, None)  # 5 if independent
    [0.625, 5.0, 40.0]
    >>> joined(100.0, Cardinality(0.0, 500.0, 1_000.0), 10_000.0, PushdownCount("paper", 12.0, is_whole=False))
    [0.625, 5.0, 12.0]
    """
    by_chance = matching * size.estimate / max(entities, 1.0)
    lower, upper = matching + size.low - entities, min(matching, size.high)
    if pushdown is not None:
        upper = min(upper, pushdown.most)
        lower = min(pushdown.most, matching) if pushdown.is_whole else lower
    cases = list[float]()
    for factor in CORRELATIONS:
        entities = by_chance * factor
        entities = lower if entities < lower else entities
        cases.append(upper if entities > upper else entities)
    return cases
