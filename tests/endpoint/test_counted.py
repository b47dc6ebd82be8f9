"""What the planner asks an endpoint to count before a query runs, and what it makes of it."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store
from scripted_endpoint import Asked, Said, ScriptedEndpoint

from hybridkg import KnowledgeBase
from hybridkg.config import Config, EndpointSettings
from hybridkg.interfaces.graph_store import Counted
from hybridkg.planner import cost_inputs
from hybridkg.store.endpoint import store as asked_there
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.store import LATE_SHARE, EndpointStore
from hybridkg.store.generations import Folder

RDFS_LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
MANY, FEW = 3_000, 3
PATTERN = "SELECT ?s WHERE { ?s <http://e/in> <http://e/many> . }"


def graph() -> Store:
    """Entities with a text, of which many are in one group and few in another."""
    store = Store()
    for i in range(MANY):
        entity = NamedNode(f"http://e/{i:04d}")
        groups = ["many", "few"] if i < FEW else ["many"]
        store.extend(Quad(entity, NamedNode("http://e/in"), NamedNode(f"http://e/{group}")) for group in groups)
        store.add(Quad(entity, RDFS_LABEL, Literal("red fish" if i % 2 else "red boat")))
    return store


def asking(endpoint: ScriptedEndpoint) -> EndpointStore:
    return EndpointStore(Connection(endpoint.url, EndpointSettings(timeout=60)))


def counted(endpoint: ScriptedEndpoint, most: int = 5_000, sparql: str = PATTERN) -> Counted | None:
    return asking(endpoint).counted(sparql, "s", most, 10.0)


@pytest.mark.parametrize(("most", "found"), [(5_000, Counted(MANY, MANY, True)), (100, Counted(100, 100, False))])
def test_it_reads_no_more_than_it_was_told(most, found):
    with ScriptedEndpoint(graph()) as endpoint:
        assert counted(endpoint, most) == found
    assert f"LIMIT {most}" in endpoint.asked[0].query


def test_rows_and_values_are_counted_apart():
    with ScriptedEndpoint(graph()) as endpoint:
        twice = f"{{ {PATTERN.partition('{')[2][:-1]} }}"
        sparql = f"SELECT ?s WHERE {{ {twice} UNION {twice} }}"
        assert counted(endpoint, 10_000, sparql) == Counted(2 * MANY, MANY, True)


@pytest.mark.parametrize(
    "said",
    [
        Said(status=400),
        Said(b"<html>"),
        Said(b'{"head": {"vars": ["s_rows"]}, "results": {"bindings": []}}'),
        *(
            Said(
                json.dumps(
                    {
                        "head": {"vars": ["s_values", "s_rows"]},
                        "results": {
                            "bindings": [
                                {
                                    "s_rows": {"type": "literal", "value": rows},
                                    "s_values": {"type": "literal", "value": values},
                                }
                            ]
                        },
                    }
                ).encode()
            )
            for rows, values in (("7", "8"), ("-1", "-1"), ("9999", "1"), ("x", "1"), ("1e2", "1"))
        ),
    ],
)
def test_what_cannot_be_is_not_believed(said):
    with ScriptedEndpoint(graph(), lambda asked: said) as endpoint:
        assert counted(endpoint) is None


def test_little_time_is_lost_to_counts_that_come_too_late(monkeypatch):
    late = [True]
    with ScriptedEndpoint(graph(), lambda asked: time.sleep(0.5) if late[0] else None) as endpoint:
        store, began = asking(endpoint), time.monotonic()
        for _ in range(5):
            assert store.counted(PATTERN, "s", 10, 0.05) is None
        assert len(endpoint.asked) == 1
        late[0] = False
        assert len(list(store.select(PATTERN + " LIMIT 5").rows)) == 5  # for rows it has all the time that it takes
        later = SimpleNamespace(monotonic=lambda: began + 5.0 / LATE_SHARE)
        monkeypatch.setattr(asked_there, "time", later)
        assert store.counted(PATTERN, "s", 10, 5.0) == Counted(10, 10, False)


@pytest.mark.parametrize("more", ["?s <http://e/in>+ ?t", "MINUS { ?s <http://e/in> <http://e/few> }"])
def test_what_has_to_be_read_whole_is_not_counted(asked_kb, more):
    kb, asked = asked_kb
    before = len(counts(asked))
    kb.explain(query(f"?s <http://e/in> <http://e/many> . {more} ."))
    assert len(counts(asked)) == before


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch):
    monkeypatch.setattr(cost_inputs, "WORTH_COUNTING", 0)


@pytest.fixture(scope="module")
def asked_kb(tmp_path_factory):
    with ScriptedEndpoint(graph()) as endpoint:
        path = tmp_path_factory.mktemp("counted") / "kb"
        Folder.create(path, Config(graph=endpoint.url, endpoint=EndpointSettings(projection="none")))
        kb = KnowledgeBase.open(path)
        kb.index()
        yield kb, endpoint.asked


def counts(asked: list[Asked]) -> list[str]:
    return [one.query for one in asked if "s_rows" in one.query]


def query(pattern: str) -> str:
    return f'SELECT ?s ?x {{ {pattern} ?s MATCH "red fish" AS ?x }} RANK BY ?x LIMIT 5'


def candidates(kb: KnowledgeBase, pattern: str, strategy: str | None = None) -> float:
    """What the plan that begins with the graph was expected to take."""
    plan = kb.explain(query(pattern), strategy=strategy).plan
    known = {plan.strategy: plan.cost} | {one.strategy: one.cost for one in plan.rejected}
    return known["filter_first"].guess


def test_the_larger_a_pattern_is_the_dearer_is_a_plan_that_reads_it(asked_kb):
    kb, asked = asked_kb
    before = len(counts(asked))
    few, many = [candidates(kb, f"?s <http://e/in> <http://e/{group}> .") for group in ("few", "many")]
    assert len(counts(asked)) == before + 2
    guessed = candidates(kb, "?s <http://e/in> ?g .")  # a tenth of all entities
    assert few < guessed < many


def test_a_plan_that_is_asked_for_is_not_weighed(asked_kb):
    kb, asked = asked_kb
    before = len(counts(asked))
    kb.query(query("?s <http://e/in> <http://e/few> ."), strategy="filter_first")
    assert len(counts(asked)) == before


def test_a_pattern_without_a_constant_is_not_counted(asked_kb):
    kb, asked = asked_kb
    before = len(counts(asked))
    assert len(kb.query(query("?s <http://e/in> ?g ."))) == 5
    assert len(counts(asked)) == before


def test_where_the_text_costs_little_nothing_is_counted(asked_kb, monkeypatch):
    kb, asked = asked_kb
    before = len(counts(asked))
    monkeypatch.setattr(cost_inputs, "WORTH_COUNTING", 1e9)
    kb.explain(query("?s <http://e/in> <http://e/many> ."))
    assert len(counts(asked)) == before


def test_values_of_parameters_are_counted(asked_kb):
    kb, asked = asked_kb
    text = query("?s <http://e/in> $group .")
    for group, rows in (("few", FEW), ("many", 5)):
        before = len(counts(asked))
        assert len(kb.query(text, params={"group": NamedNode(f"http://e/{group}")})) == rows
        assert [f"<http://e/{group}>" in one for one in counts(asked)[before:]] == [True]
