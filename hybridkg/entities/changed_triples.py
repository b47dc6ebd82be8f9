"""The triples of the two states of a change, read from one of them.

A commit needs the texts of the dirty entities in both states. Nearly all of their triples are the same, so one state is
read once: `RememberedTriples` keeps the answers of a batch, and `ChangedTriples` applies the change to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups
from hybridkg.rdf.terms import RDF_TYPE, NamedNode, Node, Term

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class TwoStates:
    """Lookups in the state before a change and in that after it.

    Args:
        before: in the state before.
        after: in the state after.
        read: answers from memory for both of them, the one that is read among them.
        after_streamed: in the state after, without memory: a caller that stops early stops the reading.
        predicates: IRIs of the predicates of the change.
    """

    before: TripleLookups
    after: TripleLookups
    read: RememberedTriples
    after_streamed: TripleLookups
    predicates: frozenset[str]

    @classmethod
    def from_before(
        cls, before: TripleLookups, added: Iterable[StatedTriple], removed: Iterable[StatedTriple]
    ) -> TwoStates:
        """The states of a change of which that before is read; it has all of `removed` and none of `added`."""
        added, removed = list(added), list(removed)
        read, after = RememberedTriples(before), ChangedTriples(before, added, removed)
        return cls(read, after.over(read), read, after, _predicates(added, removed))

    @classmethod
    def from_after(
        cls, after: TripleLookups, added: Iterable[StatedTriple], removed: Iterable[StatedTriple]
    ) -> TwoStates:
        """The states of a change of which that after is read; it has all of `added` and none of `removed`."""
        added, removed = list(added), list(removed)
        read = RememberedTriples(after)
        return cls(ChangedTriples(read, removed, added), read, read, after, _predicates(added, removed))


class RememberedTriples(TripleLookups):
    """Lookups that answer a repeated question from memory, until `forget`."""

    def __init__(self, lookups: TripleLookups):
        self._lookups = lookups
        self._held: dict[tuple[object, ...], object] = {}

    def forget(self) -> None:
        """Frees the memory of all answers."""
        self._held.clear()

    def outgoing(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        key = "outgoing", *_key(terms, only, without)
        return iter(self._answer(key, lambda: list(self._lookups.outgoing(terms, only, without))))

    def incoming(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        key = "incoming", *_key(terms, only, without)
        return iter(self._answer(key, lambda: list(self._lookups.incoming(terms, only, without))))

    def in_graph(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = tuple(nodes)
        return self._answer(("in_graph", nodes), lambda: self._lookups.in_graph(nodes))

    def subjects_in(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = tuple(nodes)
        return self._answer(("subjects_in", nodes), lambda: self._lookups.subjects_in(nodes))

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str] = (RDF_TYPE,)) -> set[Node]:
        nodes = tuple(nodes)
        key = "instances", nodes, tuple(classes), tuple(types)
        return self._answer(key, lambda: self._lookups.instances(nodes, classes, types))

    def _answer(self, key: tuple[object, ...], ask: Callable[[], Answer]) -> Answer:
        if key not in self._held:
            self._held[key] = ask()
        return self._held[key]  # type: ignore[return-value]


@dataclass(frozen=True)
class _Change:
    """New and gone triples with the indexes of `ChangedTriples`, each made at its first use.

    Args:
        new: triples of the other state.
        gone: triples of the known state.
    """

    new: Sequence[StatedTriple]
    gone: frozenset[StatedTriple]

    @cached_property
    def touched(self) -> frozenset[Term]:
        """Subjects and objects of what is gone."""
        return frozenset(term for s, _, o in self.gone for term in (s, o))

    @cached_property
    def by_subject(self) -> dict[Term, list[StatedTriple]]:
        """New triples by their subject."""
        return _grouped(self.new, 0)

    @cached_property
    def by_object(self) -> dict[Term, list[StatedTriple]]:
        """New triples by their object."""
        return _grouped(self.new, 2)

    @cached_property
    def predicates(self) -> dict[Term, set[str]]:
        """IRIs of the predicates of the triples of each subject."""
        found: dict[Term, set[str]] = {}
        for subject, predicate, _ in chain(self.new, self.gone):
            found.setdefault(subject, set()).add(predicate.value)
        return found


class ChangedTriples(TripleLookups):
    """Lookups in a state that differs from one that can be read.

    Args:
        known: lookups in the state that can be read.
        new: the triples that the other state has and the known one has not.
        gone: the triples that the known state has and the other one has not.
    """

    def __init__(self, known: TripleLookups, new: Iterable[StatedTriple], gone: Iterable[StatedTriple]):
        self._known, self._change = known, _Change([*new], frozenset(gone))

    def over(self, known: TripleLookups) -> ChangedTriples:
        """The same with other lookups in the known state."""
        other = copy(self)
        other._known = known
        return other

    def outgoing(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        yield from self._still(self._known.outgoing(terms, only, without))
        yield from _of(self._change.by_subject, terms, only, without)

    def incoming(
        self, terms: Iterable[Term], only: Sequence[str] | None = None, without: Sequence[str] = ()
    ) -> Iterator[StatedTriple]:
        terms = list(terms)
        yield from self._still(self._known.incoming(terms, only, without))
        yield from _of(self._change.by_object, terms, only, without)

    def in_graph(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = list(nodes)
        found = self._known.in_graph(nodes)
        lost = [node for node in found & self._change.touched if not self._still_occurs(node)]
        return found.difference(lost) | {
            node for node in nodes if node in self._change.by_subject or node in self._change.by_object
        }

    def subjects_in(self, nodes: Iterable[Node]) -> set[Node]:
        nodes = list(nodes)
        found = self._known.subjects_in(nodes)
        lost = [node for node in found & self._change.touched if not self._has_staying(self._known.outgoing([node]))]
        return found.difference(lost) | {node for node in nodes if node in self._change.by_subject}

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str] = (RDF_TYPE,)) -> set[Node]:
        nodes, wanted = list(nodes), {NamedNode(iri) for iri in classes}
        found, changed = self._known.instances(nodes, classes, types), self._change.predicates
        retyped = [node for node in nodes if node in changed and not changed[node].isdisjoint(types)]
        others = {s for s, _, o in self.outgoing(retyped, types) if o in wanted} if retyped else set()
        return found.difference(retyped) | others

    def _still(self, triples: Iterable[StatedTriple]) -> Iterable[StatedTriple]:
        """The triples that the other state has as well."""
        gone, touched = self._change.gone, self._change.touched
        if not gone:
            return triples
        return (triple for triple in triples if triple[0] not in touched or triple not in gone)

    def _still_occurs(self, node: Node) -> bool:
        """Whether a node of the known state has a triple that the other one has as well."""
        return self._has_staying(chain(self._known.outgoing([node]), self._known.incoming([node])))

    def _has_staying(self, triples: Iterable[StatedTriple]) -> bool:
        return any(triple not in self._change.gone for triple in triples)


def _grouped(triples: Iterable[StatedTriple], place: int) -> dict[Term, list[StatedTriple]]:
    """Triples by the term at a place."""
    found: dict[Term, list[StatedTriple]] = {}
    for triple in triples:
        found.setdefault(triple[place], []).append(triple)
    return found


def _predicates(*changes: Iterable[StatedTriple]) -> frozenset[str]:
    return frozenset(predicate.value for triples in changes for _, predicate, _ in triples)


def _key(terms: Sequence[Term], only: Sequence[str] | None, without: Sequence[str]) -> tuple[object, ...]:
    return tuple(terms), None if only is None else tuple(only), tuple(without)


def _of(
    new: dict[Term, list[StatedTriple]], terms: Sequence[Term], only: Sequence[str] | None, without: Sequence[str]
) -> Iterator[StatedTriple]:
    """The new triples of some terms, without repeats of a term."""
    for term in dict.fromkeys(terms) if new else ():
        for triple in new.get(term, ()):
            predicate = triple[1].value
            if (only is None or predicate in only) and predicate not in without:
                yield triple
