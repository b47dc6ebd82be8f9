"""The document graph of some candidates: weighted edges from what they have in common, in channels, normalised.

    E^_ij = sum of w(item) over the items that i and j have in common, 0 on the diagonal
    E_ij  = E^_ij / sqrt(r_i r_j),  r_i = sum over k of E^_ik

Source: G-RAG (Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking", 2024), which normalises
"on the first and second dimension"; the symmetric form is our reading. w is 1 (`count`, as there) or 1 / ln(2 + df)
(`rare`), where df is the number of entities with the item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.ranking.rerankers.edges import MAX_DF, Items

Floats = NDArray[np.float64]

RARE, COUNT, NONE = "rare", "count", "none"
WEIGHTS = (RARE, COUNT, NONE)
"""How an item, or an edge, counts; `none`: every edge counts 1."""

ITEMS_AT_ONCE = 4_096
"""Columns of a block of the matrix of documents and items: 33 MB for 1,000 documents."""


@dataclass(frozen=True, eq=False)
class DocumentGraph:
    """A document graph.

    Args:
        edges: float64[channels, n, n], normalised, symmetric, 0 on the diagonal.
    """

    edges: Floats

    @property
    def size(self) -> int:
        return int(self.edges.shape[1])

    def messages(self, *, mean: bool = False, weighted: bool = True) -> Floats:
        """float64[n, n]: the matrix whose product with the vectors of nodes is what each receives.

        Args:
            mean: whether it is divided by the number of neighbours.
            weighted: whether edges count by their weight; else 1 each.
        """
        total = self.edges.sum(axis=0) if len(self.edges) else np.zeros((self.size, self.size))
        linked = total > 0
        total = total if weighted else linked.astype(np.float64)
        return total / np.maximum(linked.sum(axis=1), 1)[:, None] if mean else total


def common(items: Items, n: int, weight: str) -> Floats:
    """float64[n, n]: the weight of the items that two of n documents have in common.

    Documents 0 and 1 share item 7, which 6 entities have: 1 / ln 8.

    >>> one = Items(np.array([0, 1, 2]), np.array([7, 7, 8]), np.array([6, 6, 1]))
    >>> common(one, 3, "rare").round(4).tolist()
    [[0.0, 0.4809, 0.0], [0.4809, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    shared = np.zeros((n, n))
    kept = items.df <= MAX_DF
    _, places, counts = np.unique(items.items[kept], return_inverse=True, return_counts=True)
    rows, df = items.rows[kept], items.df[kept]
    new = np.cumsum(counts > 1) - 1  # items of one document link none
    several = counts[places] > 1
    rows, columns, df = rows[several], new[places[several]], df[several]
    order = np.argsort(columns, kind="stable")
    rows, columns, df = rows[order], columns[order], df[order]
    for first in range(0, int(columns[-1]) + 1 if len(columns) else 0, ITEMS_AT_ONCE):
        part = slice(*np.searchsorted(columns, [first, first + ITEMS_AT_ONCE]).tolist())
        block = np.zeros((n, ITEMS_AT_ONCE))
        values = np.ones(len(df[part])) if weight != RARE else 1.0 / np.sqrt(np.log(2.0 + df[part]))
        block[rows[part], columns[part] - first] = values
        shared += block @ block.T
    np.fill_diagonal(shared, 0.0)
    return shared


def normalised(weights: Floats) -> Floats:
    """E of E^ (see above); 0 / 0 = 0.

    >>> normalised(np.array([[0.0, 2.0, 2.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])).round(4).tolist()
    [[0.0, 0.7071, 0.7071], [0.7071, 0.0, 0.0], [0.7071, 0.0, 0.0]]
    """
    sums = weights.sum(axis=1)
    scale = np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)
    scaled: Floats = weights * scale[:, None] * scale[None, :]
    return scaled


def document_graph(channels: Sequence[Items], n: int, weight: str) -> DocumentGraph:
    """The graph of n documents."""
    made = [normalised(common(items, n, weight)) for items in channels]
    return DocumentGraph(np.stack(made) if made else np.zeros((0, n, n)))
