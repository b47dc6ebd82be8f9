"""Edges of the source `types`: documents of the same classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridkg.interfaces.reranker import Surroundings
from hybridkg.ranking.rerankers.edges import Items
from hybridkg.ranking.rerankers.edges.links import links_of
from hybridkg.rdf.terms import RDF_TYPE, Node


class TypeEdges:
    """A DocumentEdges over the projection."""

    channels = ("types",)

    def items(self, nodes: Sequence[Node], around: Surroundings) -> list[Items]:
        links = links_of(nodes, around)
        kept = np.array([name == RDF_TYPE for name in links.names], bool)[links.predicates] & ~links.inverse
        return [Items(links.rows[kept], links.others[kept].astype(np.int64), links.shared[kept])]


TYPES = TypeEdges()
