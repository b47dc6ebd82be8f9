"""Operations on whole graphs: CLEAR, DROP, CREATE, ADD, MOVE and COPY (SPARQL 1.1 Update, section 3.2).

A named graph exists while it has a triple. So CREATE leaves no trace, and DROP is CLEAR.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridkg.errors import UserError
from hybridkg.query import ast
from hybridkg.rdf.terms import DefaultGraph, GraphName, NamedNode, Quad
from hybridkg.registry import did_you_mean
from hybridkg.store.changes import ChangingGraph


def clear(graph: ChangingGraph, operation: ast.ClearGraphs) -> None:
    """Removes every triple of some graphs.

    Raises:
        UserError: there is no such graph, and the operation is not SILENT.
    """
    match operation.graphs:
        case ast.Iri() as name:
            if not operation.silent:
                _check_exists(graph, name, "DROP" if operation.drop else "CLEAR")
            targets: Iterable[GraphName] = [NamedNode(name.value)]
        case "DEFAULT":
            targets = [DefaultGraph()]
        case "NAMED":
            targets = graph.named_graphs()
        case _:
            targets = [DefaultGraph(), *graph.named_graphs()]
    for target in targets:
        graph.clear(target)


def create(graph: ChangingGraph, operation: ast.CreateGraph) -> None:
    """Checks that a graph has no triple yet.

    Raises:
        UserError: it has, and the operation is not SILENT.
    """
    if not operation.silent and graph.has_graph(NamedNode(operation.graph.value)):
        raise UserError(
            f"the graph <{operation.graph.value}> exists already",
            hint="CREATE SILENT accepts a graph that exists",
            span=operation.graph.span,
        )


def copy_graph(graph: ChangingGraph, operation: ast.CopyGraph) -> None:
    """Copies the triples of one graph into another; COPY and MOVE empty the target first, MOVE the source as well.

    Raises:
        UserError: there is no source, which would empty the target, and the operation is not SILENT.
    """
    source, target = _name(operation.source), _name(operation.target)
    if operation.source is not None and not graph.has_graph(NamedNode(operation.source.value)):
        if not operation.silent:
            _check_exists(graph, operation.source, operation.kind)
        return
    if source == target:
        return
    old = graph.quads_of(source)
    removed = [] if operation.kind == "ADD" else graph.quads_of(target)
    if operation.kind == "MOVE":
        removed += old
    graph.apply(removed, [Quad(quad.subject, quad.predicate, quad.object, target) for quad in old])


def _name(iri: ast.Iri | None) -> GraphName:
    return DefaultGraph() if iri is None else NamedNode(iri.value)


def _check_exists(graph: ChangingGraph, name: ast.Iri, word: str) -> None:
    if graph.has_graph(NamedNode(name.value)):
        return
    names = [str(one.value) for one in graph.named_graphs()]
    raise UserError(
        f"there is no graph <{name.value}>",
        hint=did_you_mean(name.value, names) or f"{word} SILENT accepts a missing graph",
        span=name.span,
    )
