"""The triples of candidates: counts, links between them and classes, each with a query for all of them at once.

A query for each candidate takes 0.06 ms and more, and probing every pair grows with the square of the candidates. A
candidate can be a hub with millions of triples, so a count ends at MAX_ROWS, and links are read of candidates with
fewer than MAX_TRIPLES. A blank node cannot be written into a query, and is asked about alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, Literal, NamedNode, Node, Term

MAX_TRIPLES = 1_000
"""Maximum count: a hub has millions."""

MAX_ROWS = 10_000
"""Triples that one query counts, about 5 ms; at least MAX_TRIPLES."""

NODES_AT_ONCE = 500
"""Candidates in one query."""

FROM, TO = "?x ?p ?o", "?s ?p ?x"
"""Triples with a candidate ?x as subject; as object."""

ONE_OF_TYPE = f"?x <{RDF_TYPE}> ?c"


@dataclass(frozen=True, eq=False)
class CandidateTriples:
    """The triples of distinct candidates.

    Args:
        nodes: the candidates.
        store: the graph.
        check: raises when the query is over its time; called after each query of the store.
    """

    nodes: Sequence[Node]
    store: GraphStore
    check: Callable[[], None]

    def counts(self, pattern: str) -> list[int]:
        """The number of triples of each candidate that match FROM or TO, at most MAX_TRIPLES."""
        found: dict[Term | None, int] = {}
        for blank in self._blank:
            found[blank] = len(self._alone(f"SELECT ?x {{ {pattern} }} LIMIT {MAX_TRIPLES}", blank))
        waiting = self._batches(self._iris)
        while waiting:
            batch = waiting.pop()
            own = self._counted(batch, pattern)
            if sum(own.values()) < MAX_ROWS:
                found.update(own)
                continue
            # Some candidates have not been counted to the end: all but those that are over the maximum already.
            full = {node: n for node, n in own.items() if n >= MAX_TRIPLES}
            found.update(full)
            rest = [node for node in batch if node not in full]
            middle = len(rest) if full else len(rest) // 2
            waiting += [part for part in (rest[:middle], rest[middle:]) if part]
        return [min(found.get(node, 0), MAX_TRIPLES) for node in self.nodes]

    def linked(self) -> list[tuple[Node, Node]]:
        """The pairs of candidates, (subject, object), that a triple links, each once; the object is an IRI.

        The triples of a candidate are read and joined with all candidates; those of a hub are probed pair by pair.
        """
        pairs: list[tuple[Term | None, ...]] = []
        if not self._iris:
            return []
        objects = _values("o", self._iris)
        for node in self._blank:
            pairs += self._alone(f"SELECT DISTINCT ?x ?o {{ {objects} {FROM} }}", node)
        for batch in self._batches(self._few):
            inner = f"SELECT ?x ?o {{ {_values('x', batch)} {FROM} }}"
            pairs += self._select(f"SELECT DISTINCT ?x ?o {{ {{ {inner} }} {objects} }}")
        for batch in self._batches(self._hubs):
            pairs += self._select(f"SELECT DISTINCT ?x ?o {{ {_values('x', batch)} {objects} {FROM} }}")
        return [(x, o) for x, o in pairs if isinstance(x, NamedNode | BlankNode) and isinstance(o, NamedNode)]

    def classes(self) -> list[list[Term]]:
        """The classes of each candidate, sorted by their text; MAX_TRIPLES of them, where it has more triples."""
        found: dict[Term | None, list[Term]] = {}
        rows: list[tuple[Term | None, ...]] = []
        alone: list[Node] = [*self._blank, *self._hubs]
        for one_node in alone:
            rows += self._alone(f"SELECT ?x ?c {{ {ONE_OF_TYPE} }} LIMIT {MAX_TRIPLES}", one_node)
        for batch in self._batches(self._few):
            rows += self._select(f"SELECT ?x ?c {{ {_values('x', batch)} {ONE_OF_TYPE} }}")
        for node, one in rows:
            if one is not None:
                found.setdefault(node, []).append(one)
        return [sorted(found.get(node, []), key=str) for node in self.nodes]

    @cached_property
    def from_counts(self) -> list[int]:
        """`counts` of FROM, which tell the hubs."""
        return self.counts(FROM)

    @cached_property
    def _iris(self) -> list[NamedNode]:
        return [node for node in self.nodes if isinstance(node, NamedNode)]

    @cached_property
    def _blank(self) -> list[BlankNode]:
        return [node for node in self.nodes if isinstance(node, BlankNode)]

    @cached_property
    def _few(self) -> list[NamedNode]:
        """Candidates that are the subject of fewer than MAX_TRIPLES triples."""
        counted = zip(self.nodes, self.from_counts, strict=True)
        return [node for node, n in counted if n < MAX_TRIPLES and isinstance(node, NamedNode)]

    @cached_property
    def _hubs(self) -> list[NamedNode]:
        counted = zip(self.nodes, self.from_counts, strict=True)
        return [node for node, n in counted if n >= MAX_TRIPLES and isinstance(node, NamedNode)]

    def _counted(self, batch: Sequence[NamedNode], pattern: str) -> dict[Term | None, int]:
        """Counts by candidate over the first MAX_ROWS triples of a batch."""
        inner = f"SELECT ?x {{ {_values('x', batch)} {pattern} }} LIMIT {MAX_ROWS}"
        rows = self._select(f"SELECT ?x (COUNT(*) AS ?n) {{ {{ {inner} }} }} GROUP BY ?x")
        return {node: int(n.value) for node, n in rows if isinstance(n, Literal)}

    def _batches(self, nodes: Sequence[NamedNode]) -> list[Sequence[NamedNode]]:
        return [nodes[start : start + NODES_AT_ONCE] for start in range(0, len(nodes), NODES_AT_ONCE)]

    def _select(self, sparql: str) -> list[tuple[Term | None, ...]]:
        rows = list(self.store.select(sparql).rows)
        self.check()
        return rows

    def _alone(self, sparql: str, node: Node) -> list[tuple[Term | None, ...]]:
        rows = list(self.store.select(sparql, {"x": node}).rows)
        self.check()
        return rows


def _values(name: str, nodes: Iterable[NamedNode]) -> str:
    return f"VALUES ?{name} {{ {' '.join(map(str, nodes))} }}"
