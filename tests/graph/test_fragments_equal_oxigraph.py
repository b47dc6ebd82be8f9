"""On every fragment that the translator accepts, the rows are those of Oxigraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pyoxigraph as ox
import pytest
from generated_fragments import PROLOGUE, case, cases
from hypothesis import given, settings
from sampling import examples
from slow_patterns import SlowGraph, holds

from hybridkg.algebra.pattern_text import pattern_text
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import Pattern
from hybridkg.interfaces.meter import Meter
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.query.scope import in_scope
from hybridkg.query.write import write

pytestmark = pytest.mark.quick

Rows = Counter[frozenset[tuple[str, str]]]
Evaluator = Callable[[Pattern, list[ox.Triple], tuple[str, ...]], Rows | None]


def parsed(text: str) -> ast.Group | None:
    """The group of a text; None where it breaks a rule of SPARQL."""
    try:
        query = parse(f"{PROLOGUE}SELECT * {{ {text} }}")
        check(query)
    except HybridkgError:
        return None
    return query.form.where


def counted(rows: Iterable[dict[str, ox.NamedNode]], columns: tuple[str, ...]) -> Rows:
    return Counter(frozenset((n, str(t)) for n, t in row.items() if n in columns and t is not None) for row in rows)


def slowly(pattern: Pattern, triples: list[ox.Triple], columns: tuple[str, ...]) -> Rows:
    return counted(SlowGraph(triples).solutions(pattern), columns)


def by_projection(pattern: Pattern, triples: list[ox.Triple], columns: tuple[str, ...]) -> Rows | None:
    """None where the projection does not hold what the pattern takes."""
    terms = {term for t in triples for term in (t.subject, t.object)}
    entities = sorted((term for term in terms if not isinstance(term, ox.Literal)), key=str)[::2]
    projection = Projection(
        columns_of(triples, entities), lambda expression, values: [holds(expression, v) for v in values]
    )
    prepared = projection.compile(pattern)
    if prepared is None:
        return None
    held = [name for name in columns if name in prepared.variables]
    table = prepared.rows(held, Meter())
    found = [projection.terms(table.column(name)) for name in held]
    rows = zip(*found, strict=True) if held else [()] * table.size
    return counted((dict(zip(held, row, strict=True)) for row in rows), columns)


def by_oxigraph(store: ox.Store, group: ast.Group, columns: tuple[str, ...]) -> Rows:
    projection = tuple(ast.SelectItem(ast.Var(name)) for name in columns) or None
    rows = store.query(write(ast.SelectQuery(projection, group)))
    return counted(({n: row[n] for n in columns} for row in rows), columns)


def outcome(evaluator: Evaluator, graph: list[ox.Triple], text: str) -> str:
    """What came of a case; the reason where it was declined."""
    group = parsed(text)
    if group is None:
        return "no query"
    pattern = pattern_of(group)
    if isinstance(pattern, DeclinedPattern):
        return f"declined: {pattern.reason}"
    store = ox.Store()
    store.extend(ox.Quad(*triple) for triple in graph)
    columns = tuple(sorted(in_scope(group)))
    got = evaluator(pattern, [quad.triple for quad in store], columns)
    if got is None:
        return "not held"
    assert got == by_oxigraph(store, group, columns), f"{text}\n{pattern_text(pattern)}\n{pattern}"
    return "accepted"


@settings(max_examples=examples(9, 240), deadline=None)
@given(cases())
def test_patterns_mean_what_the_group_means(drawn):
    outcome(slowly, *drawn)


@settings(max_examples=examples(9, 240), deadline=None)
@given(cases())
def test_the_projection_has_the_rows_of_oxigraph(drawn):
    outcome(by_projection, *drawn)


SEEDS = examples(100, 300)
SLICES = [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 60))]


@pytest.mark.parametrize("part", SLICES)
def test_hundreds_of_patterns_mean_what_their_groups_mean(part):
    found = Counter(outcome(slowly, *case(seed)) for seed in range(SEEDS * part, SEEDS * (part + 1)))
    assert found["accepted"] > SEEDS // 3


@pytest.mark.parametrize("part", SLICES)
def test_hundreds_of_groups_have_their_rows_in_the_projection(part):
    found = Counter(outcome(by_projection, *case(seed)) for seed in range(SEEDS * part, SEEDS * (part + 1)))
    assert found["accepted"] > SEEDS // 3
