"""What statistics expect of a pattern: the truth is within the bounds, and what can be counted is counted."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from generated_patterns import DATES, FEW, ILL_TYPED, LITERALS, NODES, NUMBERS, OPERATORS, Maker, typed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import Quad, Store
from sampling import examples
from slow_patterns import SlowGraph

from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.statistics import pattern_cardinality
from hybridkg.graph.statistics.collect import collect
from hybridkg.graph.statistics.pattern_cardinality import MAX_LOOKUPS, MAX_SCANS, values_of
from hybridkg.interfaces.graph_index import (
    AlternativePath,
    Cardinality,
    Closure,
    Exists,
    InversePath,
    Join,
    Minus,
    PredicatePath,
    Restrict,
    Scan,
    Steps,
    Union,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Triple

X, Y, Z = (Variable(name) for name in "xyz")
PLAIN = [*FEW, *typed("integer", "0", "1", "2", "-3"), *typed("decimal", "1.5", "0.1"), *DATES[:4], Literal("z")]
"""Few, so that many are equal."""

WRITTEN = [
    *NUMBERS,
    *ILL_TYPED,
    *typed("integer", "1_0", " 1", "9007199254740992", "9007199254740994", "-9223372036854775808", "9" * 400),
    *typed("decimal", "170141183460469231731.5", "0.999999999999999999", "16777217.0000001", "2.5", "1" * 50 + ".5"),
    *typed("double", "infinity", "nan", "1e400", "-INF", "0.10000000149011612", "1e39", "2", "4.94e-324"),
    *typed("float", "1e39", "16777217", "0.10000000149", "3.4028235e38", "2.5", "1_0"),
]
"""Numbers as a query or an endpoint may write them, close to each other and far out, and what is none."""


def exactly(count: float) -> Cardinality:
    return Cardinality(count, count, count)


@settings(max_examples=examples(48, 600), deadline=None)
@given(st.integers(0, 2**32))
@example(35748)  # a test of a variable that nothing binds
def test_the_truth_is_within_the_bounds(seed):
    maker = Maker(Random(seed), Random(seed).choice([PLAIN, LITERALS]))
    triples, pattern = maker.graph(), maker.pattern()
    known = collect(columns_of(triples), most_predicates=Random(seed).choice([1, 1000]))
    for name in "stuv":
        size = values_of(pattern, name, known)
        if size is None:
            continue
        truth = len({solution[name] for solution in SlowGraph(triples).solutions(pattern) if name in solution})
        assert size.low <= truth <= size.high, (triples, pattern, name)
        assert size.low <= size.estimate <= size.high


of_numbers = st.sampled_from(WRITTEN) | st.sampled_from(typed("integer", "0", "1", "2"))


@settings(max_examples=examples(24, 800), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NODES), of_numbers), max_size=12),
    st.lists(st.builds(ValueComparison, st.just("y"), st.sampled_from(OPERATORS), of_numbers), min_size=1, max_size=3),
)
@example([(NODES[0], typed("decimal", "1.000000000000000001")[0])], [ValueComparison("y", ">", Literal(1))])
@example([(NODES[0], typed("decimal", "170141183460469231731.5")[0])], [ValueComparison("y", ">", Literal(2))])
@example([(NODES[0], Literal(9))], [ValueComparison("y", "<", typed("integer", "9" * 400)[0])])
@example([(NODES[0], Literal(9))], [ValueComparison("y", "<", typed("integer", "1_0")[0])])
@example(
    [(NODES[0], Literal(0)), (NODES[1], Literal(0))],
    [ValueComparison("y", "=", Literal(0)), ValueComparison("y", "<", typed("integer", "9" * 20)[0])],
)
@example([(NODES[0], typed("double", "0.1")[0])], [ValueComparison("y", "=", typed("float", "0.1")[0])])
@example([(NODES[0], Literal(16777217))], [ValueComparison("y", ">", typed("float", "16777216")[0])])
def test_the_truth_is_within_the_bounds_of_numbers(having, tests):
    store = Store()
    store.extend(Quad(node, NamedNode("x:p"), number) for node, number in having)
    triples = [quad.triple for quad in store]
    known = collect(columns_of(triples))
    pattern = Restrict(Scan(X, PredicatePath("x:p"), Y), tuple(tests))
    solutions = SlowGraph(triples).solutions(pattern)
    for name in "xy":
        size = values_of(pattern, name, known)
        assert size.low <= len({solution[name] for solution in solutions}) <= size.high, name
        assert size.low <= size.estimate <= size.high


@pytest.mark.parametrize(
    ("op", "size"), [(">", exactly(210)), (">=", exactly(240)), ("=", exactly(30)), ("<", exactly(60))]
)
def test_a_constant_that_many_have_is_told_from_its_neighbours(op, size):
    assert (
        values_of(Restrict(Scan(X, PredicatePath("x:year"), Y), (ValueComparison("y", op, Literal(2002)),)), "x", KNOWN)
        == size
    )


CITES, YEAR, AUTHOR = (NamedNode(f"x:{name}") for name in ("cites", "year", "author"))
PAPERS = [NamedNode(f"x:paper{i}") for i in range(300)]
GRAPH = [
    *(Triple(paper, NamedNode(RDF_TYPE), NamedNode("x:Paper")) for paper in PAPERS),
    *(Triple(paper, YEAR, Literal(2000 + i % 10)) for i, paper in enumerate(PAPERS)),
    *(Triple(paper, CITES, PAPERS[i // 100]) for i, paper in enumerate(PAPERS[3:], 3)),
    *(Triple(paper, AUTHOR, NODES[i % len(NODES)]) for i, paper in enumerate(PAPERS)),
    *(Triple(node, NamedNode("x:works"), NamedNode(f"x:at{i % 2}")) for i, node in enumerate(NODES)),
]
KNOWN = collect(columns_of(GRAPH))
YEARS = (ValueComparison("y", ">=", Literal(2001)), ValueComparison("y", "<", Literal(2004)))


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        (Scan(X, PredicatePath(RDF_TYPE), NamedNode("x:Paper")), exactly(300)),
        (Scan(X, PredicatePath(RDF_TYPE), NamedNode("x:Absent")), exactly(0)),
        (Scan(X, PredicatePath("x:cites"), PAPERS[1]), exactly(100)),
        (Scan(PAPERS[1], InversePath(PredicatePath("x:cites")), X), exactly(100)),
        (Scan(Y, PredicatePath("x:cites"), X), exactly(3)),
        (Restrict(Scan(X, PredicatePath("x:year"), Y), YEARS), exactly(90)),
        # 180 of 300 by three of five authors, which is what the graph has.
        (
            Join((Scan(X, PredicatePath("x:author"), Y), Scan(Y, PredicatePath("x:works"), NamedNode("x:at0")))),
            Cardinality(0, 180, 180),
        ),
        # As many as by chance: 97 cite the first paper, 180 of 300 have an author there.
        (
            Join((
                Scan(X, PredicatePath("x:cites"), PAPERS[0]), Scan(X, PredicatePath("x:author"), Y),
                Scan(Y, PredicatePath("x:works"), NamedNode("x:at0")),
            )),
            Cardinality(0, 97 * 0.6, 97),
        ),
        (
            Union((Scan(X, PredicatePath("x:cites"), PAPERS[0]), Scan(X, PredicatePath("x:cites"), PAPERS[1]))),
            Cardinality(100, 197, 197),
        ),
        (Minus(Scan(X, PredicatePath(RDF_TYPE), NamedNode("x:Paper")), Scan(X, PredicatePath("x:cites"), PAPERS[0])),
         Cardinality(0, 300 * (1 - 97 / 305), 300)),
        (Exists(Scan(X, PredicatePath(RDF_TYPE), NamedNode("x:Paper")), Scan(X, PredicatePath("x:cites"), PAPERS[0])),
         Cardinality(0, 300 * 97 / 305, 300)),
        (Values(("x",), ((PAPERS[0],), (PAPERS[1],), (PAPERS[0],))), exactly(2)),
    ],
)  # fmt: skip
def test_what_a_pattern_is_expected_to_have(pattern, size):
    found = values_of(pattern, "x", KNOWN)
    assert found is not None
    assert found == pytest.approx(size)


@pytest.mark.parametrize(
    "pattern",
    [
        Scan(X, Closure(PredicatePath("x:cites"), 0, None), Y),
        Scan(X, Steps((PredicatePath("x:cites"), PredicatePath("x:cites"))), Y),
        Scan(X, AlternativePath((PredicatePath("x:cites"), PredicatePath("x:author"))), Y),
        Scan(Z, PredicatePath("x:cites"), Y),
        Union((Scan(X, PredicatePath("x:cites"), Y), Scan(Y, PredicatePath("x:cites"), Z))),
        Values(("x",), ((PAPERS[0],), (None,))),
        Join(tuple(Scan(X, PredicatePath("x:cites"), Variable(f"v{i}")) for i in range(MAX_SCANS + 1))),
    ],
)
def test_what_statistics_say_nothing_of(pattern):
    assert values_of(pattern, "x", KNOWN) is None


WORKS_AT = Join((Scan(X, PredicatePath("x:author"), Y), Scan(Y, PredicatePath("x:works"), NamedNode("x:at0"))))


@pytest.mark.parametrize(
    ("pattern", "rows", "read"),
    [
        (Scan(X, PredicatePath("x:cites"), Y), 297, 297),
        (Scan(X, PredicatePath("x:cites"), PAPERS[1]), 100, 100),
        (Restrict(Scan(X, PredicatePath("x:year"), Y), YEARS), 90, 90),
        (WORKS_AT, 300 * 3 / 5, 3),
        (Union((Scan(X, PredicatePath("x:cites"), PAPERS[1]), WORKS_AT)), 280, 103),
        (Minus(Scan(X, PredicatePath("x:cites"), PAPERS[1]), WORKS_AT), 100, 100),
        (Scan(X, Closure(PredicatePath("x:cites"), 0, None), Y), None, None),
    ],
)
def test_how_many_solutions_it_has_and_where_an_engine_had_best_begin(pattern, rows, read):
    assert KNOWN.rows(pattern) == (None if rows is None else pytest.approx(rows))
    assert KNOWN.least_read(pattern) == (None if read is None else pytest.approx(read))


def test_many_ways_to_many_variables_end_soon(monkeypatch):
    """Each look at a variable reads the edges once: what counts is how many there are."""
    looks = []
    by_edge = pattern_cardinality._FlatJoin._by_edge
    monkeypatch.setattr(pattern_cardinality._FlatJoin, "_by_edge", lambda *given: (looks.append(1), by_edge(*given))[1])
    names = [Variable(f"v{i}") for i in range(8)]
    clique = Join(tuple(Scan(a, PredicatePath("x:cites"), b) for i, a in enumerate(names) for b in names[:i]))
    chain = Join(tuple(Scan(a, PredicatePath("x:cites"), b) for a, b in pairwise(names[:7]) for _ in range(5)))
    for pattern in (clique, chain):
        looks.clear()
        assert values_of(pattern, "v0", KNOWN).high <= 300
        assert len(looks) < 40 * MAX_LOOKUPS


def nested_unions(depth: int, width: int) -> Join:
    """A clique of variables, beside branches of which the first is such a pattern."""
    names = [X, *(Variable(f"v{i}") for i in range(width))]
    clique = tuple(Scan(a, PredicatePath("x:cites"), b) for i, a in enumerate(names) for b in names[i + 1 :])
    pattern = Join(clique)
    for _ in range(depth):
        pattern = Join((*clique, Union((pattern, Scan(X, PredicatePath("x:cites"), PAPERS[0])))))
    return pattern


@pytest.mark.parametrize(
    "pattern",
    [
        nested_unions(2, 4),
        nested_unions(15, 6),
        Minus(nested_unions(3, 4), nested_unions(3, 4)),
        Exists(nested_unions(3, 4), Minus(nested_unions(3, 4), nested_unions(3, 4))),
        Join(tuple(Union((nested_unions(1, 4), nested_unions(2, 4))) for _ in range(20))),
    ],
)
def test_parts_within_parts_end_soon(pattern, monkeypatch):
    """What is looked at is counted for all parts together."""
    looks = []
    values = pattern_cardinality._FlatJoin._values
    monkeypatch.setattr(
        pattern_cardinality._FlatJoin, "_values", lambda *given, **named: (looks.append(1), values(*given, **named))[1]
    )
    assert values_of(pattern, "x", KNOWN).high <= 2 * 297
    assert len(looks) <= 2 * MAX_LOOKUPS
    assert KNOWN.rows(pattern) is not None
    assert KNOWN.least_read(pattern) in (0, 297)  # 0 where unions alone are joined


def test_every_branch_is_looked_at_however_many_there_are():
    branches = tuple(Scan(X, PredicatePath("x:cites"), PAPERS[i % 3]) for i in range(3 * MAX_LOOKUPS))
    assert values_of(Union(branches), "x", KNOWN).high == (97 + 100 + 100) * MAX_LOOKUPS
