"""Extraction of the text of entities from a graph and its text documents, field by field.

`extract` reads everything once, for an index; entities/passage_texts.py reads single entities, for passages. Both feed
the same Gathering, and tests/entities/test_extraction.py checks that their texts are equal. A field that only documents
have is never held in memory: it is read from them, once for an index that takes it early.

Each predicate is a separate query, so that the store can read several at once; a profile with a rest field, or with
local names for every node, reads all predicates of the graph, any other profile only those that it names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from hybridkg.entities.field_routing import FieldRoute, Gathering, Value
from hybridkg.entities.profile.filters import n_triples
from hybridkg.entities.profile.paths import alternatives, to_sparql
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_engine import Taker
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import NamedNode, Node, Term
from hybridkg.rdf.tsv import node_of

STRUCTURE = (
    f"SELECT ?s WHERE {{ VALUES ?p {{ {' '.join(str(NamedNode(iri)) for iri in STRUCTURAL_PREDICATES)} }} "
    "?s ?p ?o FILTER(isBlank(?s)) }"
)
"""Query for the blank nodes that are no entities."""

Rows = Iterable[tuple[Term | None, ...]]

RECORDS_PER_REPORT = 1_000


class TextDocuments(Protocol):
    """Text that is not in the graph."""

    def fields(self) -> Iterable[str]:
        """Names of the documents' fields."""

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        """Nodes with texts in a field, and these texts, in term order: blank nodes by label, then IRIs."""

    def values(self, field: str) -> Iterator[tuple[str, list[str]]]:
        """As `stream` for an index: (token, texts: distinct, sorted, none blank), nodes without such texts left out."""

    def texts(self, node: Node, field: str) -> list[str]:
        """Texts of a node in a field; empty for none."""


@dataclass(frozen=True)
class Extraction:
    """The text of a knowledge base, ready to be indexed.

    Args:
        profile: the profile, with the fields that only the documents have.
        nodes: the entities in term order (blank nodes by label, then IRIs), each with at least one value.
        provisional: index into `nodes` of each provisional number that `extract` passed to `early`.
    """

    profile: Profile
    nodes: list[Node]
    provisional: list[int]
    _tokens: list[str]
    _gathering: Gathering
    _store: GraphStore
    _documents: TextDocuments | None = None
    _documented: Mapping[int, str] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """Fields as the text index stores them; a position in this tuple is the argument of `stream`."""
        return self.profile.indexed_fields()

    def stream(self, position: int) -> Iterator[tuple[int, list[Value]]]:
        """Values of one field: (index into `nodes`, (text, language tag or "") distinct and sorted), ascending."""
        if position in self._documented and self._documents is not None:
            return self._from_documents(self._documents, self._documented[position])
        return self._gathering.stream(position, self._tokens)

    def _from_documents(self, documents: TextDocuments, name: str) -> Iterator[tuple[int, list[Value]]]:
        """As `stream`, of a field that only documents have; they and the tokens are in term order."""
        tokens, at = self._tokens, 0
        for token, values in _values_of(documents, name):
            if at == len(tokens):
                return
            if tokens[at] != token:
                at = bisect_left(tokens, _term_order(token), lo=at, key=_term_order)
            if at < len(tokens) and tokens[at] == token:
                yield at, values
                at += 1

    def filter_values(self, predicate: str) -> Iterator[tuple[int, list[str]]]:
        """(index into `nodes`, objects in N-Triples: distinct and sorted), ascending, of entities with the predicate.

        Blank nodes and triples are left out. Memory: the values, and once for all predicates a dictionary of the
        entities.
        """
        held: dict[int, list[str]] = {}
        shared: dict[str, str] = {}  # many entities have the same value
        ids = self._ids
        query = f"SELECT ?s ?o WHERE {{ ?s {NamedNode(predicate)} ?o }}"
        with closing(self._store.select_lines([query])) as answers:
            for _, lines in answers:
                for line in lines:
                    subject, token = line.split("\t")
                    entity = ids.get(subject)
                    if entity is not None and not token.startswith(("_:", "<<")):
                        held.setdefault(entity, []).append(shared.setdefault(token, token))
        for entity in sorted(held):
            yield entity, sorted({n_triples(token) for token in held[entity]})

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self._tokens)}


