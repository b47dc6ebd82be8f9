"""Updates in a session: what has changed is shown, and a large change is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.cli.repl import updates
from hybridkg.cli.repl.screen import Streams, Terminal
from hybridkg.cli.repl.session import Session, is_complete, is_update

FILM = "http://example.org/films/"
XYLOPHONE = "INSERT DATA { :X a :Film ; rdfs:label 'xylophone' ; :tempo 'largo' }"


@pytest.fixture
def kb(tmp_path, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        yield kb


@pytest.fixture
def session(kb, screen) -> Session:
    return Session(kb, screen, fmt="tsv", place="films.kb")


def test_an_update_shows_what_has_changed_and_the_session_sees_it(session, screen):
    session.names()
    assert session.run(XYLOPHONE), screen.said
    assert screen.said[:2] == ["triples: 3 added, 0 removed", "entities: 1 changed"]
    assert screen.said[-1].endswith(" ms")
    assert session.run('SELECT ?f { ?f MATCH "xylophone" }')
    assert screen.out == [f"?f\n<{FILM}X>\n"]
    assert f"{FILM}tempo" in [iri for iri, _ in session.names().predicates]


def test_names_are_read_again_in_the_background_only_after_a_change(session, kb):
    started = []
    session.names_later(started.append)
    session.names_later(started.append)
    assert len(started) == 1
    session.run("DELETE WHERE { :Alien ?p ?o }")
    session.names_later(started.append)
    assert len(started) == 2


def test_the_command_takes_an_update_and_its_errors_are_at_the_place_that_was_typed(session, screen):
    assert session.run(".update DELETE { ?f :year ?y }\nWHERE { ?f :year ?y . FILTER(?y < 1900) }")
    assert screen.said[0] == "triples: 0 added, 0 removed"
    assert not session.run(".update DELETE { ?f :year ?y }\nWHERE { ?f :year ?y . FILTER(?y < }")
    assert " --> update:2:35\n" in screen.said[-1]
    assert "2 | WHERE { ?f :year ?y . FILTER(?y < }" in screen.said[-1]
    assert not session.run(".update SELECT * {}")
    assert screen.said[-1].splitlines()[0] == "error[Q101]: this is a query"
    assert screen.said[-1].endswith("hint: a query needs no command: type it alone")
    assert not session.run(".update")
    assert screen.said[-1].startswith("error[Q101]: .update needs an update")
    assert "?s ?p ?o" not in screen.said[-1]


def test_a_warning_is_at_the_place_that_was_typed(session, screen):
    assert session.run("INSERT { ?film :seen true } WHERE { ?flim a :Film }")
    assert "1 | INSERT { ?film :seen true } WHERE { ?flim a :Film }" in screen.said[0]
    line, caret = screen.said[0].splitlines()[3:5]
    assert line[caret.index("^") :].startswith("?film")


@pytest.mark.parametrize("text", [".explain {}", "EXPLAIN {}", ".analyze {}", "explain analyze {}"])
def test_the_plan_of_an_update_is_shown_and_nothing_changes(session, screen, kb, text):
    before = repr(kb)
    assert session.run(text.format("DELETE WHERE { ?f :year ?y }")), screen.said
    assert screen.out[0].startswith("operation 1: DELETE WHERE\nstrategy: ")
    kb.refresh()
    assert repr(kb) == before


@pytest.mark.parametrize("answer", [True, False, None])
def test_a_large_change_is_asked_about(session, screen, kb, answer, monkeypatch):
    monkeypatch.setattr(updates, "MAX_UNASKED", 5)
    asked = []
    monkeypatch.setattr(screen, "ask", lambda question: asked.append(question) or answer)
    before = len(kb.query("SELECT * { ?f <http://example.org/films/year> ?y }"))
    assert session.run("DELETE WHERE { ?f :year ?y }") is (answer is not None)
    assert asked == [f"0 triples added, {before} removed, {before} entities changed; do it? [y/N] "]
    left = len(kb.query("SELECT * { ?f <http://example.org/films/year> ?y }"))
    assert left == (0 if answer else before)
    if answer is False:
        assert screen.said == ["nothing has been changed"]
    if answer is None:
        assert screen.said == [
            f"error[H001]: this update would change {before} entities, and there is no terminal to ask about it\n"
            "  hint: hybridkg update films.kb ... asks nothing"
        ]


def test_only_yes_is_a_yes_and_streams_cannot_be_asked(monkeypatch, tmp_path):
    with (tmp_path / "out").open("w") as out, (tmp_path / "typed").open("w+") as typed:
        typed.write("y\nYES\n\nno\nyesterday\n")
        typed.seek(0)
        monkeypatch.setattr("sys.stdin", typed)
        assert [Terminal(out).ask("do it? ") for _ in range(6)] == [True, True, False, False, False, False]
        assert Streams(out, out).ask("do it? ") is None


def test_an_update_of_a_temporary_knowledge_base_says_that_its_file_stays(screen):
    file = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
    with KnowledgeBase.temporary(file) as kb:
        assert Session(kb, screen).run("DELETE WHERE { :Alien :year ?y }")
    assert "note: this knowledge base is temporary, and so is the change: the file stays as it is" in screen.said


def test_a_file_runs_no_update_after_an_error(session, screen, kb):
    text = "ASK { ?x a :Film }\nSELECT * { ?x ?y }\n\nDELETE WHERE { ?s ?p ?o }\n.update CLEAR ALL\nASK {}"
    assert not session.run_all(text, "changes.hq")
    assert screen.out == ["true\n", "true\n"]
    assert [said for said in screen.said if "error" in said][1:] == [
        "error[H001]: this update is not run, because of an error before it\n"
        f" --> changes.hq:{line}:1\n  |\n{line} | {written}\n  | ^"
        for line, written in ((4, "DELETE WHERE { ?s ?p ?o }"), (5, ".update CLEAR ALL"))
    ]


def test_a_file_runs_its_updates_and_queries_in_order(session, screen):
    text = f"{XYLOPHONE} ;\nDELETE WHERE {{ :X :tempo ?t }}\n\nASK {{ :X :tempo ?t }}\n"
    assert session.run_all(f"{text}INSERT DATA {{ :X :tempo 'presto' }} ;\n{text.splitlines()[-1]}", "x.hq")
    assert screen.out == ["false\n", "true\n"]


def test_a_part_of_a_wrong_update_is_not_run(session, screen, kb):
    before = repr(kb)
    for wrong in (
        "INSERT { ?s ?p 1 }\n\nDELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o \n} }\nINSERT { ?s ?p 1 }\nWHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o }\n\n\nDELETE WHERE { ?s ?p ?o }",
    ):
        assert not session.run_all(wrong, "x.hq")
    kb.refresh()
    assert repr(kb) == before


def test_enter_goes_on_until_an_update_is_whole():
    unfinished = [
        "INSERT DATA { ",
        "DELETE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 }",
        "WITH <a:g>",
        "COPY",
    ]
    whole = ["INSERT DATA { }", "DELETE { ?s ?p ?o } WHERE { }", "CLEAR ALL", "COPY DEFAULT TO <a:g>", "CLEAR ALL ;"]
    wrong = ["DELETE { ?s ?p ?o } }", "CLEAR EVERYTHING"]
    for before in ("", ".update "):
        assert [text for text in unfinished if is_complete(before + text)] == []
        assert [text for text in (*whole, *wrong) if not is_complete(before + text)] == []


def test_an_explained_update_changes_nothing_and_is_none():
    assert is_update("PREFIX explain: <http://e/> DELETE WHERE { ?s ?p ?o }")
    assert is_update(".UPDATE CLEAR ALL")
    for text in (
        "EXPLAIN CLEAR ALL",
        "PREFIX : <a:b> EXPLAIN CLEAR ALL",
        ".update EXPLAIN CLEAR ALL",
        ".update",
        "ASK {}",
    ):
        assert not is_update(text)
