"""The text of some entities, read in batches: the values that the full extraction has for them.

A commit compares the texts of the dirty entities before and after it, and builds a segment of the text index from those
that differ. The rules of values are those of Gathering; the order of the steps is that of `extract`, whose results
tests/entities/test_changed_text.py compares.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.extraction import TextDocuments
from hybridkg.entities.field_routing import FieldRoute, FieldRouting, FieldValues, Gathering, Value
from hybridkg.entities.literal_texts import IdsOf, LiteralLookups, LiteralTexts
from hybridkg.entities.path_walks import ends_of, steps_of
from hybridkg.entities.profile.labels import local_name
from hybridkg.entities.profile.paths import alternatives, can_be_empty, single_steps
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.triple_lookups import NODES_OF_A_QUERY, StatedTriple, TripleLookups, in_term_order
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_engine import Taker
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import BlankNode, NamedNode, Node, Triple
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.rdf.tsv import node_of

TwoTexts: TypeAlias = tuple[dict[Node, FieldValues], dict[Node, FieldValues]]
"""Values before a change, and after it."""

_log = logging.getLogger(__name__)

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
        if self.texts.keys() <= wanted:
            return self
        texts = {node: values for node, values in self.texts.items() if node in wanted}
        return SelectedTexts(self.profile, texts, self.union_default_graph, self._triples)


def changed_nodes(before: SelectedTexts, after: SelectedTexts) -> tuple[Node, ...]:
    """The nodes whose text differs, or that are entities in only one of two states, in term order."""
    old, new = before.texts, after.texts
    return in_term_order(node for node in {**old, **new} if old.get(node) != new.get(node))


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
    for batch in _batches(in_term_order(nodes)):
        texts |= reader.read(batch).texts
    return SelectedTexts(profile, texts, union_default_graph, triples)


def texts_before_and_after(
    nodes: Iterable[Node],
    profile: Profile,
    states: TwoStates,
    documents: tuple[TextDocuments | None, TextDocuments | None] = (None, None),
    *,
    union_default_graph: bool = False,
    entities: Collection[Node] = (),
) -> tuple[SelectedTexts, SelectedTexts]:
    """The texts of the entities among some nodes in the two states of a change, as `texts_of` gives them.

    Args:
        nodes: in any order, repeats allowed.
        profile: of the index, with the fields of the documents of both states.
        states: the graph in both; the one that is read is read once.
        documents: of the state before, and of that after.
        union_default_graph: how the store is configured, for the text engine.
        entities: nodes that are entities in the state before, of which the fields that differ suffice: others may be
            left empty in both states.
    """
    lookups = states.before, states.after
    old, new = (_TextReader(profile, *state) for state in zip(lookups, documents, strict=True))
    touched = old.fields_of(states.predicates) | new.fields_of(states.predicates)
    texts: TwoTexts = {}, {}
    for batch in _batches(in_term_order(nodes)):
        narrow = _narrow_texts([node for node in batch if node in entities], old, new, touched)
        rest = [node for node in batch if node not in narrow[1]]
        earlier = old.read(rest)
        read = earlier.texts, new.read_after(rest, earlier, touched)
        for held, whole, own in zip(texts, read, narrow, strict=True):
            if rest:
                held.update(
                    (node, (own if node in own else whole)[node]) for node in batch if node in own or node in whole
                )
            else:
                held.update((node, own[node]) for node in batch)
        states.read.forget()
    before, after = (
        SelectedTexts(profile, held, union_default_graph, own) for held, own in zip(texts, lookups, strict=True)
    )
    return before, after


def literal_changes(
    profile: Profile,
    change: tuple[TripleColumns, TripleColumns],
    lookups: LiteralLookups,
    ids_of: IdsOf,
    documents: TextDocuments | None = None,
    *,
    limit: int,
) -> list[tuple[EntityValues, EntityValues]] | None:
    """For each field, the values before and after a change of literals of the entities whose values in it differ.

    Args:
        profile: of the index, with the documents' fields.
        change: the triples that are new, and those that have gone.
        lookups: in the state before.
        ids_of: nodes -> their ids in the state before; -1 for one that is no entity.
        documents: of both states.
        limit: maximum number of entities.

    Returns:
        None where the change may have changed other values than literals of these entities, or what is an entity, or
        where the entities are too many: `dirty_entities` and `texts_before_and_after` tell the change then.
    """
    predicates = frozenset(iri for triples in change for iri in triples.by_predicate)
    routing = FieldRouting(profile)
    documented = [position for position, _ in _documented(profile, documents)]
    texts = LiteralTexts.of(profile, routing, _touched(profile, routing, predicates), documented)
    if texts is None or not texts.follows(predicates):
        return None
    try:
        return texts.changes(*change, ids_of, lookups, limit)
    except ValueError:
        _log.warning("a change removes literals that the projection lacks; it is read again, triple by triple")
        return None


def _documented(profile: Profile, documents: TextDocuments | None) -> list[tuple[int, str]]:
    """(position, name) of the fields that may have values from documents."""
    names = set() if documents is None else set(documents.fields())
    return [(position, field.name) for position, field in enumerate(profile.fields) if field.name in names]


def _touched(profile: Profile, routing: FieldRouting, predicates: Collection[str]) -> frozenset[int]:
    """Positions of the fields whose values may depend on triples of some predicates."""
    found = set[int]()
    for iri in predicates:
        route = routing.route(iri)
        found.update(route.strings, route.others, route.links)
    for position, field in enumerate(profile.fields):
        if any(step.iri in predicates for path in alternatives(field.path) for step in steps_of(path)):
            found.add(position)
    if not set(profile.labels).isdisjoint(predicates):
        found.update(position for position, field in enumerate(profile.fields) if field.text == "labels")
    return frozenset(found)


def _narrow_texts(entities: Sequence[Node], old: _TextReader, new: _TextReader, touched: frozenset[int]) -> TwoTexts:
    """The values of touched fields of the entities, before and after; without those that may be entities no more."""
    if not entities or not old.reads_less(touched) or not new.reads_less(touched):
        return {}, {}
    return _of_staying(entities, old.read_fields(entities, touched), new.read_fields(entities, touched))


def _of_staying(entities: Sequence[Node], before: dict[Node, FieldValues], after: dict[Node, FieldValues]) -> TwoTexts:
    """The texts of those of some entities that surely are entities still."""
    stay = [node for node in entities if node in before and any(after.get(node, ()))]
    return {node: before[node] for node in stay}, {node: after[node] for node in stay}


def _batches(wanted: Sequence[Node]) -> Iterator[Sequence[Node]]:
    for start in range(0, len(wanted), NODES_OF_A_QUERY):
        yield wanted[start : start + NODES_OF_A_QUERY]


@dataclass(frozen=True)
class _Batch:
    """What has been read of some nodes in one state.

    Args:
        nodes: those whose values count: they are no structure, and of the profile's classes.
        present: those of them that are in the graph, as far as the profile needs it.
        texts: the entities among them with their values, in their order.
    """

    nodes: Sequence[Node]
    present: Collection[Node]
    texts: dict[Node, FieldValues]


class _TextReader:
    """Reads the texts of batches of nodes; keeps the routes of the profile and the labels of linked nodes."""

    def __init__(self, profile: Profile, triples: TripleLookups, documents: TextDocuments | None):
        self.profile, self._triples, self._documents = profile, triples, documents
        self.routing = FieldRouting(profile)
        self._routes: dict[tuple[NamedNode, frozenset[int]], FieldRoute] = {}
        self._labels: dict[str, list[Value]] = {}
        self._all = frozenset(range(len(profile.fields)))
        self._documented = _documented(profile, documents)
        self._paths = [
            (path, can_be_empty(path), position)
            for position, field in enumerate(profile.fields)
            for path in alternatives(field.path)
        ]
        self._steps = frozenset(iri for f in profile.fields if f.path is not None for iri in single_steps(f.path))
        self._has_local_names = any(field.local_name for field in profile.fields)
        self._needs_presence = self._has_local_names or any(empty for _, empty, _ in self._paths)

    def fields_of(self, predicates: Collection[str]) -> frozenset[int]:
        """Positions of the fields whose values may depend on triples of some predicates, or on documents.

        A local name and an empty path depend on whether the node is in the graph, which `read_after` compares.
        """
        return frozenset(position for position, _ in self._documented) | _touched(
            self.profile, self.routing, predicates
        )

    def read(self, nodes: Sequence[Node]) -> _Batch:
        """The values of the entities among the nodes, in their order."""
        nodes, present = self._counting(nodes)
        gathering = self._gathered(nodes, present, self._all, self._read_for(nodes, self._all))
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
        return _Batch(nodes, present, found)

    def read_after(self, nodes: Sequence[Node], earlier: _Batch, touched: frozenset[int]) -> dict[Node, FieldValues]:
        """The texts of `read`, whose values are those of an earlier state in all fields that are not touched."""
        counting, present = self._counting(nodes)
        if counting != earlier.nodes or present != earlier.present or touched == self._all:
            return self.read(nodes).texts
        if self._has_local_names and any(isinstance(n, NamedNode) and not self._is_named(n, present) for n in counting):
            return self.read(nodes).texts  # a local name is text only where the node is an entity for another reason
        remembered = self._read_for(counting, self._all)  # by `read`, in the state that is read
        gathering = self._gathered(counting, present, touched, remembered)
        absent: FieldValues = ([],) * len(self._all)
        found: dict[Node, FieldValues] = {}
        for node in counting:
            values = list[list[Value]](earlier.texts.get(node, absent))
            for position in touched:
                values[position] = gathering.values(position, str(node), self._labels.__getitem__)
            if any(values):
                found[node] = tuple(values)
        return found

    def reads_less(self, fields: frozenset[int]) -> bool:
        """Whether `read_fields` reads less than `read`, and tells which of some entities are so still."""
        has_rest = any(self.profile.fields[position].rest for position in fields)
        return fields != self._all and not has_rest and not self._has_local_names

    def read_fields(self, nodes: Sequence[Node], fields: frozenset[int]) -> dict[Node, FieldValues]:
        """The values of the nodes that count in some fields, with [] for all others."""
        counting, present = self._counting(nodes)
        gathering = self._gathered(counting, present, fields, self._read_for(counting, fields))
        found: dict[Node, FieldValues] = {}
        for node in counting:
            values, token = [list[Value]()] * len(self._all), str(node)
            for position in fields:
                values[position] = gathering.values(position, token, self._labels.__getitem__)
            found[node] = tuple(values)
        return found

    def _counting(self, nodes: Sequence[Node]) -> tuple[list[Node], Collection[Node]]:
        """The nodes that are no structure and of the profile's classes, and those that are in the graph."""
        structural = self._triples.structural(nodes)
        counting = [node for node in nodes if node not in structural]
        if self.profile.entities:
            present = self._triples.instances(counting, self.profile.entities, self.profile.types)
            return [node for node in counting if node in present], present
        return counting, self._triples.in_graph(counting) if self._needs_presence else set()

    def _gathered(
        self, nodes: Sequence[Node], present: Collection[Node], fields: frozenset[int], triples: Iterable[StatedTriple]
    ) -> Gathering:
        """The values of some fields; `triples` are those that `_read_for` has read for them, or for more fields."""
        gathering = Gathering(self.profile, routing=self.routing)
        self._add_rows(gathering, triples, fields)
        for path, empty, position in self._paths:
            if position in fields:
                starts = [node for node in nodes if node in present] if empty else nodes
                for start, ends in ends_of(path, starts, self._triples).items():
                    add = gathering.adder(self.routing.path_route(position))
                    for end in ends:
                        add(start, end)
        self._add_documents(gathering, nodes, fields)
        self._read_labels(gathering)
        return gathering

    def _values(self, gathering: Gathering, token: str) -> FieldValues:
        return tuple(gathering.values(i, token, self._labels.__getitem__) for i in range(len(self.profile.fields)))

    def _is_named(self, node: Node, present: Collection[Node]) -> bool:
        """Whether the local name of a node is text."""
        return (
            self._has_local_names and isinstance(node, NamedNode) and node in present and bool(local_name(node.value))
        )

    def _read_for(self, nodes: Sequence[Node], fields: frozenset[int]) -> Iterator[StatedTriple]:
        """The triples of the nodes that some fields may need."""
        everything = any(self.profile.fields[position].rest for position in fields)
        only = None if everything else [iri for iri in sorted(self._steps) if not self._takes_nothing(iri, fields)]
        without = self.profile.ignore if everything else ()
        return self._triples.outgoing(nodes, only, [p for p in without if p not in self._steps])

    def _add_rows(self, gathering: Gathering, triples: Iterable[StatedTriple], fields: frozenset[int]) -> None:
        """Adds triples, those of a predicate one behind the other, to some fields; with all of them, to the labels."""
        last, route, add = None, None, None
        for subject, predicate, end in triples:
            if route is None or predicate is not last:
                last, route = predicate, self._route(predicate, fields)
                add = None if route.is_empty() else gathering.adder(route)
            if add is not None:
                add(subject, end)

    def _takes_nothing(self, iri: str, fields: frozenset[int]) -> bool:
        """Whether some fields, or the labels of all of them, need no triple of a predicate."""
        return self._route(NamedNode(iri), fields).is_empty()

    def _route(self, predicate: NamedNode, fields: frozenset[int]) -> FieldRoute:
        route = self._routes.get((predicate, fields))
        if route is None:
            route = self.routing.route(predicate.value)
            if fields is not self._all:
                route = route.within(fields)
            self._routes[predicate, fields] = route
        return route

    def _add_documents(self, gathering: Gathering, nodes: Sequence[Node], fields: frozenset[int]) -> None:
        if self._documents is not None:
            for position, name in self._documented:
                for node in nodes if position in fields else ():
                    gathering.add_text(position, node, self._documents.texts(node, name))

    def _read_labels(self, gathering: Gathering) -> None:
        """Reads the labels of the linked nodes."""
        linked = {target: None for held in gathering.links for targets in held.values() for target in targets}
        if len(self._labels) > MAX_LABELS_HELD:
            self._labels.clear()
        new = [token for token in linked if token not in self._labels]
        own = Gathering(self.profile, routing=self.routing)
        self._add_rows(own, self._triples.outgoing(map(node_of, new), self.profile.labels), self._all)
        for token in new:
            self._labels[token] = own.names_of(token)
