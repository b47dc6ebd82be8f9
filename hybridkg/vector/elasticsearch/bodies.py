"""What an index of vectors looks like, and its questions.

    node     the entity's id, to filter and to page by
    vector   of length 1, so that dot products are cosines; in the graph (HNSW) as 8-bit codes, beside them as float32

Every score of an answer is that of one script, which computes it from the float32 numbers: the graph proposes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybridkg import __version__
from hybridkg.config.settings import ElasticSettings
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.remote.elasticsearch.pages import IDS_AT_ONCE
from hybridkg.remote.elasticsearch.server import Body

MAX_DIMENSIONS = 4_096
"""Of a `dense_vector`."""

MAX_CANDIDATES = 10_000
"""Of a `knn`: the largest `num_candidates`."""

LINKS, BUILD_BREADTH = 32, 100
"""`m` and `ef_construction` of the graph; the links are as many as those of the index `hnsw`."""

SCORE = "Math.max(dotProduct(params.q, 'vector') + 1.0, 0.0)"
"""A score may not be below 0."""

ABOUT = 1e-6
"""More than what 32 bits leave out of a score between 0 and 2."""

VECTOR = "doc['vector'].vectorValue"
"""Gives the float32 numbers as they were sent; `_source` has none, and by default none from version 9.2 on."""


def index_body(dimensions: int, settings: ElasticSettings, meta: Mapping[str, str]) -> dict[str, Any]:
    """Settings and mapping of a new index, not yet to be searched.

    Args:
        dimensions: of the vectors.
        settings: the number of shards.
        meta: kept in the mapping, to know the index again.
    """
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


def compared(vector: Vectors, among: Body | None = None, within: float | None = None) -> Body:
    """Everyone, or the entities of a query, with their scores.

    Args:
        vector: float32[dimensions].
        among: who takes part.
        within: leaves out who is surely less similar.
    """
    body: Body = {
        "query": {"match_all": {}} if among is None else {"bool": {"filter": [among]}},
        "script": {"source": SCORE, "params": {"q": vector.tolist()}},
    }
    if within is not None:
        body["min_score"] = max(within + 1.0 - ABOUT, 0.0)
    return {"script_score": body}


def nearest(vector: Vectors, breadth: int, among: Body | None = None) -> Body:
    """What the graph finds of everyone or of the entities of a query, with the scores of `compared`.

    Args:
        vector: float32[dimensions].
        breadth: how many each shard finds.
        among: who takes part.
    """
    knn: Body = {"field": "vector", "query_vector": vector.tolist(), "k": breadth, "num_candidates": breadth}
    if among is not None:
        knn["filter"] = among
    return {"script_score": {"query": {"knn": knn}, "script": {"source": SCORE, "params": {"q": vector.tolist()}}}}


def entities(some: Ids, everyone: Ids) -> Body:
    """The query of some entities: their ids, or where these are fewer the ids of the others.

    Args:
        some: uint32[m], ascending; all of them among `everyone`.
        everyone: uint32[n], ascending.
    """
    if 2 * len(some) <= len(everyone):
        return _with_ids(some)
    others = np.setdiff1d(everyone, some, assume_unique=True)
    return {"bool": {"must_not": [_with_ids(others)]}} if len(others) else {"match_all": {}}


def _with_ids(ids: Ids) -> Body:
    parts: list[Body] = [
        {"terms": {"node": ids[start : start + IDS_AT_ONCE].tolist()}} for start in range(0, len(ids), IDS_AT_ONCE)
    ]
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


def cosines(scores: Scores) -> Scores:
    """Of scores, 0..2: at most 1, for the lengths of float32 vectors are some 1e-8 too large."""
    return np.minimum(scores - 1.0, 1.0)
