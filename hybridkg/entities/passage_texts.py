"""Texts of single entities, for passages: equal to those that `extract` returned when they were indexed.

tests/entities/test_extraction.py checks that both are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.entities.field_routing import FieldRoute, FieldRouting, Gathering, Value
from hybridkg.entities.profile.paths import can_be_empty, longer_part, single_steps, to_sparql
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import UnknownNameError
from hybridkg.interfaces.graph_index import GraphIndex, PredicatePath, PreparedPattern, Scan, Variable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import NamedNode, Node, Term
from hybridkg.rdf.tsv import node_of
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from hybridkg.entities.extraction import TextDocuments

Text = tuple[str, str, str]
"""(field, text, language tag or "")."""

NODES_AT_ONCE = 500
"""Nodes of one request, where the graph is at an endpoint."""


class EntityTexts:
    """Reads the texts of entities; the routes of the profile are cached. Safe to use from many threads.

    Args:
        profile: the profile of the index, with the documents' fields.
        store: the graph.
        documents: text that is not in the graph.
        graph: the projection, which returns the literals of many entities at once; None where there is none.
    """

    def __init__(
        self, profile: Profile, store: GraphStore, documents: TextDocuments | None, graph: GraphIndex | None = None
    ):
        self._profile, self._store, self._documents, self._graph = profile, store, documents, graph
        self._names = [field.name for field in profile.fields]
        self._routing = FieldRouting(profile)
        self._routes: dict[str, FieldRoute] = {}
        self._prepared: dict[str, PreparedPattern | None] = {}

    def of(self, nodes: Sequence[Node], fields: Sequence[str] = ()) -> list[list[Text]]:
        """Texts of each entity, fields in the requested order, values sorted.

        Args:
            nodes: the entities, each once.
            fields: names of the requested fields; empty means all.

        Raises:
            UnknownNameError: the profile has no field of that name.
        """
        names = self._names
        for name in fields:
            if name not in names:
                raise UnknownNameError(f"no field {name!r}; known: {', '.join(names)}", hint=did_you_mean(name, names))
        positions = [names.index(name) for name in dict.fromkeys(fields)] or list(range(len(names)))
        gathering = Gathering(self._profile, routing=self._routing)
        if not self._from_projection(gathering, nodes, positions):
            self._add(gathering, self._about(nodes, self._query))
        self._add_paths(gathering, nodes, positions)
        for node in nodes:
            self._add_documents(gathering, node, positions)
        names_of = _label_reader(self._profile, self._store)
        return [
            [
                (names[position], text, language)
                for position in positions
                for text, language in gathering.values(position, str(node), names_of)
            ]
            for node in nodes
        ]

    @cached_property
    def _query(self) -> str:
        own = "" if self._routing.has_rest else _filter(self._routing.predicates())
        return f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {own}}}"

    @cached_property
    def _steps(self) -> list[frozenset[str]]:
        """Predicates of the single steps of each field."""
        return [frozenset(single_steps(field.path)) if field.path else frozenset() for field in self._profile.fields]

    @cached_property
    def _longer_paths(self) -> list[tuple[int, str, bool]]:
        return list(_longer_paths(self._profile))

    @cached_property
    def _documented(self) -> frozenset[str]:
        return frozenset() if self._documents is None else frozenset(self._documents.fields())

    def _from_projection(self, gathering: Gathering, nodes: Sequence[Node], positions: Sequence[int]) -> bool:
        """Adds the triples of the nodes from the projection; False where it does not have all predicates."""
        graph = self._graph
        if graph is None or self._routing.has_rest:
            return False
        predicates = sorted(frozenset[str]().union(*(self._steps[position] for position in positions)))
        patterns = [self._pattern(graph, iri) for iri in predicates]
        if None in patterns:
            return False
        ids = graph.find(nodes)
        node_of_id = dict(zip(ids.tolist(), nodes, strict=True))
        entities = np.array(sorted(id for id in node_of_id if id >= 0), np.uint32)
        meter = Meter()
        for iri, pattern in zip(predicates, patterns, strict=True):
            assert pattern is not None
            table = pattern.rows(("s", "o"), meter, {"s": entities})
            route = self._route(iri)
            for start, target in zip(table.columns[0].tolist(), graph.terms(table.columns[1]), strict=True):
                gathering.add_row(route, node_of_id[start], target)
        return True

    def _pattern(self, graph: GraphIndex, iri: str) -> PreparedPattern | None:
        if iri not in self._prepared:
            self._prepared[iri] = graph.compile(Scan(Variable("s"), PredicatePath(iri), Variable("o")))
        return self._prepared[iri]

    def _route(self, iri: str) -> FieldRoute:
        route = self._routes.get(iri)
        return self._routes.setdefault(iri, self._routing.route(iri)) if route is None else route

    def _add(self, gathering: Gathering, rows: Iterable[tuple[Term | None, ...]]) -> None:
        for start, predicate, target in rows:
            if isinstance(predicate, NamedNode):
                # Not cached: a rest field meets as many predicates as the graph has.
                gathering.add_row(self._routing.route(predicate.value), start, target)

    def _about(self, nodes: Sequence[Node], query: str) -> Iterator[Row]:
        """Rows of a query whose ?s is one of the nodes: in batches from an endpoint, but blank nodes one by one, which
        no query can name.
        """
        single = list(nodes)
        if self._store.url:
            single = [node for node in nodes if not isinstance(node, NamedNode)]
            iris = [str(node) for node in nodes if isinstance(node, NamedNode)]
            head, brace, tail = query.partition("{")
            for start in range(0, len(iris), NODES_AT_ONCE):
                values = f" VALUES ?s {{ {' '.join(iris[start : start + NODES_AT_ONCE])} }}"
                yield from self._store.select(f"{head}{brace}{values}{tail}").rows
        for node in single:
            yield from self._store.select(query, {"s": node}).rows

    def _add_paths(self, gathering: Gathering, nodes: Sequence[Node], positions: Sequence[int]) -> None:
        for position, path, empty in self._longer_paths:
            if position in positions:
                # A bound node starts an empty path even when no triple has it; an unbound one never does.
                some = [node for node in nodes if not empty or _in_graph(self._store, node)]
                route = self._routing.path_route(position)
                for start, end in self._about(some, f"SELECT ?s ?o WHERE {{ ?s {path} ?o }}"):
                    gathering.add_row(route, start, end)

    def _add_documents(self, gathering: Gathering, node: Node, positions: Sequence[int]) -> None:
        if self._documents is not None:
            for position in positions:
                name = self._names[position]
                if name in self._documented:
                    gathering.add_text(position, node, self._documents.texts(node, name))


def entity_texts(
    profile: Profile, store: GraphStore, documents: TextDocuments | None, node: Node, fields: Sequence[str] = ()
) -> list[Text]:
    """Texts of one entity: (field, text, language tag or ""), as `EntityTexts.of` returns them."""
    return EntityTexts(profile, store, documents).of([node], fields)[0]


def _label_reader(profile: Profile, store: GraphStore) -> Callable[[str], list[Value]]:
    """A function that reads the labels of a node from the store, with a cache."""
    query = f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {_filter(profile.labels)}}}"
    cache: dict[str, list[Value]] = {}

    def names_of(token: str) -> list[Value]:
        if token not in cache:
            gathering, node = Gathering(profile), node_of(token)
            for _, predicate, target in store.select(query, {"s": node}).rows:
                if isinstance(predicate, NamedNode):
                    gathering.add_row(gathering.routing.route(predicate.value), node, target)
            cache[token] = gathering.names_of(token)
        return cache[token]

    return names_of


def _filter(predicates: Iterable[str]) -> str:
    """Restricts ?p to the predicates, inside the store, because a node may have a million other triples."""
    return f"FILTER(?p IN ({', '.join(str(NamedNode(iri)) for iri in predicates)})) "


def _longer_paths(profile: Profile) -> Iterator[tuple[int, str, bool]]:
    """(field, SPARQL text, whether it can be empty) of the parts of paths longer than a single step."""
    for position, field in enumerate(profile.fields):
        path = longer_part(field.path) if field.path is not None else None
        if path is not None:
            yield position, to_sparql(path), can_be_empty(path)


def _in_graph(store: GraphStore, node: Node) -> bool:
    """Whether a triple has the node as subject or object."""
    query = "SELECT ?s WHERE { { ?s ?p ?o } UNION { ?o ?p ?s } } LIMIT 1"
    return next(iter(store.select(query, {"s": node}).rows), None) is not None
