"""The session without a terminal: its state, its dot commands, its errors."""

from __future__ import annotations

import pytest

from hybridkg.cli.repl.command_completion import suggest_in_session
from hybridkg.cli.repl.commands import COMMANDS
from hybridkg.cli.repl.reading import statements
from hybridkg.cli.repl.session import Session, is_complete
from hybridkg.kb import KnowledgeBase
from hybridkg.registry import did_you_mean

FILM = "http://example.org/films/"
NEED_AN_ARGUMENT = {".load", ".explain", ".analyze", ".why", ".update", ".search", ".ask"}


def test_a_query_shows_its_rows_and_then_their_number_and_the_time(session, screen):
    assert session.run('SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 2')
    assert screen.out == [f"?film\n<{FILM}Odyssey>\n<{FILM}Arrival>\n"]
    assert screen.said[0].startswith("2 rows, exact, ")
    assert screen.said[0].endswith(" ms")


def test_an_error_has_its_caret_under_what_was_typed_although_a_prefix_was_added(session, screen):
    assert not session.run("SELECT * {\n  ?f a :Film . FILTER(?f > }")
    assert "2 |   ?f a :Film . FILTER(?f > }" in screen.said[0]
    assert not session.run('SELECT * { ?f a :Film ; rdfs:label ?l . ?f MATCH "x" ON (lable) }')
    assert "?f a :Film ; rdfs:label" in screen.said[1]
    assert "PREFIX" not in screen.said[1]
    line, caret = screen.said[1].splitlines()[3:5]
    assert line[caret.index("^") :].startswith("lable")
    assert session.failed == 2


def test_a_question_shows_its_query_and_then_the_rows(session, screen):
    assert session.run(".ask films by Ridley Scott after 2000")
    assert ":director :Scott" in screen.said[0]
    assert screen.out[0].startswith(f"?x\n<{FILM}TheMartian>\n")
    assert session.run(".explain")


def test_what_a_question_leaves_out_is_said_between_the_query_and_the_rows(session, screen):
    assert session.run(".ask films not by Ridley Scott with Greta Gerwig")
    assert screen.said[1:3] == [
        "note: no node with a class has the name 'Greta Gerwig'",
        "note: 'not' is not understood: no constraint is negated",
    ]


@pytest.mark.parametrize("before", ["", "EXPLAIN ", "explain analyze\n", "BASE <http://b/> ", "PREFIX x: <http://x/> "])
def test_a_known_prefix_needs_no_declaration_wherever_the_query_starts(session, screen, before):
    assert session.run(f"{before}SELECT ?f {{ ?f a :Film ; rdfs:label ?l }}"), screen.said


def test_a_prefix_that_one_query_declares_serves_the_next(session, screen):
    assert not session.run("ASK { ?f a my:Film }")
    assert session.run(f"PREFIX my: <{FILM}> ASK {{ ?f a my:Film }}")
    assert session.run("ASK { ?f a my:Film }")
    assert screen.out == ["true\n", "true\n"]


def test_a_prefix_of_the_session_only_is_named_once_with_the_command_that_keeps_it(session, screen):
    assert session.run(f"PREFIX my: <{FILM}> ASK {{ ?f a my:Film }}")
    for _ in range(2):
        assert session.run("SELECT ?f { ?f a my:Film } LIMIT 1")
    assert [line for line in screen.said if line.startswith("note")] == [
        f"note: my: is <{FILM}> in this session only; to keep it: hybridkg prefixes KB --add my={FILM}"
    ]


def test_no_plan_or_message_abbreviates_by_a_prefix_that_means_something_else_in_the_session(session, screen):
    assert session.run(".prefix : <http://elsewhere/>")
    assert session.run(f"EXPLAIN SELECT ?f {{ ?f <{FILM}year> ?y }}")
    assert f"<{FILM}year>" in screen.out[-1]
    assert ":year" not in screen.out[-1]
    assert session.run(f"SELECT ?f {{ ?f <{FILM}yaer> ?y }}")
    assert f"<{FILM}year>" in "".join(screen.said)


