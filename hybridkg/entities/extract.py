"""Takes the text of entities out of a graph and its text documents, field by field.

`extract` reads everything once, for an index; `entity_texts` reads one
entity, for a snippet. Both feed the same Gathering, and
tests/entities/test_extract.py holds them to the same texts.

A profile with a rest field, or with local names for every node, needs all
triples: one scan serves all of its fields (0.5 million rows per second come
out of pyoxigraph, whatever the query). Any other profile asks for its own
predicates only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hybridkg.entities.fields import Profile
from hybridkg.entities.gathering import Gathering, Value, is_node
from hybridkg.entities.paths import can_be_empty, longer_part, to_sparql
from hybridkg.errors import UnknownNameError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import NamedNode, Node, Term
from hybridkg.registry import did_you_mean

ROWS_PER_REPORT = 20_000
"""Rows between two calls of a progress function: about 25 calls per second."""

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

Rows = Iterable[tuple[Term | None, ...]]


class TextDocuments(Protocol):
    """Text that is not in the graph."""

    def fields(self) -> Iterable[str]:
        """The names of the fields that the documents have."""

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        """Every node that has texts in a field, with them."""

    def texts(self, node: Node, field: str) -> list[str]:
        """The texts of one node in a field; empty where it has none."""


@dataclass(frozen=True)
class Extraction:
    """The text of a knowledge base, ready to be indexed.

    Args:
        profile: the profile, with the fields that only the documents have.
        nodes: the entities in term order (blank nodes by label, then IRIs), each with at least one value.
    """

    profile: Profile
    nodes: list[Node]
    _gathering: Gathering

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """The fields as the text index stores them; a position in this tuple is the argument of `stream`."""
        return self.profile.indexed_fields()

    def stream(self, position: int) -> Iterator[tuple[int, list[Value]]]:
        """The values of one field: (index into `nodes`, values), ascending, entities without any left out.

        A value is (text, language tag or ""); values are distinct and sorted.
        """
        for i, node in enumerate(self.nodes):
            values = self._gathering.values(position, node, self._gathering.names_of)
            if values:
                yield i, values


def extract(
    profile: Profile,
    store: GraphStore,
    documents: TextDocuments | None = None,
    progress: Callable[[int], None] | None = None,
) -> Extraction:
    """Reads all text that the profile asks for.

    Args:
        profile: the fields. Fields that only the documents have are appended (Profile.with_documents).
        store: the graph; its default graph as it is configured.
        documents: text that is not in the graph.
        progress: called with the number of rows read since its last call.

    Returns:
        The entities and a stream of values for each field. Memory: the text, and one list for each pair of
        entity and field.
    """
    if documents is not None:
        profile = profile.with_documents(documents.fields())
    local_names = any(field.local_name for field in profile.fields)
    keep_nodes = local_names and not profile.entities
    gathering = Gathering(profile, keep_nodes=keep_nodes)
    report = progress or _no_report
    if gathering.routing.has_rest or keep_nodes:
        gathering.add(_counted(store.select("SELECT ?s ?p ?o WHERE { ?s ?p ?o }").rows, report))
    else:
        for iri in gathering.routing.predicates():
            predicate = NamedNode(iri)
            rows = _counted(store.select(f"SELECT ?s ?o WHERE {{ ?s {predicate} ?o }}").rows, report)
            gathering.add((subject, predicate, target) for subject, target in rows)
    for position, path, _ in _longer_paths(profile):
        gathering.add_path(position, _counted(store.select(f"SELECT ?s ?o WHERE {{ ?s {path} ?o }}").rows, report))
    if documents is not None:
        for name in documents.fields():
            position = next(i for i, field in enumerate(profile.fields) if field.name == name)
            for node, texts in documents.stream(name):
                gathering.add_text(position, node, texts)
    return Extraction(profile, _entities(profile, store, gathering), gathering)


def entity_texts(
    profile: Profile,
    store: GraphStore,
    documents: TextDocuments | None,
    node: Node,
    fields: Sequence[str] = (),
) -> list[tuple[str, str, str]]:
    """The texts of one entity, as `extract` gave them.

    Args:
        profile: the profile that the index was built with, documents' fields included.
        store: the graph.
        documents: text that is not in the graph.
        node: the entity.
        fields: names of the fields wanted; empty means all.

    Returns:
        (field, text, language tag or ""), fields in the order asked for, values sorted.

    Raises:
        UnknownNameError: the profile has no field of that name.
    """
    names = [field.name for field in profile.fields]
    for name in fields:
        if name not in names:
            raise UnknownNameError(f"no field {name!r}; known: {', '.join(names)}", hint=did_you_mean(name, names))
    wanted = [names.index(name) for name in fields] or range(len(names))
    gathering = Gathering(profile)
    bound = {"s": node}
    own = "" if gathering.routing.has_rest else _filter(gathering.routing.predicates())
    gathering.add(store.select(f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {own}}}", bound).rows)
    for position, path, empty in _longer_paths(profile):
        # SPARQL starts an empty path at a bound node even when no triple has it, at an unbound one never
        if position in wanted and (not empty or _in_graph(store, node)):
            gathering.add_path(position, store.select(f"SELECT ?s ?o WHERE {{ ?s {path} ?o }}", bound).rows)
    if documents is not None:
        held = set(documents.fields())
        for position in wanted:
            if names[position] in held:
                gathering.add_text(position, node, documents.texts(node, names[position]))
    names_of = _names_asker(profile, store)
    return [
        (names[position], text, language)
        for position in wanted
        for text, language in gathering.values(position, node, names_of)
    ]


def _names_asker(profile: Profile, store: GraphStore) -> Callable[[Node], list[Value]]:
    """The labels of a node, asked of the store when they are wanted."""
    query = f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {_filter(profile.labels)}}}"
    known: dict[Node, list[Value]] = {}

    def names_of(node: Node) -> list[Value]:
        if node not in known:
            gathering = Gathering(profile)
            gathering.add(store.select(query, {"s": node}).rows)
            known[node] = gathering.names_of(node)
        return known[node]

    return names_of


def _filter(predicates: Iterable[str]) -> str:
    """Keeps ?p to these predicates; inside the store, because a node may have a million other triples."""
    return f"FILTER(?p IN ({', '.join(str(NamedNode(iri)) for iri in predicates)})) "


def _longer_paths(profile: Profile) -> Iterator[tuple[int, str, bool]]:
    """(field, SPARQL text, whether it can be empty) of what single steps do not cover."""
    for position, field in enumerate(profile.fields):
        path = longer_part(field.path) if field.path is not None else None
        if path is not None:
            yield position, to_sparql(path), can_be_empty(path)


def _in_graph(store: GraphStore, node: Node) -> bool:
    """Whether a triple mentions the node as subject or object."""
    query = "SELECT ?s WHERE { { ?s ?p ?o } UNION { ?o ?p ?s } } LIMIT 1"
    return next(iter(store.select(query, {"s": node}).rows), None) is not None


def _entities(profile: Profile, store: GraphStore, gathering: Gathering) -> list[Node]:
    """The nodes with at least one value, in term order."""
    candidates: Iterable[Node] = dict.fromkeys(gathering.candidates())
    if profile.entities:
        classes = ", ".join(str(NamedNode(iri)) for iri in profile.entities)
        query = f"SELECT DISTINCT ?s WHERE {{ ?s {RDF_TYPE} ?c FILTER(?c IN ({classes})) }}"
        members = {row[0] for row in store.select(query).rows}
        local_names = any(field.local_name for field in profile.fields)
        candidates = (
            [node for node in members if is_node(node)]
            if local_names
            else [node for node in candidates if node in members]
        )
    return sorted(filter(gathering.has_text, candidates), key=_term_order)


def _term_order(node: Node) -> tuple[bool, str]:
    return isinstance(node, NamedNode), node.value


def _no_report(rows: int) -> None:
    """For callers that show no progress."""
    del rows


def _counted(rows: Rows, report: Callable[[int], None]) -> Rows:
    count = 0
    for row in rows:
        count += 1
        if count == ROWS_PER_REPORT:
            report(count)
            count = 0
        yield row
    report(count)
