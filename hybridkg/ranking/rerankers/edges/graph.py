"""Edges of the source `graph`: documents that are linked, or linked with the same nodes.

Channel `nodes` has as items the document and all nodes that it is linked with, in both directions; channel `edges` has
each predicate with its direction and the node at its other end, and each triple between two of the documents as an item
of both. Classes are no links here (edges/types.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.reranker import Surroundings
from hybridkg.ranking.rerankers.edges import Items
from hybridkg.ranking.rerankers.edges.links import known_ids, links_of, projection_of
from hybridkg.rdf.terms import RDF_TYPE, Node

Numbers = NDArray[np.int64]


class GraphEdges:
    """A DocumentEdges over the projection."""

    channels = ("graph.nodes", "graph.edges")

    def items(self, nodes: Sequence[Node], around: Surroundings) -> list[Items]:
        graph, ids = projection_of(around), known_ids(nodes, around)
        links = links_of(nodes, around)
        kept = np.array([name != RDF_TYPE for name in links.names], bool)[links.predicates]
        rows, others = links.rows[kept], links.others[kept].astype(np.int64)
        own = np.flatnonzero(ids >= 0)
        linked = np.concatenate([np.stack([rows, others], axis=1), np.stack([own, ids[own]], axis=1)])
        pairs = np.unique(linked.astype(np.int64), axis=0)
        found, place = np.unique(pairs[:, 1], return_inverse=True)
        # A node is an item of itself and of the entities that a triple links with it; its triples bound their number.
        df = 1 + graph.degrees(found.astype(np.uint32), RDF_TYPE)
        ways = links.predicates[kept] * 2 + links.inverse[kept]
        return [
            Items(pairs[:, 0], pairs[:, 1], df[place.reshape(-1)]),
            _by_edge(rows, ways, others, links.shared[kept], ids),
        ]


def _by_edge(rows: Numbers, ways: Numbers, others: Numbers, shared: Numbers, ids: Numbers) -> Items:
    """Items of the channel `edges`; even `ways` lead from a document."""
    keys, items = np.unique(np.stack([ways, others], axis=1), axis=0, return_inverse=True)
    place_of = {id: place for place, id in enumerate(ids.tolist()) if id >= 0}
    ends = np.array([place_of.get(other, -1) for other in others.tolist()], np.int64).reshape(-1)
    direct = (ways % 2 == 0) & (ends >= 0) & (ends != rows)
    numbers = len(keys) + np.arange(int(direct.sum()))
    return Items(
        np.concatenate([rows, rows[direct], ends[direct]]),
        np.concatenate([items.reshape(-1), numbers, numbers]),
        np.concatenate([shared, np.full(2 * len(numbers), 2)]),
    )


GRAPH = GraphEdges()
