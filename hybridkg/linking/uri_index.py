"""URI index: the entities that point to a node, by predicate, with the frequency of each predicate.

Source: Hasibi, Balog and Bratsberg, "Exploiting Entity Linking in Queries for Entity Retrieval" (ICTIR 2016), and its
published code, whose "URI-only index" this is: a document for each entity, a field for each predicate, the nodes that
the entity points to as its terms. As there, only the ten predicates of a node that most entities use count, and an
entity's own IRI is a field. The fields that repeat the values of several predicates ("contents", "names", "types") are
left out: the graph has no predicate for them.
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
from hybridkg.storage.distinct import sorted_distinct

TOP_PREDICATES = 10
"""Maximum number of predicates of a node."""

MAX_LINKED = 5_000_000
"""Maximum number of triples of a node; about 4 us each, once for each state of the knowledge base."""

FEW_TRIPLES = 2_000
"""Maximum number of triples that one query reads, without counting them first."""

MAX_CACHED_IDS = 20_000_000
"""Maximum number of entities in all cached fields; 4 bytes each."""

MAX_COUNTED = 100_000
"""Maximum of `in_degree`; 30 ms."""

MAX_CACHED_DEGREES = 200_000


class Entities(Protocol):
    """Entities of the text index by their dense ids: the NodeTable."""

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: the id of each node, -1 for none."""

    def __len__(self) -> int: ...


class UriIndex:
    """Fields of linked nodes in one state of a graph, cached. Safe to use from many threads.

    Args:
        graph: its default graph, or the union of all, as configured.
        entities: of the text index.
        inverse: whether entities that the node points to count as well, in separate fields (`^` before the predicate).
            The paper has none; a graph that states its relations in one direction only needs them.
    """

    def __init__(self, graph: GraphStore, entities: Entities, *, inverse: bool = False):
        self._graph, self._entities, self._inverse = graph, entities, inverse
        self._fields: dict[str, tuple[LinkedField, ...]] = {}
        self._degrees: dict[str, int] = {}
        self._totals: dict[str, tuple[int, int]] = {}
        self._cached_ids = 0
        self._lock = threading.Lock()

    def linked(self, links: Iterable[EntityLink]) -> tuple[LinkedNode, ...]:
        """Each link with the fields of its node; raises QueryLimitError for more than MAX_LINKED triples."""
        return tuple(LinkedNode(link, self.fields(link.node)) for link in links)

    def fields(self, iri: str) -> tuple[LinkedField, ...]:
        """The predicates by which entities point to a node (an absolute IRI), and the entity itself, if it is one.

        Raises:
            QueryLimitError: the node has more than MAX_LINKED triples.
        """
        fields = self._fields.get(iri)
        if fields is None:
            fields = self._read(NamedNode(iri))
            size = sum(len(field.ids) for field in fields) + 1
            with self._lock:
                self._cached_ids += size
                if self._cached_ids > MAX_CACHED_IDS:
                    self._fields, self._cached_ids = {}, size
                self._fields[iri] = fields
        return fields

    def in_degree(self, node: Node) -> int:
        """Triples with the node as object, at most MAX_COUNTED; 0 for a blank node, which no link names."""
        if not isinstance(node, NamedNode):
            return 0
        degree = self._degrees.get(node.value)
        if degree is None:
            some = f"SELECT ?d WHERE {{ ?d ?p {node} }} LIMIT {MAX_COUNTED}"
            degree = _integer(next(self._graph.select(f"SELECT (COUNT(*) AS ?n) WHERE {{ {some} }}").rows)[0])
            if len(self._degrees) >= MAX_CACHED_DEGREES:
                self._degrees.clear()
            self._degrees[node.value] = degree
        return degree

    def _read(self, node: NamedNode) -> tuple[LinkedField, ...]:
        subjects = self._subjects(lambda predicate: f"?d {predicate} {node}", node, "")
        if self._inverse:
            subjects |= self._subjects(lambda p: f"{node} {p} ?d FILTER(isIRI(?d) || isBlank(?d))", node, "^")
        ranked = [(df, predicate, ids) for predicate, (df, ids) in subjects.items()]
        best = sorted(ranked, key=lambda entry: entry[:2], reverse=True)[:TOP_PREDICATES]
        fields = [LinkedField(predicate, ids, df, *self._total(predicate)) for df, predicate, ids in best]
        own = self._ids([node])
        if len(own):
            fields.append(LinkedField("", own, 1, len(self._entities), len(self._entities)))
        return tuple(fields)

    def _subjects(self, pattern: Callable[[str], str], node: NamedNode, mark: str) -> dict[str, tuple[int, Ids]]:
        """(df, ids) of the most frequent predicates of a pattern, at least TOP_PREDICATES if there are so many.

        Args:
            pattern: function from a variable or an IRI for the predicate to the pattern of `?d`.
            node: for the message.
            mark: prefix of the predicates.
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
                hint="such a node hardly discriminates between entities; leave it out of the links",
            )
        # Over the union of all graphs a triple occurs once for each graph that has it.
        by_df = f"SELECT ?p (COUNT(DISTINCT ?d) AS ?n) {where} GROUP BY ?p ORDER BY DESC(?n) DESC(?p)"
        top = [
            (predicate.value, _integer(df))
            for predicate, df in self._graph.select(f"{by_df} LIMIT {TOP_PREDICATES}").rows
            if isinstance(predicate, NamedNode)
        ]
        read = self._read_lines([f"SELECT ?d WHERE {{ {pattern(f'<{predicate}>')} }}" for predicate, _ in top])
        return {mark + predicate: (df, ids) for (predicate, df), ids in zip(top, read, strict=True)}

    def _read_lines(self, queries: Sequence[str]) -> list[Ids]:
        """Entities in the results of queries for one column of nodes."""
        pieces: list[list[Ids]] = [[] for _ in queries]
        with closing(self._graph.select_lines(queries)) as stream:
            for number, lines in stream:
                ids = self._entities.find_many([node_of(line) for line in lines])
                pieces[number].append(ids[ids >= 0].astype(np.uint32))
        return [sorted_distinct(np.concatenate(some)) for some in pieces]

    def _total(self, predicate: str) -> tuple[int, int]:
        """(subjects with a node as value, pairs) of a predicate; with `^` objects instead of subjects."""
        total = self._totals.get(predicate)
        if total is None:
            counted = "?o" if predicate.startswith("^") else "?s"
            row = next(
                self._graph.select(
                    f"SELECT (COUNT(DISTINCT {counted}) AS ?n) (COUNT(*) AS ?m) "
                    f"WHERE {{ ?s <{predicate.removeprefix('^')}> ?o FILTER(isIRI(?o) || isBlank(?o)) }}"
                ).rows
            )
            total = self._totals[predicate] = (_integer(row[0]), _integer(row[1]))
        return total

    def _ids(self, nodes: Sequence[Node]) -> Ids:
        """Ids of the nodes that are entities, ascending."""
        ids = self._entities.find_many(nodes)
        return np.sort(ids[ids >= 0]).astype(np.uint32)


def _integer(term: object) -> int:
    assert isinstance(term, Literal)
    return int(term.value)
