"""The text of some entities, read in batches: the values that the full extraction has for them.

A commit compares the texts of the dirty entities before and after it, and builds a segment of the text index from those
that differ. The rules of values are those of Gathering; the order of the steps is that of `extract`, whose results
tests/entities/test_changed_text.py compares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.extraction import TextDocuments
from hybridkg.entities.field_routing import FieldRoute, FieldRouting, Gathering, Value
from hybridkg.entities.path_walks import ends_of
from hybridkg.entities.profile.labels import local_name
from hybridkg.entities.profile.paths import alternatives, can_be_empty, single_steps
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.triple_lookups import NODES_OF_A_QUERY, StatedTriple, TripleLookups, in_term_order
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_engine import Taker
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import BlankNode, NamedNode, Node, Triple
from hybridkg.rdf.tsv import node_of

FieldValues: TypeAlias = tuple[list[Value], ...]
"""The values of each field of the profile: (text, language tag or ""), distinct and sorted; [] for none."""

MAX_LABELS_HELD = 100_000
"""Linked nodes whose labels are kept from batch to batch."""


@dataclass(frozen=True)
class SelectedTexts:
    """The texts of some entities in one state, as a text engine reads them: it is its own TextSource.

    Args:
        profile: the fields.
        texts: the entities in term order with their values; a node that is no entity in this state is left out.
        union_default_graph: whether the graph is the union of all graphs.
    """

    profile: Profile
    texts: dict[Node, FieldValues]
    union_default_graph: bool
    _triples: TripleLookups

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """The stored fields, in the profile's order."""
        return self.profile.indexed_fields()

    @property
    def filters(self) -> tuple[str, ...]:
        """IRIs of the predicates whose values an engine may store together with the text."""
        return self.profile.filters

    @property
    def nodes(self) -> list[Node]:
        """The entities; an id is a place in this list."""
        return list(self.texts)

    @property
    def provisional(self) -> list[int]:
        """Empty, because no field is given early."""
        return []

    def extract(self, early: Taker | None = None) -> SelectedTexts:
        """The texts themselves; no field is given early."""
        del early
        return self

    def stream(self, position: int) -> Iterator[tuple[int, list[Value]]]:
        """(id, values) of the entities that have the field at a position, ascending."""
        for i, values in enumerate(self.texts.values()):
            if values[position]:
                yield i, values[position]

    def filter_values(self, predicate: str) -> Iterator[tuple[int, list[str]]]:
        """(id, distinct and sorted objects in N-Triples) of the entities with the predicate, ascending; blank nodes and
        triples are left out.
        """
        held: dict[Node, set[str]] = {}
        for subject, _, end in self._triples.outgoing(self.texts, (predicate,)):
            if not isinstance(end, BlankNode | Triple):
                held.setdefault(subject, set()).add(str(end))
        for i, node in enumerate(self.texts):
            if node in held:
                yield i, sorted(held[node])

    def only(self, nodes: Iterable[Node]) -> SelectedTexts:
        """The texts of those of the nodes that are entities here."""
        wanted = set(nodes)
        texts = {node: values for node, values in self.texts.items() if node in wanted}
        return SelectedTexts(self.profile, texts, self.union_default_graph, self._triples)


def changed_nodes(before: SelectedTexts, after: SelectedTexts) -> tuple[Node, ...]:
    """The nodes whose text differs, or that are entities in only one of two states, in term order."""
    either = before.texts.keys() | after.texts.keys()
    return in_term_order(node for node in either if before.texts.get(node) != after.texts.get(node))


def changed_values(nodes: Iterable[Node], before: SelectedTexts, after: SelectedTexts) -> list[dict[Node, list[Value]]]:
    """For each field, the nodes among some whose values in it differ between two states, with those of the second.

    The order of the nodes is kept, and a node without values in the second state has []. Both states have the same
    fields.
    """
    nodes, found = list(nodes), list[dict[Node, list[Value]]]()
    absent: FieldValues = ([],) * len(after.profile.fields)
    for position in range(len(after.profile.fields)):
        values = ((node, before.texts.get(node, absent), after.texts.get(node, absent)) for node in nodes)
        found.append({node: new[position] for node, old, new in values if new[position] != old[position]})
    return found


