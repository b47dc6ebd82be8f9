"""Slips of a hand at the command line: each is told with what to do, and nothing is done by mistake."""

from __future__ import annotations

from pathlib import Path

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
    assert f"make them: hybridkg index {films} --encoder lsa" in run("query", films, near).stderr
    kb = tmp_path / "f.kb"
    run("load", kb, FILMS, "--index")
    toml = kb / "kb.toml"
    text = toml.read_text()
    toml.write_text(text.replace('encoder = "none"', 'encoder = "lsa"'))
    built = f'its kb.toml has encoder = "lsa" already: hybridkg index {kb} builds them'
    assert built in run("query", kb, near).stderr
    toml.write_text(text + 'encoder = "lsa"\n')
    result = run("query", kb, near)
    assert result.exit_code == 2
    assert "error[C601]: not TOML: 'encoder' is set twice, on lines 10 and 12" in result.stderr
    assert "hint: leave line 10 or line 12 out" in result.stderr


def test_a_hint_names_the_knowledge_base_of_the_command(films):
    near = 'SELECT ?f { ?f NEAR "space" AS ?s } RANK BY ?s'
    assert f"hint: make them: hybridkg index {films} --encoder lsa" in run("query", films, near).stderr
    assert f"hint: make them: hybridkg index {films} --encoder lsa" in run("repl", films, text=near).stderr
    assert "hint: make them: hybridkg index KB --encoder lsa" in run("query", FILMS, near).stderr


def test_a_hint_about_a_path_with_a_blank_can_be_pasted(tmp_path):
    kb = tmp_path / "my films.kb"
    run("load", kb, FILMS)
    assert f"hybridkg index '{kb}' --encoder lsa" in run("query", kb, 'SELECT ?f { ?f NEAR "space" }').stderr


def test_an_error_of_an_update_speaks_of_no_query(films):
    of_query = 'DELETE { ?x <e:p> 1 } WHERE { ?x MATCH "a" AS ?s } RANK BY ?s'
    for arguments in (
        ("INSERT DATA { x:s x:p 1 }",),
        ("INSERT DATA { <s> <e:p> 1 }",),
        (of_query, "--param", "s=5"),
        ("INSERT { ?x <e:p> 1 } WHERE { ?x a <e:C> FILTER(?z > 1) }", "--dry-run"),
    ):
        said = run("update", films, *arguments).stderr
        assert "hint: " in said or "?s gets its value" in said
        assert "query" not in said


def test_a_warning_of_an_update_quotes_the_words_of_the_user(films):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    said = run("update", films, f'DELETE WHERE {{ ?x {label} "the query" }}', "--dry-run").stderr
    assert 'no triple has the object "the query" with the predicate rdfs:label' in said


def test_an_update_that_changes_nothing_says_why(films):
    name = "<http://example.org/films/Alien> <http://example.org/films/year>"
    none = run("update", films, "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(?o = 123456) }").stdout
    assert none.endswith("note: nothing has changed: the WHERE has no solution\n")
    again = run("update", films, f"INSERT DATA {{ {name} 1979 }}").stdout
    assert again.endswith("note: nothing has changed: the graph was in this state already\n")
    absent = run("update", films, f"DELETE DATA {{ {name} 1800 }}")
    assert (absent.stdout.splitlines()[-1], absent.stderr) == (
        "note: nothing has changed: the graph has none of these triples",
        "",
    )
    mistyped = run("update", films, f'DELETE DATA {{ {name} "1979" }}')
    assert mistyped.stdout.endswith("note: nothing has changed\n")
    assert "warning[W120]: there is no such triple to be removed: " in mistyped.stderr
    assert mistyped.stderr.endswith("hint: did you mean 1979?\n")
    unbound = run("update", films, f"INSERT {{ {name} ?z }} WHERE {{ {name} ?y }}")
    assert "W102" in unbound.stderr
    assert unbound.stdout.endswith("note: nothing has changed\n")
    same = f"INSERT {{ {name} ?y }} WHERE {{ {name} ?y }}"
    assert "in this state already" in run("update", films, same).stdout
    assert "nothing has changed" not in run("update", films, f"INSERT DATA {{ {name} 1 }}", "--dry-run").stderr


