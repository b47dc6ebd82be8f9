"""The graph as an index of links: which entities point to a node, by which predicate, and how rare that is.

Source: Hasibi, Balog and Bratsberg, "Exploiting Entity Linking in Queries for Entity Retrieval" (ICTIR 2016), and
the code that they published, whose "URI-only index" this is: a document for each entity, a field for each predicate,
the nodes that the entity points to as its terms. Two of its choices are kept: of a node's predicates only those ten
count that most entities use for it, and an entity's own IRI is a field as well. Its fields that hold the values of
several predicates once more ("contents", "names", "types") are not: the graph has no predicate for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.links import EntityLink, LinkedField, LinkedNode
from hybridkg.interfaces.text_index import Ids
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node
from hybridkg.rdf.tsv import node_of

TOP_PREDICATES = 10
"""Predicates of a node that are looked at."""

MAX_LINKED = 5_000_000
"""Triples of a node that are read; about 4 us each, once for each state of the knowledge base."""

FEW_TRIPLES = 2_000
"""Up to so many are read in one go, without counting them first."""

MAX_CACHED_IDS = 20_000_000
"""Entities in all remembered fields; 4 bytes each."""

MAX_COUNTED = 100_000
"""Triples that lead to a node, as far as `in_degree` counts; 30 ms."""

MAX_CACHED_DEGREES = 200_000


class Entities(Protocol):
    """The entities of the text index by their dense ids: the NodeTable."""

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: the id of each node, -1 for one that has none."""

    def __len__(self) -> int:
        """How many there are."""