def texts_of(
    nodes: Iterable[Node],
    profile: Profile,
    store: GraphStore,
    documents: TextDocuments | None = None,
    *,
    union_default_graph: bool = False,
) -> SelectedTexts:
    """The texts of the entities among some nodes, value for value those of `extract`.

    Args:
        nodes: in any order, repeats allowed; at most as many as memory holds texts.
        profile: of the index, with the documents' fields; a field that only these documents have is appended.
        store: the graph, in the state whose texts are wanted; its default graph as it is configured.
        documents: the documents of the same state.
        union_default_graph: how the store is configured, for the text engine.

    Returns:
        The entities in term order; a node that is no entity in this state is left out.

    >>> from hybridkg.entities.profile.paths import ShaclPredicate
    >>> from hybridkg.entities.profile.profile import Field
    >>> from hybridkg.rdf.terms import Literal, Quad
    >>> from hybridkg.store.oxigraph import OxigraphStore
    >>> film = NamedNode("x:film")
    >>> store = OxigraphStore.memory([Quad(film, NamedNode("x:title"), Literal("Alien", language="en"))])
    >>> profile = Profile("films", (Field("title", path=ShaclPredicate("x:title")), Field("review")))
    >>> texts_of([film, NamedNode("x:none")], profile, store).texts
    {<NamedNode value=x:film>: ([('Alien', 'en')], [])}
    """
    triples = TripleLookups(store)
    if documents is not None:
        profile = profile.with_documents(documents.fields())
    reader = _TextReader(profile, triples, documents)
    texts: dict[Node, FieldValues] = {}
    for batch in _batches(nodes):
        texts |= reader.read(batch)
    return SelectedTexts(profile, texts, union_default_graph, triples)


def texts_before_and_after(
    nodes: Iterable[Node],
    profile: Profile,
    states: TwoStates,
    documents: tuple[TextDocuments | None, TextDocuments | None] = (None, None),
    *,
    union_default_graph: bool = False,
) -> tuple[SelectedTexts, SelectedTexts]:
    """The texts of the entities among some nodes in the two states of a change, as `texts_of` gives them.

    Args:
        nodes: in any order, repeats allowed.
        profile: of the index, with the fields of the documents of both states.
        states: the graph in both; the one that is read is read once.
        documents: of the state before, and of that after.
        union_default_graph: how the store is configured, for the text engine.
    """
    lookups = states.before, states.after
    readers = [_TextReader(profile, *state) for state in zip(lookups, documents, strict=True)]
    texts: tuple[dict[Node, FieldValues], dict[Node, FieldValues]] = {}, {}
    for batch in _batches(nodes):
        for held, reader in zip(texts, readers, strict=True):
            held.update(reader.read(batch))
        states.read.forget()
    before, after = (
        SelectedTexts(profile, held, union_default_graph, own) for held, own in zip(texts, lookups, strict=True)
    )
    return before, after


def _batches(nodes: Iterable[Node]) -> Iterator[Sequence[Node]]:
    wanted = in_term_order(nodes)
    for start in range(0, len(wanted), NODES_OF_A_QUERY):
        yield wanted[start : start + NODES_OF_A_QUERY]


