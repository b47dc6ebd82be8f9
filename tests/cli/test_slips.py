"""Slips of a hand at the command line: each is told with what to do, and nothing is done by mistake."""

from __future__ import annotations

import pytest
from command_line import FILMS, SPACE, run

from hybridkg.kb import KnowledgeBase


@pytest.mark.parametrize("command", ["load", "query", "index", "stats"])
def test_an_empty_path_is_not_the_current_folder(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(command, "", *([FILMS] if command == "load" else []))
    assert result.exit_code == 2
    assert "the path of the knowledge base is empty\n  hint: is a variable of the shell not set?" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_swapped_arguments_are_told_their_order(films):
    result = run("query", SPACE, films)
    assert result.exit_code == 2
    assert "{ ?film MATCH" in result.stderr
    assert "is a query, not a knowledge base\n  hint: the knowledge base comes first, the query second" in result.stderr


def test_what_a_load_added_is_said_in_words(tmp_path):
    assert "triples: 128 new\n" in run("load", tmp_path / "f.kb", FILMS).stderr
    assert "triples: 0 new\n" in run("load", tmp_path / "f.kb", FILMS).stderr


def test_standard_input_is_no_file_to_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("load", "f.kb", "-", text="<a:a> <a:b> <a:c> .")
    assert result.exit_code == 2
    assert "standard input has no file name, which determines the format" in result.stderr
    assert "hint: write it to a file first: ... > data.ttl" in result.stderr


def test_a_damaged_name_of_the_text_engine_is_said_so(tmp_path):
    run("load", tmp_path / "f.kb", FILMS, "--index")
    (engine,) = tmp_path.glob("f.kb/*/text/engine") or [tmp_path / "f.kb" / "000002" / "text" / "engine"]
    for damaged in (b"\xff\xfe", b"", b"two words"):
        engine.write_bytes(damaged)
        result = run("query", tmp_path / "f.kb", SPACE)
        assert result.exit_code == 1
        assert "error[S404]" in result.stderr


def test_a_well_known_prefix_needs_no_declaration(films):
    assert run("query", films, "SELECT ?l { ?f rdfs:label ?l } LIMIT 1").exit_code == 0
    result = run("query", films, "SELECT ?l { ?f skoss:label ?l } LIMIT 1")
    assert result.exit_code == 2
    assert "did you mean 'skos'?" in result.stderr


def test_no_color_takes_every_style_away(films, monkeypatch):
    from io import StringIO

    from hybridkg.results.formats.table import write_table

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    result, shown = KnowledgeBase.open(films).query(SPACE), {}
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        write_table(result, out := Terminal())
        shown[value] = out.getvalue()
    assert "\x1b[" in shown[""]
    assert "\x1b" not in shown["1"]


def test_near_without_vectors_says_what_to_change_in_kb_toml(films, tmp_path):
    near = 'SELECT ?f { ?f NEAR "space" AS ?s } RANK BY ?s'
    assert "make them: hybridkg index KB --encoder lsa" in run("query", films, near).stderr
    kb = tmp_path / "f.kb"
    run("load", kb, FILMS, "--index")
    toml = kb / "kb.toml"
    text = toml.read_text()
    toml.write_text(text.replace('encoder = "none"', 'encoder = "lsa"'))
    assert 'its kb.toml has encoder = "lsa" already: hybridkg index KB builds them' in run("query", kb, near).stderr
    toml.write_text(text + 'encoder = "lsa"\n')
    result = run("query", kb, near)
    assert result.exit_code == 2
    assert "error[C601]: not TOML: 'encoder' is set twice, on lines 10 and 12" in result.stderr
    assert "hint: leave one of the two lines out" in result.stderr
