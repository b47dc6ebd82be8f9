"""Copying the graph of an endpoint by pages: whole or an error, and going on where it was interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, Triple, parse, serialize
from scripted_endpoint import TSV, Asked, Said, ScriptedEndpoint

from hybridkg import KnowledgeBase
from hybridkg.config import Config, EndpointSettings
from hybridkg.errors import ConfigError, EndpointError, UnsupportedQueryError, UserError
from hybridkg.interfaces.progress import SILENT
from hybridkg.store.endpoint import connection as http
from hybridkg.store.endpoint import export as exporting
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.export import WORK, Export, Exported
from hybridkg.store.generations import Folder


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(http, "WAITS", (0.01, 0.01, 0.01))


def graph(n: int = 40, blank: int = 0) -> Store:
    """n triples of one predicate, some of others, and some with blank nodes."""
    store = Store()
    texts = [Literal('line\n"tab"\t\\'), Literal(7), Literal("rot", language="de"), Literal(True), Literal(1.5)]
    store.extend(Quad(NamedNode(f"http://e/{i}"), NamedNode("http://e/p"), Literal(f"text {i}")) for i in range(n))
    store.extend(Quad(NamedNode("http://e/0"), NamedNode(f"http://e/q{j}"), one) for j, one in enumerate(texts))
    for i in range(blank):
        store.add(Quad(NamedNode(f"http://e/{i}"), NamedNode("http://e/part"), BlankNode(f"x{i}")))
        store.add(Quad(BlankNode(f"x{i}"), NamedNode("http://e/name"), Literal(f"part {i}")))
    return store


def triple(quad: Quad) -> Triple:
    return Triple(quad.subject, quad.predicate, quad.object)


def export(endpoint: ScriptedEndpoint, folder: Path, page: int = 10) -> Exported:
    connection = Connection(endpoint.url, EndpointSettings(timeout=60))
    return Export(connection, folder / WORK, page, SILENT).run()


def held(found: Exported) -> Store:
    store = Store()
    for file in found.files:
        store.extend(parse(file.read_bytes(), format=RdfFormat.N_TRIPLES))
    return store


def pages(endpoint: ScriptedEndpoint) -> list[Asked]:
    return [asked for asked in endpoint.asked if "LIMIT" in asked.query]


def same(one: Store, other: Store) -> bool:
    """Whether both hold the same triples, blank nodes counted only."""
    plain = [{str(q) for q in store if "_:" not in str(q)} for store in (one, other)]
    return plain[0] == plain[1] and len(one) == len(other)


@pytest.mark.parametrize("cap", [None, 3, 10, 39])
@pytest.mark.parametrize("page", [1, 7, 40, 1000])
def test_every_triple_is_copied_whatever_the_pages(tmp_path, cap, page):
    with ScriptedEndpoint(graph(), cap=cap if cap is None else max(cap, 8)) as endpoint:
        found = export(endpoint, tmp_path, page)
    assert same(held(found), graph())
    assert found.triples == 45
    assert found.is_capped == (cap is not None and max(cap, 8) < min(page, 40))
    assert found.longest == min(page if page < 1000 else 45, 99 if cap is None else max(cap, 8))


def test_the_predicates_of_a_page_are_asked_for_together(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint:
        export(endpoint, tmp_path, 1000)
    assert len(pages(endpoint)) == 1


def test_blank_nodes_stay_what_they_are(tmp_path):
    with ScriptedEndpoint(graph(40, blank=4)) as endpoint:
        found = export(endpoint, tmp_path)
    store = held(found)
    assert same(store, graph(40, blank=4))
    rows = list(store.query("SELECT ?s ?n { ?s <http://e/part> ?x . ?x <http://e/name> ?n }"))
    assert {(row[0].value, row[1].value) for row in rows} == {(f"http://e/{i}", f"part {i}") for i in range(4)}


def test_blank_nodes_that_do_not_fit_into_one_answer_are_an_error(tmp_path):
    with (
        ScriptedEndpoint(graph(40, blank=20), cap=30) as endpoint,
        pytest.raises(EndpointError, match="counts 40 triples with blank nodes, and gave 30 in one answer"),
    ):
        export(endpoint, tmp_path)


def test_an_endpoint_whose_pages_overlap_is_asked_in_order(tmp_path):
    def rule(asked):
        if "LIMIT" in asked.query and "ORDER BY" not in asked.query:
            return endpoint.answer(asked.query.rpartition("OFFSET")[0] + "OFFSET 0", TSV)
        return None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_one_that_gives_less_than_it_counts_is_an_error(tmp_path):
    def rule(asked):
        return Said(b"?s\t?p\t?o\n", TSV) if "OFFSET 20" in asked.query else None

    with (
        ScriptedEndpoint(graph(), rule) as endpoint,
        pytest.raises(EndpointError, match=r"counts 40 triples of <http://e/p>, and gave 20"),
    ):
        export(endpoint, tmp_path)


def test_a_list_of_predicates_that_is_cut_is_asked_for_to_its_end(tmp_path):
    with ScriptedEndpoint(graph(), cap=2) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_a_list_of_predicates_that_lacks_some_is_an_error(tmp_path):
    nothing = Said(b'{"head": {"vars": ["p", "n"]}, "results": {"bindings": []}}')
    rule = lambda asked: nothing if "GROUP BY" in asked.query and "OFFSET 0" not in asked.query else None
    with (
        ScriptedEndpoint(graph(), rule, cap=3) as endpoint,
        pytest.raises(EndpointError, match=r"counts 45 triples, and .* by predicate"),
    ):
        export(endpoint, tmp_path)


def test_one_that_ignores_the_limit_does_not_fill_the_disk(tmp_path):
    rule = lambda asked: endpoint.answer(asked.query.partition(" LIMIT")[0], TSV) if "LIMIT" in asked.query else None
    with (
        ScriptedEndpoint(graph(), rule) as endpoint,
        pytest.raises(EndpointError, match="gives more than the 10 rows that it was asked for"),
    ):
        export(endpoint, tmp_path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\n", "a row of 2 cells, not of 3"),
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\tfish\n", "'fish' is no term"),
        (b'?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t"a" . <x:a> <x:b> <x:c>\n', "malformed, or ends too early"),
        (b'?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t"a\n', "malformed"),
        (b"?s\t?p\t?o\n<http://e/0>\t<http://e/p>\t_:b\n", "a blank node where none was asked for"),
        (b"?a\t?b\n", "no names of columns"),
    ],
)
def test_rows_that_are_no_triples_are_an_error(tmp_path, body, message):
    with (
        ScriptedEndpoint(graph(), lambda asked: Said(body, TSV) if "LIMIT" in asked.query else None) as endpoint,
        pytest.raises(EndpointError, match=message),
    ):
        export(endpoint, tmp_path)


def test_an_endpoint_without_tsv_answers_in_json(tmp_path):
    def rule(asked):
        return endpoint.answer(asked.query, "") if "LIMIT" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


# --- going on -----------------------------------------------------------------------------------


def test_what_was_copied_is_not_copied_again(tmp_path):
    def rule(asked):
        return Said(status=500) if "OFFSET 20" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with pytest.raises(EndpointError, match="cannot answer"):
            export(endpoint, tmp_path)
        before = len(pages(endpoint))
        endpoint.rule = lambda asked: None
        found = export(endpoint, tmp_path)
        assert same(held(found), graph())
        assert len(pages(endpoint)) - before == 2  # of five in all


def test_the_price_of_a_row_is_that_of_all_pages_whenever_they_were_read(tmp_path, monkeypatch):
    def rule(asked):
        if "LIMIT" in asked.query:
            time.sleep(0.02)

    def killed(*_):
        raise KeyboardInterrupt

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with monkeypatch.context() as patched:
            patched.setattr(Export, "_round_trip_us", killed)  # all pages have been read, and nothing has been told
            with pytest.raises(KeyboardInterrupt):
                export(endpoint, tmp_path)
        before = len(pages(endpoint))
        monkeypatch.setattr(Export, "_round_trip_us", lambda self: 1_000.0)
        found = export(endpoint, tmp_path)
        assert len(pages(endpoint)) == before == 5
        assert found.row_us >= 5 * (20_000 - 1_000) / 45


def test_a_graph_that_has_changed_is_copied_anew(tmp_path):
    def rule(asked):
        return Said(status=500) if "OFFSET 20" in asked.query else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        with pytest.raises(EndpointError):
            export(endpoint, tmp_path)
        endpoint.store, endpoint.rule = graph(41), lambda asked: None
        assert same(held(export(endpoint, tmp_path)), graph(41))


@pytest.mark.parametrize("state", ["", "{", "[]", '{"state": 1, "begun": "x"}'])
def test_a_damaged_state_begins_anew(tmp_path, state):
    (tmp_path / WORK).mkdir()
    (tmp_path / WORK / exporting.STATE).write_text(state)
    with ScriptedEndpoint(graph()) as endpoint:
        assert same(held(export(endpoint, tmp_path)), graph())


def test_an_old_one_begins_anew(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint:
        export(endpoint, tmp_path)
        file = tmp_path / WORK / exporting.STATE
        file.write_text(json.dumps(json.loads(file.read_text()) | {"begun": time.time() - 2 * exporting.STALE_S}))
        before = len(pages(endpoint))
        export(endpoint, tmp_path)
        assert len(pages(endpoint)) - before == before


# --- the knowledge base around it -------------------------------------------------------------------


def base(endpoint: ScriptedEndpoint, path: Path, **settings) -> KnowledgeBase:
    Folder.create(path, Config(graph=endpoint.url, endpoint=EndpointSettings(timeout=60, **settings)))
    return KnowledgeBase.open(path)


def test_before_it_is_indexed_plain_sparql_is_answered(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint:
        kb = base(endpoint, tmp_path / "kb")
        assert len(kb.query("SELECT ?s { ?s <http://e/p> ?o }")) == 40
        assert kb.stats()["endpoint"]["state"].startswith("not exported")
        kb.index()
        assert len(kb.query('SELECT ?s { ?s MATCH "text" AS ?x }')) == 40


def test_the_manifest_says_what_was_exported_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ENDPOINT_TOKEN", "s3cr3t-t0ken")
    with ScriptedEndpoint(graph()) as endpoint:
        kb = base(endpoint, tmp_path / "kb")
        counts = kb.index()
        assert counts["exported"] == kb.stats()["triples"] == 45
        found = kb.snapshot.generation.manifest.endpoint
        assert (found["url"], found["triples"], found["longest"]) == (endpoint.url, 45, 45)
        assert found["round_trip_us"] > 0
        assert f"graph: at {endpoint.url}" in str(kb.explain("SELECT ?s { ?s ?p ?o }"))
    for file in (tmp_path / "kb").rglob("*"):
        assert file.is_dir() or b"s3cr3t" not in file.read_bytes(), file
    assert not (tmp_path / "kb" / WORK).exists()


def test_nothing_can_be_loaded_beside_it(tmp_path):
    (tmp_path / "f.nt").write_text("<x:a> <x:b> <x:c> .\n")
    with ScriptedEndpoint(graph()) as endpoint:
        kb = base(endpoint, tmp_path / "kb")
        with pytest.raises(UserError, match="hybridkg only reads there"):
            kb.load(tmp_path / "f.nt")


def test_a_graph_of_ones_own_is_not_forgotten(tmp_path):
    (tmp_path / "f.nt").write_text("<x:a> <x:b> <x:c> .\n")
    kb = KnowledgeBase.create(tmp_path / "kb")
    kb.load(tmp_path / "f.nt")
    folder = Folder.open(tmp_path / "kb")
    with ScriptedEndpoint(graph()) as endpoint:
        folder.configure(Config(graph=endpoint.url))
        with pytest.raises(ConfigError, match="1 triples have been loaded here"):
            KnowledgeBase.open(tmp_path / "kb").index()
        folder.configure(Config())
        assert KnowledgeBase.open(tmp_path / "kb").query("ASK { <x:a> <x:b> <x:c> }").boolean


def test_another_endpoint_needs_another_index(tmp_path):
    with ScriptedEndpoint(graph()) as endpoint, ScriptedEndpoint(graph(30)) as other:
        base(endpoint, tmp_path / "kb").index()
        Folder.open(tmp_path / "kb").configure(Config(graph=other.url))
        kb = KnowledgeBase.open(tmp_path / "kb")
        assert len(kb.query("SELECT ?s { ?s <http://e/p> ?o }")) == 30
        with pytest.raises(UserError, match="MATCH needs an index"):
            kb.query('SELECT ?s { ?s MATCH "text" AS ?x }')
        assert kb.index()["exported"] == 35


def test_it_can_come_home(tmp_path):
    (tmp_path / "f.nt").write_text('<x:a> <x:b> "a red fish" .\n')
    with ScriptedEndpoint(graph()) as endpoint:
        base(endpoint, tmp_path / "kb").index()
    Folder.open(tmp_path / "kb").configure(Config())
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb.stats()["triples"] == 0
    assert kb.load(tmp_path / "f.nt", index=True)["triples"] == 1
    assert kb.stats()["triples"] == 1
    assert "endpoint" not in kb.stats()
    assert len(kb.query('SELECT ?s { ?s MATCH "fish" AS ?x }')) == 1


def test_blank_nodes_are_answered_by_the_projection_and_refused_at_the_endpoint(tmp_path):
    query = 'SELECT ?s ?n { ?s <http://e/part> ?x . ?x <http://e/name> ?n . ?s MATCH "text" AS ?t } RANK BY ?t'
    with ScriptedEndpoint(graph(40, blank=4)) as endpoint:
        near, far = base(endpoint, tmp_path / "near"), base(endpoint, tmp_path / "far", projection="none")
        near.index()
        far.index()
        assert len(near.query(query)) == 4
        asked = 'SELECT ?x { ?s <http://e/part> ?x . ?s MATCH "text" AS ?t } RANK BY ?t'
        assert len(near.query(asked)) == 4
        with pytest.raises(UnsupportedQueryError, match=r"gives a blank node for \?x"):
            far.query(asked)


def test_ctrl_c_and_a_killed_server_lose_nothing(tmp_path):
    """The whole way, by the command line: interrupted in the middle, then the endpoint is away, then it goes on."""

    def slow(asked):
        if "LIMIT" in asked.query and "OFFSET 0" not in asked.query:
            time.sleep(0.5)

    command = [sys.executable, "-m", "hybridkg", "index", str(tmp_path / "kb")]
    with ScriptedEndpoint(graph(), slow) as endpoint:
        base(endpoint, tmp_path / "kb", page=10)
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "kb" / WORK).glob("*.nt"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
        assert running.returncode != 0
        assert "Traceback" not in said
        copied = len(list((tmp_path / "kb" / WORK).glob("*.nt")))
        assert copied >= 2
        store = endpoint.store
    gone = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert gone.returncode == 1
    assert "no answer from the SPARQL endpoint" in gone.stderr
    port = int(endpoint.url.rpartition(":")[2].partition("/")[0])
    with ScriptedEndpoint(store, port=port) as again:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(pages(again)) <= 5 - copied + 1
        assert len(KnowledgeBase.open(tmp_path / "kb").query('SELECT ?s { ?s MATCH "text" AS ?x }')) == 40


def test_a_real_server_that_was_killed_has_lost_nothing(oxigraph_server, tmp_path):
    file = tmp_path / "graph.nt"
    file.write_bytes(serialize((triple(quad) for quad in graph()), format=RdfFormat.N_TRIPLES) or b"")
    oxigraph_server.load(file)
    Folder.create(tmp_path / "kb", Config(graph=oxigraph_server.url))
    kb = KnowledgeBase.open(tmp_path / "kb")
    oxigraph_server.kill()
    with pytest.raises(EndpointError, match="no answer from the SPARQL endpoint"):
        kb.index()
    oxigraph_server.start()
    assert kb.index()["exported"] == 45
    oxigraph_server.kill()
    plain = "SELECT ?s { ?s <http://e/p> ?o }"
    assert len(kb.query('SELECT ?s { ?s <http://e/p> ?o . ?s MATCH "text" AS ?x } RANK BY ?x')) == 40  # by the columns
    with pytest.raises(EndpointError, match="connection refused"):
        kb.query(plain)
    oxigraph_server.start()
    assert len(kb.query(plain)) == 40


def test_a_triple_that_is_given_for_each_of_its_graphs_counts_once(tmp_path):
    store = Store()
    for quad in graph(30):
        for name in ("http://g/1", "http://g/2"):
            store.add(Quad(quad.subject, quad.predicate, quad.object, NamedNode(name)))
    with ScriptedEndpoint(store, union=True) as endpoint:
        found = export(endpoint, tmp_path)
    assert same(held(found), graph(30))


# --- what a round trip costs -------------------------------------------------------------------------


def test_the_planner_knows_what_a_round_trip_costs(tmp_path, monkeypatch):
    monkeypatch.delenv("HYBRIDKG_COSTS", raising=False)
    with ScriptedEndpoint(graph(), lambda asked: time.sleep(0.02)) as endpoint:
        kb = base(endpoint, tmp_path / "kb", projection="none")
        kb.index()
        units = {one["name"]: one for one in kb.cost()["unit_costs"]}
        assert units["us_per_store_question"]["us"] > 20_000
        assert units["us_per_store_question"]["origin"] == "measured at the endpoint"
        assert units["us_per_posting"]["us"] == units["us_per_posting"]["default_us"]
        query = 'SELECT ?s ?o { ?s <http://e/p> ?o . ?s MATCH "text 7" AS ?x } RANK BY ?x LIMIT 3'
        kb.query(query)  # what is asked once for the names in it
        trips = {}
        for strategy in (None, "reference", "filter_first", "rank_first", "filtered_topk", "bind_join"):
            before = len(endpoint.asked)
            kb.query(query, strategy=strategy)
            trips[strategy] = len(endpoint.asked) - before
        assert trips[None] == min(trips.values())
        assert max(trips.values()) > trips[None]
