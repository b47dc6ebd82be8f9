"""Nothing that comes in moves the cursor of the terminal on which it comes out."""

from __future__ import annotations

import io
import json

import pytest
from hostile_values import COMMANDS, LABEL, NASTY, turtle

from hybridkg import KnowledgeBase
from hybridkg.cli.output import TerminalProgress
from hybridkg.errors import HybridkgError, QuerySyntaxError, SourceName, Span
from hybridkg.terminal_text import for_whom, printable, printable_json

ROWS = 'SELECT ?f ?l ?s ?t { ?f MATCH "fish" AS ?s SNIPPET ?t . ?f ?p ?l } RANK BY ?s'


def harmless(text):
    assert not COMMANDS.findall(text), ascii(text)


@pytest.mark.parametrize("fmt", ["table", "json", "ndjson", "trec"])
def test_rows(hostile, ask, fmt):
    found = ask("query", hostile, ROWS, "--format", fmt)
    assert found.exit_code == 0
    harmless(found.output)


@pytest.mark.parametrize("fmt", ["json", "ndjson"])
def test_json_says_the_same_all_the_same(hostile, ask, fmt):
    found = ask("query", hostile, ROWS, "--format", fmt)
    documents = [json.loads(found.stdout)] if fmt == "json" else list(map(json.loads, found.stdout.splitlines()))
    assert NASTY + " fish" in str(documents) or json.dumps(NASTY + " fish")[1:-1] in json.dumps(documents)


@pytest.mark.parametrize("fmt", ["csv", "tsv"])
def test_formats_of_machines_are_exact_in_a_pipe_and_harmless_on_a_terminal(hostile, ask, fmt):
    assert "\x9b" in ask("query", hostile, ROWS, "--format", fmt).stdout

    class Screen(io.StringIO):
        def isatty(self):
            return True

    screen = Screen()
    for_whom(screen).write(f"a,{NASTY}\n")
    harmless(screen.getvalue())


@pytest.mark.parametrize(
    "words",
    [
        ("query", "KB", ROWS, "--why", "1"),
        ("query", "KB", ROWS, "--why", "1", "--format", "json"),
        ("explain", "KB", f'SELECT ?f {{ ?f MATCH "{NASTY}" AS ?s }} RANK BY ?s'),
        ("explain", "KB", f'SELECT ?f {{ ?f <{LABEL}> "{NASTY}" . ?f MATCH "fish" AS ?s }} RANK BY ?s'),
        ("schema", "KB"),
        ("schema", "KB", "--format", "json"),
        ("stats", "KB"),
        ("analyze", "KB", NASTY),
    ],
)
def test_what_is_said_about_data_and_queries(hostile, ask, words):
    found = ask(*(hostile if word == "KB" else word for word in words))
    assert found.exit_code == 0, found.output
    harmless(found.output)


