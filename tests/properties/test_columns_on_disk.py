"""Every plain query has the same answer on disk as in memory, whatever the limit on memory."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pyoxigraph as ox
import pytest
from generated_fragments import NODES, PROLOGUE, VALUES, E, typed
from generated_queries import QueryMaker
from slow_patterns import holds
from test_columns_equal_oxigraph import _quads, compare

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.strategy import strategy_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.rdf.order import term_key
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

LIMITS = (400, 1500, 6000)
"""Bytes; the graphs are small."""

KINDS = [
    typed("integer", "1", "2", "3", "-3", "40"),
    typed("double", "1.5", "2.25", "-3", "0", "1024"),
    [*typed("integer", "1", "2", "7"), *typed("decimal", "2.5", "0.125", "-3.75")],
    [ox.Literal(text) for text in ("", "a", "ab", "b", "1", "\u00e9")],
    VALUES,
]
PATTERNS = [
    "?a :p ?b", "?b :q ?c", "?c :p ?a", "?a :v ?x", "?b :v ?y", "?b :w ?x", "?a :r ?b . ?c :r ?b",
    "?a :q ?b . ?c :v ?y", "?a :v ?x . ?b :v ?x", "OPTIONAL { ?a :w ?x }", "VALUES ?y { 1 2 UNDEF }",
]  # fmt: skip


class LargerMaker(QueryMaker):
    """Draws queries with hundreds of rows, in which most aggregates have one right value."""

    def graph(self) -> list[ox.Triple]:
        values = self.choose(KINDS)
        link = [ox.NamedNode(E + name) for name in "pqr"]
        value = [ox.NamedNode(E + name) for name in "vw"]
        some = [ox.Triple(self.choose(NODES), self.choose(link), self.choose(NODES)) for _ in range(60)]
        return some + [ox.Triple(self.choose(NODES), self.choose(value), self.choose(values)) for _ in range(30)]

    def plain(self, body: str) -> str:
        text = super().plain(body)
        return text if "ORDER BY" in text or "DISTINCT" in text else f"SELECT DISTINCT{text[6:]}"

    def where(self, depth: int) -> str:
        parts = self.some(lambda: self.choose(PATTERNS), 1, 3)
        if self.one_in(4):
            parts.append(f"BIND({self.expression()} AS ?{self.choose(['n', 'm'])})")
        if depth and self.one_in(3):
            inner = re.sub(r" (LIMIT|OFFSET) \d+", "", self.select(depth - 1))  # which leave open what the rows are
            parts.insert(0, f"{{ {inner} }}")
        return " . ".join(parts)


def larger_query(seed: int) -> tuple[list[ox.Triple], str]:
    """(graph, text) of a seed."""
    maker = LargerMaker(Random(seed).choice)
    return maker.graph(), maker.select()


def outcome(graph: list[ox.Triple], text: str) -> str:
    """What came of a query with each limit on memory."""
    try:
        parsed = parse(PROLOGUE + text)
        check(parsed)
    except HybridkgError:
        return "no query"
    logical = rewrite(from_ast(parsed))
    store = OxigraphStore.memory(graph)
    triples = [quad.triple for quad in _quads(graph)]
    terms = {term for triple in triples for term in (triple.subject, triple.object)}
    entities = sorted((term for term in terms if not isinstance(term, ox.Literal)), key=term_key)[::2]
    projection = Projection(columns_of(triples, entities), lambda text, values: [holds(text, v) for v in values])
    root = strategy_of("columns").plan(logical, PlannerContext(projection))
    if root is None:
        return "no plan"

    def run(max_bytes: int) -> tuple[ExecutionContext, object]:
        context = ExecutionContext(
            store, None, None, lambda *_: [], OxigraphStore.memory,
            price=CostModel().price, graph=projection, max_bytes=max_bytes,
        )  # fmt: skip
        found = context.run_in_columns(root.child, root)
        context.max_bytes = 4_000_000_000
        return context, found

    _, in_memory = run(4_000_000_000)
    if in_memory is None:
        return "declined"
    outcomes = set()
    for limit in LIMITS:
        context, found = run(limit)
        if found is None:
            outcomes.add("declined with less memory")
            continue
        compare(parsed.form, found, store, text)
        modifiers = parsed.form.modifiers
        if modifiers.limit is None and not modifiers.offset:
            assert Counter(map(str, found.rows)) == Counter(map(str, in_memory.rows)), text
        written = any("bytes_on_disk" in figures for figures in context.details.values())
        outcomes.add("on disk" if written else "in memory")
    return min(outcomes, key=["on disk", "in memory", "declined with less memory"].index)


SLICES = [range(40), range(40, 300), *(range(300 * n, 300 * (n + 1)) for n in range(1, 67))]


@pytest.mark.parametrize("seeds", [SLICES[0], *(pytest.param(one, marks=pytest.mark.exhaustive) for one in SLICES[1:])])
def test_hundreds_of_plain_queries_have_the_same_rows_with_little_memory(seeds):
    found = Counter(outcome(*larger_query(seed)) for seed in seeds)
    assert found["on disk"] > len(seeds) // 5, found