class UriIndex:
    """One state of a graph; what has been read is remembered. Safe to use from many threads.

    Args:
        graph: the graph; its default graph, or the union of all, as it is set up.
        entities: the entities of the text index.
        inverse: whether entities that the node points to count as well, as fields of their own (`^` before the
            predicate). The paper has no such fields; a graph whose relations are written down in one direction only,
            whichever that is, needs them.
    """

    def __init__(self, graph: GraphStore, entities: Entities, *, inverse: bool = False):
        self._graph, self._entities, self._inverse = graph, entities, inverse
        self._fields: dict[str, tuple[LinkedField, ...]] = {}
        self._degrees: dict[str, int] = {}
        self._totals: dict[str, tuple[int, int]] = {}
        self._remembered = 0
        self._lock = threading.Lock()

    def linked(self, links: Iterable[EntityLink]) -> tuple[LinkedNode, ...]:
        """Each link with the fields of its node, in the order of the links.

        Raises:
            QueryLimitError: a node has more than MAX_LINKED triples; names it.
        """
        return tuple(LinkedNode(link, self.fields(link.node)) for link in links)

    def fields(self, iri: str) -> tuple[LinkedField, ...]:
        """The predicates by which entities point to a node, and the entity itself, where it is one.

        Args:
            iri: an absolute IRI, as in `EntityLink.node`.

        Raises:
            QueryLimitError: the node has more than MAX_LINKED triples.
        """
        known = self._fields.get(iri)
        if known is None:
            known = self._read(NamedNode(iri))
            size = sum(len(field.ids) for field in known) + 1
            with self._lock:
                self._remembered += size
                if self._remembered > MAX_CACHED_IDS:
                    self._fields, self._remembered = {}, size
                self._fields[iri] = known
        return known

    def in_degree(self, node: Node) -> int:
        """Triples with the node as object, MAX_COUNTED at most; 0 for a blank node, which nobody links to by name."""
        if not isinstance(node, NamedNode):
            return 0
        known = self._degrees.get(node.value)
        if known is None:
            some = f"SELECT ?d WHERE {{ ?d ?p {node} }} LIMIT {MAX_COUNTED}"
            known = _integer(next(self._graph.select(f"SELECT (COUNT(*) AS ?n) WHERE {{ {some} }}").rows)[0])
            if len(self._degrees) >= MAX_CACHED_DEGREES:
                self._degrees.clear()
            self._degrees[node.value] = known
        return known

    def _read(self, node: NamedNode) -> tuple[LinkedField, ...]:
        subjects = self._subjects(lambda predicate: f"?d {predicate} {node}", node, "")
        if self._inverse:
            subjects |= self._subjects(lambda p: f"{node} {p} ?d FILTER(isIRI(?d) || isBlank(?d))", node, "^")
        found = [(df, predicate, ids) for predicate, (df, ids) in subjects.items()]
        best = sorted(found, key=lambda entry: entry[:2], reverse=True)[:TOP_PREDICATES]
        fields = [LinkedField(predicate, ids, df, *self._total(predicate)) for df, predicate, ids in best]
        own = self._ids([node])
        if len(own):
            fields.append(LinkedField("", own, 1, len(self._entities), len(self._entities)))
        return tuple(fields)

    def _subjects(self, pattern: Callable[[str], str], node: NamedNode, mark: str) -> dict[str, tuple[int, Ids]]:
        """(df, ids) of the most frequent predicates of a pattern, at least TOP_PREDICATES if there are so many.

        Args:
            pattern: makes the pattern for `?d` of a variable or an IRI in the place of the predicate.
            node: for the message.
            mark: goes before the predicates.
        """
        where = f"WHERE {{ {pattern('?p')} }}"
        few: dict[str, dict[Node, None]] = {}
        rows = 0
        for predicate, subject in self._graph.select(f"SELECT ?p ?d {where} LIMIT {FEW_TRIPLES + 1}").rows:
            rows += 1
            if isinstance(predicate, NamedNode) and isinstance(subject, NamedNode | BlankNode):
                few.setdefault(predicate.value, {})[subject] = None
        if rows <= FEW_TRIPLES:
            return {mark + predicate: (len(nodes), self._ids(list(nodes))) for predicate, nodes in few.items()}
        counted = f"SELECT (COUNT(*) AS ?n) WHERE {{ SELECT ?d {where} LIMIT {MAX_LINKED + 1} }}"
        if _integer(next(self._graph.select(counted).rows)[0]) > MAX_LINKED:
            raise QueryLimitError(
                f"the linked node {node} has more than {MAX_LINKED:,} neighbours",
                hint="such a node hardly tells entities apart; leave it out of the links",
            )
        # A triple comes once for each graph that has it, where the default graph is the union of all.
        by_df = f"SELECT ?p (COUNT(DISTINCT ?d) AS ?n) {where} GROUP BY ?p ORDER BY DESC(?n) DESC(?p)"
        top = [
            (predicate.value, _integer(df))
            for predicate, df in self._graph.select(f"{by_df} LIMIT {TOP_PREDICATES}").rows
            if isinstance(predicate, NamedNode)
        ]
        read = self._read_lines([f"SELECT ?d WHERE {{ {pattern(f'<{predicate}>')} }}" for predicate, _ in top])
        return {mark + predicate: (df, ids) for (predicate, df), ids in zip(top, read, strict=True)}

    def _read_lines(self, queries: Sequence[str]) -> list[Ids]:
        """The entities in the answer to each query for one column of nodes."""
        pieces: list[list[Ids]] = [[] for _ in queries]
        with closing(self._graph.select_lines(queries)) as stream:
            for number, lines in stream:
                found = self._entities.find_many([node_of(line) for line in lines])
                pieces[number].append(found[found >= 0].astype(np.uint32))
        return [np.unique(np.concatenate(some)) for some in pieces]

    def _total(self, predicate: str) -> tuple[int, int]:
        """(subjects with a node as value, pairs) of a predicate; with `^` the other way round."""
        known = self._totals.get(predicate)
        if known is None:
            counted = "?o" if predicate.startswith("^") else "?s"
            row = next(
                self._graph.select(
                    f"SELECT (COUNT(DISTINCT {counted}) AS ?n) (COUNT(*) AS ?m) "
                    f"WHERE {{ ?s <{predicate.removeprefix('^')}> ?o FILTER(isIRI(?o) || isBlank(?o)) }}"
                ).rows
            )
            known = self._totals[predicate] = (_integer(row[0]), _integer(row[1]))
        return known

    def _ids(self, nodes: Sequence[Node]) -> Ids:
        """The ids of those that are entities, ascending."""
        found = self._entities.find_many(nodes)
        return np.sort(found[found >= 0]).astype(np.uint32)


def _integer(term: object) -> int:
    assert isinstance(term, Literal)
    return int(term.value)