class _TextReader:
    """Reads the texts of batches of nodes; keeps the routes of the profile and the labels of linked nodes."""

    def __init__(self, profile: Profile, triples: TripleLookups, documents: TextDocuments | None):
        self._profile, self._triples, self._documents = profile, triples, documents
        self._routing = FieldRouting(profile)
        self._routes: dict[NamedNode, FieldRoute] = {}
        self._labels: dict[str, list[Value]] = {}
        self._documented = [
            (position, field.name)
            for position, field in enumerate(profile.fields)
            if documents is not None and field.name in set(documents.fields())
        ]
        self._paths = [
            (path, can_be_empty(path), self._routing.path_route(position))
            for position, field in enumerate(profile.fields)
            for path in alternatives(field.path)
        ]
        self._steps = frozenset(iri for f in profile.fields if f.path is not None for iri in single_steps(f.path))
        self._has_local_names = any(field.local_name for field in profile.fields)
        self._needs_presence = self._has_local_names or any(empty for _, empty, _ in self._paths)

    def read(self, nodes: Sequence[Node]) -> dict[Node, FieldValues]:
        """The values of the entities among the nodes, in their order."""
        structural = self._triples.structural(nodes)
        nodes = [node for node in nodes if node not in structural]
        if self._profile.entities:
            present = self._triples.instances(nodes, self._profile.entities, self._profile.types)
            nodes = [node for node in nodes if node in present]
        else:
            present = self._triples.in_graph(nodes) if self._needs_presence else set()
        gathering = Gathering(self._profile, routing=self._routing)
        self._add_triples(gathering, nodes)
        for path, empty, route in self._paths:
            starts = [node for node in nodes if node in present] if empty else nodes
            for start, ends in ends_of(path, starts, self._triples).items():
                add = gathering.adder(route)
                for end in ends:
                    add(start, end)
        self._add_documents(gathering, nodes)
        self._read_labels(gathering)
        found: dict[Node, FieldValues] = {}
        for node in nodes:
            token = str(node)
            # The values of a node with a local name are never empty, so whether it is an entity comes first.
            if any(token in held for held in gathering.literals) or self._is_named(node, present):
                found[node] = self._values(gathering, token)
            elif any(token in held for held in gathering.links):
                values = self._values(gathering, token)
                if any(values):
                    found[node] = values
        return found

    def _values(self, gathering: Gathering, token: str) -> FieldValues:
        return tuple(gathering.values(i, token, self._labels.__getitem__) for i in range(len(self._profile.fields)))

    def _is_named(self, node: Node, present: Collection[Node]) -> bool:
        """Whether the local name of a node is text."""
        return (
            self._has_local_names and isinstance(node, NamedNode) and node in present and bool(local_name(node.value))
        )

    def _add_triples(self, gathering: Gathering, nodes: Sequence[Node]) -> None:
        everything = self._routing.has_rest
        only = None if everything else sorted(self._steps)
        without = self._profile.ignore if everything else ()
        rows = self._triples.outgoing(nodes, only, [p for p in without if p not in self._steps])
        self._add_rows(gathering, rows)

    def _add_rows(self, gathering: Gathering, triples: Iterable[StatedTriple]) -> None:
        """Adds triples, those of a predicate one behind the other."""
        last, add = None, None
        for subject, predicate, end in triples:
            if add is None or predicate is not last:
                last, add = predicate, gathering.adder(self._route(predicate))
            add(subject, end)

    def _route(self, predicate: NamedNode) -> FieldRoute:
        route = self._routes.get(predicate)
        if route is None:
            route = self._routes[predicate] = self._routing.route(predicate.value)
        return route

    def _add_documents(self, gathering: Gathering, nodes: Sequence[Node]) -> None:
        if self._documents is not None:
            for position, name in self._documented:
                for node in nodes:
                    gathering.add_text(position, node, self._documents.texts(node, name))

    def _read_labels(self, gathering: Gathering) -> None:
        """Reads the labels of the linked nodes."""
        linked = {target: None for held in gathering.links for targets in held.values() for target in targets}
        if len(self._labels) > MAX_LABELS_HELD:
            self._labels.clear()
        new = [token for token in linked if token not in self._labels]
        own = Gathering(self._profile, routing=self._routing)
        self._add_rows(own, self._triples.outgoing(map(node_of, new), self._profile.labels))
        for token in new:
            self._labels[token] = own.names_of(token)
