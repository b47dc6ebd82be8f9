"""`hybridkg update`, `remove` and `load --replace` as a user meets them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command_line import FILMS, run

from hybridkg.kb import KnowledgeBase
from hybridkg.kb.write import after_index
from hybridkg.store.generations.folder import Folder

SHELF = """PREFIX : <http://example.org/films/>
INSERT { ?f :shelf "space" } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 3"""
FILM = "http://example.org/films"


@pytest.fixture
def kb(tmp_path, copy_films) -> Path:
    """A knowledge base that a test may change."""
    return copy_films(tmp_path / "films.kb")


@pytest.fixture(scope="module")
def same(tmp_path_factory, copy_films):
    """A knowledge base that no test changes."""
    path = copy_films(tmp_path_factory.mktemp("changes") / "films.kb")
    before = (path / "CURRENT").read_text()
    yield path
    assert (path / "CURRENT").read_text() == before


def test_an_update_prints_what_has_changed_and_the_next_search_sees_it(kb):
    result = run("update", kb, SHELF)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("triples: 3 added, 0 removed\nentities: 3 changed\nindex: up to date")
    rows = run("query", kb, f'SELECT ?f {{ ?f <{FILM}/shelf> "space" }}', "--format", "tsv").stdout.splitlines()[1:]
    assert len(rows) == 3


def test_doing_the_same_again_changes_nothing_and_makes_no_generation(kb):
    run("update", kb, SHELF, "--no-index")
    before = (kb / "CURRENT").read_text()
    again = "INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    assert run("update", kb, again).stdout.startswith("triples: 0 added, 0 removed\nentities: 0 changed\n")
    assert (kb / "CURRENT").read_text() == before


def test_a_dry_run_prints_the_triples_and_changes_nothing(same):
    result = run("update", same, SHELF, "--dry-run")
    names = ["Arrival", "Odyssey", "Solaris"]
    assert result.stdout == "".join(f'A <{FILM}/{name}> <{FILM}/shelf> "space" .\n' for name in names)
    assert result.stderr == "triples: 3 added, 0 removed\nentities: 3 changed\nnothing has been written\n"
    removed = run("update", same, f"DELETE WHERE {{ ?f <{FILM}/runtime> ?r }}", "--dry-run").stdout.splitlines()
    assert removed == sorted(removed)
    assert all(line.startswith(f"D <{FILM}/") for line in removed)


def test_a_dry_run_of_a_replacing_load_prints_the_triples_and_changes_nothing(same, tmp_path):
    new = tmp_path / "new.ttl"
    new.write_text(f'<{FILM}/Alien> a <{FILM}/Film> ; <{FILM}/shelf> "space" .')
    result = run("load", same, new, "--replace", "default", "--dry-run")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("A")] == [f'A <{FILM}/Alien> <{FILM}/shelf> "space" .']
    assert f"D <{FILM}/Alien> <{FILM}/director> <{FILM}/Scott> ." in lines
    assert result.stderr.endswith("nothing has been written\n")


def test_the_report_is_json_if_asked_for(same):
    report = json.loads(run("update", same, SHELF, "--dry-run", "--format", "json").stdout)
    assert (report["added"], report["removed"], report["entities"]) == (3, 0, 3)
    assert (report["dry_run"], len(report["change"])) == (True, 3)
    assert report["exact"] is True


def test_an_update_comes_from_an_argument_a_file_or_standard_input(same, tmp_path):
    file = tmp_path / "changes.ru"
    file.write_text("\ufeff" + SHELF)
    want = run("update", same, SHELF, "--dry-run").stdout
    assert run("update", same, "-f", file, "--dry-run").stdout == want
    assert run("update", same, "-", "--dry-run", text=SHELF).stdout == want


def test_parameters_are_terms_and_never_text_of_the_update(same):
    text = f"INSERT DATA {{ <{FILM}/Alien> <{FILM}/note> $note }}"
    hostile = 'x" } ; DROP ALL #'
    result = run("update", same, text, "--param", f"note={hostile}", "--dry-run")
    assert result.stdout == f'A <{FILM}/Alien> <{FILM}/note> "x\\" }} ; DROP ALL #" .\n'


def test_explain_before_an_update_prints_the_plan_and_changes_nothing(same):
    for way in (["update", same, "EXPLAIN " + SHELF], ["explain", same, SHELF]):
        result = run(*way)
        assert result.exit_code == 0
        assert result.stdout.startswith("operation 1: INSERT\nstrategy: ")
        assert "TextTopK ?f k=3" in result.stdout
    analyzed = json.loads(run("explain", same, SHELF, "--analyze", "--format", "json").stdout)
    assert analyzed["operations"][0]["where"]["operator"]["rows"] == 3
    assert run("explain", FILMS, SHELF).exit_code == 0  # an RDF file may be planned for, not changed
    refused = run("explain", same, SHELF, "--limit", 3)
    assert refused.exit_code == 2
    assert refused.stderr == "error[H001]: --limit is for a query, and this is an update\n  hint: leave it out\n"


def test_what_a_template_can_never_fill_is_a_warning(same):
    result = run(
        "update", same, f"INSERT {{ ?film <{FILM}/seen> true }} WHERE {{ ?flim a <{FILM}/Film> }}", "--dry-run"
    )
    assert result.stdout == ""
    assert result.stderr.startswith(
        "warning[W102]: nothing in WHERE binds ?film, so the triples with it are left out\n --> update:1:10\n"
    )
    assert "hint: did you mean '?flim'?" in result.stderr
    assert result.stderr.count("W102") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["update", "{kb}"], "error[Q101]: no update is given\n  hint: write it in quotes, give -f FILE, or - to"),
        (["update", "{kb}", "CLEAR ALL", "-f", "x.ru"], "an update and an update file are given; one is needed"),
        (["update", "{kb}", "-f", "missing.ru"], "cannot read the update file 'missing.ru'"),
        (["update", "{kb}", " "], "error[Q101]: the update is empty\n  hint: is a variable of the shell not set?\n"),
        (
            ["update", "{kb}", "-f", "old.ttl"],
            "error[Q101]: 'old.ttl' is a file of triples, not an update\n"
            "  hint: hybridkg load {kb} old.ttl adds them, and hybridkg remove {kb} old.ttl removes them\n",
        ),
        (["update", "{kb}", "x.ru"], "'x.ru' is the name of a file, not an update\n  hint: give it with -f x.ru"),
        (["update", "x.ru", "CLEAR ALL"], "'x.ru' is a query file, not a knowledge base"),
        (
            ["update", "CLEAR ALL ; INSERT DATA { }", "{kb}"],
            "is an update, not a knowledge base\n  hint: ",
        ),
        (["update", "CLEAR ALL ; INSERT DATA { }", "{kb}"], "base comes first, the update second: KB 'UPDATE'"),
        (
            ["update", "no.kb", "CLEAR ALL"],
            "no knowledge base at 'no.kb'\n  hint: create one with: hybridkg load",
        ),
        (
            ["update", "{films}", "CLEAR ALL"],
            "is a file, not a knowledge base folder\n  hint: create one with",
        ),
        (["remove", "no.kb", "{films}"], "no knowledge base at 'no.kb'"),
        (
            ["remove", "{kb}"],
            "error[L301]: no file to remove\n  hint: hybridkg remove {kb} FILE... or hybridkg",
        ),
        (["remove", "{kb}", "missing.ttl"], "missing.ttl"),
        (["load", "{kb}", "{films}", "--replace", "a graph"], "error[L301]: 'a graph' is not a graph: "),
        (["load", "{kb}", "--text", "{films}", "--replace", "default"], "text documents belong to no graph, so they"),
        (["update", "{kb}", "CLEAR ALL", "--wait", "long"], "long"),
        (["update", "{kb}", "INSERT DATA { <a:b> <a:b> $x }", "--param", "y=1"], "y"),
        (
            ["update", "{kb}", "SELECT * {}"],
            "error[Q101]: this is a query\n --> update:1:1\n  |\n1 | SELECT * {}\n  | ^^^^^^\n"
            "  hint: hybridkg query {kb} ...\n",
        ),
        (
            ["query", "{kb}", "CLEAR ALL"],
            "error[Q101]: this is an update\n --> query:1:1\n  |\n1 | CLEAR ALL\n  | ^^^^^\n"
            "  hint: hybridkg update {kb} ...\n",
        ),
    ],
)
def test_a_mistake_is_named_and_ends_with_exit_code_2(same, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = run(*(a.replace("{kb}", str(same)).replace("{films}", str(FILMS)) for a in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message.replace("{kb}", str(same)) in result.stderr


def test_a_text_given_to_the_wrong_command_is_told_the_right_one_as_it_was_given(same, tmp_path):
    file = tmp_path / "changes.hq"
    file.write_text(SHELF)
    assert f"  hint: hybridkg update {same} -f {file}\n" in run("query", same, "-f", file).stderr
    assert f"  hint: hybridkg update {same} -\n" in run("query", same, "-", text=SHELF).stderr
    file.write_text("ASK {}")
    assert f"  hint: hybridkg query {same} -f {file}\n" in run("update", same, "-f", file).stderr


def dumped(kb: Path) -> list[str]:
    """The triples of a knowledge base as N-Triples."""
    with KnowledgeBase.open(kb) as base:
        rows = base.query("SELECT * { ?s ?p ?o }")
        return [f"{row.term('s')} {row.term('p')} {row.term('o')} ." for row in rows]


def test_files_and_documents_are_removed_and_what_is_not_there_counts_0(kb, tmp_path):
    (tmp_path / "docs.jsonl").write_text(f'{{"id": "{FILM}/Alien", "review": "a slow xylophone"}}\n')
    assert run("load", kb, "--text", tmp_path / "docs.jsonl", "--index").exit_code == 0
    (tmp_path / "ids.jsonl").write_text(f'{{"id": "{FILM}/Alien"}}\n{{"id": "{FILM}/Solaris"}}\n')
    old = tmp_path / "old.nt"
    old.write_text(f"<{FILM}/Alien> <{FILM}/nothing> 7 .\n".replace(" 7 ", " <http://e/7> "))
    nothing = run("remove", kb, old)
    assert nothing.stdout.startswith("triples: 0 added, 0 removed\nentities: 0 changed\n")
    ground = [line for line in dumped(kb) if "_:" not in line]
    old.write_text("\n".join(ground))
    planned = run("remove", kb, old, "--text", tmp_path / "ids.jsonl", "--dry-run")
    assert planned.stdout.splitlines() == [f"D {line}" for line in sorted(ground)]
    assert f"triples: 0 added, {len(ground)} removed\n" in planned.stderr
    assert "documents: 1 changed\n" in planned.stderr
    done = run("remove", kb, "--text", tmp_path / "ids.jsonl")
    assert "documents: 1 changed\n" in done.stdout
    assert run("query", kb, 'SELECT ?f { ?f MATCH "xylophone" }', "--format", "tsv").stdout == "?f\n"


def test_the_triples_of_a_file_take_the_place_of_a_graph(kb, tmp_path):
    new = tmp_path / "new.ttl"
    new.write_text("<http://e/a> <http://e/p> 1, 2 .")
    first = run("load", kb, new, "--replace", "http://e/g", "--no-index")
    assert first.exit_code == 0
    assert "triples: 2 new, 0 removed\n" in first.stderr
    assert "the change is not searchable yet" in first.stderr
    new.write_text("<http://e/a> <http://e/p> 2, 3 .")
    assert "triples: 1 new, 1 removed\n" in run("load", kb, new, "--replace", "<http://e/g>").stderr
    with KnowledgeBase.open(kb) as base:
        assert len(base.query("SELECT ?o { GRAPH <http://e/g> { ?s ?p ?o } }")) == 2
        assert base.stats()["triples"] == 130
    new.write_text("# an export that failed\n")
    empty = run("load", kb, new, "--replace", "http://e/g")
    assert (empty.exit_code, empty.stdout) == (2, "")
    assert empty.stderr == (
        f"error[L301]: no statement in '{new}', and the graph would be emptied\n"
        f"  hint: if that is meant: hybridkg update {kb} 'CLEAR GRAPH <http://e/g>'\n"
    )


def test_the_default_graph_of_a_new_knowledge_base_may_be_replaced_too(tmp_path):
    new = tmp_path / "new.ttl"
    new.write_text('<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" .')
    result = run("load", tmp_path / "new.kb", new, "--replace", "default")
    assert result.exit_code == 0, result.output
    assert "triples: 1 new, 0 removed\n" in result.stderr
    assert (
        run("query", tmp_path / "new.kb", 'SELECT ?f { ?f MATCH "fishes" }', "--format", "tsv").stdout.count("\n") == 2
    )


def test_a_writer_is_waited_for_no_longer_than_asked(same):
    with Folder.open(same).locked(), ThreadPoolExecutor(1) as other:
        for command in (["update", same, "CLEAR ALL"], ["remove", same, FILMS], ["load", same, FILMS], ["index", same]):
            result = other.submit(run, *command, "--wait", "0.1").result()
            assert result.exit_code == 1
            assert result.stderr.startswith(f"error[S403]: process {os.getpid()} (")
            assert result.stderr.endswith("  hint: --wait 60 waits longer; nothing is lost either way\n")


def test_a_malformed_wait_says_what_0_means(same):
    result = run("index", same, "--wait", "soon")
    assert result.stderr.endswith("hint: for example 10s, 500ms or 2m; 0 does not wait\n")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_an_update_and_leaves_everything_as_it_was(same):
    numbers = " ".join(map(str, range(300)))
    slow = f"INSERT {{ ?a <a:b> ?c }} WHERE {{ {' '.join(f'VALUES ?{v} {{ {numbers} }}' for v in 'abcd')} }}"
    process = subprocess.Popen(
        [sys.executable, "-m", "hybridkg", "update", same, "-", "--timeout", "0", "--max-rows", "1000000000000"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(slow)
    process.stdin.close()
    deadline = time.monotonic() + 60
    while not (same / ".writer").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (130, -signal.SIGINT)  # the shell says 130 for both
    with process.stderr as stderr:
        assert stderr.read() == "interrupted; the knowledge base is as it was before\n"
    assert not list(same.glob(".building-*"))


def test_ctrl_c_after_the_commit_says_that_it_is_committed(tmp_path, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(after_index, "await_kernels", interrupted)
    with KnowledgeBase.create(tmp_path / "new.kb"):
        pass
    result = run("update", tmp_path / "new.kb", "INSERT DATA { <http://e/a> <http://e/p> 1 }")
    assert result.exit_code == 130
    assert result.stderr == "interrupted\nthe change had been committed before that\n"
    with KnowledgeBase.open(tmp_path / "new.kb") as base:
        assert base.stats()["triples"] == 1


@pytest.mark.parametrize("name", ["update", "remove"])
def test_the_example_of_the_help_can_be_typed_as_it_stands(kb, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.ttl").write_text(f"<{FILM}/Alien> <{FILM}/year> 1979 .")
    shown = run(name, "--help").stdout
    example = shown[shown.index("Example:\n") + len("Example:\n") : shown.index("\nOptions:")]
    _, *arguments = shlex.split(example)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "3 added" in result.stdout or result.stdout == (
        f'D <{FILM}/Alien> <{FILM}/year> "1979"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    )
