"""The links of documents in the projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import RerankerError
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.interfaces.graph_links import GraphLinks
from hybridkg.interfaces.reranker import Surroundings
from hybridkg.rdf.terms import Node

MAX_TRIPLES = 1_000
"""Triples of a predicate and direction of a document; where there are more, these are left out."""


def projection_of(around: Surroundings) -> GraphIndex:
    """The projection; raises RerankerError without one."""
    if around.graph is None:
        raise RerankerError(
            "edges are read from the projection of the graph, and this knowledge base has none",
            hint='hybridkg index KB builds it, unless kb.toml says otherwise: [endpoint] projection = "none"',
        )
    return around.graph


def known_ids(nodes: Sequence[Node], around: Surroundings) -> NDArray[np.int64]:
    """int64[len(nodes)]: ids in the projection; -1 for a node that is in no triple."""
    graph = projection_of(around)
    ids = graph.find(list(nodes))
    return np.where(ids < graph.n_nodes, ids, -1)


def links_of(nodes: Sequence[Node], around: Surroundings) -> GraphLinks:
    """The links of nodes, whose `rows` are numbers of `nodes`."""
    ids = known_ids(nodes, around)
    places = np.flatnonzero(ids >= 0)
    links = projection_of(around).around(ids[places].astype(np.uint32), MAX_TRIPLES)
    around.check()
    return GraphLinks(places[links.rows], links.predicates, links.inverse, links.others, links.shared, links.names)
