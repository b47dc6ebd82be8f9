"""Edges as STaRK's code has them in memory, and the neighbours of a node by relation.

STaRK makes every edge set undirected, unless each ordered pair of nodes occurs as often as its reverse: it adds the
reverse of all edges, and replaces the edges of an ordered pair by one whose type is the mean of their numbers, rounded
down. A product that is bought (0) and viewed (1) with another is only bought with it. The edges of Prime are symmetric
and stay, also those of several types between two nodes.

Source: snap-stanford/stark, `stark_qa/skb/knowledge_base.py` (`SKB.__init__`, `get_neighbor_nodes`). The slow
restatement is in tests/datasets/test_stark_neighbours.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hybridkg.datasets.stark.tensors import Whole
from hybridkg.errors import LoadError
from hybridkg.storage.distinct import sorted_distinct

Numbers = NDArray[np.int64]

NODES_AT_ONCE = 1 << 14
"""Nodes whose edges are merged at once; the arrays of one block are small beside those of all edges."""


@dataclass(frozen=True)
class Neighbours:
    """The edges of STaRK's code, 8 bytes each.

    Args:
        nodes: number of nodes; their ids are below it.
        relations: above every number of a relation.
        keys: int64[edges], ascending and distinct, (source * relations + relation) * nodes + target.

    >>> rows = np.array([[0, 0], [1, 1]]), np.array([0, 1])
    >>> found = Neighbours.of_edges(*rows, nodes=2, names={0: "also_buy", 1: "also_view"})
    >>> found.of(0, 0), found.of(1, 0), found.of(0, 1)
    (array([1]), array([0]), array([], dtype=int64))
    """

    nodes: int
    relations: int
    keys: Numbers

    @classmethod
    def of_edges(cls, edges: Whole, types: Whole, *, nodes: int, names: Mapping[int, str]) -> Self:
        """The edges of STaRK's code.

        Args:
            edges: int[2, edges], from the first row to the second, below `nodes`.
            types: int[edges], the number of the relation of each.
            nodes: number of nodes.
            names: names of relations by number.

        Raises:
            LoadError: a number of a relation is negative or too large, or a rounded mean is the number of no relation.
        """
        relations = max(names, default=0) + 1
        if min(names, default=0) < 0 or nodes * nodes * relations >= 1 << 63:
            raise LoadError(
                f"the relations have the numbers {min(names)} to {relations - 1:,}, which are no small ones"
            )
        heads, tails = (row.astype(np.int64, copy=False) for row in edges)
        if _is_symmetric(heads, tails, nodes):
            keys = sorted_distinct((heads * relations + types) * nodes + tails)
        else:
            keys = _undirected(heads, tails, types, nodes, relations, frozenset(names))
        return cls(nodes, relations, keys)

    def of(self, node: int, relation: int) -> Numbers:
        """int64[...]: the distinct neighbours of a node by a relation, ascending."""
        first = (node * self.relations + relation) * self.nodes
        start, end = np.searchsorted(self.keys, (first, first + self.nodes))
        found: Numbers = self.keys[start:end] - first
        return found

    def __len__(self) -> int:
        return len(self.keys)

    def blocks(self, size: int) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """(sources, targets, relations) of at most `size` edges at a time, by source, relation, target."""
        for start in range(0, len(self.keys), size):
            sources, targets = np.divmod(self.keys[start : start + size], self.nodes)
            sources, relations = np.divmod(sources, self.relations)
            yield sources, targets, relations


def _is_symmetric(heads: Numbers, tails: Numbers, nodes: int) -> bool:
    """Whether each ordered pair occurs as often as its reverse."""
    if not np.array_equal(np.bincount(heads, minlength=nodes), np.bincount(tails, minlength=nodes)):
        return False  # a node begins more edges than it ends, or fewer: no need to sort
    forward, backward = heads * nodes + tails, tails * nodes + heads
    forward.sort()
    backward.sort()
    return bool(np.array_equal(forward, backward))


def _undirected(
    heads: Numbers, tails: Numbers, types: Whole, nodes: int, relations: int, known: frozenset[int]
) -> Numbers:
    edges = len(heads)
    keys = np.empty(2 * edges, np.int64)
    keys[:edges], keys[edges:] = heads, tails
    keys *= nodes
    keys[:edges] += tails
    keys[edges:] += heads
    keys *= relations
    keys[:edges] += types
    keys[edges:] += types
    keys.sort()
    # The merged edges of a block take the place of its edges, of which there are at least as many.
    bounds = np.searchsorted(keys, np.arange(0, nodes + NODES_AT_ONCE, NODES_AT_ONCE) * (nodes * relations))
    end = 0
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if start == stop:
            continue
        pairs, numbers = np.divmod(keys[start:stop], relations)
        pairs, first, counts = np.unique(pairs, return_index=True, return_counts=True)
        means = np.add.reduceat(numbers, first) // counts
        if unknown := set(sorted_distinct(means).tolist()) - known:
            raise LoadError(
                f"edges of several types between two nodes have the mean {min(unknown)}, which is not a relation"
            )
        sources, targets = np.divmod(pairs, nodes)
        keys[end : end + len(pairs)] = np.sort((sources * relations + means) * nodes + targets)
        end += len(pairs)
    return keys[:end]
