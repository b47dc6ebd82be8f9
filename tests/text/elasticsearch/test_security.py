"""TLS, passwords and keys against a real secured server; texts that try to be more than texts."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import os
import shutil
import subprocess
import traceback
import warnings
from pathlib import Path

import pytest
import rdflib
import yaml
from click.testing import CliRunner
from elastic_server import unique_name
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled
from served_kb import LABEL, items, moved_to, served

from hybridkg.cli import cli
from hybridkg.errors import HybridkgError, TextServerError
from hybridkg.kb import KnowledgeBase
from hybridkg.remote.credentials import API_KEY, API_KEY_FILE, PASSWORD, URL, USERNAME

WORD = "Correct-Horse_Battery.42"
RED = 'SELECT ?e ?s { ?e MATCH "red" AS ?s } RANK BY ?s LIMIT 1000'
GRAPH = "SELECT ?e { ?e ?p ?o } LIMIT 3"
COMPOSE = Path(__file__).resolve().parents[3] / "docker" / "compose.yaml"
SERVICE = yaml.safe_load(COMPOSE.read_text())["services"]["elasticsearch"]


@pytest.fixture(scope="module")
def secured(elastic_server, certificate):
    """One server with TLS, a password and API keys, and the other settings of the container."""
    own = {key: value for key, value in SERVICE["environment"].items() if key.startswith("bootstrap.")}
    return elastic_server(password=WORD, tls=certificate, settings=own)


@pytest.fixture(autouse=True)
def _settings_of_nobody(monkeypatch):
    for name in (API_KEY, API_KEY_FILE, PASSWORD, URL, USERNAME):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def alias(secured):
    return unique_name("secured")


@pytest.fixture(scope="module")
def own(secured, certificate, alias):
    """The settings that reach it."""
    return {"url": secured.url, "alias": alias, "ca_file": str(certificate[0])}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory, own):
    """A knowledge base that was indexed by the user `elastic`."""
    folder = tmp_path_factory.mktemp("secured")
    path = served(folder / "red.kb", **own)
    with pytest.MonkeyPatch.context() as patch, KnowledgeBase.open(path) as kb:
        patch.setenv(USERNAME, "elastic")
        patch.setenv(PASSWORD, WORD)
        kb.load(items(folder / "red.nt", "red", 40), index=True)
    return path


@pytest.fixture
def red(indexed, own, monkeypatch):
    """The same, asked by that user, whatever its settings were changed to by another test."""
    monkeypatch.setenv(USERNAME, "elastic")
    monkeypatch.setenv(PASSWORD, WORD)
    return moved_to(indexed, **own)


def key_of(server, name, privileges, cluster=("monitor",), names=None):
    """An API key, as Elasticsearch encodes it."""
    role = {"cluster": list(cluster), "indices": [{"names": names or [f"{name}*"], "privileges": list(privileges)}]}
    body = {"name": name, "role_descriptors": {"hybridkg": role}}
    status, made = server.request("POST", "/_security/api_key", body)
    assert status == 200, made
    return made["encoded"]


def use_key(monkeypatch, key):
    monkeypatch.delenv(USERNAME, raising=False)
    monkeypatch.delenv(PASSWORD, raising=False)
    monkeypatch.setenv(API_KEY, key)


def rows(path, query=RED):
    with KnowledgeBase.open(path) as kb:
        return kb.query(query).returned


def refused(path, *said):
    """The texts of the errors of a query and of a re-index, which changes nothing."""
    before = sorted(p.name for p in path.iterdir())
    texts = []
    with KnowledgeBase.open(path) as kb:
        for work in (lambda: kb.query(RED), kb.index):
            with pytest.raises(TextServerError) as e:
                work()
            texts.append(str(e.value))
            for part in said:
                assert part in texts[-1], texts[-1]
        assert kb.query(GRAPH).returned == 3
    assert sorted(p.name for p in path.iterdir()) == before
    return texts


# --- who may ----------------------------------------------------------------------------


def test_a_password_over_tls_is_enough(red, secured, alias):
    assert rows(red) == 40
    assert secured.indexes(alias)


def test_the_health_check_of_the_container_needs_the_password(secured, certificate):
    if shutil.which("curl") is None:
        pytest.skip("other: no curl")
    check = SERVICE["healthcheck"]["test"][1].replace("$$", "$")
    check = check.replace("http://127.0.0.1:9200", secured.url).replace("curl ", f"curl --cacert '{certificate[0]}' ")

    def health(password):
        environment = {**os.environ, "ELASTIC_PASSWORD": password}
        return subprocess.run(["sh", "-c", check], env=environment, capture_output=True, check=False).returncode

    assert health(WORD) == 0
    assert health("wrong-word") != 0
    assert health("") != 0


def test_an_api_key_with_the_privileges_that_the_hint_names_is_enough(tmp_path, secured, own, monkeypatch):
    alias = unique_name("keyed")
    (tmp_path / "key").write_text(f"{key_of(secured, alias, ('manage', 'read', 'write'))}\n")
    monkeypatch.setenv(API_KEY_FILE, str(tmp_path / "key"))
    path = served(tmp_path / "red.kb", **{**own, "alias": alias})
    with KnowledgeBase.open(path) as kb:
        kb.load(items(tmp_path / "red.nt", "red", 40), index=True)
        kb.index()
        kb.index()
        assert kb.query(RED).returned == 40
        about = kb.stats()["text"]
        assert "problem" not in about
        assert len(kb.prune(remove=True)) == 1
    assert len(secured.indexes(alias)) == 2


def test_a_reader_needs_no_more_than_to_read(red, secured, alias, monkeypatch):
    use_key(monkeypatch, key_of(secured, alias, ("read", "view_index_metadata")))
    before = secured.indexes(alias)
    assert rows(red) == 40
    with KnowledgeBase.open(red) as kb, pytest.raises(TextServerError) as e:
        kb.index()
    assert "does not allow making an index" in str(e.value)
    assert "'manage', 'read' and 'write' to index" in e.value.hint
    assert secured.indexes(alias) == before


def test_wrong_or_missing_credentials_are_told_and_not_repeated(red, secured, own, monkeypatch):
    monkeypatch.setenv(PASSWORD, "another-word-1")
    assert "another-word-1" not in "".join(refused(red, f"{own['url']} does not accept the credentials", API_KEY))
    use_key(monkeypatch, base64.b64encode(b"no-such-id:no-such-key").decode())
    refused(red, "does not accept the credentials")
    monkeypatch.delenv(API_KEY)
    refused(red, "does not accept anonymous requests", API_KEY, USERNAME)


def test_a_key_that_may_nothing_is_told_what_it_lacks(red, secured, alias, monkeypatch):
    use_key(monkeypatch, key_of(secured, alias, ("read",), names=["something-else"]))
    refused(red, "does not allow", "a key or user needs")


def test_a_certificate_that_nobody_vouches_for_is_refused(red, own):
    moved_to(red, own["url"], own["alias"])
    refused(red, f"the certificate of {own['url']} is not trusted", "self-signed", "elasticsearch.ca_file")
    moved_to(red, **own)
    assert rows(red) == 40


def test_a_certificate_of_another_host_is_refused(red, own, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ELASTICSEARCH_URL", own["url"].replace("127.0.0.1", "127.1"))
    refused(red, "is not trusted", "127.1")


def test_http_where_https_is_spoken_is_told_with_the_address_that_would_do(red, own):
    moved_to(red, own["url"].replace("https", "http"), own["alias"])
    refused(red, "cannot reach Elasticsearch at http://", f"is its address {own['url']} ?")


def test_https_where_http_is_spoken_is_told_with_the_address_that_would_do(red, own):
    from between import Between, elastic_answer

    with Between(lambda method, path: elastic_answer({})) as plain:
        moved_to(red, **{**own, "url": plain.url.replace("http", "https")})
        refused(red, "does not speak TLS", f"is its address {plain.url} ?")


def test_the_environment_says_which_server_before_kb_toml_does(red, own, monkeypatch):
    moved_to(red, **{**own, "url": "https://127.0.0.1:1"})
    monkeypatch.setenv(URL, f"{own['url']}/")
    assert rows(red) == 40
    monkeypatch.setenv(URL, f"https://elastic:{WORD}@127.0.0.1:1")
    with pytest.raises(HybridkgError) as e:
        rows(red)
    assert WORD not in str(e.value)
    assert "carries a user name or a password" in str(e.value)


# --- secrets ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sampled(["password", "key", "refused key"], "password", "refused key"))
def test_no_secret_is_logged_warned_of_printed_or_written(
    red, secured, alias, own, monkeypatch, caplog, recwarn, tmp_path, kind
):
    secret = WORD
    if kind != "password":
        secret = key_of(secured, alias, ("manage", "read", "write"))
        if kind == "refused key":
            secret = base64.b64encode(base64.b64decode(secret) + b"x").decode()
        use_key(monkeypatch, secret)
    secrets = [secret, base64.b64encode(f"elastic:{WORD}".encode()).decode()]
    if kind != "password":
        secrets.append(base64.b64decode(secret).decode().partition(":")[2])
    caplog.set_level(logging.DEBUG)
    seen = io.StringIO()
    with contextlib.redirect_stdout(seen), contextlib.redirect_stderr(seen), warnings.catch_warnings():
        warnings.simplefilter("always")
        with KnowledgeBase.open(red) as kb:
            for work in (
                lambda: kb.query(RED),
                kb.index,
                lambda: kb.query('SELECT ?e { ?e MATCH "\\"the red" AS ?s }'),
            ):
                try:
                    work()
                except HybridkgError as e:
                    seen.write("".join(traceback.format_exception(e)))
                    seen.write(f"{e!r} {e.__cause__!r} {vars(e)}")
            moved_to(red, **{**own, "url": "https://127.0.0.1:1"})
            with pytest.raises(TextServerError) as e:
                rows(red)
            seen.write("".join(traceback.format_exception(e.value)))
            moved_to(red, **own)
            seen.write(f"{kb!r} {kb._snapshot!r} {kb._snapshot.text!r} {kb.stats()}")
        for command in (["stats", red], ["doctor", red], ["query", red, RED], ["index", red]):
            seen.write(CliRunner().invoke(cli, [str(part) for part in command], catch_exceptions=False).output)
    shown = seen.getvalue() + "".join(str(w.message) for w in recwarn)
    assert "_msearch" in caplog.text or kind == "refused key"
    for one in secrets:
        assert one not in shown
        assert one not in caplog.text
    for file in red.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [one for one in secrets if one.encode() in content], file


def test_the_index_carries_no_secret_and_no_path(red, secured, alias):
    name = secured.indexes(alias)[0]
    _, found = secured.request("GET", f"/{name}")
    assert WORD not in json.dumps(found)
    assert str(red.parent) not in json.dumps(found)


# --- texts are only texts -------------------------------------------------------------------

HOSTILE = [
    "quotes \" and ' and ` zebra",
    '"}}, "match_all": {}, "x": {"y": " zebra',
    '"}}\n{"index": {"_index": "other"}}\n{"stolen": "zebra"}\n',
    "back\\slash \\\\ \\n \\u0022 zebra",
    "line\nfeed\r\nand\ttab\x0bzebra",
    "nul\x00inside\x01\x1f\x7f zebra",
    "line\u2028separator\u2029paragraph zebra",
    "\ufeffmark \u202eright to left\u202c zebra",
    "{{mustache}} ${env} <% script %> zebra",
    "_ __ _ zebra _",
    "zebra AND NOT (a OR b)~2 ^9 field:* /regex/ [1 TO 2]",
    "w" * 40_000 + " zebra",
    "\U0001f993 zebra \U0010ffff \ufffe",
    "zebra " + "é" * 300,
    "/_all/_delete_by_query?q=* zebra",
]

IRIS = [
    "http://e/quote%22%7D%7D",
    "http://e/'single'(x)*&?a=b&c=%00#frag",
    "http://e/../../_all",
    "http://e/\u00e9\u2260\U0001f993",
    "urn:x:_delete_by_query",
    "http://e/" + "long/" * 5_000,
    "http://e/a,b;c:d@e",
]


@pytest.fixture(scope="module")
def pair(secured, certificate, tmp_path_factory):
    """(knowledge base on the server, the same on disk) of hostile texts and IRIs, and the server's alias."""
    folder, alias = tmp_path_factory.mktemp("hostile"), unique_name("hostile")
    graph = rdflib.Graph()
    for i, text in enumerate(HOSTILE):
        entity = rdflib.URIRef(IRIS[i] if i < len(IRIS) else f"http://e/{i}")
        graph.add((entity, rdflib.RDFS.label, rdflib.Literal(text)))
        graph.add((entity, rdflib.URIRef("http://e/kind"), rdflib.Literal(text)))
    profile = folder / "hostile-profile.ttl"
    profile.write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '<> a hk:Profile ; hk:filters ( <http://e/kind> ) ; hk:fields ( [ hk:name "label" ; hk:path rdfs:label ] ) .\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(USERNAME, "elastic")
        patch.setenv(PASSWORD, WORD)
        there = served(folder / "there.kb", secured.url, alias, ca_file=str(certificate[0]))
        here = folder / "here.kb"
        KnowledgeBase.create(here).close()
        with KnowledgeBase.open(there) as on_server, KnowledgeBase.open(here) as on_disk:
            for kb in (on_server, on_disk):
                kb.load(graph, index=True, profile=profile)
            assert "problem" not in on_server.stats()["text"]
            yield on_server, on_disk, secured
    secured.clear(alias)


