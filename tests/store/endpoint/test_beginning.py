"""What the planner reads of an endpoint before a query runs, and what it and the run make of it."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store
from scripted_endpoint import Asked, Said, ScriptedEndpoint

from hybridkg import KnowledgeBase
from hybridkg.config.settings import Config, EndpointSettings
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.graph_store import PrefixSample
from hybridkg.planner import cardinality, planner_context
from hybridkg.store.endpoint import endpoint_store as asked_there
from hybridkg.store.endpoint import recent_answers
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.endpoint_store import LATE_SHARE, EndpointStore
from hybridkg.store.endpoint.recent_answers import MAX_AGE_S, MAX_CACHED, RecentAnswers
from hybridkg.store.generations.folder import Folder

RDFS_LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
MANY, FEW = 3_000, 3
PATTERN = "SELECT ?s WHERE { ?s <http://e/in> <http://e/many> . }"
TWICE = "SELECT ?s WHERE { { ?s <http://e/in> <http://e/many> } UNION { ?s <http://e/in> <http://e/many> } }"


def graph() -> Store:
    """Entities with a text, of which many are in one group and few in another."""
    store = Store()
    for i in range(MANY):
        entity = NamedNode(f"http://e/{i:04d}")
        groups = ["many", "few"] if i < FEW else ["many"]
        store.extend(Quad(entity, NamedNode("http://e/in"), NamedNode(f"http://e/{group}")) for group in groups)
        store.add(Quad(entity, RDFS_LABEL, Literal("red fish" if i % 2 else "red boat")))
    return store


def asking(endpoint: ScriptedEndpoint, longest: int = 10_000) -> EndpointStore:
    return EndpointStore(Connection(endpoint.url, EndpointSettings(timeout=60)), longest=longest)


def begun(endpoint: ScriptedEndpoint, most: int = 5_000, sparql: str = PATTERN) -> PrefixSample | None:
    return asking(endpoint).sample_prefix(sparql, "s", most, 10.0)


@pytest.mark.parametrize(
    ("most", "found"), [(5_000, PrefixSample(MANY, MANY, True)), (100, PrefixSample(100, 100, False))]
)
def test_it_reads_no_more_than_it_was_told(most, found):
    with ScriptedEndpoint(graph()) as endpoint:
        assert begun(endpoint, most) == found
    assert f"LIMIT {most}" in endpoint.asked[0].query


@pytest.mark.parametrize("longest", [1, MANY])
def test_an_answer_that_may_have_been_cut_is_not_whole(longest):
    with ScriptedEndpoint(graph()) as endpoint:
        store = asking(endpoint, longest)
        assert store.sample_prefix(PATTERN, "s", 5_000, 10.0) == PrefixSample(MANY, MANY, False)
        list(store.select(PATTERN).rows)
        assert len(endpoint.asked) > 1


def test_rows_and_values_are_counted_apart():
    with ScriptedEndpoint(graph()) as endpoint:
        assert begun(endpoint, 10_000, TWICE) == PrefixSample(2 * MANY, MANY, True)


@pytest.mark.parametrize(("sparql", "rows"), [(PATTERN, MANY), (TWICE, 2 * MANY)])
def test_a_whole_answer_is_given_once_without_asking_again(sparql, rows):
    distinct = sparql.replace("SELECT", "SELECT DISTINCT", 1)
    with ScriptedEndpoint(graph()) as endpoint:
        store = asking(endpoint)
        whole, once = list(store.select(sparql).rows), list(store.select(distinct).rows)
        assert (len(whole), len(once)) == (rows, MANY)
        for text, expected in ((sparql, whole), (distinct, once)):
            assert store.sample_prefix(sparql, "s", 10_000, 10.0).is_whole
            before = len(endpoint.asked)
            assert list(store.select(text).rows) == expected
            assert len(endpoint.asked) == before
            assert list(store.select(text).rows) == expected
            assert len(endpoint.asked) == before + 1


def test_an_answer_is_not_kept_for_long_nor_are_many(monkeypatch):
    answers = RecentAnswers()
    for i in range(MAX_CACHED + 3):
        answers.put(f"SELECT ?s {i}", ("s",), [(None,)])
    assert [i for i in range(MAX_CACHED + 3) if answers.take(f"SELECT ?s {i}")] == list(range(3, MAX_CACHED + 3))
    answers.put("SELECT ?s", ("s",), [(None,)])
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + MAX_AGE_S + 0.1)
    monkeypatch.setattr(recent_answers, "time", later)
    assert answers.take("SELECT ?s") is None


def test_a_blank_node_is_refused_as_ever():
    store = graph()
    store.add(Quad(BlankNode(), NamedNode("http://e/in"), NamedNode("http://e/many")))
    with ScriptedEndpoint(store) as endpoint:
        there = asking(endpoint)
        assert there.sample_prefix(PATTERN, "s", 5_000, 10.0).is_whole
        with pytest.raises(UnsupportedQueryError, match="blank node"):
            list(there.select(PATTERN, joined=True).rows)


@pytest.mark.parametrize(
    "said",
    [
        Said(status=400),
        Said(b"<html>"),
        Said(b'{"head": {"vars": ["s"]}, "results": {"bindings": ['),
        Said(b'{"head": {"vars": ["t"]}, "results": {"bindings": []}}'),
        Said(b'{"head": {"vars": ["s"]}, "results": {"bindings": [{}, {}, {}]}}'),
        Said(b'{"head": {}, "boolean": true}'),
    ],
)
def test_what_cannot_be_is_not_believed(said):
    with ScriptedEndpoint(graph(), lambda asked: said) as endpoint:
        assert begun(endpoint, 2) is None


def test_rows_that_never_end_are_left(within):
    row = b'{"s": {"type": "uri", "value": "http://e/' + b"x" * 20_000 + b'"}}'

    def trickled():
        yield b'{"head": {"vars": ["s"]}, "results": {"bindings": [' + row
        while True:
            time.sleep(0.02)
            yield b"," + row

    with within(5), ScriptedEndpoint(graph(), lambda asked: Said(trickled())) as endpoint:
        assert asking(endpoint).sample_prefix(PATTERN, "s", 5_000, 0.3) is None
    huge = b'{"head": {"vars": ["s"]}, "results": {"bindings": [' + b",".join([row] * 300) + b"]}}"
    with ScriptedEndpoint(graph(), lambda asked: Said(huge)) as endpoint:
        assert asking(endpoint).sample_prefix(PATTERN, "s", 5_000, 30.0) is None


def test_little_time_is_lost_to_what_comes_too_late(monkeypatch):
    late = [True]
    with ScriptedEndpoint(graph(), lambda asked: time.sleep(0.5) if late[0] else None) as endpoint:
        store, began = asking(endpoint), time.monotonic()
        for _ in range(5):
            assert store.sample_prefix(PATTERN, "s", 10, 0.05) is None
        assert len(endpoint.asked) == 1
        late[0] = False
        assert len(list(store.select(PATTERN + " LIMIT 5").rows)) == 5  # for rows it has all the time that it takes
        later = SimpleNamespace(monotonic=lambda: began + 5.0 / LATE_SHARE)
        monkeypatch.setattr(asked_there, "time", later)
        assert store.sample_prefix(PATTERN, "s", 10, 5.0) == PrefixSample(10, 10, False)


@pytest.fixture
def always_worth_it(monkeypatch):
    monkeypatch.setattr(cardinality, "MIN_READING_US", -1e9)
    monkeypatch.setattr(cardinality, "_worth_reading", lambda *_: 1_000)
    monkeypatch.setattr(planner_context, "BEGINNING_SECONDS", 10.0)  # a busy machine is no slow endpoint


@pytest.fixture(scope="module")
def asked_kb(tmp_path_factory):
    with ScriptedEndpoint(graph()) as endpoint:
        path = tmp_path_factory.mktemp("begun") / "kb"
        Folder.create(path, Config(graph=endpoint.url, endpoint=EndpointSettings(projection="none")))
        kb = KnowledgeBase.open(path)
        kb.index()
        yield kb, endpoint.asked


def beginnings(asked: list[Asked]) -> list[str]:
    return [one.query for one in asked if "LIMIT 1000" in one.query]


def query(pattern: str, columns: str = "?s ?x") -> str:
    return f'SELECT {columns} {{ {pattern} ?s MATCH "red fish" AS ?x }} RANK BY ?x LIMIT 5'


@pytest.mark.usefixtures("always_worth_it")
@pytest.mark.parametrize("columns", ["?s ?x", "DISTINCT ?s ?x"])
def test_a_plan_that_begins_with_a_small_pattern_has_it_already(asked_kb, columns):
    kb, asked = asked_kb
    before = len(asked)
    found = kb.query(query("?s <http://e/in> <http://e/few> .", columns))
    # Neither the candidates nor their rows are asked for again; whether a name occurs at all may be.
    assert [one.query.split()[0] for one in asked[before:] if not one.query.startswith("ASK")] == ["SELECT"]
    assert len(found) == FEW
    assert kb.explain(query("?s <http://e/in> <http://e/few> .", columns)).plan.strategy != "rank_first"
    for strategy in ("filter_first", "rank_first", "bind_join"):
        assert kb.query(query("?s <http://e/in> <http://e/few> .", columns), strategy=strategy).cells == found.cells


def candidates(kb: KnowledgeBase, pattern: str, strategy: str | None = None) -> float:
    """What the plan that begins with the graph was expected to take."""
    plan = kb.explain(query(pattern), strategy=strategy).plan
    known = {plan.strategy: plan.cost} | {one.strategy: one.cost for one in plan.rejected}
    return known["filter_first"].estimate


@pytest.mark.usefixtures("always_worth_it")
def test_the_larger_a_pattern_is_the_dearer_is_a_plan_that_reads_it(asked_kb):
    kb, asked = asked_kb
    groups = ("few", "many")
    few, many = [candidates(kb, f"?s <http://e/in> <http://e/{group}> .") for group in groups]
    assert all(any(f"<http://e/{group}>" in one for one in beginnings(asked)) for group in groups)
    assert few < many


@pytest.mark.usefixtures("always_worth_it")
def test_a_plan_that_is_asked_for_is_not_weighed(asked_kb):
    kb, asked = asked_kb
    before = len(beginnings(asked))
    kb.query(query("?s <http://e/in> <http://e/few> ."), strategy="filter_first")
    assert len(beginnings(asked)) == before


@pytest.mark.parametrize(
    ("pattern", "is_begun"),
    [
        ("?s <http://e/in> <http://e/many> .", False),  # counted
        ("?s <http://e/in> <http://e/many> . { SELECT ?s { ?s <http://e/in> <http://e/few> } }", False),  # read whole
        ('?s <http://e/in> <http://e/many> ; <http://www.w3.org/2000/01/rdf-schema#label> "red fish" .', True),  # 1,500
        ("?s <http://e/in> <http://e/many> ; <http://e/in> ?other .", False),  # all 3,000
    ],
)
def test_what_statistics_know_or_expect_to_be_large_is_not_begun(asked_kb, monkeypatch, pattern, is_begun):
    kb, asked = asked_kb
    monkeypatch.setattr(cardinality, "MIN_READING_US", -1e9)
    monkeypatch.setattr(cardinality, "PART_READ", 1e-9)
    before = len(asked)
    kb.explain(query(pattern))
    assert any(f"LIMIT {cardinality.MAX_READ}" in one.query for one in asked[before:]) == is_begun


@pytest.mark.parametrize("values", [0, 1, 2])
def test_a_beginning_that_contradicts_statistics_is_believed(values):
    begun = PrefixSample(values, values, False)
    assert cardinality.sampled_size(begun, 100.0, Cardinality(0.0, 1.0, 1.0)) == Cardinality(0.0, values, values)


def test_statistics_stay_where_the_projection_does_not(asked_kb):
    kb, _ = asked_kb
    assert kb._snapshot.projection is None
    assert kb.statistics().having("http://e/in", NamedNode("http://e/few")).estimate == FEW
    assert not (kb._snapshot.generation.path / "projection").exists()


@pytest.mark.usefixtures("always_worth_it")
@pytest.mark.parametrize(
    ("pattern", "is_begun"),
    [
        ("?s <http://e/in> <http://e/many> ; <http://e/in> ?g .", True),
        ("?s <http://e/in> ?g .", False),
        ("?s <http://e/in> <http://e/many> . ?s <http://e/in>+ ?t .", False),
        ("?s <http://e/in> <http://e/many> . MINUS { ?s <http://e/in> <http://e/few> }", False),
        ("?s <http://e/in> <http://e/many> . FILTER EXISTS { ?s <http://e/in> <http://e/few> }", False),
    ],
)
def test_what_has_no_constant_or_has_to_be_read_whole_is_not_begun(asked_kb, pattern, is_begun):
    kb, asked = asked_kb
    before = len(beginnings(asked))
    kb.explain(query(pattern))
    assert (len(beginnings(asked)) > before) == is_begun


def test_where_the_text_costs_little_nothing_is_read(asked_kb, monkeypatch):
    kb, asked = asked_kb
    monkeypatch.setattr(cardinality, "MIN_READING_US", 1e9)
    before = len(asked)
    kb.explain(query("?s <http://e/in> <http://e/many> ."))
    assert len(asked) == before


@pytest.mark.usefixtures("always_worth_it")
def test_values_of_parameters_are_read(asked_kb):
    kb, asked = asked_kb
    text = query("?s <http://e/in> $group .")
    for group, rows in (("few", FEW), ("many", 5)):
        before = len(beginnings(asked))
        assert len(kb.query(text, params={"group": NamedNode(f"http://e/{group}")})) == rows
        assert [f"<http://e/{group}>" in one for one in beginnings(asked)[before:]] == [True]
