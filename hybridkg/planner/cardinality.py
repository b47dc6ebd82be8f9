"""Cardinalities that the costs of a ranking are computed from: of its relations and of what its patterns leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, sqrt
from typing import NamedTuple

from hybridkg.algebra.nodes import Fragment
from hybridkg.interfaces.graph_index import Cardinality, PreparedPattern
from hybridkg.interfaces.graph_store import PrefixSample
from hybridkg.operators.pushdown_conditions import whole
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext, PushdownCount, StoreEstimate
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.redundant_fragments import redundant_fragments
from hybridkg.query import ast
from hybridkg.query.walk import walk

MIN_READING_US = 500.0
"""A pattern is begun to be read before a plan is chosen where matches cost so much, and a round trip."""

PART_READ = 2.5
"""At most one part in so many of what a plan costs that begins with the text, and of what both cost where they are as
dear: so a question too many is worth less than half a plan."""

MAX_READ = 2_000
"""Solutions of it, whatever the text costs."""

UNKNOWN_SHARE = 0.1
"""Of the entities in a pattern that only the store can say anything about, before it is asked."""

CORRELATIONS = (1 / 8, 1.0, 8.0)
"""So many times as many entities as chance would leave satisfy graph and text: they exclude each other, have nothing to
do with each other, belong together. Taken to be equally likely."""


class RankingShape(NamedTuple):
    """What no value of a parameter changes.

    Args:
        asked: fragments that are asked for rows once the entities are chosen.
        is_fused: whether lists are fused.
        only_texts: whether none of the MATCHes that score is a NEAR.
        is_far: whether a relation is on a server.
        entities: of the index.
        scored: the places of the scored MATCHes among those of the spine.
    """

    asked: int
    is_fused: bool
    only_texts: bool
    is_remote: bool
    entities: float
    scored: tuple[int, ...]

    @classmethod
    def of(cls, ranking: RankedPlan, planning: PlannerContext) -> RankingShape:
        """Of a plan with parameters, too."""
        asked = len(ranking.spine.fragments) - len(redundant_fragments(ranking, planning))
        only_texts = all(isinstance(match.match, ast.Match) for match in ranking.scored)
        place = {id(match): at for at, match in enumerate(ranking.spine.matches)}
        scored = tuple(place[id(match)] for match in ranking.scored)
        is_far = planning.is_remote(ranking.matches)
        return cls(asked, ranking.fuses, only_texts, is_far, float(planning.entities), scored)


class Lists(NamedTuple):
    """Upper bounds on how many entities match each MATCH of a ranking, and the postings that are read for its best.

    Args:
        joined: float[matches] of the spine.
        scored: those of the scored MATCHes.
        optional: those of the MATCHes that OPTIONAL adds.
        filters: those of the MATCHes that filter.
        pushdown_count: what a remote index has counted of the first MATCH and of what the graph says of it.
        first: that of the first MATCH, with the conditions that go along with it to a remote index.
        best_first: `scored` for a plan that reads the best first; with these conditions where one MATCH is scored.
        postings: the best are found among so many, for each scored MATCH.
        is_too_long: whether a remote index has so many matches that the graph goes first (operators/text_join.py).
    """

    joined: list[float]
    scored: list[float]
    optional: list[float]
    filters: list[float]
    pushdown_count: PushdownCount | None
    first: float
    best_first: list[float]
    postings: list[float]
    is_too_long: bool

    @classmethod
    def of(cls, ranking: RankedPlan, planning: PlannerContext, fixed: RankingShape) -> Lists:
        """Asks the indexes."""
        joined_lists = [float(planning.match_count_bound(match.match)) for match in ranking.spine.matches]
        scored = [*map(joined_lists.__getitem__, fixed.scored)]
        agreed = planning.pushdown_count(ranking) if fixed.is_remote else None
        first = joined_lists[0] if agreed is None else agreed.most
        postings = scored if fixed.only_texts else [planning.read(match.match) for match in ranking.scored]
        optional = (
            [float(planning.match_count_bound(match.match)) for match in ranking.optional] if ranking.optional else []
        )
        filters = (
            [float(planning.match_count_bound(match.match)) for match in ranking.filters] if ranking.filters else []
        )
        is_text, text = isinstance(ranking.spine.matches[0].match, ast.Match), planning.text
        is_remote = text is not None and (text.text_is_remote if is_text else text.is_remote)
        return cls(
            joined=joined_lists,
            scored=scored,
            optional=optional,
            filters=filters,
            pushdown_count=agreed,
            first=first,
            best_first=[first] if fixed.scored == (0,) else scored,
            postings=postings,
            is_too_long=text is not None and is_remote and first > text.max_remote_scan,
        )


class CandidateEstimate(NamedTuple):
    """What the patterns of a ranking leave of the entities of one variable, and what it takes to find out.

    Args:
        size: of the candidate set.
        whole_us: to find all of it.
        question_us: once for every set that is asked about.
        known_us: of both, what is known already.
        patterns: of its fragments, None where the store is asked; how many values each leaves to the variable; and how
            many rows the store has for each of them, as far as that is known.
    """

    size: Cardinality
    whole_us: float
    question_us: float
    known_us: float
    patterns: list[tuple[PreparedPattern | None, float, float]]


def graph_of(
    ranking: RankedPlan,
    variable: str,
    planning: PlannerContext,
    entities: float,
    filters: Sequence[float],
    scored_us: Callable[[float, float], float],
    matching: float,
) -> CandidateEstimate:
    """What is known of the candidate set of a variable.

    Args:
        ranking: the plan, taken apart.
        variable: whose entities a MATCH ranks or filters.
        planning: sizes and unit costs.
        entities: of the index.
        filters: how many match each MATCH that filters.
        scored_us: what it takes to score some entities, so many of which match.
        matching: entities that the graph is asked about if the text goes first.
    """
    cost, n = planning.cost, max(entities, 1.0)
    low = guess = high = entities
    whole_us = question = known = 0.0
    patterns: list[tuple[PreparedPattern | None, float, float]] = []
    names = [match.match.entity.name for match in ranking.filters] if filters else []
    passing = min((most for name, most in zip(names, filters, strict=True) if name == variable), default=inf)
    for fragment in ranking.by_variable[variable]:
        prepared, rows_each = planning.prepared(fragment), 1.0
        if prepared is None:
            expected = planning.store_estimate(fragment, variable)
            sized = None if expected is None else expected.values
            wanted = _worth_reading(matching, ranking.k, n, cost, sized)
            begun = planning.sample_prefix(fragment, variable, wanted) if wanted else None
            own = in_store(begun, entities, sized)
            rows_each = _rows_each(begun, expected, fragment, variable)
            rows = n if _has_closure(fragment) else own.estimate * rows_each
            if expected is not None:
                rows = max(rows, expected.read)
            # Of those that pass a filter by text, or of all.
            rows_us = min(rows * cost.us_per_store_row, passing * cost.us_per_probe_in_store)
            whole_us += rows_us
            question += cost.us_per_store_question
            known += rows_us + cost.us_per_store_question if begun is not None and begun.is_whole else 0.0
        else:
            own = prepared.size(variable)
            whole_us += prepared.work(variable) * cost.us_per_adjacency_entry
            question += cost.us_per_graph_question
        patterns.append((prepared, own.estimate, rows_each))
        low, guess, high = max(0.0, low + own.low - entities), guess * own.estimate / n, min(high, own.high)
    for match, most in zip(ranking.filters, filters, strict=True) if filters else ():
        entity, share = match.match.entity.name, min(1.0, most / n)
        question += cost.us_per_text_scoring
        if entity == variable:
            # Scored are the entities that the fragments leave, or else all that match.
            whole_us += min(most * cost.us_per_scored_posting, scored_us(guess, guess * share))
            guess, high = guess * share, min(high, most)
        else:
            whole_us += most * cost.us_per_scored_posting
            if ranking.links(variable, entity):
                guess *= share
        low = 0.0
    return CandidateEstimate(Cardinality(low, max(guess, 1.0), max(high, 1.0)), whole_us, question, known, patterns)


def _worth_reading(
    matching: float, k: int | None, entities: float, cost: CostModel, expected: Cardinality | None
) -> int:
    """How many solutions of a pattern to read before a plan is chosen; 0 where the text costs little, or it is known
    how many there are, or so few are not expected to be all.

    Args:
        matching: entities that the graph is asked about if the text goes first.
        k: rows wanted.
        entities: of the index.
        cost: unit costs.
        expected: by the statistics of the graph; None without any.
    """
    if expected is not None and expected.low == expected.high:
        return 0
    matches_us = matching * (cost.us_per_scored_posting + cost.us_per_probe_in_store)
    if matches_us < MIN_READING_US + cost.us_per_store_question:
        return 0
    even_us = matches_us + cost.us_per_text_scoring + cost.us_per_store_question
    if k is not None:  # of s entities the best k are among the best k * entities / s of the text
        each = cost.us_per_hit + cost.us_per_probe_in_store
        even_us = min(even_us, sqrt(max(k, 1) * entities * each * cost.us_per_store_row))
    most = min(MAX_READ, int(even_us / cost.us_per_store_row / PART_READ))
    return 0 if expected is not None and expected.estimate > most else most


def _rows_each(begun: PrefixSample | None, expected: StoreEstimate | None, fragment: Fragment, variable: str) -> float:
    """How many solutions a fragment has for each value of a variable, as its first solutions say, or statistics."""
    if fragment.variables == {variable} and whole(fragment.group) is not fragment.group:
        return 1.0
    if begun is not None:
        return max(1.0, begun.rows / max(begun.values, 1))
    return 1.0 if expected is None else max(1.0, expected.rows / max(expected.values.estimate, 1.0))


def _has_closure(fragment: Fragment) -> bool:
    """Whether an engine looks at every entity to find those of a fragment, by `*` or `+`: 200 ms for 18 of 20,000
    (Oxigraph 0.5.13, Fuseki 5.6).
    """
    return any(isinstance(node, ast.PathRepeat) for node in walk(fragment.group))


def in_store(begun: PrefixSample | None, entities: float, expected: Cardinality | None = None) -> Cardinality:
    """How many entities a pattern has that only the store knows.

    Args:
        begun: its first solutions; None where they have not been read.
        entities: of the index.
        expected: by the statistics of the graph; None without any.

    >>> in_store(Beginning(rows=60, values=40, is_whole=True), 10_000.0)
    Size(low=0.0, guess=40.0, high=40.0)
    >>> in_store(Beginning(rows=300, values=100, is_whole=False), 10_000.0)  # 9,900 / ln(100): all magnitudes as likely
    Size(low=100.0, guess=2149.7576854210965, high=10000.0)
    >>> in_store(Beginning(rows=300, values=100, is_whole=False), 10_000.0, Size(0.0, 40.0, 500.0))
    Size(low=100.0, guess=248.53397382384475, high=500.0)
    """
    if begun is None:
        if expected is None:
            return Cardinality(0.0, entities * UNKNOWN_SHARE, entities)
        return Cardinality(*(min(size, entities) for size in expected))
    most = entities if expected is None else min(entities, expected.high)
    values = min(float(begun.values), entities)
    if begun.is_whole or max(values, 1.0) >= most:
        return Cardinality(0.0, values, values)
    return Cardinality(values, (most - values) / log(most / max(values, 1.0)), most)


def joined(most: float, size: Cardinality, entities: float, agreed: PushdownCount | None) -> tuple[float, float, float]:
    """How many entities satisfy the graph and match, in each of CORRELATIONS.

    Args:
        most: that match.
        size: of those that satisfy the graph.
        entities: of the index.
        agreed: what the index has counted of them.

    >>> joined(100.0, Size(0.0, 500.0, 1_000.0), 10_000.0, None)  # 5 by chance
    (0.625, 5.0, 40.0)
    >>> joined(100.0, Size(0.0, 500.0, 1_000.0), 10_000.0, Agreed("paper", 12.0, is_whole=False))
    (0.625, 5.0, 12.0)
    """
    by_chance, least, highest = (
        most * size.estimate / max(entities, 1.0),
        most + size.low - entities,
        min(most, size.high),
    )
    if agreed is not None:
        highest = min(highest, agreed.most)
        least = min(agreed.most, most) if agreed.is_whole else least
    few, some, many = CORRELATIONS
    return (
        min(max(by_chance * few, least), highest),
        min(max(by_chance * some, least), highest),
        min(max(by_chance * many, least), highest),
    )
