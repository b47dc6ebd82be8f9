"""Takes the text of entities out of a graph and its text documents, field by field.

`extract` reads everything once, for an index; entities/passage_texts.py reads single
entities, for passages. Both feed the same Gathering, and
tests/entities/test_extraction.py holds them to the same texts.

A field that only documents have is never held in memory: it is read from them, once for an index that takes it early.

Each predicate is a query of its own, so that the store can read several of
them at once; a profile with a rest field, or with local names for every node,
reads all predicates of the graph, any other only those that it names.
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
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_engine import Taker
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.rdf.terms import NamedNode, Node, Term
from hybridkg.rdf.tsv import node_of

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

Rows = Iterable[tuple[Term | None, ...]]

RECORDS_PER_REPORT = 1_000


class TextDocuments(Protocol):
    """Text that is not in the graph."""

    def fields(self) -> Iterable[str]:
        """The names of the fields that the documents have."""

    def stream(self, field: str) -> Iterator[tuple[Node, list[str]]]:
        """Every node that has texts in a field, with them, in term order: blank nodes by label, then IRIs."""

    def values(self, field: str) -> Iterator[tuple[str, list[str]]]:
        """The same for an index: (token, texts: distinct, sorted, none blank), nodes without such texts left out."""

    def texts(self, node: Node, field: str) -> list[str]:
        """The texts of one node in a field; empty where it has none."""


@dataclass(frozen=True)
class Extraction:
    """The text of a knowledge base, ready to be indexed.

    Args:
        profile: the profile, with the fields that only the documents have.
        nodes: the entities in term order (blank nodes by label, then IRIs), each with at least one value.
        provisional: index into `nodes` of each provisional number that `extract` gave out early.
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
        """The fields as the text index stores them; a position in this tuple is the argument of `stream`."""
        return self.profile.indexed_fields()

    def stream(self, position: int) -> Iterator[tuple[int, list[Value]]]:
        """The values of one field: (index into `nodes`, values), ascending, entities without any left out.

        A value is (text, language tag or ""); values are distinct and sorted.
        """
        if position in self._documented and self._documents is not None:
            return self._from_documents(self._documents, self._documented[position])
        return self._gathering.stream(position, self._tokens)

    def _from_documents(self, documents: TextDocuments, name: str) -> Iterator[tuple[int, list[Value]]]:
        """The same of a field that only documents have; both they and the tokens are in term order."""
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
        """(index into `nodes`, objects as N-Triples writes them: distinct and sorted), ascending; for entities that
        have the predicate of a filter. Blank nodes and triples are left out.

        Asks the store. Memory: the values, and once for all predicates a dictionary of the entities.
        """
        held: dict[int, list[str]] = {}
        shared: dict[str, str] = {}  # many entities have one value
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
        """The index into `nodes` of each token."""
        return {token: i for i, token in enumerate(self._tokens)}


def extract(
    profile: Profile,
    store: GraphStore,
    documents: TextDocuments | None = None,
    progress: Callable[[int], None] | None = None,
    early: Taker | None = None,
) -> Extraction:
    """Reads all text that the profile asks for.

    Args:
        profile: the fields. Fields that only the documents have are appended (Profile.with_documents).
        store: the graph; its default graph as it is configured.
        documents: text that is not in the graph.
        progress: called with the number of rows read since its last call.
        early: called with each field of literals as soon as its rows have been read, while the store goes on
            reading the others; `Extraction.provisional` tells whom its numbers mean.

    Returns:
        The entities and a stream of values for each field. Memory: the text that is in the graph, and one list for
        each pair of entity and field.
    """
    report = progress or _no_report
    if documents is not None:
        profile = profile.with_documents(documents.fields())
    local_names = any(field.local_name for field in profile.fields)
    gathering = Gathering(profile, keep_nodes=local_names and not profile.entities)
    queries = _queries(profile, store, gathering)
    members: set[str] | None = set() if profile.entities else None
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
                            early(position, gathering.early_stream(position, members, numbers))
            elif route is not None:
                gathering.add_lines(route, lines)
                report(len(lines))
            elif members is not None:
                members.update(lines)
    documented: dict[int, str] = {}
    found: set[str] = set()
    if documents is not None:
        for name in documents.fields():
            position = next(i for i, field in enumerate(profile.fields) if field.name == name)
            own = profile.fields[position]
            if own.path is not None or own.rest or own.local_name:
                for node, texts in documents.stream(name):
                    gathering.add_text(position, node, texts)
                continue
            documented[position] = name
            records = _noted(_values_of(documents, name), members, found, report)
            if early is not None:
                early(position, ((numbers.setdefault(token, len(numbers)), values) for token, values in records))
            for _ in records:  # those that nobody has taken
                pass
    found |= gathering.with_text(members)
    tokens = sorted(found, key=_term_order)
    ids = {token: i for i, token in enumerate(tokens)} if numbers else {}
    provisional = [ids[token] for token in numbers]
    nodes = list(map(node_of, tokens))
    return Extraction(profile, nodes, provisional, tokens, gathering, store, documents, documented)