def test_a_namespace_without_a_kept_prefix_gets_one_for_the_session(tmp_path, screen):
    kb = KnowledgeBase.create(tmp_path / "k.kb")
    (tmp_path / "k.nt").write_text('<http://e/films/a> <http://e/films/year> "1" .')
    kb.load(tmp_path / "k.nt")
    session = Session(kb, screen)
    assert session.run("SELECT ?f { ?f films:year ?y }"), screen.said
    assert "films:a" in screen.out[0]
    assert session.run(".prefix")
    assert "in this session only:\nPREFIX films: <http://e/films/>" in screen.out[1]


def test_labels_are_shown_in_tables_only(session, screen):
    query = "SELECT ?f ?d { ?f :director ?d } ORDER BY ?f LIMIT 1"
    assert session.run(".format table")
    assert session.run(".labels on")
    assert session.run(query)
    assert "Alien   Ridley Scott" in screen.out[0]
    assert session.run(".format tsv")
    assert session.run(query)
    assert f"<{FILM}Alien>\t<{FILM}Scott>" in screen.out[1]
    assert not session.run(".labels maybe")


def test_dot_prefix_declares_and_shows(session, screen):
    assert session.run(f".prefix my: <{FILM}>")
    assert session.run(".prefix")
    assert f"PREFIX my: <{FILM}>" in screen.out[0]
    assert screen.out[0].startswith(f"PREFIX : <{FILM}>\nPREFIX rdfs: <")
    assert "well known: dbo, dbp" in screen.out[0]
    for wrong in ("my", "my <x>", "my: <a b>", "my: <relative>", "1: <http://e/>", "my: <http://e/> x: <http://e/>"):
        assert not session.run(f".prefix {wrong}"), wrong


def test_an_unknown_command_is_told_its_nearest_name(session, screen):
    assert not session.run(".explian SELECT")
    assert "no command '.explian'" in screen.said[0]
    assert "did you mean '.explain'?" in screen.said[0]


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - NEED_AN_ARGUMENT))
def test_every_command_works_without_an_argument(session, screen, command):
    assert session.run(command)
    assert screen.out or screen.said or session.done


def test_help_names_every_command(session, screen):
    session.run("help")
    assert [name for name in COMMANDS if name not in screen.out[0]] == []


def test_schema_and_fields_tell_what_is_in_the_data(session, screen):
    session.run(".schema")
    assert ":Film" in screen.out[0]
    assert ":director" in screen.out[0]
    session.run(".schema direc")
    assert ":director" in screen.out[1]
    assert ":year" not in screen.out[1]
    session.run(".fields")
    assert "description" in screen.out[2]


def test_explain_and_analyze_take_a_query_or_the_last_one(session, screen):
    assert not session.run(".explain")
    assert session.run(".explain SELECT ?f { ?f a :Film }")
    assert "strategy:" in screen.out[0]
    assert session.run("SELECT ?f { ?f a :Film } LIMIT 1")
    assert session.run(".analyze")
    assert "LIMIT 1" in screen.out[2]
    assert "ms" in screen.out[2]
    assert not session.run(".explain SELECT ?f { ?f ! }")
    said = screen.said[-1].splitlines()
    assert said[3] == "1 | .explain SELECT ?f { ?f ! }"
    assert said[4].index("^") == said[3].index("! }") + 2


@pytest.mark.parametrize("fmt", ["csv", "json", "ndjson", "table", "trec", "tsv"])
def test_every_format_shows_rows(session, screen, fmt):
    assert session.run(f".format {fmt}")
    assert session.run('SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 1')
    assert "Odyssey" in screen.out[0]


def test_the_limit_cuts_and_says_so(session, screen):
    assert session.run(".limit 2")
    assert session.run("SELECT ?f { ?f a :Film }")
    assert screen.out[0].count("\n") == 3
    assert ".limit none" in screen.said[-1]
    assert session.run(".limit none")
    assert session.run("SELECT ?f { ?f a :Film }")
    assert screen.out[1].count("\n") == 16
    for wrong in ("-1", "x", "1.5", "9" * 30, "²"):
        assert not session.run(f".limit {wrong}"), wrong


def test_a_file_is_run_query_by_query_and_errors_name_its_lines(session, screen, tmp_path):
    file = tmp_path / "two.hq"
    file.write_text("# one\nSELECT ?f { ?f a :Film }\nLIMIT 1\n\nASK { ?x ! }\n\n.limit 3\nASK {}\n.quit\nASK {}\n")
    assert session.run(f".load {file}")
    assert [out.count("\n") for out in screen.out] == [2, 1]
    assert "two.hq:5:12" in "\n".join(screen.said)
    assert session.limit == 3
    assert session.done
    assert session.failed == 1


