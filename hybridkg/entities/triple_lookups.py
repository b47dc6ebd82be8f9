"""Lookups of the triples of many nodes at once, in batches of queries.

A batch is one VALUES block of IRIs. No query can name a blank node, and literals and quoted triples are rare here, so
these are bound one by one. A query never has two VALUES blocks: Oxigraph 0.5 takes 4.7 s for 500 subjects and two
predicates in VALUES, and 5 ms for the same with the predicates in a FILTER.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, NamedNode, Node, Term

NODES_OF_A_QUERY = 500
"""IRIs of one VALUES block: 14 us a node with 4 triples. Above 1,000 Oxigraph starts the join at the other side."""

StatedTriple = tuple[Node, NamedNode, Term]
"""(subject, predicate, object) of a triple of the graph."""


class TripleLookups:
    """Reads the triples of many nodes from the default graph of a store, as the store is configured.

    A triple may come more than once if several graphs have it. Rows are streamed, so a caller that stops early stops
    the reading.
    """

    def __init__(self, store: GraphStore):
        self._store = store

    def outgoing(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        """Triples whose subject is one of the terms; literals have none.

        Args:
            terms: the subjects.
            only: IRIs of the predicates that are read; None for all.
            without: IRIs of predicates that are left out.
        """
        nodes = [term for term in terms if isinstance(term, NamedNode | BlankNode)]
        return self._triples("s", nodes, only, without)

    def incoming(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        """Triples whose object is one of the terms; the arguments are those of `outgoing`."""
        return self._triples("o", list(terms), only, without)

    def in_graph(self, nodes: Iterable[Node]) -> set[Node]:
        """The nodes that are the subject or the object of a triple."""
        either = "FILTER(EXISTS { ?x ?p ?o } || EXISTS { ?s ?q ?x })"
        return self._selected(nodes, either, "{ ?x ?p ?o } UNION { ?s ?q ?x }")

    def subjects_in(self, nodes: Iterable[Node]) -> set[Node]:
        """The nodes that are the subject of a triple."""
        return self._selected(nodes, "FILTER(EXISTS { ?x ?p ?o })", "?x ?p ?o")

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str] = (RDF_TYPE,)) -> set[Node]:
        """The nodes that have one of the classes by one of the predicates."""
        pattern = f"?x {'|'.join(str(NamedNode(iri)) for iri in types)} ?c {_filter('c', 'IN', classes)}"
        return self._selected(nodes, pattern, pattern)

    def structural(self, nodes: Iterable[Node]) -> set[Node]:
        """The blank nodes that are structure (entities/structure.py)."""
        blank = [node for node in nodes if isinstance(node, BlankNode)]
        return {subject for subject, _, _ in self.outgoing(blank, STRUCTURAL_PREDICATES)}

    def _triples(
        self, variable: str, terms: Sequence[Term], only: Sequence[str] | None, without: Sequence[str]
    ) -> Iterator[StatedTriple]:
        if only is not None and not only:
            return
        tests = ("" if only is None else _filter("p", "IN", only)) + (
            _filter("p", "NOT IN", without) if without else ""
        )
        if only is not None and len(only) == 1:
            # Read by predicate and node, which is an index of the store.
            predicate = NamedNode(only[0])
            rows = self._rows(variable, terms, "?s ?o", f"?s {predicate} ?o")
            for subject, end in rows:
                yield subject, predicate, end  # type: ignore[misc]
            return
        yield from self._rows(variable, terms, "?s ?p ?o", f"?s ?p ?o {tests}")  # type: ignore[misc]

    def _rows(self, variable: str, terms: Sequence[Term], columns: str, pattern: str) -> Iterator[Row]:
        iris = [str(term) for term in terms if isinstance(term, NamedNode)]
        for block in _blocks(iris):
            yield from self._store.select(
                f"SELECT {columns} WHERE {{ VALUES ?{variable} {{ {block} }} {pattern} }}"
            ).rows
        for term in terms:
            if not isinstance(term, NamedNode):
                yield from self._store.select(f"SELECT {columns} WHERE {{ {pattern} }}", {variable: term}).rows

    def _selected(self, nodes: Iterable[Node], pattern: str, single: str) -> set[Node]:
        """The nodes ?x with a solution; `single` is the pattern for a node that is bound."""
        nodes = list(nodes)
        found: set[Node] = set()
        for block in _blocks([str(node) for node in nodes if isinstance(node, NamedNode)]):
            answer = self._store.select(f"SELECT ?x WHERE {{ VALUES ?x {{ {block} }} {pattern} }}")
            found.update(row[0] for row in answer.rows)  # type: ignore[misc]
        found.update(
            node
            for node in nodes
            if not isinstance(node, NamedNode) and self._store.ask(f"ASK {{ {single} }}", {"x": node})
        )
        return found


def in_term_order(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The distinct nodes: blank nodes by label, then IRIs.

    >>> in_term_order([NamedNode("x:b"), BlankNode("z"), NamedNode("x:a"), BlankNode("z")])
    (<BlankNode value=z>, <NamedNode value=x:a>, <NamedNode value=x:b>)
    """
    blank: list[Node] = []
    iris: list[Node] = []
    for node in dict.fromkeys(nodes):  # keeps an order that is there already, which is sorted 7 times as fast
        (iris if type(node) is NamedNode else blank).append(node)
    text = attrgetter("value")
    return (*sorted(blank, key=text), *sorted(iris, key=text))


def _blocks(iris: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(iris), NODES_OF_A_QUERY):
        yield " ".join(iris[start : start + NODES_OF_A_QUERY])


def _filter(variable: str, operator: str, iris: Iterable[str]) -> str:
    """Restricts a variable inside the store, because a node may have a million other triples."""
    return f"FILTER(?{variable} {operator} ({', '.join(str(NamedNode(iri)) for iri in iris)})) "
