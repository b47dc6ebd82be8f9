"""What the commands say of a graph at an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyoxigraph import Literal, NamedNode, Quad, Store
from scripted_endpoint import Said, ScriptedEndpoint

from hybridkg.__main__ import main
from hybridkg.cli import cli
from hybridkg.cli.diagnosis import BROKEN, NOTE, OK, Check, diagnose
from hybridkg.config.settings import Config
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import ConfigError, HybridkgError

LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    store = Store()
    store.extend(Quad(NamedNode(f"http://e/{i}"), LABEL, Literal(f"red fish {i}")) for i in range(5))
    with ScriptedEndpoint(store) as one:
        yield one


def said(*arguments: object) -> str:
    """What a command prints, on both streams; or its error."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    return result.output + (str(result.exception) if isinstance(result.exception, HybridkgError) else "")


def check(kb: Path, name: str) -> Check:
    return next(one for one in diagnose(kb) if (one.part, one.name) == ("knowledge base", name))


def test_index_makes_the_knowledge_base_and_query_asks_it(endpoint, tmp_path):
    kb = tmp_path / "kb"
    assert "exported: 5" in said("index", kb, "--graph", endpoint.url)
    assert f'location = "{endpoint.url}"' in (kb / "kb.toml").read_text()
    assert "exported: 5" in said("index", kb)
    assert "red fish 3" in said("query", kb, 'SELECT ?n { ?f MATCH "fish" . ?f ?p ?n }')


def test_what_could_not_begin_leaves_nothing(endpoint, tmp_path):
    endpoint.rule = lambda asked: Said(status=404)
    assert "is not the address of a SPARQL endpoint" in said("index", tmp_path / "kb", "--graph", endpoint.url)
    assert not (tmp_path / "kb").exists()
    for address in ("nowhere", "http://ann:fish@127.0.0.1/", "http://"):
        assert "error[C601]" in (text := said("index", tmp_path / "kb", "--graph", address))
        assert "fish" not in text
    assert not (tmp_path / "kb").exists()


def test_a_kb_toml_that_somebody_wrote_counts(endpoint, tmp_path):
    kb = tmp_path / "kb"
    kb.mkdir()
    written = f'graph = "{endpoint.url}"\n[endpoint]\npage = 2  # small\n'
    (kb / "kb.toml").write_text(written)
    assert "not at 'http://other.example/'" in said("index", kb, "--graph", "http://other.example/")
    assert (kb / "kb.toml").read_text() == written
    assert "exported: 5" in said("index", kb)
    assert (kb / "kb.toml").read_text() == written
    assert len([asked for asked in endpoint.asked if "LIMIT" in asked.query]) == 3


def test_load_is_refused_and_says_what_to_do(endpoint, tmp_path):
    said("index", tmp_path / "kb", "--graph", endpoint.url)
    (tmp_path / "f.nt").write_text("<x:a> <x:b> <x:c> .\n")
    text = said("load", tmp_path / "kb", tmp_path / "f.nt")
    assert "hybridkg only reads there" in text
    assert "hybridkg index" in text


def test_texts_beside_the_graph_can_be_loaded(endpoint, tmp_path):
    said("index", tmp_path / "kb", "--graph", endpoint.url)
    (tmp_path / "docs.jsonl").write_text('{"id": "http://e/2", "review": "a wonderful swim"}\n')
    assert "documents: 1" in said("load", tmp_path / "kb", "--text", tmp_path / "docs.jsonl", "--index")
    assert "http://e/2" in said("query", tmp_path / "kb", 'SELECT ?f { ?f MATCH "wonderful" }', "--format", "csv")


def test_stats_and_explain_name_the_endpoint(endpoint, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # of which plans in a pipe take their width
    said("index", tmp_path / "kb", "--graph", endpoint.url)
    found = json.loads(said("stats", tmp_path / "kb", "--format", "json"))
    assert found["triples"] == 5
    assert (found["endpoint"]["url"], found["endpoint"]["longest_answer"]) == (endpoint.url, 5)
    plain = "SELECT ?s { ?s ?p ?o }"
    text = said("explain", tmp_path / "kb", plain)
    assert f"graph: at {endpoint.url}, which answers what the projection does not hold" in text
    assert "sent to the endpoint" in text
    assert json.loads(said("explain", tmp_path / "kb", plain, "--format", "json"))["endpoint"] == endpoint.url


def test_doctor_says_how_the_endpoint_is(endpoint, tmp_path):
    said("index", tmp_path / "kb", "--graph", endpoint.url)
    assert check(tmp_path / "kb", "endpoint").state == OK
    endpoint.store.add(Quad(NamedNode("http://e/9"), LABEL, Literal("a new fish")))
    changed = check(tmp_path / "kb", "endpoint")
    assert (changed.state, changed.fix) == (NOTE, f"hybridkg index {tmp_path / 'kb'}")
    assert "it has 6 triples by now, the indexes have 5" in changed.detail
    endpoint.rule = lambda asked: Said(status=401)
    assert check(tmp_path / "kb", "opens").state == BROKEN


def test_an_error_of_the_endpoint_is_one_for_the_exit_code(endpoint, tmp_path, capsys, monkeypatch):
    said("index", tmp_path / "kb", "--graph", endpoint.url)
    endpoint.rule = lambda asked: Said(b"<html>", "text/html")
    monkeypatch.setattr("sys.argv", ["hybridkg", "query", str(tmp_path / "kb"), "SELECT ?s { ?s ?p ?o }"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "answers with a web page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph = 'ftp://x'", "must be \"embedded\" or the address of a SPARQL endpoint, not 'ftp://x'"),
        ("graph = 'http://ann:fish@x/'", "'graph' carries a user name or a password"),
        ("graph = 'http://x/'\ndefault_graph = 'union'", "'default_graph' has no effect: the endpoint"),
        ("[endpoint]\ntoken = 'fish'", "'token' must not be in a file"),
        ("[endpoint]\nprojection = 'all'", 'must be "export" or "none"'),
        ("[endpoint]\npage = 0", "a whole number from 1 to"),
    ],
)
def test_settings_that_cannot_be_are_named(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "kb.toml")
    assert message in str(caught.value)
    assert "fish" not in str(caught.value)
    assert parse_config("", "kb.toml") == Config()
