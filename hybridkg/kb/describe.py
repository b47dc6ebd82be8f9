"""Counts, schema and an rdflib view of one state of a knowledge base: the methods that ask no query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.kb.snapshot import Snapshot
from hybridkg.store.generations.folder import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.schema import Schema


def stats(folder: Folder, snapshot: Snapshot) -> dict[str, Any]:
    """Counts, fields and sizes in bytes of a state, and whether the synonyms of the folder are those of its index."""
    from hybridkg.kb.write.configured import synonyms_state

    return snapshot.stats() | synonyms_state(folder, snapshot.generation.path / "text")


def schema(snapshot: Snapshot) -> Schema:
    """Classes and predicates of the graph that a query sees outside GRAPH, with counts by IRI, most frequent first."""
    from hybridkg.graph.schema import read_schema

    return read_schema(snapshot.store)


def graph(snapshot: Snapshot) -> rdflib.Graph:
    """A read-only rdflib Graph over the store; it keeps the generation on disk for as long as it lives."""
    from hybridkg.store.rdflib_view import read_only_graph

    return read_only_graph(snapshot.store, hold=snapshot.generation)
