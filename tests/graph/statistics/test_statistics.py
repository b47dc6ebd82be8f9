"""Statistics equal a slow recount over terms, and the truth lies within every estimate's bounds."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import CorruptError
from hybridkg.graph.build.reference_builder import adjacency, columns_of
from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.literal_order import SEGMENTS, literal_key
from hybridkg.graph.statistics import collect as collecting
from hybridkg.graph.statistics import grouping, histograms
from hybridkg.graph.statistics.catalog import FILE, RDF_TYPE, Statistics, read_statistics, write_statistics
from hybridkg.graph.statistics.collect import WITH_VALUES, collect, describe
from hybridkg.graph.statistics.earlier_statistics import EarlierStatistics
from hybridkg.graph.statistics.histograms import degree_quantiles, equi_depth, most_frequent, triples_in_range
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.statistics import Bucket
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Triple
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.store.oxigraph import OxigraphStore

NODES = [NamedNode(f"http://e/{x}") for x in "abcdefgh"] + [BlankNode("z")]
PREDICATES = [NamedNode(f"http://e/p{i}") for i in range(5)] + [NamedNode(RDF_TYPE)]
LITERALS = [
    *(Literal(n) for n in (-3, 0, 1, 2, 3, 2.5)),
    Literal("1", datatype=NamedNode(XSD + "decimal")),
    Literal("INF", datatype=NamedNode(XSD + "double")),
    Literal("x"),
    Literal("x", language="en"),
    Literal("y" * 300),
    Literal("2001-05-05", datatype=NamedNode(XSD + "date")),
    Literal("2002-05-05", datatype=NamedNode(XSD + "date")),
]
triples_ = st.lists(
    st.builds(Triple, st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(NODES + LITERALS)),
    max_size=60,
)
few = settings(max_examples=examples(15, 25), deadline=None)


def in_store(triples):
    """The triples as Oxigraph has them, and Oxigraph."""
    store = OxigraphStore.memory(triples)
    return list(store.triples("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")), store


def number(store, sparql):
    return int(next(store.select(sparql).rows)[0].value)


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1]


def holds(size: Cardinality, truth: float) -> None:
    assert size.low <= truth <= size.high
    assert size.low <= size.estimate <= size.high


# --- counts ----------------------------------------------------------------------


@few
@given(triples_)
def test_the_figures_of_a_predicate_are_those_of_a_recount(triples):
    held, store = in_store(triples)
    found = collect(columns_of(held))
    assert found.triples == len(held)
    assert found.subjects == len({t.subject for t in held})
    assert {p.iri for p in found.predicates} == {t.predicate.value for t in held}
    for p in found.predicates:
        own = [t for t in held if t.predicate.value == p.iri]
        outward, inward = Counter(t.subject for t in own), Counter(t.object for t in own)
        where = f"WHERE {{ ?s <{p.iri}> ?o }}"
        assert p.triples == number(store, f"SELECT (COUNT(*) AS ?n) {where}")
        assert p.subjects == number(store, f"SELECT (COUNT(DISTINCT ?s) AS ?n) {where}")
        assert p.objects == len(inward)
        assert p.literals == number(store, f"SELECT (COUNT(*) AS ?n) {{ ?s <{p.iri}> ?o FILTER isLiteral(?o) }}")
        kinds = Counter(SEGMENTS[literal_key(t.object)[0]] for t in own if isinstance(t.object, Literal))
        assert dict(p.kinds) == dict(kinds) | ({"node": p.nodes} if p.nodes else {})
        for degrees, of in ((p.outward, outward.values()), (p.inward, inward.values())):
            assert (degrees.p50, degrees.p90, degrees.p99) == tuple(nearest_rank(of, q) for q in (50, 90, 99))
            assert degrees.most == max(of)
        repeated = {(str(term) if len(str(term)) <= 200 else None, n) for term, n in inward.items() if n > 1}
        assert set(p.frequent) == repeated
        assert [n for _, n in p.frequent] == sorted((n for _, n in p.frequent), reverse=True)
        buckets = [bucket for of in p.histograms.values() for bucket in of]
        assert sum(b.triples for b in buckets) == sum(kinds[name] for name in WITH_VALUES)


@few
@given(triples_)
def test_classes_are_counted_by_name(triples):
    held, _ = in_store(triples)
    found = collect(columns_of(held))
    types = Counter(t.object for t in held if t.predicate.value == RDF_TYPE)
    named = {term.value: n for term, n in types.items() if isinstance(term, NamedNode)}
    assert dict(found.classes) == named
    assert found.other_classes.names == len(types) - len(named)
    assert found.other_classes.triples == sum(types.values()) - sum(named.values())
    for iri, n in named.items():
        assert found.instances(iri) == Cardinality(n, n, n)


@few
@given(triples_, st.integers(0, 3), st.integers(1, 2))
def test_what_is_not_listed_is_summed_up_and_bounded(triples, most_predicates, most_classes):
    held, _ = in_store(triples)
    found = collect(columns_of(held), most_predicates=most_predicates, most_classes=most_classes)
    assert len(found.predicates) <= most_predicates
    assert sum(p.triples for p in found.predicates) + found.other_predicates.triples == len(held)
    counted = Counter(t.predicate.value for t in held)
    for predicate in PREDICATES:
        holds(found.triples_of(predicate.value), counted[predicate.value])
    types = Counter(t.object for t in held if t.predicate.value == RDF_TYPE)
    assert sum(found.classes.values()) + found.other_classes.triples == sum(types.values())
    for node in NODES[:-1]:
        holds(found.instances(node.value), types[node])


def test_predicates_with_omitted_triples_have_no_upper_bound():
    a, p = NODES[0], PREDICATES[0]
    found = collect(columns_of([Triple(a, p, a), Triple(a, p, Triple(a, p, a))]))
    assert found.omitted == (p.value,)
    assert found.triples_of(p.value) == Cardinality(1, 1, math.inf)
    assert found.star([(p.value, None)]).high == math.inf


@few
@given(triples_, triples_, triples_, st.sampled_from([1000, 2]))
def test_what_follows_from_the_earlier_statistics_is_what_a_count_of_everything_gives(first, second, both, most):
    first, second, both = (in_store(own)[0] for own in (first, second, both))
    old, new = (columns_of([*{*own, *both}]) for own in (first, second))
    added, removed = ({*own} - {*other} - {*both} for own, other in ((second, first), (first, second)))
    columns = TripleColumns.of(sorted(added, key=str)), TripleColumns.of(sorted(removed, key=str))
    earlier = EarlierStatistics(collect(old, most_sets=most), *columns)
    found, wanted = collect(new, earlier=earlier, most_sets=most), collect(new, most_sets=most)
    assert json.dumps(found.to_json()) == json.dumps(wanted.to_json())


def test_what_has_not_changed_is_not_counted_again(monkeypatch):
    a, b, p, q = (NamedNode(f"e:{x}") for x in "abpq")
    before, after = [Triple(a, p, b), Triple(a, q, b)], [Triple(a, p, b), Triple(b, q, a)]
    changed = TripleColumns.of(after[1:]), TripleColumns.of(before[1:])
    earlier = EarlierStatistics(collect(columns_of(before)), *changed)
    wanted = collect(columns_of(after))
    described = []
    monkeypatch.setattr(collecting, "describe", lambda iri, *args: described.append(iri) or describe(iri, *args))
    monkeypatch.setattr(collecting, "find_sets", None)
    assert collect(columns_of(after), earlier=earlier) == wanted
    assert described == ["e:q"]


def test_a_graph_without_triples_has_statistics():
    found = collect(columns_of([]))
    assert (found.triples, found.subjects, found.predicates, found.sets.sets) == (0, 0, (), ())
    assert found.star([("http://e/p", None)]) == found.star_rows([("http://e/p", None)]) == Cardinality(0, 0, 0)
    assert found.in_range("http://e/p", "number", 1.0) == Cardinality(0, 0, 0)


# --- histograms and frequent objects -------------------------------------------------


values_ = st.lists(st.sampled_from([-math.inf, -2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 7.0, math.inf]), max_size=40)
ends = st.sampled_from([None, -math.inf, -2.0, -1.0, 0.5, 1.0, 1.2, 2.0, 9.0, math.inf])


def column(values: list[float], seed: int = 0):
    """A backward adjacency with one literal for each value, some of them several times, and the sorted values."""
    ordered = np.sort(np.array(values, np.float64))
    times = np.random.default_rng(seed).integers(1, 5, len(ordered))
    literals = np.repeat(np.arange(len(ordered)) + 10, times)
    return adjacency(literals, np.arange(len(literals))), ordered, times


@few
@given(values_, st.integers(1, 8), ends, ends, st.booleans(), st.booleans())
def test_a_range_has_as_many_triples_as_the_histogram_allows(values, n, low, high, open_low, open_high):
    backward, ordered, times = column(values)
    buckets = equi_depth(backward, ordered, 10, 10 + len(ordered), n)
    assert len(buckets) <= 2 * n
    assert sum(b.triples for b in buckets) == times.sum()
    assert sum(b.values for b in buckets) == len(ordered)
    assert all(a.high < b.low for a, b in pairwise(buckets))
    above = ordered >= (-math.inf if low is None else low)
    below = ordered <= (math.inf if high is None else high)
    if open_low and low is not None:
        above &= ordered != low
    if open_high and high is not None:
        below &= ordered != high
    size = triples_in_range(buckets, low, high, open_low=open_low, open_high=open_high)
    holds(size, times[above & below].sum())


def test_infinity_is_outside_of_what_is_less():
    buckets = (Bucket(-math.inf, math.inf, 7, 2),)
    assert triples_in_range(buckets, None, math.inf, open_high=True) == Cardinality(1, 3.5, 6)
    assert triples_in_range(buckets, -math.inf, None, open_low=True) == Cardinality(1, 3.5, 6)
    assert triples_in_range(buckets, -math.inf, math.inf) == Cardinality(7, 7, 7)


def test_a_frequent_value_has_a_bucket_for_itself():
    backward = adjacency(np.repeat([10, 11, 12, 13], [1, 1, 90, 8]), np.arange(100))
    buckets = equi_depth(backward, np.array([1.0, 2.0, 3.0, 4.0]), 10, 14, 4)
    assert Bucket(3.0, 3.0, 90, 1) in buckets
    assert triples_in_range(buckets, 3.0, 3.0) == Cardinality(90, 90, 90)


def test_a_uniform_column_is_guessed_by_the_width_of_the_range():
    backward, values = adjacency(np.arange(10_000), np.zeros(10_000, np.int64)), np.arange(10_000, dtype=np.float64)
    buckets = equi_depth(backward, values, 0, 10_000)
    assert len(buckets) == histograms.BUCKETS
    size = triples_in_range(buckets, 1_000.0, 2_345.0)
    assert size.estimate == pytest.approx(1_346, rel=0.01)
    assert size.high - size.low <= 2 * 10_000 / histograms.BUCKETS


@few
@given(triples_, st.sampled_from(PREDICATES), st.sampled_from(NODES + LITERALS))
def test_an_object_has_as_many_triples_as_the_statistics_allow(triples, predicate, value):
    held, _ = in_store([*triples, Triple(NODES[0], predicate, value)])
    as_stored = next(t.object for t in in_store([Triple(NODES[0], predicate, value)])[0])
    found = collect(columns_of(held))
    holds(
        found.having(predicate.value, as_stored), sum(t.object == as_stored for t in held if t.predicate == predicate)
    )


def test_degrees_and_frequent_keys_do_not_depend_on_how_they_are_cut(monkeypatch):
    random = np.random.default_rng(7)
    pairs = np.unique(random.integers(0, 60, (900, 2)), axis=0)
    one = adjacency(pairs[:, 0], pairs[:, 1])
    whole = degree_quantiles(one), most_frequent(one, 5), most_frequent(one, 500, least=1)
    counts = sorted(zip((-np.diff(one.offsets.astype(int))).tolist(), one.keys.tolist(), strict=True))
    assert whole[1] == [(key, -n) for n, key in counts[:5]]
    monkeypatch.setattr(histograms, "CHUNK", 7)
    assert (degree_quantiles(one), most_frequent(one, 5), most_frequent(one, 500, least=1)) == whole


# --- stars ---------------------------------------------------------------------------


def star_of(store, legs):
    """(distinct subjects, solutions) of a star, from Oxigraph."""
    pattern = " . ".join(f"?s <{iri}> {f'?o{i}' if value is None else value}" for i, (iri, value) in enumerate(legs))
    subjects = number(store, f"SELECT (COUNT(DISTINCT ?s) AS ?n) {{ {pattern} }}")
    return subjects, number(store, f"SELECT (COUNT(*) AS ?n) {{ {pattern} }}")


some = st.lists(st.sampled_from([p.value for p in PREDICATES] + ["http://e/none"]), min_size=1, max_size=4)


@few
@given(triples_, some)
def test_stars_of_different_predicates_are_exact_while_every_set_is_kept(triples, iris):
    held, store = in_store(triples)
    found = collect(columns_of(held))
    legs = [(iri, None) for iri in dict.fromkeys(iris)]
    subjects, rows = star_of(store, legs)
    assert found.star(legs) == Cardinality(subjects, subjects, subjects)
    holds(found.star_rows(legs), rows)
    if len(legs) == 1:
        assert found.star_rows(legs).estimate == rows


constants = st.sampled_from([None, None, *NODES[:4], LITERALS[2]])


@few
@given(triples_, st.lists(st.tuples(some.map(min), constants), min_size=1, max_size=4), st.integers(0, 3))
def test_every_star_is_within_its_bounds(triples, legs, kept):
    held, store = in_store(triples)
    columns = columns_of(held)
    subjects, rows = star_of(store, legs)
    for found in (
        collect(columns),
        collect(columns, most_sets=kept),
        collect(columns, most_sets=kept, most_predicates=2),
    ):
        holds(found.star(legs), subjects)
        holds(found.star_rows(legs), rows)


@few
@given(triples_, st.integers(0, 3), st.integers(0, 30))
def test_the_sets_and_their_remainder_are_all_subjects(triples, most_sets, most_members):
    held, _ = in_store(triples)
    columns = columns_of(held)
    sets = collect(columns, most_sets=most_sets, most_members=most_members).sets
    of_subject: dict = {}
    for t in held:
        of_subject.setdefault(t.subject, set()).add(t.predicate.value)
    counted = Counter(frozenset(predicates) for predicates in of_subject.values())
    for one in sets.sets:
        assert counted[frozenset(sets.predicates[p] for p in one.triples)] == one.subjects
    assert len(sets.sets) + sets.merged == len(counted)
    assert sum(one.subjects for one in sets.sets) + sets.others == len(of_subject)
    assert sum(map(len, (one.triples for one in sets.sets))) <= max(most_members, 1)
    total = sum(sum(one.triples.values()) for one in sets.sets) + sum(n for _, n in sets.remainder.values())
    assert total == len(held)
    if len(sets.sets) == len(counted):
        assert sets.others == 0


@few
@given(triples_)
def test_sets_do_not_depend_on_how_the_nodes_are_cut(triples):
    columns = columns_of(in_store(triples)[0])
    whole = collect(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "NODES_AT_ONCE", 2)
        patch.setattr(histograms, "CHUNK", 3)
        assert collect(columns) == whole


def test_too_many_sets_are_forgotten_and_said_so(monkeypatch):
    monkeypatch.setattr(grouping, "MAX_COUNTED", 2)
    monkeypatch.setattr(grouping, "NODES_AT_ONCE", 3)
    held = [Triple(NODES[i], PREDICATES[j], NODES[0]) for i in range(8) for j in range(5) if i >> j & 1]
    sets = collect(columns_of(held)).sets
    assert sets.merged is None
    assert sum(one.subjects for one in sets.sets) + sets.others == 7


# --- the file ------------------------------------------------------------------------


@few
@given(triples_, st.randoms(use_true_random=False))
def test_the_file_has_the_same_bytes_in_whatever_order_the_graph_came(tmp_path_factory, triples, random):
    held, _ = in_store(triples)
    folder = tmp_path_factory.mktemp("s")
    found = collect(columns_of(held))
    write_statistics(folder, found)
    first = (folder / FILE).read_bytes()
    assert read_statistics(folder) == found
    random.shuffle(held)
    columns = columns_of(held)
    names = list(columns.predicates)
    random.shuffle(names)
    write_statistics(
        folder, collect(ProjectionColumns(columns.terms, {n: columns.predicates[n] for n in names}, columns.omitted))
    )
    assert (folder / FILE).read_bytes() == first


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    held, _ = in_store([Triple(NODES[i % 3], PREDICATES[i % 6], (NODES + LITERALS)[i % 20]) for i in range(60)])
    write_statistics(tmp_path, collect(columns_of(held), most_sets=1))
    return tmp_path


def test_without_a_file_or_with_one_of_another_version_there_are_no_statistics(folder):
    value = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(value | {"format": 99}))
    assert read_statistics(folder) is None
    (folder / FILE).unlink()
    assert read_statistics(folder) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000, '{"format": NaN}', '{"format": 1}', "\x00"])
def test_a_file_that_is_none_is_told_as_such(folder, text):
    (folder / FILE).write_text(text)
    with pytest.raises(CorruptError, match=r"statistics\.json") as told:
        read_statistics(folder)
    assert "hybridkg index" in told.value.hint


@few
@given(st.data())
def test_a_damaged_file_is_told_as_such_or_read(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("d")
    held, _ = in_store([Triple(NODES[i % 3], PREDICATES[i % 6], (NODES + LITERALS)[i % 20]) for i in range(60)])
    write_statistics(folder, collect(columns_of(held), most_sets=1))
    content = bytearray((folder / FILE).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / FILE).write_bytes(content)
    try:
        found = read_statistics(folder)
    except CorruptError:
        return
    assert found is None or isinstance(found, Statistics)
    if found is not None:
        found.star([(p.iri, None) for p in found.predicates])
        found.star_rows([(p.iri, NODES[0]) for p in found.predicates])
