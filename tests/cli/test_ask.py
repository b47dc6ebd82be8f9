"""`hybridkg ask`: the query on standard error, the rows on standard output."""

from __future__ import annotations

import json

from click.testing import CliRunner

from hybridkg.asking.weights import QuestionWeights
from hybridkg.cli import cli
from hybridkg.query.parser import parse


def run(*arguments):
    return CliRunner().invoke(cli, ["ask", *map(str, arguments)])


def test_the_query_is_on_standard_error_before_the_rows(films):
    result = run(films, "films by Ridley Scott after 1980", "--format", "csv", "--limit", "2")
    assert result.exit_code == 0
    assert result.stdout.split() == [
        "x", "http://example.org/films/BladeRunner", "http://example.org/films/TheMartian"
    ]  # fmt: skip
    assert "LIMIT 2" in result.stderr


def test_show_prints_the_query_alone_which_runs_as_it_is(films):
    shown = run(films, "films", "by", "Ridley Scott", "--show").stdout
    assert parse(shown)
    rows = CliRunner().invoke(cli, ["query", str(films), shown, "--format", "csv"]).stdout.split()
    assert rows[:4] == run(films, "films by Ridley Scott", "--format", "csv").stdout.split()[:4]


def test_show_in_json_is_the_interpretation(films):
    found = json.loads(run(films, "films by Ridley Scott", "--show", "--format", "json").stdout)
    assert found["constraints"][0]["anchor"]["name"] == "Ridley Scott"
    assert found["query"].startswith("PREFIX")


def test_strict_demands_all_constraints(films):
    assert len(run(films, "films by Ridley Scott", "--strict", "--format", "csv").stdout.split()) == 4
    refused = run(films, "space travel", "--strict")
    assert refused.exit_code != 0


def test_weights_come_from_a_file(films, tmp_path):
    file = tmp_path / "weights.json"
    file.write_text(QuestionWeights().to_json())
    same = run(films, "films by Ridley Scott", "--weights", file, "--show").stdout
    assert same == run(films, "films by Ridley Scott", "--show").stdout
    broken = run(films, "films", "--weights", films / "kb.toml")
    assert "these are no weights of questions" in broken.stderr


def test_unknown_names_are_reported(films):
    assert "note: no node with a class has the name 'Greta Gerwig'" in run(films, "films by Greta Gerwig").stderr


def test_a_word_that_is_not_understood_is_reported(films):
    assert "note: 'not' is not understood" in run(films, "films not by Ridley Scott").stderr


def test_an_error_about_strict_says_what_was_not_resolved(films):
    refused = run(films, "films by Greta Gerwig", "--strict", "--show")
    assert "hint: ask without --strict; no node with a class has the name 'Greta Gerwig'" in refused.stderr
    assert run(films, "films by Ridley Scott and Fritz Lang", "--strict").stderr.count("no node satisfies") == 1


def test_edit_runs_what_the_editor_saves_and_shows_it(films, monkeypatch):
    monkeypatch.setenv("VISUAL", "sed -i s/:Scott/:Kubrick/")
    result = run(films, "films by Ridley Scott", "--edit", "--strict", "--format", "csv")
    assert "?x :director :Kubrick ." in result.stderr
    assert ":Scott" not in result.stderr
    assert {iri.rpartition("/")[2] for iri in result.stdout.split()[1:]} == {"DrStrangelove", "Odyssey", "TheShining"}


def test_edit_runs_nothing_without_a_query(films, monkeypatch):
    monkeypatch.setenv("VISUAL", "sed -i d")
    result = run(films, "films by Ridley Scott", "--edit")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the edited query is empty, so nothing is run" in result.stderr
    assert "--edit is not for it" in run(films, "films", "--edit", "--show").stderr
    monkeypatch.setenv("VISUAL", "sed -i s/SELECT/INSERT/")
    assert run(films, "films", "--edit").exit_code == 2
