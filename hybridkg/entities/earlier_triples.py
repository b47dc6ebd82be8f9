"""The triples of the state before a change, read from the state after it.

A commit needs the texts of the dirty entities in both states. Nearly all of their triples are the same, so the store is
read once: `RememberedTriples` keeps the rows of a batch, and `EarlierTriples` takes the change back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import RDF_TYPE, NamedNode, Node, Term


class RememberedTriples(TripleLookups):
    """Lookups that answer a repeated question from memory, until `forget`."""

    def __init__(self, store: GraphStore):
        super().__init__(store)
        self._held_rows: dict[tuple[object, ...], list[Row]] = {}
        self._held_nodes: dict[tuple[object, ...], set[Node]] = {}

    def forget(self) -> None:
        """Frees the memory of all answers."""
        self._held_rows.clear()
        self._held_nodes.clear()

    def _rows(self, variable: str, terms: Sequence[Term], columns: str, pattern: str) -> Iterator[Row]:
        key = (variable, tuple(terms), columns, pattern)
        if key not in self._held_rows:
            self._held_rows[key] = list(super()._rows(*key))
        return iter(self._held_rows[key])

    def _selected(self, nodes: Iterable[Node], pattern: str, single: str) -> set[Node]:
        key = (tuple(nodes), pattern, single)
        if key not in self._held_nodes:
            self._held_nodes[key] = super()._selected(*key)
        return self._held_nodes[key]


class EarlierTriples(TripleLookups):
    """Lookups in the state before a change.

    Args:
        later: lookups in the state after it.
        added: the triples that the later state has and the earlier one has not.
        removed: the triples that the earlier state has and the later one has not.
    """

    def __init__(self, later: TripleLookups, added: Iterable[StatedTriple], removed: Iterable[StatedTriple]):
        self._later, self._added = later, frozenset(added)
        self._touched = {term for s, _, o in self._added for term in (s, o)}
        self._by_subject: dict[Term, list[StatedTriple]] = {}
        self._by_object: dict[Term, list[StatedTriple]] = {}
        self._changed_predicates: dict[Term, set[str]] = {}
        for triple in removed:
            self._by_subject.setdefault(triple[0], []).append(triple)
            self._by_object.setdefault(triple[2], []).append(triple)
            self._changed_predicates.setdefault(triple[0], set()).add(triple[1].value)
        for subject, predicate, _ in self._added:
            self._changed_predicates.setdefault(subject, set()).add(predicate.value)

    def outgoing(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        yield from self._still(self._later.outgoing(terms, only, without))
        yield from _of(self._by_subject, terms, only, without)

    def incoming(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        yield from self._still(self._later.incoming(terms, only, without))
        yield from _of(self._by_object, terms, only, without)

    def in_graph(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = list(nodes)
        found = self._later.in_graph(nodes)
        new = [node for node in found & self._touched if not self._is_older(node)]
        return found.difference(new) | {node for node in nodes if node in self._by_subject or node in self._by_object}

    def subjects_in(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = list(nodes)
        found = self._later.subjects_in(nodes)
        new = [node for node in found & self._touched if not self._has_older(self._later.outgoing([node]))]
        return found.difference(new) | {node for node in nodes if node in self._by_subject}

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str] = (RDF_TYPE,)) -> set[Node]:
        nodes, wanted = list(nodes), {NamedNode(iri) for iri in classes}
        found, changed = self._later.instances(nodes, classes, types), self._changed_predicates
        retyped = [node for node in nodes if node in changed and not changed[node].isdisjoint(types)]
        earlier = {s for s, _, o in self.outgoing(retyped, types) if o in wanted}
        return found.difference(retyped) | earlier

    def _still(self, triples: Iterable[StatedTriple]) -> Iterator[StatedTriple]:
        """The triples that the earlier state has as well."""
        added, touched = self._added, self._touched
        return (triple for triple in triples if triple[0] not in touched or triple not in added)

    def _is_older(self, node: Node) -> bool:
        """Whether a node of the later state has a triple that is not new."""
        return self._has_older(chain(self._later.outgoing([node]), self._later.incoming([node])))

    def _has_older(self, triples: Iterable[StatedTriple]) -> bool:
        return any(triple not in self._added for triple in triples)


def _of(
    removed: dict[Term, list[StatedTriple]], terms: Sequence[Term], only: Sequence[str] | None, without: Sequence[str]
) -> Iterator[StatedTriple]:
    """The removed triples of some terms, without repeats of a term."""
    for term in dict.fromkeys(terms) if removed else ():
        for triple in removed.get(term, ()):
            predicate = triple[1].value
            if (only is None or predicate in only) and predicate not in without:
                yield triple
