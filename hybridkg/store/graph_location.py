"""The graph of a generation: in its folder, or at a SPARQL endpoint."""

from __future__ import annotations

from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.store.generations.generation import Generation
from hybridkg.store.oxigraph import OxigraphStore


def lies_at(generation: Generation) -> str:
    """The setting `graph` of kb.toml with which a generation was indexed."""
    return str(generation.manifest.endpoint.get("graph", EMBEDDED))


def open_graph(generation: Generation, config: Config) -> GraphStore:
    """Opens the graph in the generation, or at the endpoint that kb.toml names."""
    if config.graph == EMBEDDED:
        return OxigraphStore.open(generation.graph, union_default_graph=config.default_graph == "union")
    from hybridkg.store.endpoint.connection import Connection
    from hybridkg.store.endpoint.endpoint_store import EndpointStore

    connection, export = Connection(config.graph, config.endpoint), generation.manifest.endpoint
    if lies_at(generation) != config.graph:
        return EndpointStore(connection)
    limits = {name: export[name] for name in ("longest", "is_capped", "repeats")}
    return EndpointStore(connection, **limits)


def graph_just_written(generation: Generation, config: Config) -> GraphStore | None:
    """The graph of a generation that this process has made, opened at its first use; None for one at an endpoint."""
    if config.graph != EMBEDDED:
        return None
    return OxigraphStore.written(generation.graph, union_default_graph=config.default_graph == "union")
