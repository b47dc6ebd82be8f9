"""Dirty entities: those whose text a change of the graph or of documents may have changed.

The text of an entity depends on its own triples, on the labels of linked nodes, and on triples along the paths of the
profile. The dirty entities of a changed triple are found by walking from it backwards in the new graph. That suffices:
the first changed step on the path of a value has only unchanged steps before it, and these are in the new graph as well
as in the old one. tests/entities/test_dirty.py compares the full extractions of both states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from hybridkg.entities.field_routing import FieldRouting, Gathering, Value
from hybridkg.entities.path_walks import SteppedPredicate, TooManyNodesError, starts_of, steps_of
from hybridkg.entities.profile.labels import local_name
from hybridkg.entities.profile.paths import Path, alternatives, can_be_empty, single_steps
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups, in_term_order
from hybridkg.rdf.terms import BlankNode, NamedNode, Node, Term
from hybridkg.rdf.tsv import node_of

MAX_WALK = 200_000
"""Nodes that one step of a walk may reach, even where fewer entities may be dirty; they take about half a second."""


@dataclass(frozen=True)
class SourceChange:
    """A change of the sources of text.

    A triple that another graph of a union still has may be in `added`, in `removed`, or in both. That makes more
    entities dirty, and none less.

    Args:
        added: triples that the default graph of queries has now, and had not: (subject, predicate, object).
        removed: triples that it had, and has no more.
        documents: entities whose documents were added, changed or removed.
    """

    added: Sequence[StatedTriple] = ()
    removed: Sequence[StatedTriple] = ()
    documents: Sequence[Node] = ()

    @cached_property
    def triples(self) -> tuple[StatedTriple, ...]:
        """All changed triples."""
        return (*self.added, *self.removed)


@dataclass(frozen=True)
class DirtyEntities:
    """The nodes whose text may differ between two states, or that may be an entity in only one of them.

    Args:
        nodes: in term order (blank nodes by label, then IRIs), each once; none where there are too many.
        filtered: subjects of changed triples whose predicate is in hk:filters, in term order: a text server stores
            their objects. Not all of them are entities.
        too_many: whether the entities are more than the limit.
        reason: why they are, as a sentence without a full stop; else empty.
    """

    nodes: tuple[Node, ...] = ()
    filtered: tuple[Node, ...] = ()
    too_many: bool = False
    reason: str = ""


def dirty_entities(
    profile: Profile, change: SourceChange, after: TripleLookups, *, limit: int, known: Container[Node] = ()
) -> DirtyEntities:
    """All entities whose text a change may have changed, and few others.

    Args:
        profile: of the index, with the documents' fields.
        change: the changed triples and documents.
        after: lookups in the graph with the change.
        limit: maximum number of dirty entities. Counting stops there.
        known: nodes that are entities in the graph without the change, so that their class need not be read.

    Returns:
        A superset of the nodes for which the full extractions of the two states differ. Own triples count only where a
        field takes their object, and a label only where it changes what a field shows of its node.

    >>> from hybridkg.entities.profile.paths import ShaclPredicate
    >>> from hybridkg.rdf.terms import Literal, Quad
    >>> from hybridkg.store.oxigraph import OxigraphStore
    >>> film, title, words = NamedNode("x:film"), NamedNode("x:title"), Literal("Alien")
    >>> profile = Profile("films", (Field("title", path=ShaclPredicate("x:title")),))
    >>> store = OxigraphStore.memory([Quad(film, title, words)])
    >>> dirty_entities(profile, SourceChange(added=[(film, title, words)]), TripleLookups(store), limit=100).nodes
    (<NamedNode value=x:film>,)
    """
    search = _DirtySearch(profile, change, after, limit, known)
    filters = frozenset(profile.filters)
    filtered = in_term_order({s for s, p, _ in change.triples if p.value in filters} if filters else ())
    for stage, reason in search.stages():
        try:
            stage()
        except TooManyNodesError:
            return DirtyEntities((), filtered, True, reason())
    return DirtyEntities(in_term_order(search.dirty), filtered)


class _DirtySearch:
    """The search of one change; `dirty` is what it has found so far."""

    def __init__(
        self,
        profile: Profile,
        change: SourceChange,
        triples: TripleLookups,
        limit: int,
        known: Container[Node],
    ):
        self.dirty: dict[Node, None] = {}
        self._profile, self._change, self._triples, self._limit = profile, change, triples, limit
        self._known = known
        self._routing = FieldRouting(profile)
        self._most = max(limit, MAX_WALK)
        self._by_predicate = _by_predicate(change.triples)
        self._retyped = {
            s: None
            for iri in profile.types
            for s, _, o in self._by_predicate.get(iri, ())
            if isinstance(o, NamedNode) and o.value in profile.entities
        }
        self._changed = self._gathered(self._by_predicate)
        self._walked_field = profile.fields[0].name
        self._links: Counter[Term] = Counter()

    def stages(self) -> Iterator[tuple[Callable[[], None], Callable[[], str]]]:
        """Functions that add to `dirty`, or raise TooManyNodesError, each with its reason for that."""
        many = f"more than {self._limit:,} entities"
        own = f"{many} have triples or documents that changed"
        yield self._add_changed, lambda: own
        yield self._add_path_steps, lambda: f"the path of the field {self._walked_field!r} changed for {many}"
        yield self._add_linked, lambda: f"the label of {self._most_linked()} is text of {many}"
        if not self._profile.entities:  # an entity of a class is in the graph
            yield self._add_appeared_or_gone, lambda: own

    def _gathered(self, by_predicate: Mapping[str, Sequence[StatedTriple]]) -> Gathering:
        gathering = Gathering(self._profile, routing=self._routing)
        for iri, triples in by_predicate.items():
            route = self._routing.route(iri)
            if not route.is_empty():
                add = gathering.adder(route)
                for subject, _, end in triples:
                    add(subject, end)
        return gathering

    def _add(self, terms: Iterable[Term]) -> None:
        """Adds the nodes among some terms that are entities by their class, or were so."""
        nodes = [term for term in terms if isinstance(term, NamedNode | BlankNode) and term not in self.dirty]
        if self._profile.entities:
            others = [node for node in nodes if node not in self._known and node not in self._retyped]
            members = self._triples.instances(others, self._profile.entities, self._profile.types) if others else set()
            outside = {node for node in others if node not in members}
            nodes = [node for node in nodes if node not in outside] if outside else nodes
        self.dirty |= dict.fromkeys(nodes)
        if len(self.dirty) > self._limit:
            raise TooManyNodesError

    def _add_changed(self) -> None:
        """Adds the subjects of triples that a field takes or that make structure, those with a new class or without an
        old one, documents.
        """
        nodes = {str(node): node for node in _subjects_of(self._change.triples)}
        for literals in self._changed.literals:
            self._add([nodes[token] for token in literals])
        for links in self._changed.links:
            self._add([nodes[token] for token in links])
        self._add(self._retyped)
        structural = (triple for iri in STRUCTURAL_PREDICATES for triple in self._by_predicate.get(iri, ()))
        self._add({s: None for s, _, _ in structural if isinstance(s, BlankNode)})
        self._add(dict.fromkeys(self._change.documents))

    def _add_path_steps(self) -> None:
        """Adds the entities from which a longer path leads to the start of a changed step."""
        starts: dict[tuple[Path, ...], dict[Term, None]] = {}
        names: dict[tuple[Path, ...], str] = {}
        for iri, steps in self._path_steps.items():
            for subject, _, end in self._by_predicate.get(iri, ()):
                for name, step in steps:
                    starts.setdefault(step.before, {})[end if step.inverted else subject] = None
                    names.setdefault(step.before, name)
        for before, terms in starts.items():
            self._walked_field = names[before]
            self._add(starts_of(before, terms, self._triples, self._most))

    @cached_property
    def _path_steps(self) -> dict[str, list[tuple[str, SteppedPredicate]]]:
        """(name of the field, step) of the longer paths of all fields, by predicate."""
        found: dict[str, list[tuple[str, SteppedPredicate]]] = {}
        for field in self._profile.fields:
            for path in alternatives(field.path):
                for step in steps_of(path):
                    found.setdefault(step.iri, []).append((field.name, step))
        return found

    def _add_linked(self) -> None:
        """Adds the entities that show the changed label of a node."""
        named = [node_of(token) for token in self._changed.names]
        if not named:
            return
        before, after = self._labels(named)
        for field in self._profile.fields:
            if field.text == "labels":
                nodes = [node for node in named if _differ(field, before[node], after[node])]
                self._links = Counter(dict.fromkeys(nodes, 0))
                for linking in self._linking(field, nodes):
                    self._add(linking)

    def _labels(self, nodes: Sequence[Node]) -> tuple[dict[Node, list[Value]], dict[Node, list[Value]]]:
        """The labels of nodes before and after the change."""
        now = list(self._triples.outgoing(nodes, self._profile.labels))
        added = frozenset(self._change.added)
        after = self._gathered(_by_predicate(now))
        before = self._gathered(_by_predicate([*(one for one in now if one not in added), *self._change.removed]))
        return (
            {node: before.names_of(str(node)) for node in nodes},
            {node: after.names_of(str(node)) for node in nodes},
        )

    def _linking(self, field: Field, nodes: Sequence[Node]) -> Iterator[Iterable[Term]]:
        """The nodes that link to some nodes by a field of labels, by each way that it has."""
        if steps := sorted(single_steps(field.path)) if field.path is not None else []:
            yield self._subjects(self._triples.incoming(nodes, steps))
        if field.rest:
            yield self._subjects(self._triples.incoming(nodes, without=self._unread))
        for path in alternatives(field.path):
            yield starts_of((path,), nodes, self._triples, self._most)

    def _subjects(self, triples: Iterable[StatedTriple]) -> dict[Term, None]:
        """The subjects, counted by object."""
        found: dict[Term, None] = {}
        for subject, _, end in triples:
            found[subject] = None
            self._links[end] += 1
            if len(found) > self._most:
                raise TooManyNodesError
        return found

    def _most_linked(self) -> str:
        """The node with the most links so far, with the number of the others whose label has changed."""
        node, _ = max(self._links.items(), key=lambda one: (one[1], str(one[0])))
        name = node.value if isinstance(node, NamedNode) else str(node)
        others = len(self._links) - 1
        return f"{name} (and of {others:,} other{'s' * (others > 1)})" if others else name

    @cached_property
    def _unread(self) -> list[str]:
        """Predicates whose links no rest field takes."""
        paths = [field.path for field in self._profile.fields if field.text == "labels" and field.path is not None]
        return sorted({*self._profile.ignore, *(iri for path in paths for iri in single_steps(path))})

    def _add_appeared_or_gone(self) -> None:
        """Adds nodes that were not in the graph or are no more, where that alone is or was a text."""
        fields = self._profile.fields
        if any(f.text == "labels" and any(map(can_be_empty, alternatives(f.path))) for f in fields):
            nodes = self._changed_nodes(lambda node: True)
        elif any(field.local_name for field in fields):
            nodes = self._changed_nodes(lambda node: isinstance(node, NamedNode) and bool(local_name(node.value)))
        else:
            return
        were = _nodes_of(self._change.removed)
        now = self._triples.in_graph(node for node in nodes if node in were)
        self._add(node for node in nodes if node in were and node not in now)
        new = [node for node in nodes if node not in were]
        subjects = _subjects_of(self._change.added)
        older = self._triples.subjects_in(node for node in new if node not in subjects)
        added = frozenset(self._change.added)
        self._add(node for node in new if node not in older and not self._has_other_triple(node, added))

    def _changed_nodes(self, counts: Callable[[Node], bool]) -> list[Node]:
        """Subjects and objects of the changed triples that are not dirty so far."""
        return [node for node in _nodes_of(self._change.triples) if node not in self.dirty and counts(node)]

    def _has_other_triple(self, node: Node, added: frozenset[StatedTriple]) -> bool:
        """Whether a node has a triple that is not new; reads one more than are."""
        triples = chain(self._triples.outgoing([node]), self._triples.incoming([node]))
        return any(triple not in added for triple in triples)


def _differ(field: Field, before: Iterable[Value], after: Iterable[Value]) -> bool:
    """Whether a field shows different labels of a node."""
    one, other = ({value for value in values if field.accepts(value[1])} for values in (before, after))
    return one != other


def _by_predicate(triples: Iterable[StatedTriple]) -> dict[str, list[StatedTriple]]:
    found: dict[str, list[StatedTriple]] = {}
    for triple in triples:
        found.setdefault(triple[1].value, []).append(triple)
    return found


def _nodes_of(triples: Iterable[StatedTriple]) -> dict[Node, None]:
    """Subjects and objects, without literals and quoted triples."""
    return {term: None for s, _, o in triples for term in (s, o) if isinstance(term, NamedNode | BlankNode)}


def _subjects_of(triples: Iterable[StatedTriple]) -> dict[Node, None]:
    return {subject: None for subject, _, _ in triples}