def _values_of(documents: TextDocuments, name: str) -> Iterator[tuple[str, list[Value]]]:
    """(token, values: distinct and sorted) of the nodes that have any in a field."""
    return ((token, [(text, "") for text in texts]) for token, texts in documents.values(name))


def _noted(
    records: Iterator[tuple[str, list[Value]]], members: set[str] | None, found: set[str], report: Callable[[int], None]
) -> Iterator[tuple[str, list[Value]]]:
    """The records of members, as they pass; their tokens are added to those found."""
    for n, (token, values) in enumerate(records, 1):
        if n % RECORDS_PER_REPORT == 0:
            report(RECORDS_PER_REPORT)
        if members is None or token in members:
            found.add(token)
            yield token, values


def _queries(profile: Profile, store: GraphStore, gathering: Gathering) -> list[tuple[str, FieldRoute | None]]:
    """What to read, with where it goes: first the members of the classes (no route), then literals, then links."""
    routing = gathering.routing
    everything = routing.has_rest or gathering.keep_nodes
    predicates = _all_predicates(store) if everything else [str(NamedNode(iri)) for iri in routing.predicates()]
    routes = [(predicate, routing.route(predicate[1:-1])) for predicate in predicates]
    routes = [(path, route) for path, route in routes if gathering.keep_nodes or not route.is_empty()]
    # each alternative is a query of its own: Oxigraph 0.5 takes 62 s for 204 inverse steps in one path, apart 2 s
    routes += [
        (to_sparql(part), routing.path_route(position))
        for position, field in enumerate(profile.fields)
        for part in alternatives(field.path)
    ]
    routes.sort(key=lambda one: (bool(one[1].links) or not one[1].strings, one[0]))
    classes = [f"SELECT ?s WHERE {{ ?s {RDF_TYPE} {NamedNode(iri)} }}" for iri in profile.entities]
    return [(text, None) for text in classes] + [
        (f"SELECT ?s ?o WHERE {{ ?s {path} ?o }}", route) for path, route in routes
    ]


def _early_fields(
    profile: Profile, documents: TextDocuments | None, queries: Sequence[tuple[str, FieldRoute | None]]
) -> dict[int, set[int]]:
    """Position -> indexes of the queries that it waits for: the fields of literals that no document adds to."""
    held = set(documents.fields()) if documents is not None else set()
    return {
        position: {
            i for i, (_, route) in enumerate(queries) if route is None or position in route.strings + route.others
        }
        for position, field in enumerate(profile.fields)
        if field.text != "labels" and not field.local_name and field.name not in held
    }


def _all_predicates(store: GraphStore) -> list[str]:
    """The predicates of the graph as SPARQL writes them, sorted."""
    return sorted(str(row[0]) for row in store.select("SELECT DISTINCT ?p WHERE { ?s ?p ?o }").rows)


def _term_order(token: str) -> tuple[bool, str]:
    """Tokens of blank nodes by label, then those of IRIs."""
    # without the closing bracket, which would come after a `!` in the order
    return (True, token[:-1]) if token.startswith("<") else (False, token)


def _no_report(rows: int) -> None:
    """For callers that show no progress."""
    del rows
