"""Upper bounds of model scores that Elasticsearch computes, up to the rounding of 32 bits.

Ordered by them, the best k are found early; hybridkg then computes the scores themselves. Another model is one function
and one line here; for a model without a bound every match is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hybridkg.remote.elasticsearch.server import Body
from hybridkg.text.elasticsearch.bodies import TERM_FREQUENCY, WORDS_AT_ONCE, counted, occurs, words_of
from hybridkg.text.elasticsearch.wordcounts import ItemCounts
from hybridkg.text.match_query.items import Item, ResolvedQuery
from hybridkg.text.models.bm25f import DEFAULT_K1 as BM25F_K1
from hybridkg.text.models.bm25f import idf
from hybridkg.text.models.lucene import DEFAULT_B, DEFAULT_K1, MAX_LENGTH

Totals = Sequence[tuple[int, int]]
"""(entities, tokens) of each field of the index."""

FIELD = f"params.w * {TERM_FREQUENCY} / (1 - params.b + params.b * doc[params.l].value / params.m)"
TERM = "params.g * _score / (params.k1 + _score)"
FLAT = (
    "double length = 0; "
    "for (int i = 0; i < params.f.size(); i++) { "
    "def held = doc[params.f.get(i)]; if (held.size() > 0) { length += params.w.get(i) * held.value; } } "
    "return params.g * (_score / (_score + params.k + params.l * Math.min(length, params.c)) + params.e)"
)

LOST_DIGITS = 1e-6
"""Lucene's `weight - weight / (1 + x)` loses digits of the weight, however small the difference is: some 6e-8 of it
each time. The bound is raised by this share of the supremum of the term's score."""

SMALLEST = 1e-9
"""Weights, boosts and k1 between this and its inverse are safe in 32 bits: none vanishes."""

MIN_LENGTH_RATIO = 0.78
"""The minimum ratio of the decoded length and the length: a length byte loses at most 1/9, and `combined_fields` rounds
twice: (8/9)^2 = 0.79."""


def bound_clauses(
    model: str, query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int
) -> list[Body]:
    """Clauses whose sum bounds the model's score; none where no bound is known."""
    make = BOUNDS.get(model)
    numbers = [*(f.weight for f in query.fields if f.weight), *query.counts.values(), query.arguments.get("k1", 1.0)]
    safe = all(SMALLEST <= number <= 1 / SMALLEST for number in numbers)
    # The bounds hold for the default formulas and for words: for another form, or pairs, every match is scored.
    words = sum(len(words_of(patterns)) for item in query.counts for patterns in item.places)
    other_form = any(word != "lucene" for word in query.choices.values())
    if make is None or not safe or other_form or query.ordered or query.unordered or words > WORDS_AT_ONCE:
        return []
    return make(query, totals, counts, n_entities)


def bm25f(query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int) -> list[Body]:
    """BM25F itself for words. A phrase, whose frequency no script sees, counts as if it filled the field."""
    clauses: list[Body] = []
    k1, model_b = query.arguments.get("k1", BM25F_K1), query.arguments.get("b")
    for item, count in query.counts.items():
        gain = count * idf(counts[item].df, n_entities)
        if item.positional:
            clauses.append({"constant_score": {"filter": occurs(item, query.fields), "boost": gain}})
            continue
        inner: list[Body] = []
        for f, patterns in zip(query.fields, item.places, strict=True):
            entities, tokens = totals[f.number]
            if patterns and entities:
                b = f.arguments.get("b", f.b if model_b is None else model_b)
                params = {"w": f.weight, "b": b, "m": tokens / entities, "l": f"length.{f.name}"}
                script = {"source": FIELD, "params": params}
                inner.append(counted(f.name, words_of(patterns), script))
        if inner:
            script = {"source": TERM, "params": {"g": gain, "k1": k1}}
            clauses.append({"script_score": {"query": {"bool": {"should": inner}}, "script": script}})
    return clauses


def bm25(query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int) -> list[Body]:
    """BM25 over the ON fields as one text, with the shortest length that its byte may stand for."""
    on = [f.number for f in query.fields]
    mean = sum(totals[number][1] for number in on) / max(n_entities, 1)
    weights = [1.0] * len(on)
    return _flat(query, lambda item: (idf(counts[item].df, n_entities), mean, on), weights)


def combined_fields(
    query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int
) -> list[Body]:
    """BM25F-simple where Elasticsearch's own query does not apply: another k1 or b, or a phrase."""
    del n_entities
    weights = [f.weight for f in query.fields]

    def statistics(item: Item) -> tuple[float, float, list[int]]:
        own = [(f.number, f.weight) for f, patterns in zip(query.fields, item.places, strict=True) if patterns]
        n = max(totals[number][0] for number, _ in own)
        mean = sum(weight * totals[number][1] for number, weight in own) / max(n, 1)
        return idf(max(counts[item].field_df), n), mean, [number for number, _ in own]

    return _flat(query, statistics, weights)


def _flat(
    query: ResolvedQuery, statistics: Callable[[Item], tuple[float, float, list[int]]], weights: Sequence[float]
) -> list[Body]:
    """BM25 of one length for all fields; `statistics` are idf, mean length, and the fields (by number) whose lengths
    count.
    """
    k1, b = query.arguments.get("k1", DEFAULT_K1), query.arguments.get("b", DEFAULT_B)
    clauses: list[Body] = []
    for item, count in query.counts.items():
        own_idf, mean, lengths = statistics(item)
        gain = count * own_idf * (k1 + 1)
        if item.positional:
            clauses.append({"constant_score": {"filter": occurs(item, query.fields), "boost": gain}})
            continue
        inner: list[Body] = []
        for f, patterns, weight in zip(query.fields, item.places, weights, strict=True):
            if patterns:
                script = {"source": f"params.w * {TERM_FREQUENCY}", "params": {"w": weight}}
                inner.append(counted(f.name, words_of(patterns), script))
        measured = [(f, weight) for f, weight in zip(query.fields, weights, strict=True) if f.number in lengths]
        params = {
            "g": gain,
            "k": k1 * (1 - b),
            "l": k1 * b * MIN_LENGTH_RATIO / mean if mean else 0.0,
            "c": float(MAX_LENGTH),
            "e": LOST_DIGITS,
            "f": [f"length.{f.name}" for f, _ in measured],
            "w": [weight for _, weight in measured],
        }
        script = {"source": FLAT, "params": params}
        clauses.append({"script_score": {"query": {"bool": {"should": inner}}, "script": script}})
    return clauses


BOUNDS: dict[str, Callable[[ResolvedQuery, Totals, Mapping[Item, ItemCounts], int], list[Body]]] = {
    "bm25": bm25,
    "bm25f": bm25f,
    "combined_fields": combined_fields,
}
