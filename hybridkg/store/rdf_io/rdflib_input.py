"""Input from rdflib graphs, and from iterables of rdflib triples or quads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.rdf.terms import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple, from_rdflib
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames, StatementBatch

BATCH = 500

RDFLIB_DEFAULT_GRAPH = "urn:x-rdflib:default"


def quads_of_rdflib(statements: Iterable[Any], names: BlankNodeNames) -> Iterator[StatementBatch]:
    """The quads of a graph in batches, blank nodes renamed.

    Args:
        statements: an rdflib Graph or Dataset, or an iterable of triples or quads of rdflib terms or of
            pyoxigraph's own Triple and Quad.
        names: renames the blank nodes, in the order of their first appearance.

    Raises:
        LoadError: a statement is not RDF, such as a literal subject or an IRI with a space in it.
    """
    quads = map(_quad, _statements(statements))
    while batch := list(islice(quads, BATCH)):
        yield names.renamed(batch)


def prefixes_of_rdflib(statements: Iterable[Any]) -> dict[str, str]:
    """The prefixes that somebody has bound in an rdflib graph; those that every graph has are left out."""
    manager = getattr(statements, "namespace_manager", None)
    if manager is None:
        return {}
    from rdflib import Graph

    everywhere = {(prefix, str(namespace)) for prefix, namespace in Graph().namespaces()}
    bound = ((str(prefix), str(namespace)) for prefix, namespace in manager.namespaces())
    return {prefix: namespace for prefix, namespace in bound if (prefix, namespace) not in everywhere}


def name_of(statements: Iterable[Any]) -> str:
    """The name of the input in counts and progress."""
    kind = type(statements)
    return f"rdflib {kind.__name__}" if kind.__module__.startswith("rdflib") else "statements"


def _statements(source: Any) -> Iterable[Any]:
    """Quads of a Dataset and of a ConjunctiveGraph, which iterates over triples only; else the iterable itself."""
    quads = getattr(source, "quads", None)
    statements: Iterable[Any] = quads((None, None, None, None)) if callable(quads) else source
    return statements


def _quad(statement: Any) -> Quad:
    if isinstance(statement, Quad):
        return statement
    is_sequence = isinstance(statement, Iterable) and not isinstance(statement, str | dict)
    if not is_sequence or len(statement := tuple(statement)) < 3:
        raise LoadError(
            f"not an RDF statement: {statement!r}: it needs a subject, a predicate and an object",
            hint="rows of a table are a list of dicts: kb.load([*rows])" if isinstance(statement, dict) else "",
        )
    try:
        s, p, o, *rest = statement
        subject, predicate, graph = from_rdflib(s), from_rdflib(p), _graph(rest[0] if rest else None)
        if not isinstance(subject, NamedNode | BlankNode):
            raise TypeError(f"a subject must be an IRI or a blank node, not {subject}")
        if not isinstance(predicate, NamedNode):
            raise TypeError(f"a predicate must be an IRI, not {predicate}")
        target = from_rdflib(o)
        if isinstance(target, Literal | NamedNode | BlankNode | Triple):
            return Quad(subject, predicate, target, graph)
        raise TypeError(f"no RDF term for {o!r}")
    except (TypeError, ValueError) as e:
        raise LoadError(f"not an RDF statement: {statement!r}: {e}") from e


def _graph(context: Any) -> NamedNode | BlankNode | DefaultGraph:
    if context is None or isinstance(context, DefaultGraph):
        return DefaultGraph()
    name = from_rdflib(getattr(context, "identifier", context))
    if isinstance(name, NamedNode) and name.value == RDFLIB_DEFAULT_GRAPH:
        return DefaultGraph()
    if isinstance(name, NamedNode | BlankNode):
        return name
    raise TypeError(f"a graph must be an IRI or a blank node, not {name}")
