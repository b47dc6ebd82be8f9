"""`hybridkg prefixes`, and `--labels`: names in place of addresses on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg.cli import cli

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def kb(tmp_path: Path) -> str:
    path = str(tmp_path / "films.kb")
    assert run("load", path, str(FILMS), "--no-index")[0] == 0
    return path


def test_prefixes_are_listed_added_and_removed(kb):
    rest = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
    assert run("prefixes", kb) == (0, "PREFIX : <http://example.org/films/>\n" + rest, "")
    added = run("prefixes", kb, "--add", "f:=<http://example.org/films/>", "--remove", ":")
    assert added == (0, "PREFIX f: <http://example.org/films/>\n" + rest, "")
    assert json.loads(run("prefixes", kb, "--format", "json")[1])["f"] == "http://example.org/films/"
    assert "PREFIX foaf: <http://xmlns.com/foaf/0.1/>" in run("prefixes", kb, "--well-known")[1]
    assert run("query", kb, "ASK { f:Alien f:year 1979 }", "--format", "csv")[1].split() == ["true"]
    assert run("query", kb, "ASK { :Alien :year 1979 }")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--add", "films"), "'films' is not NAME=IRI"),
        (("--add", "films=relative"), "is not an absolute IRI"),
        (("--remove", "rdf"), "did you mean 'rdfs'?"),
    ],
)
def test_a_mistake_changes_nothing_and_says_what_to_do(kb, arguments, message):
    before = run("prefixes", kb)
    code, out, err = run("prefixes", kb, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert run("prefixes", kb) == before


def test_a_file_of_rdf_has_prefixes_too_and_one_without_any_says_so(tmp_path):
    assert "PREFIX : <http://example.org/films/>" in run("prefixes", str(FILMS))[1]
    (tmp_path / "a.nt").write_text('<http://e/a> <http://e/p> "x" .')
    assert run("prefixes", str(tmp_path / "a.nt"))[1:] == (
        "",
        "no prefix is kept: none of the loaded files declares one; --add NAME=IRI keeps one\n",
    )


def test_labels_are_for_tables(kb):
    query = "SELECT ?f ?d { ?f :director ?d } ORDER BY ?f LIMIT 1"
    assert run("query", kb, query, "--labels")[1].splitlines()[2].split("   ") == ["Alien", "Ridley Scott"]
    for option in (("--format", "json"), ("--explain",)):
        code, _, err = run("query", kb, query, "--labels", *option)
        assert code == 2
        assert "--labels is for tables" in err


def test_a_file_of_queries_needs_no_prefix_lines(kb, tmp_path):
    (tmp_path / "q.hq").write_text("SELECT ?y { :Alien :year ?y }")
    assert run("query", kb, "-f", str(tmp_path / "q.hq"), "--format", "csv")[1].split() == ["y", "1979"]
    (tmp_path / "u.ru").write_text("INSERT DATA { :Alien :year 1980 }")
    assert run("update", kb, "-f", str(tmp_path / "u.ru"))[0] == 0
    assert "1980" in run("query", kb, "-f", str(tmp_path / "q.hq"), "--format", "csv")[1]


def test_schema_and_warnings_have_the_names_of_the_knowledge_base(kb):
    out = run("schema", kb)[1]
    assert ":director" in out
    assert "http://example.org/films/" not in out
    assert "did you mean :director (15 triples)" in run("query", kb, "ASK { ?f :directr ?d }")[2]


def test_a_prefix_that_node_shows_is_declared_as_the_error_of_a_query_says(tmp_path):
    kb, data = str(tmp_path / "a.kb"), tmp_path / "a.nt"
    data.write_text("<http://e.org/films/Alien> <http://e.org/films/year> <http://e.org/films/1979> .\n")
    assert run("load", kb, str(data), "--no-index")[0] == 0
    assert "films:year" in run("node", kb, "http://e.org/films/Alien")[1]
    hint = [
        "  hint: put this line first:",
        "        PREFIX films: <http://e.org/films/>",
        f"        to keep it for all queries: hybridkg prefixes {kb} --add films=http://e.org/films/",
    ]
    for command, text in (("query", "SELECT * { ?x films:year ?y }"), ("update", "DELETE WHERE { ?x films:year ?y }")):
        code, _, said = run(command, kb, text)
        assert code == 2
        assert said.splitlines()[0] == "error[Q101]: the prefix 'films:' is not declared"
        assert said.splitlines()[-3:] == hint
    assert "hybridkg prefixes" not in run("query", str(data), "SELECT * { ?x films:year ?y }")[2]
    assert run("prefixes", kb, "--add", "films=http://e.org/films/")[0] == 0
    assert run("query", kb, "SELECT * { ?x films:year ?y }")[0] == 0
    assert "begin with PREFIX other: <http://...>" in run("query", kb, "SELECT * { ?x other:year ?y }")[2]