@pytest.mark.parametrize(
    "words",
    [
        ("query", "KB", f"SELECT {NASTY}"),
        ("query", "KB", f'SELECT ?f {{ ?f MATCH "{NASTY}" ON (nowhere) }}'),
        ("query", "KB", ROWS, "--param", f"{NASTY}=1"),
        ("query", "KB", ROWS, "--param", f"f=<http://e/{NASTY}>"),
        ("query", f"no{NASTY}.kb", ROWS),
        ("query", "KB", "-f", f"no{NASTY}.hq"),
        ("load", "new.kb", f"no{NASTY}.ttl"),
        ("index", "KB", "--profile", NASTY),
        ("migrate", "KB", "--to", NASTY),
        ("dataset", NASTY),
        ("run", f"no{NASTY}.toml"),
        ("eval", f"no{NASTY}", "x"),
        (NASTY,),
        ("query", "KB", f"--{NASTY}"),
    ],
)
def test_errors_about_what_was_typed(hostile, ask, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ask(*(hostile if word == "KB" else word for word in words))
    assert found.exit_code == 2
    own = "" if (words[-1].lstrip("-") == NASTY and len(words) in (1, 3)) or words[0] == "migrate" else found.output
    harmless(own)  # what click itself says of an option or a command, it says with repr, or as it was typed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ttl", f"@prefix {NASTY}"),
        ("a.nt", f"<http://e/{NASTY}> <p> ."),
        ("a.nq", f'<http://e/a> <http://e/p> "{NASTY}'),
        ("a.rdf", f"<?xml version='1.0'?><rdf:{NASTY}>"),
        ("a.jsonld", '{"@context": "http://e/' + NASTY + '"}'),
        (f"{NASTY.replace('/', '')}.ttl", "x"),
    ],
)
def test_errors_about_files(ask, tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    found = ask("load", "new.kb", name)
    assert found.exit_code == 2
    harmless(found.output)


@pytest.mark.parametrize(
    "line",
    ['"NASTY" = 1', 'text = "NASTY"', 'encoder = "NASTY"', 'synonyms = "NASTY"', 'profile = "NASTY"', "[NASTY"],
)
def test_errors_about_settings(ask, tmp_path, line):
    KnowledgeBase.create(tmp_path / "kb").close()
    escaped = "".join(c if c.isalnum() or c == " " else f"\\u{ord(c):04x}" for c in NASTY)
    (tmp_path / "kb" / "kb.toml").write_text(line.replace("NASTY", escaped) + "\n")
    found = ask("index", tmp_path / "kb")
    assert found.exit_code == 2
    harmless(found.output)


def test_profiles_and_documents_and_runs(ask, tmp_path, hostile, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head = "@prefix hk: <https://w3id.org/hybridkg/ns#> . <#p> a hk:Profile ; hk:fields "
    for inside in (f"( [ hk:name {turtle(NASTY)} ; hk:path <http://e/q> ] )", f"( {turtle(NASTY)} )"):
        (tmp_path / "p.ttl").write_text(f"{head}{inside} .")
        harmless(ask("index", hostile, "--profile", "p.ttl").output)
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": NASTY, NASTY: "x"}) + "\n")
    harmless(ask("load", hostile, "--text", "t.jsonl").output)
    word = NASTY.replace(" ", "_")
    (tmp_path / "q.txt").write_text(f"{word} 0 d 1\n1 0 d 1\n")
    (tmp_path / "r.run").write_text(f"{word} Q0 d 1 1.0 {word}\n1 Q0 d 1 1.0 {word}\n")
    for more in ((), ("--by", "prefix"), ("--format", "json")):
        found = ask("eval", "q.txt", "r.run", *more)
        harmless(found.output.replace("\x1b[1m", "").replace("\x1b[0m", ""))


def test_an_interactive_session(hostile, ask):
    lines = [f"SELECT {NASTY}", f".help {NASTY}", f".{NASTY}", ROWS, f".analyze {NASTY}", ".schema", f".format {NASTY}"]
    found = ask("repl", hostile, stdin="\n".join(lines) + "\n")
    harmless(found.output)


def test_the_label_of_a_progress_bar(capsys, monkeypatch):
    from rich.console import Console

    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
    progress = TerminalProgress()
    progress.start(f"{NASTY}[blink]", 10)
    (task,) = progress._bar.tasks
    progress.done(0)
    harmless(task.description)
    assert task.description.endswith("\\[blink]")


def test_an_error_keeps_its_caret_where_it_was():
    source = SourceName("query", f"{NASTY} here")
    start = source.text.index("here")
    *_, line, caret = QuerySyntaxError("x", span=Span(start, start + 4), source=source).render().splitlines()
    assert line.index("here") == caret.index("^")
    harmless(line)
    assert str(HybridkgError(NASTY)) == printable(str(HybridkgError(NASTY)))


def test_json_that_is_made_printable_is_the_same_value():
    value = {"a": NASTY, "b": ["\u2028", "\ud800", 1]}
    text = printable_json(json.dumps(value, ensure_ascii=False))
    harmless(text)
    assert json.loads(text) == value