@pytest.mark.parametrize("word", ["exit", "quit", "Exit", "quit;"])
@pytest.mark.parametrize(
    "before", ["", "ASK {}\n", "ASK {} LIMIT 1\n\n", ".limit 3\n", "SELECT * {\n", "ASK { ?x ?p 'a\n"]
)
def test_exit_and_quit_end_what_is_piped(session, screen, word, before):
    session.run_all(f"{before}{word}\nSELECT ?f {{ ?f a :Film }}", "stdin")
    assert session.done
    assert not any("Alien" in out for out in screen.out)
    assert session.failed == (before.startswith(("SELECT", "ASK { ?x")))


def test_exit_ends_a_session_as_a_whole_input_only(session, screen):
    assert not session.run("SELECT * {\nexit")
    assert not session.done
    assert screen.said[-1] == "note: 'exit' was read as a part of this query; type it again"
    assert session.run("exit")
    assert session.done


def test_a_line_of_a_string_or_a_field_is_no_word_of_the_session(session):
    texts = ['ASK { ?x ?p """a\nexit\nb""" }', 'SELECT * { ?x MATCH "a" ON (\nhelp\n) }', 'ASK { ?x ! """\nexit\n""" }']
    for text in texts:
        assert [one.text for one in statements(text)] == [text]


def test_a_file_that_loads_itself_ends(session, screen, tmp_path):
    file = tmp_path / "loop.hq"
    file.write_text(f".load {file}\n")
    session.run(f".load {file}")
    assert "deep" in screen.said[-1]


def test_a_file_that_cannot_be_read_is_an_error(session, tmp_path):
    (tmp_path / "latin.hq").write_bytes(b"ASK {} # \xe9")
    for name in (tmp_path / "none.hq", tmp_path, tmp_path / "latin.hq", ""):
        assert not session.run(f".load {name}")


def test_enter_runs_what_is_whole_wrong_or_a_command_and_else_goes_on():
    for text in ("ASK {}", ".help", ".explain ASK {}", ".explain", "ASK }", "ASK {\n", "", "quit", 'ASK { ?x ?p "a }'):
        assert is_complete(text), text
    for text in (
        "ASK",
        "ASK {",
        "SELECT * { ?s ?p",
        ".explain ASK {",
        "PREFIX a: <http://a/>",
        "# why",
        "ASK { ?x ?p '''a",
        "ASK { ?x ?p '''it's 'so'",
        'ASK { ?x ?p """',
    ):
        assert not is_complete(text), text


def test_commands_and_their_arguments_are_completed(session, tmp_path):
    (tmp_path / "a.hq").write_text("")
    session.names()

    def offered(text: str) -> list[str]:
        return [text[: s.start] + s.text for s in suggest_in_session(session, text, "")]

    assert offered(".exp") == [".explain"]
    assert set(offered(".")) == set(COMMANDS)
    assert offered(".format n")[0] == ".format ndjson"
    assert offered(f".load {tmp_path}/") == [f".load {tmp_path}/a.hq"]
    assert offered(".explain SEL") == [".explain SELECT"]
    assert offered("  SELECT ?f { ?f a :Fi") == ["  SELECT ?f { ?f a :Film"]
    assert ".schema :director" in offered(".schema :d")


def test_the_nearest_name_of_the_registry_is_the_one_used_here():
    assert did_you_mean(".stast", list(COMMANDS)) == "did you mean '.stats'?"


def test_a_session_reads_the_names_of_the_data_once(films, screen):
    session = Session(films, screen)
    begun: list[object] = []
    session.names_later(begun.append)
    session.names_later(begun.append)
    assert len(begun) == 1
    assert session.names() is session.names()


def test_why_explains_a_row_of_the_last_answer(session, screen):
    assert not session.run(".why")
    assert ".why needs an answer with rows" in screen.said[-1]
    session.run('ASK { ?film MATCH "space" }')
    assert not session.run(".why")
    session.run('SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s')
    assert session.run(".why 2")
    assert screen.out[-1].startswith("?s of :Arrival")
    assert not session.run(".why 99")
    assert "the last answer has rows 1 to" in screen.said[-1]


