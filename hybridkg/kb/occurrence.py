"""Occurrence of a pattern in any graph of a store."""

from __future__ import annotations

from hybridkg.interfaces.graph_store import GraphStore


def occurs_in_a_graph(store: GraphStore, pattern: str) -> bool:
    """Whether triple patterns have a solution in the default graph, or in one named graph.

    These are two requests, the second only after a no: as branches of a UNION, Oxigraph 0.5 may evaluate GRAPH ?g
    first, which reads all quads of the predicate (.8 s of 2 million, and .1 ms for the first of the default graph).
    """
    return store.ask(f"ASK {{ {pattern} }}") or store.ask(f"ASK {{ GRAPH ?g {{ {pattern} }} }}")