def extract(
    profile: Profile,
    store: GraphStore,
    documents: TextDocuments | None = None,
    progress: Callable[[int], None] | None = None,
    early: Taker | None = None,
) -> Extraction:
    """Reads all text of a profile.

    Args:
        profile: the fields. Fields that only the documents have are appended (Profile.with_documents).
        store: the graph; its default graph as it is configured.
        documents: text that is not in the graph.
        progress: called with the number of rows read since its last call.
        early: called with each field of literals once its rows have been read, while the store reads the others;
            `Extraction.provisional` maps the numbers that it gets to entities.

    Returns:
        The entities and a stream of values for each field. Memory: the text that is in the graph, and one list for
        each pair of entity and field.
    """
    report = progress or (lambda rows: None)
    if documents is not None:
        profile = profile.with_documents(documents.fields())
    local_names = any(field.local_name for field in profile.fields)
    gathering = Gathering(profile, keep_nodes=local_names and not profile.entities)
    queries = _queries(profile, store, gathering)
    members: set[str] | None = set() if profile.entities else None
    structure: set[str] = set()
    numbers: dict[str, int] = {}
    waiting = _early_fields(profile, documents, queries)
    with closing(store.select_lines([text for text, _ in queries])) as answers:
        for i, lines in answers:
            route = queries[i][1]
            if not lines and early is not None:
                for position, needed in waiting.items():
                    if i in needed:
                        needed.remove(i)
                        if not needed:
                            early(position, gathering.early_stream(position, members, structure, numbers))
            elif route is not None:
                gathering.add_lines(route, lines)
                report(len(lines))
            elif queries[i][0] == STRUCTURE:
                structure.update(lines)
            elif members is not None:
                members.update(lines)
    documented: dict[int, str] = {}
    tokens_with_text: set[str] = set()
    if documents is not None:
        for name in documents.fields():
            position = next(i for i, field in enumerate(profile.fields) if field.name == name)
            own = profile.fields[position]
            if own.path is not None or own.rest or own.local_name:
                for node, texts in documents.stream(name):
                    gathering.add_text(position, node, texts)
                continue
            documented[position] = name
            records = _collected(_values_of(documents, name), members, structure, tokens_with_text, report)
            if early is not None:
                early(position, ((numbers.setdefault(token, len(numbers)), values) for token, values in records))
            for _ in records:  # drains what `early` has not read
                pass
    tokens_with_text |= gathering.with_text(members)
    tokens_with_text -= structure
    tokens = sorted(tokens_with_text, key=_term_order)
    ids = {token: i for i, token in enumerate(tokens)} if numbers else {}
    provisional = [ids[token] for token in numbers]
    nodes = list(map(node_of, tokens))
    return Extraction(profile, nodes, provisional, tokens, gathering, store, documents, documented)


def _values_of(documents: TextDocuments, name: str) -> Iterator[tuple[str, list[Value]]]:
    """(token, values: distinct and sorted) of the nodes with values in a field."""
    return ((token, [(text, "") for text in texts]) for token, texts in documents.values(name))


def _collected(
    records: Iterator[tuple[str, list[Value]]],
    members: set[str] | None,
    structure: set[str],
    tokens: set[str],
    report: Callable[[int], None],
) -> Iterator[tuple[str, list[Value]]]:
    """The records of members that are no structure; adds their tokens to `tokens`."""
    for n, (token, values) in enumerate(records, 1):
        if n % RECORDS_PER_REPORT == 0:
            report(RECORDS_PER_REPORT)
        if (members is None or token in members) and token not in structure:
            tokens.add(token)
            yield token, values


def _queries(profile: Profile, store: GraphStore, gathering: Gathering) -> list[tuple[str, FieldRoute | None]]:
    """Queries and their routes: first structure and members of classes (no route), then literals, then links."""
    routing = gathering.routing
    everything = routing.has_rest or gathering.keep_nodes
    predicates = _all_predicates(store) if everything else [str(NamedNode(iri)) for iri in routing.predicates()]
    routes = [(predicate, routing.route(predicate[1:-1])) for predicate in predicates]
    routes = [(path, route) for path, route in routes if gathering.keep_nodes or not route.is_empty()]
    # One query per alternative: Oxigraph 0.5 takes 62 s for 204 inverse steps in one path, and 2 s for them separately.
    routes += [
        (to_sparql(part), routing.path_route(position))
        for position, field in enumerate(profile.fields)
        for part in alternatives(field.path)
    ]
    routes.sort(key=lambda one: (bool(one[1].links) or not one[1].strings, one[0]))
    types = [str(NamedNode(iri)) for iri in profile.types]
    classes = [f"SELECT ?s WHERE {{ ?s {p} {NamedNode(iri)} }}" for iri in profile.entities for p in types]
    return [(text, None) for text in (STRUCTURE, *classes)] + [
        (f"SELECT ?s ?o WHERE {{ ?s {path} ?o }}", route) for path, route in routes
    ]


def _early_fields(
    profile: Profile, documents: TextDocuments | None, queries: Sequence[tuple[str, FieldRoute | None]]
) -> dict[int, set[int]]:
    """Position -> queries that it waits for, of the fields of literals without text of documents."""
    held = set(documents.fields()) if documents is not None else set()
    return {
        position: {
            i for i, (_, route) in enumerate(queries) if route is None or position in route.strings + route.others
        }
        for position, field in enumerate(profile.fields)
        if field.text != "labels" and not field.local_name and field.name not in held
    }


def _all_predicates(store: GraphStore) -> list[str]:
    """Predicates of the graph in SPARQL syntax, sorted."""
    return sorted(str(row[0]) for row in store.select("SELECT DISTINCT ?p WHERE { ?s ?p ?o }").rows)


def _term_order(token: str) -> tuple[bool, str]:
    """Tokens of blank nodes by label, then those of IRIs."""
    # Without the closing bracket, which would sort after a `!`.
    return (True, token[:-1]) if token.startswith("<") else (False, token)
