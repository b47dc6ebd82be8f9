"""The expected solutions of OPTIONAL, whose variables may be unbound, beside their number."""

from __future__ import annotations

import pytest

from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.meter import Meter
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.terms import NamedNode, Triple

pytestmark = pytest.mark.quick

PAPERS = 300


def node(name: object) -> NamedNode:
    return NamedNode(f"e:{name}")


@pytest.fixture(scope="module")
def graph() -> Projection:
    """300 papers in 10 venues with 3 authors each; a third of them have an award, one of 4."""
    triples = []
    for n in range(PAPERS):
        triples += [Triple(node(n), node("author"), node(f"a{(n * 7 + step) % 90}")) for step in (0, 31, 67)]
        triples += [Triple(node(n), node("venue"), node(f"v{n % 10}"))]
        triples += [Triple(node(n), node("award"), node(f"w{n % 4}"))] if n % 3 == 0 else []
    return Projection(columns_of(triples, sorted({t.subject for t in triples}, key=str)), lambda *_: [])


@pytest.mark.parametrize(
    ("group", "rows"),
    [
        ("?p :venue ?v OPTIONAL { ?p :award ?w }", 300),
        ("?p :venue ?v OPTIONAL { ?p :author ?a }", 900),
        ("?p :venue ?v OPTIONAL { ?p :author ?a } OPTIONAL { ?p :award ?w }", 900),
        ("?p :venue ?v OPTIONAL { ?p :award ?w } OPTIONAL { ?q :award ?w }", 200 * 100 + 100 * 25),
        ("?p :venue :v3 OPTIONAL { ?p :award ?w } OPTIONAL { ?q :award ?w }", 20 * 100 + 10 * 25),
        ("{ ?p :venue ?v OPTIONAL { ?p :award ?w } } { ?q :award ?w }", 200 * 100 + 100 * 25),
        ("?p :venue ?v OPTIONAL { { ?p :award ?w } UNION { ?p :author ?a } }", 1000),
        ("{ ?p :award ?w } UNION { ?p :venue ?v } OPTIONAL { ?q :award ?w }", 300 * 100 + 100 * 25),
        ("VALUES (?p ?w) { (UNDEF :w1) (:3 UNDEF) } ?q :award ?w", 25 + 100),
    ],
)
def test_the_expected_rows_are_within_a_quarter_of_the_rows(graph: Projection, group: str, rows: int) -> None:
    query = parse(f"PREFIX : <e:> SELECT * {{ {group} }}").form
    assert isinstance(query, ast.SelectQuery)
    pattern = pattern_of(query.where, ())
    assert not isinstance(pattern, DeclinedPattern)
    prepared = graph.compile(pattern)
    assert prepared is not None
    assert prepared.rows(prepared.variables, Meter()).size == rows
    assert prepared.size().estimate == pytest.approx(rows, rel=0.25)


def test_pairs_of_an_unbound_variable_are_part_of_the_work(graph: Projection) -> None:
    query = parse("PREFIX : <e:> SELECT * { ?p :venue ?v OPTIONAL { ?p :award ?w } OPTIONAL { ?q :award ?w } }").form
    assert isinstance(query, ast.SelectQuery)
    pattern = pattern_of(query.where, ())
    assert not isinstance(pattern, DeclinedPattern)
    prepared = graph.compile(pattern)
    assert prepared is not None
    assert prepared.work() > 200 * 100
    assert prepared.counts_work(("v",)) > 10 * 100
