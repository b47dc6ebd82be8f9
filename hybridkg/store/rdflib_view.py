"""A read-only rdflib Graph over the graph of a knowledge base.

oxrdflib does not serve: it lets rdflib rewrite literals ("0A"^^xsd:hexBinary becomes "0a"), so a triple may not be
found again and joins lose rows; it passes on writes and SERVICE, and repeats a triple of two graphs. Queries over this
view run in rdflib, which is slow; `KnowledgeBase.query` is the fast way.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, NoReturn, TypeAlias

import rdflib
from pyoxigraph import Store
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.store import Store as RdflibStore
from rdflib.term import Identifier

from hybridkg.errors import UnsupportedQueryError, UserError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import (
    BlankNode,
    DefaultGraph,
    GraphName,
    Literal,
    NamedNode,
    Quad,
    Triple,
    from_rdflib,
    to_rdflib,
)
from hybridkg.store.oxigraph import OxigraphStore, _reading_errors, _with_reading_errors
from hybridkg.store.quad_patterns import quads_of_pattern

Triples: TypeAlias = Iterator[tuple[tuple[Identifier, Identifier, Identifier], Iterator[rdflib.Graph]]]


def read_only_graph(store: GraphStore, *, hold: object = None) -> rdflib.Graph:
    """An rdflib Graph of the triples that a query matches outside GRAPH; reads lazily, holds nothing in memory.

    Named graphs: `rdflib.Dataset(store=graph.store)`. Each triple comes once, also from a union of graphs. Writing
    raises UserError.

    Args:
        store: an open OxigraphStore.
        hold: kept alive with the graph: the generation, whose files are deleted when nobody holds it.

    Raises:
        UnsupportedQueryError: the graph is not stored in Oxigraph.

    >>> from hybridkg.rdf.terms import Literal, NamedNode, Triple
    >>> a, p = NamedNode("http://e/a"), NamedNode("http://e/p")
    >>> graph = read_only_graph(OxigraphStore.memory([Triple(a, p, Literal("x"))]))
    >>> len(graph), graph.value(predicate=rdflib.URIRef("http://e/p"), object=rdflib.Literal("x"))
    (1, rdflib.term.URIRef('http://e/a'))
    """
    if not isinstance(store, OxigraphStore):
        raise UnsupportedQueryError("only a graph that is stored in Oxigraph can be seen as an rdflib Graph")
    return rdflib.Graph(store=ReadOnlyStore(store, hold), identifier=DATASET_DEFAULT_GRAPH_ID)


class ReadOnlyStore(RdflibStore):
    """An rdflib Store over an open OxigraphStore, with the same thread safety."""

    context_aware = True
    graph_aware = True
    formula_aware = False
    transaction_aware = False

    def __init__(self, store: OxigraphStore, hold: object = None):
        super().__init__()
        self._hold = hold
        self._inner: Store = store._store
        self._union: bool = store._union
        self._namespaces: dict[str, rdflib.URIRef] = {}

    # --- reading -----------------------------------------------------------------

    def triples(self, triple_pattern: Any, context: Any = None) -> Triples:  # type: ignore[override, unused-ignore]
        """The triples of a pattern (None matches any term), each with its graph.

        Raises:
            StorageError: the disk failed.
            UnsupportedQueryError: a value is a triple, for which rdflib has no term.
        """
        for quad in self._quads(triple_pattern, context):
            s, p, o = quad.subject, quad.predicate, quad.object
            if isinstance(s, Triple) or isinstance(o, Triple):
                raise UnsupportedQueryError(
                    f"rdflib has no term for the triple in {str(quad)!r}", hint="read it with kb.query"
                )
            yield (to_rdflib(s), to_rdflib(p), to_rdflib(o)), iter((self._graph(quad.graph_name),))

    def __len__(self, context: Any = None) -> int:
        """Distinct triples of a graph; without a context, of all graphs together."""
        name = self._graph_name(context)
        if name is None:
            options: dict[str, Any] = {"use_default_graph_as_union": True}
        else:
            options = {"default_graph": name}
        distinct = "DISTINCT " if name is None else ""  # in one graph every triple is distinct
        with _reading_errors("reading the graph failed"):
            answer: Any = self._inner.query(
                f"SELECT (COUNT(*) AS ?n) WHERE {{ SELECT {distinct}?s ?p ?o WHERE {{ ?s ?p ?o }} }}", **options
            )
            return int(next(answer)[0].value)

    def contexts(self, triple: Any = None) -> Generator[rdflib.Graph, None, None]:  # type: ignore[override, unused-ignore]
        """The named graphs; with a triple, the graphs that hold it."""
        if triple is not None:
            for quad in self._quads(triple, None, distinct=False):
                yield self._graph(quad.graph_name)
            return
        for name in _with_reading_errors(self._inner.named_graphs()):
            yield self._graph(name)

    def _quads(self, pattern: Any, context: Any, *, distinct: bool = True) -> Iterator[Quad]:
        """The quads of a pattern; over all graphs, only the first quad of each triple."""
        try:
            s, p, o = (None if term is None else from_rdflib(term) for term in pattern)
            name = self._graph_name(context)
            o = as_stored(o) if isinstance(o, Literal) else o
            with _reading_errors("reading the graph failed"):
                matches: Iterator[Any] = quads_of_pattern(self._inner, s, p, o, name)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return  # not RDF, such as a literal as a subject: no graph holds it
        for quad in _with_reading_errors(matches):
            if name is None and distinct:
                same = quads_of_pattern(self._inner, quad.subject, quad.predicate, quad.object, None)
                with _reading_errors("reading the graph failed"):
                    if next(same) != quad:
                        continue
            yield quad

    def _graph_name(self, context: Any) -> GraphName | None:
        """The graph of a context; None for all graphs."""
        if context is None:
            return None
        identifier = getattr(context, "identifier", context)
        if identifier == DATASET_DEFAULT_GRAPH_ID:
            return None if self._union else DefaultGraph()
        name = from_rdflib(identifier)
        if isinstance(name, Literal | Triple):
            raise TypeError(f"{identifier!r} does not name a graph")
        return name

    def _graph(self, name: GraphName) -> rdflib.Graph:
        identifier: Any = DATASET_DEFAULT_GRAPH_ID if isinstance(name, DefaultGraph) else to_rdflib(name)
        return rdflib.Graph(store=self, identifier=identifier)

    # --- prefixes, of this view only -------------------------------------------------

    def bind(self, prefix: str, namespace: rdflib.URIRef, override: bool = True) -> None:
        """Sets a prefix of this view, for serialising; nothing is written."""
        previous = self.prefix(namespace)
        if not override and (prefix in self._namespaces or previous is not None):
            return
        if previous is not None:
            del self._namespaces[previous]
        self._namespaces[prefix] = namespace

    def prefix(self, namespace: rdflib.URIRef) -> str | None:
        """The prefix of a namespace in this view."""
        return next((prefix for prefix, bound in self._namespaces.items() if bound == namespace), None)

    def namespace(self, prefix: str) -> rdflib.URIRef | None:
        """The namespace of a prefix in this view."""
        return self._namespaces.get(prefix)

    def namespaces(self) -> Iterator[tuple[str, rdflib.URIRef]]:
        """Every prefix of this view."""
        yield from list(self._namespaces.items())

    # --- writing: refused -----------------------------------------------------------

    def add(self, triple: Any, context: Any, quoted: bool = False) -> NoReturn:
        """Refused. Raises UserError: always."""
        raise _read_only()

    def addN(self, quads: Any) -> NoReturn:  # noqa: N802
        """Refused, as `add`."""
        raise _read_only()

    def remove(self, triple: Any, context: Any = None) -> NoReturn:
        """Refused, as `add`."""
        raise _read_only()

    def update(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refused, as `add`."""
        raise _read_only()

    def add_graph(self, graph: Any) -> None:
        """Does nothing for an existing graph, which is how rdflib opens one; else refused."""
        name = self._graph_name(graph)
        with _reading_errors("reading the graph failed"):
            if isinstance(name, NamedNode | BlankNode) and not self._inner.contains_named_graph(name):
                raise _read_only()

    def remove_graph(self, graph: Any) -> NoReturn:
        """Refused, as `add`."""
        raise _read_only()

    def destroy(self, configuration: Any) -> NoReturn:
        """Refused, as `add`."""
        raise _read_only()


def _read_only() -> UserError:
    return UserError(
        "this graph is a read-only view of a knowledge base",
        hint="add to the knowledge base with kb.load(...), or work on a copy: rdflib.Graph() + kb.graph()",
    )
