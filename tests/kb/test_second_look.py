"""The second look at a blank aggregate asks no other machine twice, and takes neither the time limit nor the answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import LocalHandler, LocalServer
from pyoxigraph import Literal, NamedNode, Quad, Store
from scripted_endpoint import ScriptedEndpoint

from hybridkg import KnowledgeBase
from hybridkg.errors import QueryLimitError, QueryStoppedError
from hybridkg.kb import second_look
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.settings_file import SettingsFile
from hybridkg.operators import row_cursor

GRAPH = """@prefix : <http://e/> .
:a :v 1, 2 . :b :v 3, "x" . :c :z 1 . :d :z 2 . :g :v 10 .
:G { :a :v "in graph", 5 . }
"""
P = "PREFIX : <http://e/>\n"
BLANK = f"{P}SELECT (SUM(?v) AS ?s) {{ ?x :v ?v }}"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("look")
    (folder / "w.trig").write_text(GRAPH, encoding="utf-8")
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "w.trig", index=True)
    SettingsFile(folder / "kb").set("service", "allow")
    with KnowledgeBase.open(folder / "kb") as kb:
        yield kb


@pytest.fixture(autouse=True)
def _idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine, or a query that another test has stopped, changes nothing."""
    monkeypatch.setattr(second_look, "LOOK_S", 100.0)
    monkeypatch.setattr(second_look, "MAX_RUN_S", 100.0)
    monkeypatch.setattr(second_look, "count_orphans", lambda: 0)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The seconds that each look may take."""
    seen: list[object] = []
    look = QuerySession.blank_aggregates

    def recorded(self, request, blank, rows, context):
        seen.append(context.meter.timeout)
        return look(self, request, blank, rows, context)

    monkeypatch.setattr(QuerySession, "blank_aggregates", recorded)
    return seen


def warned(result) -> list[str]:
    return [warning.message for warning in result.warnings if warning.code == "W117"]


class Service(LocalHandler):
    """Keeps the queries that it is sent, and answers each with a text and a number."""

    asked: list[str]

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        cells = {"x": {"type": "uri", "value": "http://e/a"}, "v": {"type": "literal", "value": "bad"}}
        cells["s"] = cells["v"]
        body = json.dumps({"head": {"vars": ["x", "v", "s"]}, "results": {"bindings": [cells]}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def service() -> Iterator[LocalServer]:
    Service.asked = []
    with LocalServer(Service) as server:
        yield server


def test_a_service_is_asked_once(small, service):
    result = small.query(f"{P}SELECT (SUM(?v) AS ?s) {{ SERVICE <{service.url}> {{ ?x :v ?v }} }}")
    assert result.cells == [(None,)]
    assert warned(result) == []
    assert len(Service.asked) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "{service}",
        "{{ {service} }}",
        "OPTIONAL {{ {service} }}",
        "{{ {service} }} UNION {{ {service} }}",
        "?z :z 1 . {service}",
        "{service} FILTER EXISTS {{ ?y :z 1 }} BIND(1 AS ?one)",
    ],
)
@pytest.mark.parametrize(
    "inside", ["SELECT (SUM(?v) AS ?s) { ?x :v ?v }", "?x :v ?s BIND(1 AS ?n)", "?x :v ?v, ?s FILTER(?v < ?s)"]
)
def test_what_a_service_computes_is_sent_to_it(small, service, pattern, inside):
    text = pattern.format(service=f"SERVICE <{service.url}> {{ {inside} }}")
    rows = small.query(f"{P}SELECT ?s {{ {text} }}").cells
    assert {row[0].value for row in rows} == {"bad"}
    assert all(("SUM" in asked or "BIND" in asked or "<" in asked) and "/v" in asked for asked in Service.asked)


@pytest.mark.parametrize(
    "value", ["?v * RAND()", "?v + STRLEN(STRUUID())", "?v + STRLEN(STR(UUID()))", "YEAR(NOW()) * ?v", "BNODE(?v)"]
)
def test_a_value_that_is_another_in_a_second_run_gets_no_look(small, looks, value):
    assert warned(small.query(f"{P}SELECT (SUM({value}) AS ?s) {{ ?x :v ?v }}")) == []
    assert looks == []


def test_a_graph_at_an_endpoint_is_asked_once(tmp_path, looks):
    store = Store()
    store.add(Quad(NamedNode("http://e/a"), NamedNode("http://e/v"), Literal("x")))
    with ScriptedEndpoint(store) as endpoint:
        KnowledgeBase.create(tmp_path / "kb", graph=endpoint.url).close()
        with KnowledgeBase.open(tmp_path / "kb") as kb:
            kb.index()
            result = kb.query(BLANK)
            assert result.cells == [(None,)]
            assert warned(result) == []
    assert looks == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?g ?s { GRAPH ?g { SELECT (SUM(?v) AS ?s) { ?x :v ?v } } }",
        "SELECT ?s FROM :G { { SELECT (SUM(?v) AS ?s) { ?x :v ?v } } }",
        "SELECT ?p ?s { ?p ?q ?o OPTIONAL { SELECT ?p (SUM(?v) AS ?s) { ?p :v ?v } GROUP BY ?p } }",
        "SELECT (COALESCE(SUM(?v), 0) / 0 AS ?s) { ?x :v ?v } GROUP BY ?x",
        "SELECT (SUM(?v) / SUM(?z) AS ?s) { ?x :v ?v OPTIONAL { ?x :z ?z } } GROUP BY ?x",
        "SELECT ?x (SUM(?v) AS ?s) { ?x :v ?v } GROUP BY ?x HAVING(COUNT(*) > 1)",
        "SELECT ?x (SUM(?v) AS ?s) { ?x :v ?v } GROUP BY ?x VALUES ?x { :b }",
    ],
)
def test_a_cell_that_may_be_blank_for_another_reason_gets_no_look(small, looks, text):
    result = small.query(P + text)
    assert any(row[-1] is None for row in result.cells)
    assert warned(result) == []
    assert looks == []


def test_the_aggregate_of_an_exists_is_not_that_of_the_column_with_its_name(small):
    text = "SELECT (SUM(?v) AS ?s) { ?x :v ?v FILTER EXISTS { SELECT (SUM(?k) AS ?s) { ?x :v ?k } } }"
    (message,) = warned(small.query(P + text))
    assert message.startswith('SUM has no value: ?v is no number in 1 of the 5 solutions, such as "x"')


def test_the_look_reads_the_dataset_of_the_query(small):
    (message,) = warned(small.query(BLANK.replace("{", "FROM :G {")))
    assert message == 'SUM has no value: ?v is no number in 1 of the 2 solutions, such as "in graph"'


def test_a_look_has_a_short_time_of_its_own_within_the_time_limit(small, looks, monkeypatch):
    monkeypatch.setattr(second_look, "LOOK_S", 50.0)
    for timeout, expected in ((0, 50.0), (900, 50.0)):
        assert warned(small.query(BLANK, timeout=timeout))
        assert looks.pop() == expected
    monkeypatch.setattr(second_look, "RESERVE_S", 890.0)
    assert warned(small.query(BLANK, timeout=900))
    assert 0 < looks.pop() <= 10
    monkeypatch.setattr(second_look, "RESERVE_S", 900.0)
    assert warned(small.query(BLANK, timeout=900)) == []
    assert looks == []


def test_there_is_no_look_after_a_long_run_and_none_while_a_stopped_thread_is_at_work(small, looks, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(second_look, "MAX_RUN_S", 0.0)
        assert small.query(BLANK).cells == [(None,)]
    with monkeypatch.context() as patched:
        patched.setattr(second_look, "count_orphans", lambda: 1)
        assert small.query(BLANK).cells == [(None,)]
    assert looks == []


def test_a_look_that_takes_too_long_leaves_the_answer(small, looks, monkeypatch):
    monkeypatch.setattr(second_look, "LOOK_S", 1e-9)
    result = small.query(BLANK, timeout=900)
    assert result.cells == [(None,)]
    assert warned(result) == []


@pytest.mark.parametrize("error", [QueryStoppedError("the time is over"), QueryLimitError("too large")])
def test_a_cancellation_during_the_look_stops_the_query(small, monkeypatch, error):
    cancel = threading.Event()

    def cancelled(*_):
        cancel.set()
        raise error

    monkeypatch.setattr(QuerySession, "blank_aggregates", cancelled)
    with pytest.raises(QueryStoppedError, match="the query was cancelled"):
        small.query(BLANK, cancel=cancel)


@pytest.mark.parametrize("strategy", [None, "oxigraph"])
def test_a_stream_is_looked_at_when_its_first_block_is_all(small, looks, monkeypatch, strategy):
    text = f"{P}SELECT ?x (SUM(?v) AS ?s) {{ ?x :v ?v }} GROUP BY ?x ORDER BY ?s"
    with small.stream(text, strategy=strategy) as result:
        assert warned(result) == warned(small.query(text))
    assert len(looks) == 2
    monkeypatch.setitem(row_cursor.RowCursor.__init__.__kwdefaults__, "size", 1)
    with small.stream(text, strategy="oxigraph") as result:
        assert warned(result) == []
        assert len(list(result)) == 3
    assert len(looks) == 2


def test_the_queries_of_a_search_need_no_look(tmp_path: Path, looks):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    date = "^^<http://www.w3.org/2001/XMLSchema#date>"
    dates = [f'<http://e/{n}> {label} "red fish" ; <http://e/made> "{1900 + n}-01-01"{date} .' for n in range(40)]
    (tmp_path / "g.ttl").write_text("\n".join(dates) + '<http://e/1> <http://e/made> "long ago" .', encoding="utf-8")
    with KnowledgeBase.temporary(tmp_path / "g.ttl") as kb:
        (made,) = [facet for facet in kb.search("fish", facets=True).facets if facet.ranges]
        assert sum(one.count for one in made.ranges) == 40
        assert looks == []
        assert warned(kb.query("SELECT (MIN(YEAR(?d)) AS ?y) { ?f <http://e/made> ?d }"))
