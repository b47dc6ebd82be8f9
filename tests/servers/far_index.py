"""A text index as if it were on a server, over a graph that may be at an endpoint, and what it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules import rewrite
from hybridkg.entities.node_table import NodeTable
from hybridkg.entities.profile.filters import agrees
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import AnyCondition, IndexedField, IndexRequest, PushdownCondition, TextQuery
from hybridkg.kb.snapshot import scratch
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.pushdown_conditions import leaves
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.index.text_and_vectors import Ranked

E = "http://e/"
TEXTS = {"a": "red fish", "b": "red red boat", "c": "blue boat", "d": "green fish boat", "e": "blue blue fish"}
NODES = [ox.BlankNode("x"), *(ox.NamedNode(E + name) for name in TEXTS)]


class FarGraph(OxigraphStore):
    """A graph as if it were at an endpoint."""

    url = "http://far.example/sparql"


class FarIndex(EmbeddedTextIndex):
    """The embedded index as if it were on a server that stores values of predicates beside the text."""

    is_remote = True
    max_remote_scan = 0
    values: Mapping[tuple[int, str], Sequence[str]] = {}
    held: frozenset[str] = frozenset()

    def start(self, max_scan: int | None, held: str = "", graph: Sequence[ox.Quad] = (), nodes=None) -> FarIndex:
        self.is_remote, self.max_remote_scan = max_scan is not None, max_scan or 0
        self.held = frozenset(E + name for name in held)
        self.values = {}
        for quad in graph:
            known = nodes.find(quad.subject) if isinstance(quad.graph_name, ox.DefaultGraph) else None
            if known is not None and not isinstance(quad.object, ox.BlankNode):
                self.values.setdefault((known, quad.predicate.value), []).append(str(quad.object))
        self.asked: list[tuple[str, object]] = []
        self.known: set[TextQuery] = set()
        return self

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        return condition.predicate in self.held

    def _kept(self, query: TextQuery, ids) -> np.ndarray:
        assert all(self.supports_pushdown(leaf) for condition in query.conditions for leaf in leaves(condition))

        def agreeing(i: int, condition: PushdownCondition | AnyCondition) -> bool:
            return agrees(lambda iri: self.values.get((i, iri), ()), condition)

        return np.array([all(agreeing(i, one) for one in query.conditions) for i in ids.tolist()], bool)

    def match_count_bound(self, query: TextQuery) -> int:
        self.prefetch_counts([query])
        return len(self._matching(query)[0])

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """A size that is known is not asked for again."""
        new = [query for query in queries if query not in self.known]
        self.known.update(new)
        if new:
            self.asked.append(("match_count_bound", new[0]) if len(new) == 1 else ("prefetch_counts", tuple(new)))

    def score_all(self, query: TextQuery):
        self.asked.append(("score_all", query))
        return self._matching(query)

    def matches(self, query: TextQuery):
        return self.score_all(query)[0]

    def _matching(self, query: TextQuery):
        ids, scores = super().score_all(query._replace(conditions=()))
        kept = self._kept(query, ids)
        return ids[kept], scores[kept]

    def topk(self, query: TextQuery, k: int, among=None):
        self.asked.append(("topk", query))
        return self._topk(query, k, among)

    def _topk(self, query: TextQuery, k: int, among=None):
        ids, scores = self._matching(query)
        kept = np.ones(len(ids), bool) if among is None else np.isin(ids, among)
        ids, scores = ids[kept], scores[kept]
        order = np.lexsort((self._rank(ids), -scores))[: max(k, 0)]
        return ids[order], scores[order]

    def score(self, query: TextQuery, ids):
        self.asked.append(("score", sorted(ids.tolist())))
        return super().score(query, ids)

    def batch(self, questions: Sequence[IndexRequest]):
        self.asked.append(("batch", tuple(questions)))
        return [self._matching(q.query) if q.k is None else self._topk(q.query, q.k) for q in questions]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.asked]


def built(folder: Path) -> tuple[FarIndex, NodeTable]:
    """An index of TEXTS, in an empty folder."""
    NodeTable.write(folder, NODES)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label")], len(NODES))
    for node, words in zip(NODES, ("red boat", *TEXTS.values()), strict=True):
        builder.add(nodes.find(node), 0, [(words, "")])
    builder.finish()
    return FarIndex.open(folder / "text", nodes.rank), nodes


GRAPH = [
    *(ox.Quad(node, ox.NamedNode(E + "p"), NODES[1]) for node in NODES[1:]),
    ox.Quad(NODES[1], ox.NamedNode(E + "year"), ox.Literal(2003)),
    ox.Quad(NODES[2], ox.NamedNode(E + "year"), ox.Literal(1999)),
    ox.Quad(NODES[2], ox.NamedNode(E + "q"), NODES[3]),
    ox.Quad(NODES[3], ox.NamedNode(E + "p"), NODES[2], ox.NamedNode(E + "g")),
]


@lru_cache(maxsize=1)
def logical(query: str) -> Plan:
    return rewrite(from_ast(parse(query)))


def rows(query: str, graph: list[ox.Quad], index, nodes, strategy: str, kind: type[OxigraphStore] = OxigraphStore):
    """What a strategy gives, columns by name; None where it does not apply."""
    root = STRATEGIES.get(strategy).plan(logical(query), PlannerContext(text=Ranked(index)))
    if root is None:
        return None
    found = ExecutionContext(
        kind.memory(graph), Ranked(index), nodes, lambda n, f: [], scratch, price=CostModel().price
    ).run_plan(root)
    names = sorted(found.variables)
    at = [found.variables.index(name) for name in names]
    return [tuple(str(row[i]) for i in at) for row in found.rows]


def asked(index: FarIndex, nodes, pattern: str, strategy="bind_join", head="SELECT *", graph=GRAPH) -> list:
    got = rows(f"PREFIX : <{E}> {head} {{ {pattern} }} ORDER BY ?a", graph, index, nodes, strategy)
    calls = list(index.asked)
    assert got == rows(f"PREFIX : <{E}> {head} {{ {pattern} }} ORDER BY ?a", graph, index, nodes, "reference")
    return calls