BAD, GOOD = 'SELECT ?film { ?film MACTH "space" } LIMIT 1', 'SELECT ?film { ?film MATCH "mars" } LIMIT 1'


@pytest.mark.parametrize(
    "bad",
    [
        BAD,
        f"PREFIX a: <http://a/>\n{BAD}",
        'SELECT ?film {\n  ?film MACTH "space"\n}\nLIMIT 1',
        'SELECT ?film { ?film MATCH "space" LIMIT 1',
        'SELECT ?film {\n  ?film MATCH "space"',
        'SELECT ?film { ?film MATCH "space } LIMIT 1',
        'SELECT ?film { ?film MATCH "space" } }',
        'SELECT ?film { { SELECT ?film {\n ?film MACTH "a } {"\n} } }',
        f".explain {BAD}",
    ],
)
def test_a_query_behind_a_wrong_one_is_run(session, screen, bad):
    assert not session.run_all(f"{bad}\n{GOOD}\n", "stdin")
    assert (session.failed, len(screen.out)) == (1, 1)
    assert "TheMartian" in screen.out[0]


def test_every_wrong_query_is_reported_and_every_other_one_run(session, screen):
    session.run_all("\n".join([BAD, GOOD, BAD, BAD, f"  {GOOD}"]), "stdin")
    assert (session.failed, len(screen.out)) == (3, 2)
    places = [text.splitlines()[1].partition("-->")[2].strip() for text in screen.said if text.startswith("error")]
    assert places == ["stdin:1:22", "stdin:3:22", "stdin:4:22"]


@pytest.mark.parametrize(
    "bad",
    [
        "PREFIX a: <http://a/>\nPREFXI b: <http://b/>\nSELECT ?x { ?x a a:B }",
        "SELECT ?x {\n  ?x aa :F .\n  {\n    SELECT ?x { ?x a ?c }\n  }\n}",
        'SELECT ?x { ?x MACTH """\nSELECT ?x { ?x ?p ?o }\n""" }',
    ],
)
def test_a_part_of_a_wrong_query_is_not_run(session, screen, bad):
    session.run_all(bad, "stdin")
    assert (session.failed, screen.out) == (1, [])


def test_a_query_sees_what_another_process_has_changed(tmp_path, screen):
    path = tmp_path / "f.kb"
    with KnowledgeBase.create(path) as kb:
        kb.update("INSERT DATA { <e:s> <e:p> <e:o> }")
    with KnowledgeBase.open(path) as kb, KnowledgeBase.open(path) as other:
        session = Session(kb, screen, fmt="csv")
        count = "SELECT (COUNT(*) AS ?n) { ?s <e:p> ?o }"
        assert session.run(count)
        assert not any("another process" in line for line in screen.said)
        other.update("INSERT DATA { <e:s> <e:p> <e:new> }")
        assert session.run(count)
        assert session.run(count)
        assert [rows.split() for rows in screen.out] == [["n", "1"], ["n", "2"], ["n", "2"]]
        note = "note: another process has changed this knowledge base, and answers are from its new state"
        assert screen.said.count(note) == 1
        assert session.run("INSERT DATA { <e:s> <e:p> <e:own> }")
        assert session.run(count)
        assert screen.said.count(note) == 1


def test_dot_search_shows_hits_and_why_explains_one_of_them(session, screen):
    assert session.run(".search space crew")
    assert "2001: A Space Odyssey" in screen.out[0]
    assert screen.said[-1].startswith("4 entities (all that match), exact; .why N")
    assert session.run(".why 2")
    assert "Solaris" in screen.out[1]
    assert session.run(".search asstronaut")
    assert "note: no text has 'asstronaut'; did you mean 'astronaut'?" in screen.said
    assert not session.run(".search")


def test_the_query_of_a_question_has_the_time_that_its_interpretation_left(session, monkeypatch):
    seconds = []
    query = session.kb.query
    monkeypatch.setattr(
        type(session.kb), "query", lambda self, text, **told: seconds.append(told["timeout"]) or query(text, **told)
    )
    session.timeout = 60.0
    assert session.run(".ask films by Ridley Scott after 2000")
    assert session.run("ASK { ?f a :Film }")
    assert 0 < seconds[0] < 60.0 == seconds[1]
