"""What the projection declines, where it stops, and what its sets of ids are."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from generated_patterns import NODES
from hypothesis import given
from hypothesis import strategies as st
from test_patterns_equal_oxigraph import truth

from hybridkg.errors import HybridkgError, QueryLimitError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.match.ids import IdRanges, both, distinct, inside, interval, without
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import (
    UNBOUND,
    AllOf,
    AlternativePath,
    Closure,
    Distinct,
    Join,
    LeftJoin,
    Pattern,
    PredicatePath,
    Restrict,
    Scan,
    Test,
    Union,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.rdf.terms import Literal, NamedNode, Triple

A, B, C, *_ = NODES
P, Q = NamedNode("x:p"), NamedNode("x:q")
S, O = Variable("s"), Variable("o")  # noqa: E741
TRIPLES = [Triple(A, P, B), Triple(B, P, C), Triple(A, Q, C), Triple(C, P, Literal("x"))]


def index(triples: list[Triple] = TRIPLES, **options: int) -> Projection:
    return Projection(columns_of(triples, [A]), truth, **options)


def test_a_predicate_of_which_triples_were_left_out_is_declined() -> None:
    quoted = Triple(A, Q, Triple(A, P, B))
    some = index([*TRIPLES, quoted])
    assert some.compile(Scan(S, PredicatePath("x:q"), O)) is None
    assert some.compile(Scan(S, AlternativePath((PredicatePath("x:p"), PredicatePath("x:q"))), O)) is None
    assert some.compile(Scan(S, PredicatePath("x:p"), O)) is not None
    assert some.compile(Scan(S, Closure(PredicatePath("x:p"), 0, None), O)) is None
    assert some.compile(Scan(S, Closure(PredicatePath("x:p"), 1, None), O)) is not None


def test_a_value_that_ids_cannot_name_is_declined_unless_it_cannot_match() -> None:
    values = Values(("s",), ((A,), (NamedNode("x:absent"),)))
    assert index().compile(values) is None
    assert index().compile(Union((values, Scan(S, PredicatePath("x:p"), O)))) is None
    prepared = index().compile(Join((values, Scan(S, PredicatePath("x:p"), O))))
    assert prepared is not None
    assert prepared.rows(("s", "o"), Meter()).size == 1


@pytest.mark.parametrize("kind", ["restrict", "join", "optional", "tests", "path", "wide"])
def test_hostile_patterns_are_declined(kind: str) -> None:
    pattern: Pattern = Scan(S, PredicatePath("x:p"), O)
    test: Test = ValueComparison("s", "=", A)
    if kind == "wide":
        pattern = Join((pattern,) * 10_000)
    path = PredicatePath("x:p")
    for _ in range(sys.getrecursionlimit() // 2):
        if kind == "restrict":
            pattern = Restrict(pattern, (test,))
        elif kind == "join":
            pattern = Join((pattern,))
        elif kind == "optional":
            pattern = LeftJoin(pattern, pattern)
        elif kind == "tests":
            test = AllOf((test,))
        elif kind == "path":
            path = Closure(path, 0, 1)  # type: ignore[assignment]
    if kind == "tests":
        pattern = Restrict(pattern, (test,))
    if kind == "path":
        pattern = Scan(S, path, O)
    assert index().compile(pattern) is None


def test_a_product_that_is_too_large_ends_with_an_error() -> None:
    nodes = [NamedNode(f"x:n{i}") for i in range(40)]
    some = index([Triple(node, P, A) for node in nodes], max_rows=1_000)
    prepared = some.compile(Join((Scan(S, PredicatePath("x:p"), A), Scan(O, PredicatePath("x:p"), A))))
    assert prepared is not None
    with pytest.raises(QueryLimitError, match="more than 1,000 rows"):
        prepared.rows(("s", "o"), Meter())
    assert len(prepared.candidates("s", Meter())) == 40


def test_a_cancelled_run_stops() -> None:
    prepared = index().compile(Scan(S, Closure(PredicatePath("x:p"), 1, None), O))
    assert prepared is not None
    with pytest.raises(HybridkgError, match="cancelled"):
        prepared.rows(("s", "o"), Meter(cancelled=lambda: True))


def test_a_column_that_no_solution_binds_is_unbound() -> None:
    prepared = index().compile(LeftJoin(Scan(S, PredicatePath("x:q"), C), Scan(O, PredicatePath("x:q"), B)))
    assert prepared is not None
    table = prepared.rows(("s", "o", "other"), Meter())
    assert table.column("o").tolist() == table.column("other").tolist() == [UNBOUND]


def test_entries_that_were_read_are_counted() -> None:
    prepared = index().compile(Scan(S, PredicatePath("x:p"), O))
    assert prepared is not None
    meter = Meter()
    prepared.rows(("s", "o"), meter)
    assert meter.counts == {ADJACENCY: 3}


def test_the_size_of_a_single_triple_pattern_is_exact() -> None:
    some = index()
    for pattern, rows in (
        (Scan(S, PredicatePath("x:p"), O), 3),
        (Scan(A, PredicatePath("x:p"), O), 1),
        (Scan(S, PredicatePath("x:none"), O), 0),
    ):
        prepared = some.compile(pattern)
        assert prepared is not None
        assert prepared.size().low == prepared.size().estimate == prepared.size().high == rows


def test_an_inner_variable_of_a_subselect_is_another_one() -> None:
    inner = Distinct(Scan(S, PredicatePath("x:p"), O), ("s",))
    prepared = index().compile(Join((inner, Scan(O, PredicatePath("x:p"), C))))
    assert prepared is not None
    assert prepared.rows(("s", "o"), Meter()).size == 3


ids = st.lists(st.integers(0, 70) | st.integers(0, 2**32 - 2), max_size=90).map(
    lambda some: np.array(sorted(set(some)), np.uint32)
)


@given(ids, ids)
def test_set_algebra_is_that_of_sets(left: np.ndarray, right: np.ndarray) -> None:
    a, b = set(left.tolist()), set(right.tolist())
    assert both(left, right).tolist() == sorted(a & b)
    assert without(left, right).tolist() == sorted(a - b)
    assert inside(left, right).tolist() == [i in b for i in left.tolist()]
    assert distinct(np.concatenate([left, right, left])).tolist() == sorted(a | b)


@given(ids, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=6), st.integers(0, 80))
def test_ranges_are_sets(some: np.ndarray, bounds: list[tuple[int, int]], end: int) -> None:
    mine, other = IdRanges.of(bounds[:3]), IdRanges.of(bounds[3:])
    a = {i for first, last in bounds[:3] for i in range(first, last)}
    b = {i for first, last in bounds[3:] for i in range(first, last)}
    for made, want in ((mine | other, a | b), (mine & other, a & b), (mine - other, a - b)):
        assert {i for first, last in made.bounds for i in range(first, last)} == want
        assert made.size == len(want)
        assert made.of_set(some).tolist() == [i for i in some.tolist() if i in want]
        assert made.holds(some).tolist() == [i in want for i in some.tolist()]
    assert interval(some, 3, end).tolist() == [i for i in some.tolist() if 3 <= i < end]
