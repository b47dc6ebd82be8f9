"""Recall of the HNSW graph of a server, measured when it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.vector.elasticsearch.bodies import MAX_CANDIDATES

if TYPE_CHECKING:
    from hybridkg.interfaces.progress import Progress
    from hybridkg.vector.elasticsearch.index import ElasticVectorIndex

MIN_BREADTH = 128
"""Minimum of the candidates of the first search; later searches grow with their depth, up to MAX_CANDIDATES."""

WANTED_RECALL = 0.95

SAMPLE = 100
"""Vectors of each kind that measure the recall: standard error at most .022 at .95."""

NOISE = 1.0
"""Length of the noise that is added to a vector of the index to make a query near it: their cosine is .71."""


def calibrate_breadth(index: ElasticVectorIndex, progress: Progress) -> tuple[int, dict[str, float]]:
    """Raises the breadth of the first search until the recall is WANTED_RECALL or the graph does not pay.

    Args:
        index: whose header has the breadth MIN_BREADTH.
        progress: counts queries.

    Returns:
        (breadth, recall by name): `recall@10` of its own vectors, without themselves, and of vectors near them.
    """
    draw = np.random.default_rng(0)
    query = VectorQuery()
    if index.is_exact(query, 1):
        return index.breadth, {}
    own = index.vectors(draw.choice(index.ids, min(SAMPLE, index.size), replace=False))
    noise = draw.standard_normal(own.shape)
    near = own + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    kinds = {"recall@10": (own, 1), "recall@10 beside": (near, 0)}
    progress.start("measuring the recall of the graph", len(own) * len(kinds))
    truth = {name: [_best(index, one, first, exact=True) for one in some] for name, (some, first) in kinds.items()}
    while True:
        recall = {}
        for name, (some, first) in kinds.items():
            results = [_best(index, one, first, exact=False) for one in some]
            shares = [len(a & b) / len(b) for a, b in zip(results, truth[name], strict=True)]
            recall[name] = round(sum(shares) / len(shares), 4)
        if min(recall.values()) >= WANTED_RECALL or 2 * index.breadth > MAX_CANDIDATES:
            break
        index.breadth *= 2
        if index.is_exact(query, 1):
            break
    progress.done(len(own) * len(kinds))
    return index.breadth, recall


def _best(index: ElasticVectorIndex, vector: Vectors, first: int, *, exact: bool) -> set[int]:
    """Ten entities near a vector, after the first ones."""
    query = VectorQuery(vector=tuple(map(float, vector)), exact=exact)
    return set(index.topk(query, first + 10)[0][first:].tolist())
