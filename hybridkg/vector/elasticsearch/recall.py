"""How much of the true best the graph of a server finds, measured when it is built."""

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
"""Candidates of the first search, at least; those of the next grow as the depths do, up to MAX_CANDIDATES."""

WANTED_RECALL = 0.95

SAMPLE = 100
"""Vectors of each kind that measure the recall: standard error at most .022 at .95."""

BESIDE = 1.0
"""Length of what is added to a vector of the index to have one beside it: their cosine is .71."""


def measured(index: ElasticVectorIndex, progress: Progress) -> tuple[int, dict[str, float]]:
    """The breadth of the first search, raised until the recall is WANTED_RECALL or the graph is of no use.

    Args:
        index: of which the header says no more than MIN_BREADTH.
        progress: told about questions.

    Returns:
        (breadth, recall by name): `recall@10` of its own vectors, without themselves, and of vectors beside them.
    """
    draw = np.random.default_rng(0)
    asking = VectorQuery()
    if index.is_exact(asking, 1):
        return index.breadth, {}
    own = index.vectors(draw.choice(index.ids, min(SAMPLE, index.size), replace=False))
    noise = draw.standard_normal(own.shape)
    beside = own + BESIDE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    kinds = {"recall@10": (own, 1), "recall@10 beside": (beside, 0)}
    progress.start("measuring the recall of the graph", len(own) * len(kinds))
    truth = {name: [_best(index, one, first, exact=True) for one in some] for name, (some, first) in kinds.items()}
    while True:
        recall = {}
        for name, (some, first) in kinds.items():
            found = [_best(index, one, first, exact=False) for one in some]
            shares = [len(a & b) / len(b) for a, b in zip(found, truth[name], strict=True)]
            recall[name] = round(sum(shares) / len(shares), 4)
        if min(recall.values()) >= WANTED_RECALL or 2 * index.breadth > MAX_CANDIDATES:
            break
        index.breadth *= 2
        if index.is_exact(asking, 1):
            break
    progress.done(len(own) * len(kinds))
    return index.breadth, recall


def _best(index: ElasticVectorIndex, vector: Vectors, first: int, *, exact: bool) -> set[int]:
    """Ten entities near a vector, without the very first ones."""
    query = VectorQuery(vector=tuple(map(float, vector)), exact=exact)
    return set(index.topk(query, first + 10)[0][first:].tolist())
