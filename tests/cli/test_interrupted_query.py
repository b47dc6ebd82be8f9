"""Ctrl-C ends a query at once, whatever it is at, and the knowledge base answers afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sampling import sampled

from hybridkg import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
BROAD = "the of in and"

LONG = {
    "in the store, which has not given a row": "SELECT (GROUP_CONCAT(DISTINCT ?a) AS ?n) { ?a ?b ?c . ?d ?e ?f "
    ". ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }",
    "in the store, row by row": "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?a MATCH 'space' AS ?s }",
    "in a join": f"SELECT * {{ {' '.join(f'?{name} MATCH {BROAD!r} .' for name in 'abcdef')} }}",
}

PROGRAM = """
import sys, time
from hybridkg.interfaces import meter
from hybridkg.kb import cancellation
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.row_cursor import RowCursor

def watched(work):
    def begin(*args):
        if not begun:
            begun.append(time.monotonic())
            print("running", file=sys.stderr, flush=True)
        return work(*args)
    return begin

begun = []
ExecutionContext.run, RowCursor.open = watched(ExecutionContext.run), watched(RowCursor.open)
meter.monotonic = cancellation.monotonic = lambda: time.monotonic() + 1000 * len(begun)
from hybridkg.__main__ import main
sys.argv = ["hybridkg", *sys.argv[1:]]
main()
"""
"""The program, which says when an operator begins to work; its clock is then put forward by 1,000 s."""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, copy_films) -> Path:
    path = tmp_path_factory.mktemp("kb") / "films.kb"
    copy_films(path)
    return path


@pytest.fixture
def interrupted() -> Callable[..., tuple[int, str, str]]:
    """Exit code, stdout and stderr of a program that gets Ctrl-C in a query."""

    def run(arguments: list[str], typed: str = "") -> tuple[int, str, str]:
        with started(arguments, typed) as program:
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=120)  # without the signal they take longer, or too much memory
        return program.returncode, out, err

    return run


@contextmanager
def started(arguments: list[str], typed: str = "") -> Iterator[subprocess.Popen[str]]:
    """The program, in the middle of a query."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write(typed)
        program.stdin.close()
        program.stdin = None
        assert program.stderr.readline() == "running\n"
        yield program
    finally:
        program.kill()


@pytest.mark.parametrize("kind", sampled(LONG, next(iter(LONG))))
def test_ctrl_c_ends_a_query_on_the_command_line(kb, kind, interrupted):
    code, out, err = interrupted(["query", str(kb), LONG[kind]])
    assert (code, out, err) == (130, "", "interrupted\n")
    with KnowledgeBase.open(kb) as base:
        assert len(base.query("SELECT ?f ?s { ?f MATCH 'space' AS ?s } RANK BY ?s")) == 4
        assert base.verify() > 0


def test_ctrl_c_ends_queries_that_are_piped_in(kb, interrupted):
    code, out, err = interrupted(["repl", str(kb)], LONG["in the store, which has not given a row"])
    assert (code, out, err) == (130, "", "interrupted\n")


def test_ctrl_c_ends_an_analysis(kb, interrupted):
    code, _, err = interrupted(["explain", str(kb), "--analyze", LONG["in the store, row by row"]])
    assert (code, err) == (130, "interrupted\n")


def test_a_temporary_knowledge_base_is_removed_when_its_query_is_interrupted(tmp_path, monkeypatch, interrupted):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code, _, _ = interrupted(["query", str(FILMS), LONG["in the store, which has not given a row"]])
    assert code == 130
    assert list(tmp_path.glob("hybridkg-*")) == []


def test_the_program_ends_with_its_code_while_the_store_is_still_at_work(kb):
    query = LONG["in the store, which has not given a row"]
    with started(["query", str(kb), query, "--timeout", "900s"]) as program:
        _, err = program.communicate(timeout=120)  # the query takes an hour
    assert program.returncode == 2
    assert err.startswith("error[Q103]: the query has taken longer than 900 s\n  at work: Oxigraph\n")
