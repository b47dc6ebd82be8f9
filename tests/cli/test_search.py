"""`hybridkg search`: a query that nobody has to write."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import FILMS, run


@pytest.fixture(scope="module")
def films(copy_films: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_films(tmp_path_factory.mktemp("search") / "films.kb")


def test_hits_are_on_stdout_and_the_rest_is_on_stderr(films):
    result = run("search", films, "potatoes", "--show-query")
    assert result.exit_code == 0
    first, *lines = result.stdout.splitlines()
    assert first.startswith(" 1. The Martian  ")
    assert lines[:2] == ["    :Film", "    :TheMartian"]
    assert "grows **potatoes** and waits" in lines[2]
    assert lines[-1].startswith("    description ")
    assert lines[-1].endswith(" (potatoes)")
    assert result.stderr.endswith("1 entity (all that match), exact\n")
    assert 'MATCH "potatoes"' in result.stderr


def test_the_query_that_is_shown_has_the_same_entities_when_it_is_run(films):
    arguments = ["space", "crew", "--type", "film", "--where", ":genre ?g", "--limit", "3"]
    query = run("search", films, *arguments, "--show-query").stderr.rpartition("\nthe best 3 entities")[0]
    wanted = [hit["entity"] for hit in json.loads(run("search", films, *arguments, "--format", "json").stdout)["hits"]]
    rows = csv.DictReader(run("query", films, query, "--format", "csv").stdout.splitlines())
    assert [row["entity"] for row in rows] == wanted
    assert len(wanted) == 3


def test_the_example_of_the_help_can_be_typed_as_it_stands(films, monkeypatch):
    monkeypatch.chdir(films.parent)
    shown = run("search", "--help").stdout
    example = shown[shown.index("Example:\n") + len("Example:\n") : shown.index("\nOptions:")]
    _, *arguments = shlex.split(example)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert ":genre (3): science fiction 3" in result.stdout


def test_a_wide_terminal_has_a_table_and_a_narrow_one_blocks(films, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    wide = run("search", films, "space").stdout
    assert wide.splitlines()[0].split() == ["score", "entity", "passage", "why"]
    monkeypatch.setenv("COLUMNS", "40")
    narrow = run("search", films, "space").stdout
    assert narrow.startswith(" 1. ")
    assert max(map(len, narrow.splitlines())) <= 40


@pytest.mark.parametrize("fmt", ["csv", "tsv", "ndjson", "trec"])
def test_other_formats_have_a_row_for_each_entity(films, fmt):
    out = run("search", films, "space", "--format", fmt).stdout
    assert out.count("http://example.org/films/Odyssey") == 1
    assert run("search", films, "space", "--format", fmt, "--facets").exit_code == 2


def test_words_before_the_knowledge_base_are_an_error_with_the_right_order(films):
    result = run("search", "space crew", films, "ship")
    assert result.exit_code == 2
    assert f"{str(films)!r} is a knowledge base, and it comes before the words" in result.stderr
    assert f"hybridkg search {films} 'space crew' ship" in result.stderr


def test_nothing_found_says_what_to_try(films):
    result = run("search", films, "asstronaut")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "note: no text has 'asstronaut'; did you mean 'astronaut'?\nno entity matches, exact\n"


def test_a_mistake_in_a_condition_has_a_caret_in_it(films):
    result = run("search", films, "space", "--where", ":year }")
    assert result.exit_code == 2
    assert " --> where:1:7\n  |\n1 | :year }\n  |       ^" in result.stderr


def test_an_rdf_file_is_searched_as_it_is():
    assert "The Martian" in run("search", FILMS, "mars").stdout


def test_words_that_look_like_syntax_are_words(films):
    result = run("search", films, 'space" . ?x ?y ?z } #', "+crew", "(")
    assert result.exit_code == 0
    assert "Solaris" in result.stdout
