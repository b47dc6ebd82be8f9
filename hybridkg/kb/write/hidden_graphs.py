"""New triples in named graphs, which a query outside GRAPH does not see."""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.config.settings import Config
from hybridkg.rdf.terms import DefaultGraph, Quad
from hybridkg.store.loading import SourceCount


def in_hidden_graphs(config: Config, added: Sequence[Quad], loaded: Sequence[SourceCount] = ()) -> int | None:
    """The number of added quads in named graphs; 0 where the default graph is the union of all, None if not counted."""
    if config.default_graph == "union":
        return 0
    counts = [count.in_named_graphs for count in loaded]
    if None in counts:
        return None
    return sum(filter(None, counts)) + sum(not isinstance(quad.graph_name, DefaultGraph) for quad in added)
