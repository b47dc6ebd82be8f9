"""What a user sees when the server is absent, dies, hangs, refuses or lies; and that nothing is lost or mixed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress

import pytest
from between import Between, elastic_answer
from click.testing import CliRunner
from elastic_server import ElasticServer, unique_name
from served_kb import ITEMS, During, items, moved_to, served
from tcp_door import Door

from hybridkg.cli import cli
from hybridkg.config.settings import ElasticSettings
from hybridkg.errors import TextServerError
from hybridkg.kb import KnowledgeBase
from hybridkg.remote.elasticsearch.server import Server

ABSENT = "http://127.0.0.1:1"

DISK = {
    "cluster.routing.allocation.disk.threshold_enabled": "true",
    **{f"cluster.routing.allocation.disk.watermark.{level}": "1b" for level in ("low", "high", "flood_stage")},
}
"""The server looks at its disk, and one free byte is enough for it."""

RED = 'SELECT ?e ?s { ?e MATCH "red" AS ?s } RANK BY ?s LIMIT 1000'
BLUE = RED.replace("red", "blue")
GRAPH = "SELECT ?e { ?e ?p ?o } LIMIT 3"


@pytest.fixture(scope="module")
def server(request, elastic, elastic_server):
    """That of all tests; in `make test-all` one of our own, which we kill, pause and fill."""
    return elastic_server(settings=DISK) if request.config.getoption("--exhaustive") else elastic


@pytest.fixture
def mortal(server):
    """Who can be killed and paused: our own server, or a door before that of all tests."""
    if isinstance(server, ElasticServer) and server.settings.keys() >= DISK.keys():
        yield server
        return
    door = Door(server.port).start()
    try:
        yield door
    finally:
        door.kill()


@pytest.fixture
def alias(server, request):
    name = unique_name(request.node.name)
    yield name
    server.clear(name)


@pytest.fixture
def small_bodies(monkeypatch):
    """So that a small load is many requests, and a report comes in their midst."""
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.BODY_BYTES", 4_000)
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.GROUP", 10)
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.GROUPS_WAITING", 2)
    monkeypatch.setattr("hybridkg.text.elasticsearch.builder.ENTITIES_PER_REPORT", ITEMS // 4)


@pytest.fixture
def impatient(monkeypatch):
    """Waits little before the next try."""
    monkeypatch.setattr("hybridkg.remote.elasticsearch.server.WAITS", (0.01, 0.02))
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.FIRST_WAIT", 0.01)
    monkeypatch.setattr("hybridkg.remote.elasticsearch.bulk.MAX_WAIT_S", 0.02)


@pytest.fixture
def red(tmp_path, server, alias):
    """A knowledge base with a good generation: red items on the server."""
    return red_in(tmp_path, server, alias)


@pytest.fixture
def blue(tmp_path, server, alias):
    """The same with blue ones in the graph that the index does not know yet."""
    return blue_in(tmp_path, server, alias)


@pytest.fixture(scope="module")
def kept(tmp_path_factory, server):
    """(one like `blue`, its alias), for tests that leave it as it is."""
    alias = unique_name("kept")
    yield blue_in(tmp_path_factory.mktemp("kept"), server, alias), alias
    server.clear(alias)


def red_in(folder, server, alias):
    path = served(folder / "red.kb", server.url, alias)
    with KnowledgeBase.open(path) as kb:
        kb.load(items(folder / "red.nt", "red"), index=True)
    return path


def blue_in(folder, server, alias):
    path = red_in(folder, server, alias)
    with KnowledgeBase.open(path) as kb:
        kb.load(items(folder / "blue.nt", "blue"), index=False)
    return path


def rows(path, query=RED):
    with KnowledgeBase.open(path) as kb:
        return kb.query(query).returned


def behind_alias(server, alias):
    status, found = server.request("GET", f"/_alias/{alias}")
    return sorted(found) if status == 200 else []


def failing(path, act=None, kind=TextServerError):
    """The error of a re-index, after which the old state is as it was on disk."""
    before = sorted(p.name for p in path.iterdir())
    with KnowledgeBase.open(path) as kb, pytest.raises(kind) as e:
        kb.index(progress=During(act or (lambda: None)))
    assert sorted(p.name for p in path.iterdir()) == before
    return e.value


def told(error, *said):
    text = str(error)
    for part in said:
        assert part in text, text
    assert "Traceback" not in text
    return text


# --- nobody there -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "why"),
    [(ABSENT, "connection refused"), ("http://no-such-host.invalid:9200", "unknown host")],
)
def test_a_server_that_never_was_is_told_at_once_and_the_graph_still_answers(tmp_path, url, why, within):
    path = served(tmp_path / "kb", url, "absent")
    with KnowledgeBase.open(path) as kb:
        kb.load(items(tmp_path / "red.nt", "red"), index=False)
        with within(10), pytest.raises(TextServerError) as e:
            kb.index()
        told(e.value, f"cannot reach Elasticsearch at {url}", why, "is it running?", "is as it was before")
        assert kb.query(GRAPH).returned == 3


def test_a_load_with_index_loads_nothing_without_the_server(tmp_path):
    path = served(tmp_path / "kb", ABSENT, "absent")
    before = sorted(path.rglob("*"))
    with KnowledgeBase.open(path) as kb, pytest.raises(TextServerError) as e:
        kb.load(items(tmp_path / "red.nt", "red"), index=True)
    told(e.value, "nothing was loaded or indexed")
    assert sorted(path.rglob("*")) == before
    assert rows(path, GRAPH) == 0


def test_the_command_line_tells_the_same_in_a_few_lines(tmp_path):
    path = served(tmp_path / "kb", ABSENT, "absent")
    result = CliRunner().invoke(cli, ["index", str(path)], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.output.count("\n") <= 4
    told(result.output, "error[T703]", ABSENT)


# --- somebody else there --------------------------------------------------------------

INFO = {"version": {"number": "8.19.8"}, "tagline": "You Know, for Search"}
HTML = (200, {"Content-Type": "text/html"}, b"<html>It works!</html>")
OLD_MEDIA = {"error": {"type": "media_type_header_exception", "reason": "Invalid media-type value"}, "status": 400}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (HTML, "is not Elasticsearch"),
        ((404, {"Content-Type": "text/html"}, b"<html>Not found</html>"), "(status 404) is not Elasticsearch"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "is not Elasticsearch"),
        ((200, {"Content-Type": "application/json"}, b"{}"), "is not Elasticsearch"),
        ((200, {"Content-Type": "application/json"}, b"\x00\xff junk"), "no proper answer"),
        ((200, {}, b""), "is not Elasticsearch"),
        (elastic_answer({}), "no proper answer"),
        (elastic_answer([]), "no proper answer"),
        (elastic_answer({"version": "8"}), "no proper answer"),
        (elastic_answer({"version": {"number": "7.17.0"}}), "is Elasticsearch 7.17.0; 8.16 or newer is needed"),
        (elastic_answer({"version": {"number": "8.15.5-SNAPSHOT"}}), "8.16 or newer is needed"),
        (elastic_answer({"version": {"number": "x" * 10_000}}), "8.16 or newer is needed"),
        (elastic_answer(OLD_MEDIA, 400), "of a version before 8; 8.16 or newer is needed"),
        (elastic_answer({"error": "no such thing"}, 500), "(status 500): no such thing"),
    ],
)
def test_another_program_or_an_old_server_is_told_as_such(answer, said):
    with Between(lambda method, path: answer) as other:
        server = Server(ElasticSettings(url=other.url, timeout=5))
        with pytest.raises(TextServerError) as e:
            _ = server.version
    text = told(e.value, other.url, said)
    assert len(text) < 500


@pytest.mark.parametrize("answer", [elastic_answer({}), elastic_answer({"responses": []}), elastic_answer({"x": [1]})])
def test_an_answer_that_lacks_what_was_asked_for_is_an_error(answer):
    with Between(lambda method, path: answer if "_msearch" in path else elastic_answer(INFO)) as other:
        server = Server(ElasticSettings(url=other.url, timeout=5))
        with pytest.raises(TextServerError, match="no proper answer"):
            server.search("x", [{"query": {"match_all": {}}}], dfs=False)


def test_a_server_that_closes_every_connection_is_asked_no_further():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def hang_up():
            with suppress(OSError):
                while True:
                    listening.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(TextServerError) as e:
            _ = Server(ElasticSettings(url=url)).version
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    told(e.value, "cannot reach Elasticsearch", f"https{url.removeprefix('http')}")


# --- the load ------------------------------------------------------------------------


def test_an_interrupted_load_leaves_the_old_state_and_no_index(blue, server, alias, small_bodies):
    def interrupted():
        raise KeyboardInterrupt

    (good,) = server.indexes(alias)
    failing(blue, interrupted, KeyboardInterrupt)
    assert server.indexes(alias) == [good]
    assert behind_alias(server, alias) == [good]
    assert (rows(blue), rows(blue, BLUE)) == (ITEMS, 0)
    with KnowledgeBase.open(blue) as kb:
        kb.index()
    assert (rows(blue), rows(blue, BLUE)) == (ITEMS, ITEMS)
    assert good not in behind_alias(server, alias)


def test_a_killed_process_leaves_the_old_state_and_an_index_that_can_be_removed(blue, server, alias):
    (good,) = server.indexes(alias)
    reached, go_on = threading.Event(), threading.Event()

    def held(method, path):
        if "_bulk" in path:
            reached.set()
            go_on.wait(600)

    with Between(held, to=server.url) as between:
        environment = {**os.environ, "HYBRIDKG_ELASTICSEARCH_URL": between.url}
        command = [sys.executable, "-m", "hybridkg", "index", str(blue)]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert reached.wait(120), process.stderr
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert (rows(blue), rows(blue, BLUE)) == (ITEMS, 0)
        go_on.set()
    assert behind_alias(server, alias) == [good]
    (half,) = set(server.indexes(alias)) - {good}
    with KnowledgeBase.open(blue) as kb:
        assert [one.name for one in kb.prune()] == [half]
        assert [one.name for one in kb.prune(remove=True)] == [half]
    assert server.indexes(alias) == [good]
    assert rows(blue) == ITEMS


def test_an_index_that_is_removed_while_it_is_loaded_is_not_made_again_by_the_load(kept, server, small_bodies):
    blue, alias = kept
    (good,) = server.indexes(alias)

    def removed():
        for name in set(server.indexes(alias)) - {good}:
            server.request("DELETE", f"/{name}")

    told(failing(blue, removed), "the index is gone", "is as it was before")
    assert server.indexes(alias) == [good]
    assert rows(blue) == ITEMS


def storm(times, status=429):
    """Answers the first requests as an overloaded server does."""
    left = [times]

    def rule(method, path):
        if "_bulk" not in path or left[0] <= 0:
            return None
        left[0] -= 1
        error = {"type": "es_rejected_execution_exception", "reason": "rejected execution of coordinating operation"}
        return elastic_answer({"error": error, "status": status}, status)

    return rule


def test_a_load_goes_on_when_an_overloaded_server_accepts_again(blue, server, alias, small_bodies, impatient):
    first, then = storm(3), storm(3, 503)
    with Between(lambda method, path: first(method, path) or then(method, path), to=server.url) as between:
        moved_to(blue, between.url, alias)
        with KnowledgeBase.open(blue) as kb:
            assert kb.index().entities == 2 * ITEMS
    assert (rows(moved_to(blue, server.url, alias)), rows(blue, BLUE)) == (ITEMS, ITEMS)


def test_a_load_fails_clearly_when_the_server_stays_overloaded(kept, server, small_bodies, impatient):
    blue, alias = kept
    (good,) = server.indexes(alias)
    with Between(storm(10**9), to=server.url) as between:
        moved_to(blue, between.url, alias)
        told(failing(blue), "is overloaded", "while loading the index (status 429)", "is as it was before")
    assert server.indexes(alias) == [good]
    assert rows(moved_to(blue, server.url, alias)) == ITEMS


@contextmanager
def cluster_settings(server, settings):
    """Settings of the cluster for a while."""
    assert server.request("PUT", "/_cluster/settings", {"transient": settings})[0] == 200
    try:
        yield
    finally:
        server.request("PUT", "/_cluster/settings", {"transient": dict.fromkeys(settings)})


def test_a_disk_that_fills_while_an_index_is_loaded_is_named(kept, server, small_bodies, impatient):
    blue, alias = kept
    (good,) = server.indexes(alias)

    def fills():
        blocked = {"index.blocks.read_only_allow_delete": True}
        assert server.request("PUT", f"/{alias}-*/_settings", blocked)[0] == 200

    told(failing(blue, fills), "refuses to write", "its disk is nearly full", "free space", "is as it was before")
    assert server.indexes(alias) == [good]
    assert rows(blue) == ITEMS


def test_a_server_that_has_no_place_for_an_index_is_told(kept, server, impatient, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.elasticsearch.new_index.PLACING_SECONDS", 1)
    blue, alias = kept
    (good,) = server.indexes(alias)
    nowhere = {"settings": {"index.routing.allocation.require._name": "no-such-node"}}
    body = {"index_patterns": [f"{alias}*"], "template": nowhere, "priority": 500}
    assert server.request("PUT", f"/_index_template/{alias}", body)[0] == 200
    try:
        told(failing(blue), "found no place for a new index", "is as it was before")
    finally:
        server.request("DELETE", f"/_index_template/{alias}")
    assert server.indexes(alias) == [good]
    assert rows(blue) == ITEMS


@pytest.mark.exhaustive  # the settings are those of the whole cluster
def test_a_disk_that_is_full_already_is_named(blue, server, alias, impatient, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.elasticsearch.new_index.PLACING_SECONDS", 1)
    (good,) = server.indexes(alias)
    levels = ("low", "high", "flood_stage")
    full = {f"cluster.routing.allocation.disk.watermark.{level}": "900000gb" for level in levels}
    with cluster_settings(server, full):
        told(failing(blue), "disk", "is as it was before")
        assert rows(blue) == ITEMS
    server.request("PUT", f"/{alias}-*/_settings", {"index.blocks.read_only_allow_delete": None})
    assert server.indexes(alias) == [good]
    with KnowledgeBase.open(blue) as kb:
        kb.index()
    assert rows(blue, BLUE) == ITEMS


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ({"mappings": {"properties": {"more": {"type": "keyword"}}}}, "mappings.properties"),
        ({"settings": {"index.similarity.other": {"type": "boolean"}}}, "similarity"),
    ],
)
def test_a_template_that_changes_the_index_is_noticed_and_the_index_removed(kept, server, template, what):
    blue, alias = kept
    (good,) = server.indexes(alias)
    body = {"index_patterns": [f"{alias}*"], "template": template, "priority": 500}
    assert server.request("PUT", f"/_index_template/{alias}", body)[0] == 200
    try:
        error = failing(blue)
    finally:
        server.request("DELETE", f"/_index_template/{alias}")
    told(error, what, "an index template of the cluster", "is as it was before")
    assert server.indexes(alias) == [good]
    assert rows(blue) == ITEMS


@pytest.mark.parametrize("kind", ["default_pipeline", "final_pipeline"])
def test_a_pipeline_of_the_cluster_does_not_touch_our_documents(tmp_path, server, alias, kind):
    changing = {"processors": [{"script": {"source": "ctx.terms = [:]"}}]}
    assert server.request("PUT", f"/_ingest/pipeline/{alias}", changing)[0] == 200
    template = {"index_patterns": [f"{alias}*"], "template": {"settings": {f"index.{kind}": alias}}, "priority": 500}
    assert server.request("PUT", f"/_index_template/{alias}", template)[0] == 200
    try:
        assert rows(red_in(tmp_path, server, alias)) == ITEMS
    finally:
        server.request("DELETE", f"/_index_template/{alias}")


def test_a_document_that_the_server_refuses_is_named(kept, server):
    blue, alias = kept
    (good,) = server.indexes(alias)

    def refused():
        (new,) = set(server.indexes(alias)) - {good}
        # Nothing of ours is refused by our own mapping, so the mapping is changed behind our back.
        limit = {"index.mapping.total_fields.limit": 1, "index.max_docvalue_fields_search": 1}
        server.request("PUT", f"/{new}/_settings", limit)
        server.request("PUT", f"/{new}/_settings", {"index.blocks.write": True})

    told(failing(blue, refused), "refuses, while adding entity", "is as it was before")
    assert server.indexes(alias) == [good]


@pytest.mark.parametrize("as_alias", [False, True])
def test_a_name_that_somebody_else_has_is_left_alone(tmp_path, server, alias, as_alias):
    theirs = f"{alias}-theirs" if as_alias else alias
    server.request("PUT", f"/{theirs}", {"aliases": {alias: {}}} if as_alias else None)
    path = served(tmp_path / "kb", server.url, alias)
    with KnowledgeBase.open(path) as kb, pytest.raises(TextServerError) as e:
        kb.load(items(tmp_path / "red.nt", "red"), index=True)
    told(e.value, repr(alias), "which hybridkg did not make", "set another elasticsearch.alias")
    assert server.indexes(alias) == [theirs]
    assert behind_alias(server, alias) == ([theirs] if as_alias else [])


# --- what is there is not what was left there --------------------------------------------


def test_an_index_that_was_removed_is_missed(red, server, alias):
    with KnowledgeBase.open(red) as kb:
        assert kb.query(RED).returned == ITEMS
        server.clear(alias)
        with pytest.raises(TextServerError) as e:
            kb.query(RED)
        told(e.value, "the index is gone", "hybridkg index KB")
    with KnowledgeBase.open(red) as kb:
        with pytest.raises(TextServerError) as e:
            kb.query(RED)
        told(e.value, "has no index", "hybridkg index KB")
        assert kb.query(GRAPH).returned == 3
        kb.index()
        assert kb.query(RED).returned == ITEMS


def test_another_index_of_the_same_name_is_not_read(red, server, alias):
    (good,) = server.indexes(alias)
    server.clear(alias)
    mapping = {"properties": {"node": {"type": "long"}, "terms": {"properties": {"label": {"type": "text"}}}}}
    server.request("PUT", f"/{good}", {"mappings": mapping})
    server.request("POST", f"/{good}/_doc?refresh", {"node": 3, "terms": {"label": "red"}})
    with KnowledgeBase.open(red) as kb, pytest.raises(TextServerError) as e:
        kb.query(RED)
    told(e.value, "is not the one that was built", "hybridkg index KB")


def test_documents_that_went_are_missed(red, server, alias):
    (good,) = server.indexes(alias)
    server.request("PUT", f"/{good}/_settings", {"index.blocks.write": False})
    gone = server.request("POST", f"/{good}/_delete_by_query?refresh", {"query": {"term": {"node": 3}}})
    assert gone[1]["deleted"] == 1
    with KnowledgeBase.open(red) as kb, pytest.raises(TextServerError) as e:
        kb.query(RED)
    told(e.value, f"holds {ITEMS - 1} entities; {ITEMS} were indexed", "hybridkg index KB")


def test_nobody_writes_into_a_finished_index_by_mistake(red, server, alias):
    (good,) = server.indexes(alias)
    assert server.request("POST", f"/{alias}/_doc", {"node": 7})[0] >= 400
    assert server.request("POST", f"/{good}/_delete_by_query", {"query": {"match_all": {}}})[0] >= 400
    assert rows(red) == ITEMS


# --- slow ------------------------------------------------------------------------------


def test_a_server_that_hangs_is_told_within_the_timeout_and_the_graph_still_answers(red, mortal, alias, within):
    moved_to(red, mortal.url, alias, timeout=1)
    with KnowledgeBase.open(red) as kb, KnowledgeBase.open(red) as unused:
        assert kb.query(RED).returned == ITEMS
        mortal.pause()
        try:
            for one in (kb, unused):
                started = time.monotonic()
                with within(3), pytest.raises(TextServerError) as e:
                    one.query(RED)
                assert time.monotonic() - started > 0.9
                told(e.value, "did not answer within 1 s, while", "elasticsearch.timeout")
            assert kb.query(GRAPH).returned == 3
        finally:
            mortal.resume()
        assert kb.query(RED).returned == unused.query(RED).returned == ITEMS


def test_a_load_into_a_server_that_hangs_ends_and_leaves_nothing_behind(kept, server, mortal, small_bodies):
    blue, alias = kept
    moved_to(blue, mortal.url, alias, timeout=1)
    (good,) = server.indexes(alias)
    try:
        told(failing(blue, mortal.pause), "did not answer within 1 s", "is as it was before")
    finally:
        mortal.resume()
        moved_to(blue, server.url, alias)
    assert rows(blue) == ITEMS
    with KnowledgeBase.open(blue) as kb:
        kb.prune(remove=True)
    assert server.indexes(alias) == [good]


# --- killed ----------------------------------------------------------------------------


class Waits:
    """Nobody waits for the server to come back but one thread."""

    patient: threading.Thread | None = None

    def __iter__(self):
        return iter((0.5,) * 200 if threading.current_thread() is self.patient else (0.01,))


def test_a_killed_server_loses_nothing_and_is_used_again_when_it_is_back(
    blue, server, mortal, alias, small_bodies, impatient, monkeypatch
):
    """One kill, because a start takes long: amid a load, between two pages of a query, and between two queries."""
    moved_to(blue, mortal.url, alias)
    waits, between_pages, dead = Waits(), threading.Event(), threading.Event()
    monkeypatch.setattr("hybridkg.remote.elasticsearch.server.WAITS", waits)
    monkeypatch.setattr("hybridkg.remote.elasticsearch.pages.ROWS_AT_ONCE", ITEMS // 4)
    search, places, found = Server.search, [], []

    def watched(self, index, bodies, *, dfs):
        if threading.current_thread() is waits.patient:
            if len(places) == 1:  # a page of a point in time has come
                between_pages.set()
                dead.wait(60)
            places.extend(body["pit"]["id"] for body in bodies if "pit" in body)
        return search(self, index, bodies, dfs=dfs)

    def ask():
        with KnowledgeBase.open(blue) as kb:
            found.extend(str(row["e"]) for row in kb.query('SELECT ?e { ?e MATCH "red" AS ?s }'))

    def killed():
        waits.patient.start()
        assert between_pages.wait(60)
        mortal.kill()
        if mortal is not server:  # a point in time does not outlive a server
            assert server.request("DELETE", "/_pit", {"id": places[0]})[0] == 200
        dead.set()

    monkeypatch.setattr(Server, "search", watched)
    waits.patient = threading.Thread(target=ask)
    (good,) = server.indexes(alias)
    with KnowledgeBase.open(blue) as kb:
        assert kb.query(RED).returned == ITEMS
        told(failing(blue, killed), "cannot reach Elasticsearch", "is as it was before")
        with pytest.raises(TextServerError) as e:
            kb.query(RED)
        told(e.value, "cannot reach Elasticsearch", "connection refused")
        assert kb.query(GRAPH).returned == 3
        mortal.start()
        waits.patient.join()
        assert len(found) == len(set(found)) == ITEMS
        assert len(set(places)) == 2
        assert behind_alias(server, alias) == [good]
        assert (kb.query(RED).returned, kb.query(BLUE).returned) == (ITEMS, 0)
        (half,) = set(server.indexes(alias)) - {good}
        assert [one.name for one in kb.prune()] == [half]
        kb.index()
        assert (kb.query(RED).returned, kb.query(BLUE).returned) == (ITEMS, ITEMS)
        assert half not in behind_alias(server, alias)
        assert [one.name for one in kb.prune(remove=True)] == [half]
    assert len(server.indexes(alias)) == 2
