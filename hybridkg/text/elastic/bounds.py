"""Scores that Elasticsearch can compute and that are no less than a model's, but for the rounding of 32 bits.

In their order the best k are found early; hybridkg then computes the scores
themselves. Another model is one function and one line here; a model without
a bound is computed for every match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hybridkg.text.elastic.bodies import TERM_FREQUENCY, occurs, occurs_in
from hybridkg.text.elastic.server import Body
from hybridkg.text.elastic.wordcounts import ItemCounts
from hybridkg.text.models.bm25f import DEFAULT_K1, idf
from hybridkg.text.resolve import Item, ResolvedQuery

Totals = Sequence[tuple[int, int]]
"""Of each field of the index: entities that have it, tokens."""

FIELD = f"params.w * {TERM_FREQUENCY} / (1 - params.b + params.b * doc[params.l].value / params.m)"
TERM = "params.g * _score / (params.k1 + _score)"


def bound_clauses(
    model: str, query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int
) -> list[Body]:
    """Clauses whose sum bounds the model's score; none where no bound is known.

    Args:
        model: its name.
        query: the MATCH.
        totals: of the fields.
        counts: of the items.
        n_entities: that have any of the ON fields.
    """
    make = BOUNDS.get(model)
    return make(query, totals, counts, n_entities) if make else []


def bm25f(query: ResolvedQuery, totals: Totals, counts: Mapping[Item, ItemCounts], n_entities: int) -> list[Body]:
    """BM25F itself for words. A phrase, whose frequency no script sees, counts as if it filled the field."""
    clauses: list[Body] = []
    k1, model_b = query.arguments.get("k1", DEFAULT_K1), query.arguments.get("b")
    for item, count in query.counts.items():
        gain = count * idf(counts[item].df, n_entities)
        if any(len(words) > 1 for words in item.words):
            clauses.append({"constant_score": {"filter": occurs(item, query.fields), "boost": gain}})
            continue
        inner: list[Body] = []
        for f, words in zip(query.fields, item.words, strict=True):
            entities, tokens = totals[f.number]
            if words and entities:
                b = f.arguments.get("b", f.b if model_b is None else model_b)
                params = {"w": f.weight, "b": b, "m": tokens / entities, "l": f"length.{f.name}"}
                script = {"source": FIELD, "params": params}
                inner.append({"script_score": {"query": occurs_in(f.name, words), "script": script}})
        if inner:
            script = {"source": TERM, "params": {"g": gain, "k1": k1}}
            clauses.append({"script_score": {"query": {"bool": {"should": inner}}, "script": script}})
    return clauses


BOUNDS: dict[str, Callable[[ResolvedQuery, Totals, Mapping[Item, ItemCounts], int], list[Body]]] = {"bm25f": bm25f}
