"""Mapping and queries of a vector index in Elasticsearch.

    node     the number of the document (remote/elasticsearch/numbers.py), to filter and to page by
    vector   of length 1, so that dot products are cosines; 8-bit codes in the HNSW graph, and float32 next to them

One script computes every score of an answer from the float32 numbers: the graph only proposes candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybridkg import __version__
from hybridkg.config.settings import ElasticSettings
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers
from hybridkg.remote.elasticsearch.pages import IDS_AT_ONCE
from hybridkg.remote.elasticsearch.server import Body

MAX_DIMENSIONS = 4_096
"""Limit of a `dense_vector`."""

MAX_CANDIDATES = 10_000
"""Largest `num_candidates` of a `knn` search."""

LINKS, BUILD_BREADTH = 32, 100
"""`m` and `ef_construction` of the graph; as many links as the index `hnsw` has."""

SCORE = "Math.max(dotProduct(params.q, 'vector') + 1.0, 0.0)"
"""Cosine + 1: Elasticsearch refuses a negative score."""

SCORE_ERROR = 1e-6
"""Upper bound of the float32 rounding of a score between 0 and 2."""

VECTOR = "doc['vector'].vectorValue"
"""The float32 numbers as they were sent; `_source` excludes them, and by default does so from version 9.2 on."""


def index_body(dimensions: int, settings: ElasticSettings, meta: Mapping[str, str]) -> dict[str, Any]:
    """Settings and mapping of a new index, which is not searchable yet; `meta` in the mapping identifies it."""
    vector = {
        "type": "dense_vector",
        "dims": dimensions,
        "index": True,
        "similarity": "dot_product",
        "index_options": {"type": "int8_hnsw", "m": LINKS, "ef_construction": BUILD_BREADTH},
    }
    return {
        "settings": {"number_of_shards": settings.shards, "number_of_replicas": 0, "refresh_interval": "-1"},
        "mappings": {
            "dynamic": "strict",
            "_meta": {"hybridkg": __version__, **meta},
            "_source": {"excludes": ["vector"]},
            "properties": {"node": {"type": "long"}, "vector": vector},
        },
    }


def score_query(vector: Vectors, among: Body | None = None, within: float | None = None) -> Body:
    """Query that scores all entities, or those that match `among`.

    Args:
        vector: float32[dimensions].
        among: filter; None for all entities.
        within: minimum similarity; the server may return some that are lower by SCORE_ERROR.
    """
    body: Body = {
        "query": {"match_all": {}} if among is None else {"bool": {"filter": [among]}},
        "script": {"source": SCORE, "params": {"q": vector.tolist()}},
    }
    if within is not None:
        body["min_score"] = max(within + 1.0 - SCORE_ERROR, 0.0)
    return {"script_score": body}


def knn_query(vector: Vectors, breadth: int, among: Body | None = None) -> Body:
    """Query for the `breadth` nearest neighbours that the graph of each shard finds; otherwise as `score_query`."""
    knn: Body = {"field": "vector", "query_vector": vector.tolist(), "k": breadth, "num_candidates": breadth}
    if among is not None:
        knn["filter"] = among
    return {"script_score": {"query": {"knn": knn}, "script": {"source": SCORE, "params": {"q": vector.tolist()}}}}


def entity_filter(some: Ids, everyone: Ids, numbers: DocumentNumbers) -> Body:
    """Filter for some entities: by the numbers of their documents, or by those of the others where these are fewer.

    Args:
        some: uint32[m], ascending, a subset of `everyone`.
        everyone: uint32[n], ascending.
        numbers: of the documents.
    """
    if 2 * len(some) <= len(everyone):
        return _with_numbers(numbers.of(some))
    others = np.setdiff1d(everyone, some, assume_unique=True)
    return {"bool": {"must_not": [_with_numbers(numbers.of(others))]}} if len(others) else {"match_all": {}}


def _with_numbers(numbers: Ids) -> Body:
    parts: list[Body] = [
        {"terms": {"node": numbers[start : start + IDS_AT_ONCE].tolist()}}
        for start in range(0, len(numbers), IDS_AT_ONCE)
    ]
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def cosines(scores: Scores) -> Scores:
    """Cosines of scores 0..2; capped at 1, because lengths of float32 vectors are some 1e-8 too large."""
    return np.minimum(scores - 1.0, 1.0)
