"""Descriptions of a snapshot: counts, schema, rdflib view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.kb.snapshot import Snapshot
from hybridkg.store.generations.folder import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.schema import Schema


def stats(folder: Folder, snapshot: Snapshot) -> dict[str, Any]:
    """Counts, fields and sizes in bytes, and whether the synonyms of the folder are those of its index."""
    from hybridkg.kb.write.configured import synonyms_state

    return snapshot.stats() | synonyms_state(folder, snapshot.generation.path / "text")


def schema(snapshot: Snapshot) -> Schema:
    """Classes and predicates that a query sees outside GRAPH, with counts by IRI, most frequent first."""
    from hybridkg.graph.schema import read_schema

    return read_schema(snapshot.store)


def graph(snapshot: Snapshot) -> rdflib.Graph:
    """A read-only rdflib Graph over the store; its generation stays on disk as long as the object lives."""
    from hybridkg.store.rdflib_view import read_only_graph

    return read_only_graph(snapshot.store, hold=snapshot.generation)