def test_a_file_with_no_triple_of_the_graph_is_named(films, tmp_path):
    other = tmp_path / "other.nt"
    other.write_text("<e:s> <e:p> <e:a> .\n<e:s> <e:p> <e:c> .\n")
    said = run("remove", films, other).stdout.splitlines()[-1]
    assert said == f"note: nothing has changed: none of the 2 triples of {other} is in {films.name}"
    other.write_text("<e:s> <e:p> <e:a> .\n")
    said = run("remove", films, other).stdout.splitlines()[-1]
    assert said == f"note: nothing has changed: the triple of {other} is not in {films.name}"


def test_triples_of_a_named_graph_are_found_by_their_graph(tmp_path):
    kb, quads, triples = tmp_path / "g.kb", tmp_path / "g.nq", tmp_path / "g.nt"
    quads.write_text("<e:s> <e:p> <e:a> <e:g> .\n<e:s> <e:p> <e:b> <e:g> .\n")
    triples.write_text("<e:s> <e:p> <e:a> .\n<e:s> <e:p> <e:c> .\n")
    run("load", kb, quads)
    missed = run("remove", kb, triples)
    assert missed.stdout.startswith("triples: 0 added, 0 removed\n")
    assert missed.stderr.splitlines() == [
        "warning[W303]: 2 triples to be removed are not in the default graph; the graph <e:g> has 1 of them",
        f"  hint: hybridkg remove {kb} FILE --graph '<e:g>' removes them there",
        "        in Python: kb.delete(..., graph='<e:g>')",
    ]
    update = run("update", kb, "DELETE DATA { <e:s> <e:p> <e:a> }")
    assert update.stdout.endswith("note: nothing has changed\n")
    assert update.stderr.splitlines() == [
        "warning[W303]: the triple to be removed is not in the default graph, but in the graph <e:g>",
        "  hint: DELETE DATA { GRAPH <e:g> { ... } } removes from that graph",
    ]
    assert run("remove", kb, triples, "--graph", "<e:g>").stdout.startswith("triples: 0 added, 1 removed\n")
    assert run("remove", kb, triples, "--graph", "e:g").stderr == ""
    assert "is not a graph" in run("remove", kb, triples, "--graph", "no graph").stderr


def test_no_larger_number_of_a_named_graph_is_taken_for_one_to_be_removed(tmp_path):
    kb, quads, triples = tmp_path / "n.kb", tmp_path / "n.nq", tmp_path / "n.nt"
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    quads.write_text(f'<e:s> <e:p> "256"{integer} <e:g> .\n')
    triples.write_text(f'<e:s> <e:p> "255"{integer} .\n')
    run("load", kb, quads)
    assert run("remove", kb, triples).stderr == ""
    triples.write_text(f'<e:s> <e:p> "0256"{integer} .\n')
    assert "but in the graph <e:g>" in run("remove", kb, triples).stderr


def test_a_load_that_changes_nothing_says_that_the_index_is_up_to_date(tmp_path):
    docs = tmp_path / "d.jsonl"
    docs.write_text('{"id": "e:s", "notes": "a cat"}\n')
    kb = tmp_path / "d.kb"
    run("load", kb, FILMS, "--text", docs)
    again = run("load", kb, "--text", docs).stderr
    assert again == "statements: 0\ntriples: 0 new\ndocuments: 1\nindex: up to date\n"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_a_place_that_takes_no_folder_is_named():
    result = run("load", "/proc/films.kb", FILMS)
    assert result.exit_code == 1
    assert "creating '/proc/films.kb' failed: no folder can be made in '/proc'" in result.stderr
