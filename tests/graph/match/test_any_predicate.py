"""Triple patterns with a variable predicate: what they read, and the ids of predicates that are no nodes."""

from __future__ import annotations

import numpy as np
import pyoxigraph as ox
import pytest
from test_patterns_equal_oxigraph import truth

from hybridkg.graph import predicate_terms
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import (
    UNBOUND,
    AnyScan,
    Closure,
    Distinct,
    Join,
    Opaque,
    Pattern,
    PredicatePath,
    Restrict,
    Scan,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.rdf.terms import Literal, NamedNode, Term, Triple

pytestmark = pytest.mark.quick

S, P, O = Variable("s"), Variable("p"), Variable("o")  # noqa: E741


def iri(name: str) -> NamedNode:
    return NamedNode(f"e:{name}")


N = 500
CITES, KIND, NAME, PROPERTY = iri("cites"), iri("kind"), iri("name"), iri("Property")
GRAPH = [
    *(Triple(iri(f"x{i}"), CITES, iri(f"x{(i * 7) % N}")) for i in range(N)),
    *(Triple(iri(f"x{i}"), NAME, Literal(f"name {i}")) for i in range(N)),
    *(Triple(iri(f"x{i}"), KIND, iri("Paper")) for i in range(N)),
    Triple(CITES, KIND, PROPERTY),
]
ALL = AnyScan(S, P, O)
KIND_PATH = PredicatePath(KIND.value)


def indexed(triples: list[Triple] = GRAPH) -> Projection:
    return Projection(columns_of(triples, [iri("x1"), iri("x2")]), truth)


def rows(index: Projection, pattern: Pattern, *names: str) -> tuple[set[tuple[Term | None, ...]], int]:
    """(rows, entries read)."""
    meter, prepared = Meter(), index.compile(pattern)
    assert prepared is not None
    table = prepared.rows(names, meter)
    found = set(zip(*(index.terms(column) for column in table.columns), strict=True))
    assert len(found) == table.size
    return found, meter.counts.get(ADJACENCY, 0)


def test_the_triples_of_one_node_are_found_without_reading_those_of_others():
    found, read = rows(indexed(), AnyScan(iri("x3"), P, O), "p", "o")
    assert found == {(CITES, iri("x21")), (NAME, Literal("name 3")), (KIND, iri("Paper"))}
    assert read < 20
    found, read = rows(indexed(), AnyScan(S, P, iri("x21")), "s", "p")
    assert found == {(iri("x3"), CITES)}
    assert read < 20


def test_a_join_reads_the_triples_of_its_few_values():
    cited = Join((Scan(iri("x3"), PredicatePath("e:cites"), S), AnyScan(S, P, O)))
    found, read = rows(indexed(), cited, "p", "o")
    assert found == {(CITES, iri("x147")), (NAME, Literal("name 21")), (KIND, iri("Paper"))}
    assert read < 30


def test_a_path_over_variable_predicates_does_not_start_from_an_unconnected_triple_pattern():
    onward = Join(
        (AnyScan(iri("x3"), P, O), AnyScan(O, Variable("q"), Variable("r")), Scan(O, KIND_PATH, iri("Paper")))
    )
    found, read = rows(indexed(), onward, "q", "r")
    assert found == {(CITES, iri("x147")), (NAME, Literal("name 21")), (KIND, iri("Paper"))}
    assert read < 60


def test_counting_by_predicate_reads_no_triples():
    index, meter = indexed(), Meter()
    prepared = index.compile(ALL)
    assert prepared is not None
    table = prepared.counts(["p"], meter)
    counts = dict(zip(index.terms(table.columns[0]), table.counts.tolist(), strict=True))
    assert counts == {CITES: N, NAME: N, KIND: N + 1}
    assert prepared.counts([], meter).counts.tolist() == [3 * N + 1]
    assert prepared.candidates("p", meter).tolist() == table.columns[0].tolist()
    assert rows(index, Distinct(ALL, ("p",)), "p")[0] == {(CITES,), (NAME,), (KIND,)}
    assert meter.counts[ADJACENCY] < 20
    assert prepared.size().estimate == prepared.size().high == 3 * N + 1
    assert prepared.counts_work(["p"]) == 3


def test_a_join_is_counted_by_predicate_without_listing_it():
    def counts(pattern: Pattern, *keys: str) -> tuple[dict[tuple[Term | None, ...], int], int]:
        meter, prepared = Meter(), index.compile(pattern)
        assert prepared is not None
        table = prepared.counts(keys, meter)
        names = zip(*map(index.terms, table.columns), strict=True)
        return dict(zip(names, table.counts.tolist(), strict=True)), meter.counts[ADJACENCY]

    index = indexed([*GRAPH, *(Triple(iri(f"x{i}"), CITES, iri(f"y{j}")) for i in range(N) for j in range(40))])
    papers = Join((Scan(S, KIND_PATH, iri("Paper")), ALL))
    found, read = counts(papers, "p")
    assert found == {(CITES,): 41 * N, (KIND,): N, (NAME,): N}
    assert read < 7 * N
    found, read = counts(Join((Scan(S, KIND_PATH, Variable("c")), ALL)), "p", "c")
    of_papers = {(p, iri("Paper")): n for p, n in ((CITES, 41 * N), (KIND, N), (NAME, N))}
    assert found == {**of_papers, (KIND, PROPERTY): 1}
    assert read < 10 * N


def test_a_test_of_the_predicate_leaves_the_others_unread():
    for test in (ValueComparison("p", "=", KIND), Opaque("p", 'STRENDS(STR(?x), "d")')):
        found, read = rows(indexed(), Restrict(ALL, (test,)), "s", "p", "o")
        assert len(found) == N + 1
        assert {row[1] for row in found} == {KIND}
        assert read < 2 * N


def test_a_predicate_that_is_a_node_joins_and_others_have_ids_of_their_own():
    index = indexed()
    described = Join((ALL, Scan(P, KIND_PATH, PROPERTY)))
    prepared = index.compile(described)
    assert prepared is not None
    assert index.terms(prepared.candidates("p", Meter())) == [CITES]
    ids = index.find([KIND, NAME, CITES, iri("absent")])
    assert ids[0] == ids[1] - 1 > ids[2] >= 0 > ids[3]
    assert index.terms(np.array([ids[1], UNBOUND, ids[0]], np.uint32)) == [NAME, None, KIND]


def test_predicates_that_are_no_nodes_are_ordered_by_their_iris():
    index = indexed()
    kind, name, cites = index.find([KIND, NAME, CITES]).tolist()
    keys = index.order_keys(np.array([name, UNBOUND, kind], np.uint32), total=True)
    assert keys is not None
    assert np.argsort(keys).tolist() == [1, 2, 0]
    assert index.order_keys(np.array([name, cites], np.uint32), total=True) is None


def test_values_of_a_predicate_may_be_no_nodes_and_other_values_may_not():
    index = indexed()
    listed = Join((Values(("p",), ((NAME,), (KIND,), (iri("absent"),))), AnyScan(iri("x3"), P, O)))
    assert {row[0] for row in rows(index, listed, "p", "o")[0]} == {NAME, KIND}
    assert index.compile(Values(("s",), ((NAME,),))) is None


def test_a_zero_length_path_from_a_predicate_is_declined():
    # Oxigraph links a predicate with itself where it is given one, and only nodes where it looks for the pairs.
    index = indexed()
    for least, answered in ((0, False), (1, True)):
        pattern = Join((ALL, Scan(P, Closure(PredicatePath("e:cites"), least, None), Variable("x"))))
        assert (index.compile(pattern) is not None) == answered


def test_a_graph_with_triples_outside_the_projection_is_declined():
    quoted = Triple(iri("x1"), iri("says"), ox.Triple(iri("x1"), CITES, iri("x2")))
    index = indexed([*GRAPH, quoted])
    assert index.compile(ALL) is None
    assert index.compile(Scan(S, PredicatePath("e:cites"), O)) is not None


def test_a_graph_with_too_many_predicates_is_declined(monkeypatch):
    monkeypatch.setattr(predicate_terms, "MAX_PREDICATES", 2)
    index = indexed()
    assert index.compile(ALL) is None
    assert index.find([NAME]).tolist() == [-1]
