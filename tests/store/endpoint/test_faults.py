"""Endpoints that are absent, slow, broken, capped, secretive, or not what they say to be."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import threading
import time
from types import SimpleNamespace

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store
from scripted_endpoint import JSON, TSV, Asked, Said, ScriptedEndpoint

from hybridkg.config.settings import EndpointSettings
from hybridkg.errors import ConfigError, EndpointError
from hybridkg.kb.cancellation import forget_frames
from hybridkg.store.endpoint import connection as asked_there
from hybridkg.store.endpoint.connection import RECENT, Connection
from hybridkg.store.endpoint.endpoint_store import EndpointStore

ALL = "SELECT ?s ?o WHERE { ?s <http://e/p> ?o }"
SECRET = "s3cr3t-t0ken"
BEGUN = b'{"head": {"vars": ["s", "o"]}, "results": {"bindings": ['
"""An answer to ALL, up to its rows."""


pytestmark = pytest.mark.usefixtures("short_waits")


def graph(n: int = 25) -> Store:
    store = Store()
    store.extend(Quad(NamedNode(f"http://e/{i:03d}"), NamedNode("http://e/p"), Literal(f"text {i}")) for i in range(n))
    return store


def asking(endpoint: ScriptedEndpoint, longest: int = 1, *, is_capped: bool = False, **settings) -> EndpointStore:
    connection = Connection(endpoint.url, EndpointSettings(timeout=settings.pop("timeout", 60), **settings))
    return EndpointStore(connection, longest=longest, is_capped=is_capped)


def refused(endpoint: ScriptedEndpoint, **settings) -> str:
    with pytest.raises(EndpointError) as caught:
        list(asking(endpoint, **settings).select(ALL).rows)
    forget_frames(caught.value)  # they may hold an answer, which another thread must not free
    return str(caught.value)


# --- what is not there ----------------------------------------------------------------


def test_an_absent_endpoint_is_told_at_once(within):
    with ScriptedEndpoint(graph()) as endpoint:
        pass
    with within(5):
        said = refused(endpoint)
    assert "no answer from the SPARQL endpoint http://127.0.0.1:" in said
    assert "connection refused" in said


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_endpoint_is_asked_again(status):
    with ScriptedEndpoint(graph(), lambda asked: Said(status=status) if asked.number < 2 else None) as endpoint:
        assert len(list(asking(endpoint, 100).select(ALL).rows)) == 25
    assert len(endpoint.asked) == 3


def test_one_that_stays_busy_is_given_up():
    with ScriptedEndpoint(graph(), lambda asked: Said(status=503)) as endpoint:
        assert "it is busy or cannot be reached (503)" in refused(endpoint)
        assert len(endpoint.asked) == 4


def test_one_that_asks_for_an_hour_is_not_waited_for():
    with ScriptedEndpoint(graph(), lambda asked: Said(status=503, headers={"Retry-After": "3600"})) as endpoint:
        assert "it asks for 3600 s" in refused(endpoint)


def test_a_slow_endpoint_is_not_waited_for():
    left = threading.Event()
    with ScriptedEndpoint(graph(), lambda asked: left.wait(600) and None) as endpoint:
        assert "did not answer within 0.2 s" in refused(endpoint, timeout=0.2)
        left.set()
    assert len(endpoint.asked) == 1


def test_one_that_is_silent_in_the_middle_is_not_waited_for():
    def slowly():
        yield b'{"head": {"vars": ["s", "o"]}, "results": {"bindings": ['
        left.wait(600)
        yield b"]}}"

    left = threading.Event()
    with ScriptedEndpoint(graph(), lambda asked: Said(slowly())) as endpoint:
        assert "was silent for 0.2 s" in refused(endpoint, timeout=0.2)
        left.set()


def test_one_that_drips_is_not_waited_for():
    def drips():
        for letter in itertools.cycle(b" "):
            yield bytes([letter])
            time.sleep(0.05)

    with ScriptedEndpoint(graph(), lambda asked: Said(drips())) as endpoint:
        assert "sends its answer too slowly" in refused(endpoint, timeout=0.2)


def half(asked: Asked, endpoint: list[ScriptedEndpoint]) -> bytes:
    body = endpoint[0].answer(asked.query, JSON).body
    assert isinstance(body, bytes)
    return body[: len(body) // 2]


def test_an_answer_that_breaks_off_is_asked_for_again():
    known: list[ScriptedEndpoint] = []
    rule = lambda asked: Said(half(asked, known), breaks=True) if asked.number == 0 else None
    with ScriptedEndpoint(graph(), rule) as endpoint:
        known.append(endpoint)
        assert len(list(asking(endpoint, 100).select(ALL).rows)) == 25
    assert len(endpoint.asked) == 2


def test_one_that_breaks_off_each_time_is_an_error():
    known: list[ScriptedEndpoint] = []
    with ScriptedEndpoint(graph(), lambda asked: Said(half(asked, known), breaks=True)) as endpoint:
        known.append(endpoint)
        assert "no answer from the SPARQL endpoint" in refused(endpoint, longest=100)
        assert len(endpoint.asked) == 4


def test_rows_that_were_given_away_are_not_given_again():
    known: list[ScriptedEndpoint] = []
    with ScriptedEndpoint(graph(), lambda asked: Said(half(asked, known), breaks=True)) as endpoint:
        known.append(endpoint)
        rows = asking(endpoint, 2).select(ALL).rows
        with pytest.raises(EndpointError, match="broke in the middle"):
            list(rows)
    assert len(endpoint.asked) == 1


# --- what is cut ------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [1, 7, 24])
def test_a_capped_answer_is_never_taken_for_all(cap):
    with ScriptedEndpoint(graph(), cap=cap) as endpoint:
        assert f"gave only {cap} of 25 rows" in refused(endpoint)


@pytest.mark.parametrize("cap", [1, 7, 24])
def test_where_it_cuts_is_known_it_is_read_by_pages(cap):
    with ScriptedEndpoint(graph(), cap=cap) as endpoint:
        rows = list(asking(endpoint, cap, is_capped=True).select(ALL).rows)
    assert rows == list(asking_embedded())


def asking_embedded():
    found = graph().query(f"{ALL} ORDER BY ?s")
    return [tuple(row) for row in found]


@pytest.mark.parametrize("longest", [1, 10, 24, 25, 26, 1000])
def test_an_answer_that_is_not_cut_is_whole_whatever_is_known(longest):
    with ScriptedEndpoint(graph()) as endpoint:
        assert sorted(asking(endpoint, longest).select(ALL).rows, key=str) == asking_embedded()
    counted = [asked for asked in endpoint.asked if "COUNT" in asked.query]
    assert len(counted) == (1 if longest <= 25 else 0)


def test_an_order_that_was_asked_for_is_not_lost_in_pages():
    with ScriptedEndpoint(graph(), cap=7) as endpoint, pytest.raises(EndpointError, match="gave only 7 of 25 rows"):
        list(asking(endpoint, 7, is_capped=True).select(f"{ALL} ORDER BY DESC(?o)").rows)


def test_a_graph_that_may_be_cut_is_an_error():
    text = "CONSTRUCT { ?s <http://e/p> ?o } WHERE { ?s <http://e/p> ?o }"
    with ScriptedEndpoint(graph(), cap=7) as endpoint, pytest.raises(EndpointError, match="cuts answers at 7 rows"):
        list(asking(endpoint, 7, is_capped=True).triples(text))


def test_what_cannot_be_counted_is_an_error():
    with ScriptedEndpoint(graph(), lambda asked: Said(b'{"head": {"vars": ["n"]}, "results": {"bindings": []}}')
                          if "COUNT" in asked.query else None) as endpoint:  # fmt: skip
        assert "answers a COUNT with a value that is not a number" in refused(endpoint)
        with pytest.raises(EndpointError, match="a query with FROM cannot be counted"):
            list(asking(endpoint).select("SELECT ?s FROM <http://e/g> WHERE { VALUES ?s { 1 } }").rows)


# --- who asks -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_credentials_are_told_without_them(status, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ENDPOINT_TOKEN", SECRET)
    with ScriptedEndpoint(graph(), lambda asked: Said(SECRET.encode(), "text/plain", status)) as endpoint:
        said = refused(endpoint)
    assert f"refuses the credentials in the environment ({status})" in said
    assert SECRET not in said
    assert "HYBRIDKG_ENDPOINT_USERNAME" in said


def test_missing_credentials_are_told():
    with ScriptedEndpoint(graph(), lambda asked: Said(status=401)) as endpoint:
        assert "set HYBRIDKG_ENDPOINT_TOKEN" in refused(endpoint)


def test_credentials_go_along(monkeypatch):
    with ScriptedEndpoint(graph()) as endpoint:
        monkeypatch.setenv("HYBRIDKG_ENDPOINT_TOKEN", SECRET)
        asking(endpoint).ask("ASK {}")
        monkeypatch.delenv("HYBRIDKG_ENDPOINT_TOKEN")
        monkeypatch.setenv("HYBRIDKG_ENDPOINT_USERNAME", "ann")
        monkeypatch.setenv("HYBRIDKG_ENDPOINT_PASSWORD", "fish")
        asking(endpoint).ask("ASK {}")
    assert [asked.headers["Authorization"] for asked in endpoint.asked] == [f"Bearer {SECRET}", "Basic YW5uOmZpc2g="]


def test_credentials_are_not_for_whomever_kb_toml_names(monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ENDPOINT_TOKEN", SECRET)
    with pytest.raises(ConfigError, match=r"only kb.toml says that they are for") as caught:
        EndpointStore(Connection("https://example.org/sparql", EndpointSettings())).ask("ASK {}")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("address", ["https://ann:fish@example.org/sparql", "ftp://example.org", "http://"])
def test_an_address_is_one_and_carries_no_password(address):
    with pytest.raises(ConfigError) as caught:
        EndpointStore(Connection(address, EndpointSettings())).ask("ASK {}")
    assert "fish" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_to_another_server_is_not_followed(status, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ENDPOINT_TOKEN", SECRET)
    with ScriptedEndpoint(graph()) as other:
        rule = lambda asked: Said(status=status, headers={"Location": other.url})
        with ScriptedEndpoint(graph(), rule) as endpoint:
            said = refused(endpoint)
        assert f"redirects to another server: {other.url}" in said
        assert other.asked == []


def test_a_redirection_on_the_same_server_is_followed():
    def rule(asked):
        return Said(status=307, headers={"Location": "/elsewhere"}) if asked.path == "/sparql" else None

    with ScriptedEndpoint(graph(), rule) as endpoint:
        assert asking(endpoint).ask("ASK { ?s ?p ?o }")
    with ScriptedEndpoint(graph(), lambda asked: Said(status=307, headers={"Location": "/sparql"})) as endpoint:
        assert "leads in a circle" in refused(endpoint)


# --- what is not SPARQL ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (Said(b"<html><body>Welcome</body></html>", "text/html"), "answers with a web page"),
        (Said(b"\x89PNG", "image/png"), "answers with 'image/png'"),
        (Said(b"<html>", JSON), "malformed, or ends too early"),
        (Said(b"", JSON), "malformed, or ends too early"),
        (Said(BEGUN + b'{"s": {"type": "uri", "value": "http://e/', JSON),
         "malformed, or ends too early"),
        (Said(BEGUN + b'{"s": {"type": "uri", "value": "not an iri"}}]}}'),
         "malformed, or ends too early"),
        (Said(b'{"head": {}, "boolean": true}'), "answers a SELECT with true or false"),
        (Said(b"[" * 200_000), "malformed, or ends too early"),
        (Said(b'{"head": {"x": "' + b"a" * 2_000_000 + b'"}}'), "a head, of more than 1,048,576 bytes"),
        (Said(b"no such function \x1b[31m", "text/plain", 400), "cannot answer (400): no such function [31m"),
        (Said(b"nothing here", "text/plain", 404), "is not the address of a SPARQL endpoint (404): nothing here"),
        (Said(b"<html>out of memory</html>", "text/html", 500), "cannot answer (500)"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_told(said, message):
    with ScriptedEndpoint(graph(), lambda asked: said) as endpoint:
        text = refused(endpoint)
    assert message in text
    assert "\x1b" not in text


def test_a_bomb_is_not_unpacked():
    bomb = gzip.compress(b" " * 50_000_000)
    with ScriptedEndpoint(graph(), lambda asked: Said(bomb, headers={"Content-Encoding": "gzip"})) as endpoint:
        assert "sends a compressed answer (gzip), which was not requested" in refused(endpoint)
    assert endpoint.asked[0].headers["Accept-Encoding"] == "identity"


def test_an_endless_row_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("hybridkg.store.endpoint.answers.MAX_ROW", 2**20)

    def endless():
        yield BEGUN + b'{"s": {"type": "literal", "value": "'
        for _ in range(1000):
            yield b"a" * 65_536

    with ScriptedEndpoint(graph(), lambda asked: Said(endless())) as endpoint:
        assert "a row, or a head, of more than 1,048,576 bytes" in refused(endpoint)


def test_an_old_connection_that_was_closed_is_nobodys_mistake():
    with ScriptedEndpoint(graph()) as endpoint:
        store = asking(endpoint)
        assert store.ask("ASK { ?s ?p ?o }")
        for idle in store.connection._idle:
            idle.sock.close()
        assert store.ask("ASK { ?s ?p ?o }")


def test_blank_node_labels_of_any_kind_are_read():
    body = {"head": {"vars": ["s", "o"]}, "results": {"bindings": [{"s": {"type": "bnode", "value": "n1.x-y"}}] * 2}}
    with ScriptedEndpoint(graph(), lambda asked: Said(json.dumps(body).encode())) as endpoint:
        rows = list(asking(endpoint, 100).select(ALL).rows)
    assert rows == [(BlankNode("b0"), None)] * 2


def test_tsv_is_understood_too():
    with ScriptedEndpoint(graph(), lambda asked: Said(b"?s\t?o\n<http://e/a>\t\n", TSV)) as endpoint:
        assert list(asking(endpoint, 100).select(ALL).rows) == [(NamedNode("http://e/a"), None)]


def test_columns_come_in_the_order_in_which_they_were_asked_for():
    def turned(asked):
        body = json.loads(endpoint.answer(asked.query, JSON).body)
        body["head"]["vars"].reverse()
        return Said(json.dumps(body).encode())

    with ScriptedEndpoint(graph(), turned) as endpoint:
        stream = asking(endpoint, 100).select(ALL)
        assert stream.variables == ("s", "o")
        assert sorted(stream.rows, key=str) == asking_embedded()


def test_other_columns_are_an_error():
    body = b'{"head": {"vars": ["s", "x"]}, "results": {"bindings": []}}'
    with ScriptedEndpoint(graph(), lambda asked: Said(body)) as endpoint:
        assert "returned the columns s x, not s o" in refused(endpoint)


def test_the_quickest_of_the_last_answers_says_how_long_a_trip_takes(monkeypatch):
    now, waits = [0.0], iter([0.0, 0.01, *[0.03] * RECENT])

    def waited(asked: Asked) -> None:
        now[0] += next(waits)

    clock = SimpleNamespace(perf_counter=lambda: now[0], monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(asked_there, "time", clock)
    with ScriptedEndpoint(graph(3), waited) as endpoint:
        store = asking(endpoint, 100)
        list(store.select(ALL).rows)
        assert store.trip_us == math.inf  # to connect is not part of a trip
        list(store.select(ALL).rows)
        assert store.trip_us == pytest.approx(10_000)
        for _ in range(RECENT - 1):
            list(store.select(ALL).rows)
        assert store.trip_us == pytest.approx(10_000)
        list(store.select(ALL).rows)
        assert store.trip_us == pytest.approx(30_000)  # the quick one is too long ago