def same(pair, query, params=None):
    """The rows of a query, which are the same on both engines."""
    there, here = ([[str(value) for value in row.values()] for row in kb.query(query, params)] for kb in pair[:2])
    assert there == here
    return here


def test_every_hostile_text_is_found_and_comes_back_as_it_was(pair):
    query = f'SELECT ?e ?t {{ ?e MATCH "zebra" AS ?s . ?e <{LABEL}> ?t }} ORDER BY ?e'
    found = same(pair, query)
    assert sorted(text for _, text in found) == sorted(HOSTILE)
    assert set(IRIS) <= {entity for entity, _ in found}
    assert sorted(str(row["t"]) for row in pair[0].query(query)) == sorted(HOSTILE)


@pytest.mark.parametrize("text", [*HOSTILE, *IRIS, "\ud800 zebra", "zebra\udfff", "\x00", "\\", '"'])
@pytest.mark.parametrize("form", ["MATCH", "MATCH QUERY"])
def test_a_hostile_text_as_a_query_means_the_same_on_both_engines(pair, text, form):
    query = f"SELECT ?e ?s {{ ?e {form} $text AS ?s }} RANK BY ?s LIMIT 100"
    errors = []
    for kb in pair[:2]:
        try:
            kb.query(query, {"text": text})
        except HybridkgError as e:
            errors.append(str(e))
    if errors:
        assert len(errors) == 2
        assert errors[0] == errors[1]
    else:
        assert same(pair, query, {"text": text}) or "zebra" not in text or form == "MATCH QUERY"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_value_is_filtered_by_as_it_stands(pair, text):
    query = 'SELECT ?e { ?e MATCH "zebra" AS ?s . ?e <http://e/kind> $kind } RANK BY ?s'
    (found,) = same(pair, query, {"kind": text})
    assert found == [
        IRIS[HOSTILE.index(text)] if HOSTILE.index(text) < len(IRIS) else f"http://e/{HOSTILE.index(text)}"
    ]


@given(text=st.text(max_size=60))
@settings(max_examples=examples(24, 40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_as_a_query_means_the_same_on_both_engines(pair, text):
    query = "SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s LIMIT 100"
    try:
        pair[1].query(query, {"text": text})
    except HybridkgError as e:
        with pytest.raises(type(e)):
            pair[0].query(query, {"text": text})
    else:
        same(pair, query, {"text": text})


def test_nothing_of_all_this_has_made_or_removed_an_index(pair):
    assert [name for name in pair[2].indexes() if "hostile" not in name and name.startswith(("other", "stolen"))] == []
    assert len(pair[2].indexes("hybridkg-test-hostile")) == 1
