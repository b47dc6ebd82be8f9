"""Native ranking: models whose scores Elasticsearch computes itself, equal to hybridkg's.

These are `combined_fields` over fields of one analyzer in an index of one shard, and `bm25` over one field, with the k1
and b that the index was built with; one clause per distinct word, boosted by its count in the query. Phrases, and words
with alternatives, are scored by hybridkg, because Lucene gives a phrase the sum of its words' idf. Another model that
the server can rank by is one function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hybridkg.interfaces.text_index import TextQuery
from hybridkg.remote.elasticsearch.server import Body
from hybridkg.text.elasticsearch.bodies import path
from hybridkg.text.elasticsearch.header import IndexIdentity
from hybridkg.text.match_query.items import Item, ResolvedQuery

MAX_SAFE = 1024.0
"""Multiples of 0.5 up to here, times frequencies of some thousand, are exact in the 24 bits of a float32."""


def native_clauses(query: TextQuery, resolved: ResolvedQuery, index: IndexIdentity) -> list[Body]:
    """The clauses whose scores add up to the model's; none where Elasticsearch cannot rank by it."""
    make = NATIVE.get(query.model)
    if make is None or (index.shards > 1 and query.model == "combined_fields"):
        return []  # Elasticsearch does not add up the statistics of all fields over several shards
    if any(item.positional or max(map(len, item.places), default=0) > 1 for item in resolved.counts):
        return []
    defaults = {"k1": 1.2, "b": 0.75}
    for name, built_with in (("k1", index.k1), ("b", index.b)):
        if np.float32(resolved.arguments.get(name, defaults[name])) != np.float32(built_with):
            return []
    return make(resolved)


def order_matters(query: ResolvedQuery) -> bool:
    """Whether the last digits of native scores depend on the order in which Lucene adds up the fields.

    It adds weight times frequency in 32 bits. Two fields have the same sum in any order, and so have weights that are
    multiples of 0.5, whose sums are exact.
    """
    weights = [f.weight for f in query.fields]
    return len(weights) > 2 and not all(weight <= MAX_SAFE and (2 * weight).is_integer() for weight in weights)


def combined_fields(query: ResolvedQuery) -> list[Body]:
    """BM25F-simple, over the fields in which each word may occur."""
    clauses = []
    for item, count in query.counts.items():
        allowed = [f for f, patterns in zip(query.fields, item.places, strict=True) if patterns]
        fields = [f"{path(f.name)}^{f.weight!r}" for f in allowed]
        clauses.append({"combined_fields": {"query": _word(item), "fields": fields, "boost": _boost(count)}})
    return clauses


def bm25(query: ResolvedQuery) -> list[Body]:
    """BM25 of one field; hybridkg's `bm25` reads several as one text, which Elasticsearch cannot."""
    if len(query.fields) != 1:
        return []
    return [
        {"term": {path(query.fields[0].name): {"value": _word(item), "boost": _boost(count)}}}
        for item, count in query.counts.items()
    ]


def _word(item: Item) -> str:
    """The word, the same in all fields of one analyzer."""
    return next(item.patterns()).words[0][1]


def _boost(count: float) -> float:
    """The count as a 32-bit number, as Elasticsearch stores it."""
    return float(np.float32(count))


NATIVE: dict[str, Callable[[ResolvedQuery], list[Body]]] = {"bm25": bm25, "combined_fields": combined_fields}
