"""The knowledge base around a graph that was copied from an endpoint."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, serialize
from scripted_endpoint import ScriptedEndpoint
from small_graph import graph, pages, triple

from hybridkg import KnowledgeBase
from hybridkg.config.settings import Config, EndpointSettings
from hybridkg.errors import ConfigError, EndpointError, UnsupportedQueryError, UserError
from hybridkg.store.endpoint.export import WORK
from hybridkg.store.generations.folder import Folder

pytestmark = pytest.mark.usefixtures("short_waits")


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
        assert counts.exported == kb.stats()["triples"] == 45
        found = kb._snapshot.generation.manifest.endpoint
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
    kb.load(tmp_path / "f.nt", index=False)
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
        assert kb.index().exported == 35


def test_it_can_come_home(tmp_path):
    (tmp_path / "f.nt").write_text('<x:a> <x:b> "a red fish" .\n')
    with ScriptedEndpoint(graph()) as endpoint:
        base(endpoint, tmp_path / "kb").index()
    Folder.open(tmp_path / "kb").configure(Config())
    kb = KnowledgeBase.open(tmp_path / "kb")
    assert kb.stats()["triples"] == 0
    assert kb.load(tmp_path / "f.nt", index=True).triples == 1
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
    assert kb.index().exported == 45
    oxigraph_server.kill()
    plain = "SELECT ?s { ?s <http://e/p> ?o }"
    assert len(kb.query('SELECT ?s { ?s <http://e/p> ?o . ?s MATCH "text" AS ?x } RANK BY ?x')) == 40  # by the columns
    with pytest.raises(EndpointError, match="connection refused"):
        kb.query(plain)
    oxigraph_server.start()
    assert len(kb.query(plain)) == 40


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
