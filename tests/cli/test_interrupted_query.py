"""Ctrl-C ends a query at once, whatever it is at, and the knowledge base answers afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
BROAD = "the of in and"

LONG = {
    "in the store, which has not given a row": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "in the store, row by row": "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?a MATCH 'space' AS ?s }",
    "in a join": f"SELECT * {{ {' '.join(f'?{name} MATCH {BROAD!r} .' for name in 'abcdef')} }}",
}

RUNNING = """
import sys, threading
from hybridkg.kb import cancellation, query_run

def watched(*args, **kwargs):
    print("running", file=sys.stderr, flush=True)
    return cancellation.StoppableThread(*args, **kwargs)

query_run.StoppableThread = watched
from hybridkg.__main__ import main
sys.argv = ["hybridkg", *sys.argv[1:]]
main()
"""
"""The program, which says when it begins to run a query."""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kb") / "films.kb"
    KnowledgeBase.create(path).load(FILMS, index=True)
    return path


@pytest.fixture
def interrupted(within: Callable[[float], AbstractContextManager[None]]) -> Callable[..., tuple[int, str, str]]:
    """Exit code, stdout and stderr of a program that gets Ctrl-C in a query."""

    def run(arguments: list[str], typed: str = "") -> tuple[int, str, str]:
        with started(arguments, typed) as program, within(2):  # 0.2 s on an idle machine
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=20)
        return program.returncode, out, err

    return run


@contextmanager
def started(arguments: list[str], typed: str) -> Iterator[subprocess.Popen[str]]:
    """The program, in the middle of a query."""
    program = subprocess.Popen(
        [sys.executable, "-c", RUNNING, *arguments],
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
        time.sleep(0.2)
        yield program
    finally:
        program.kill()


@pytest.mark.parametrize("query", LONG.values(), ids=LONG)
def test_ctrl_c_ends_a_query_on_the_command_line(kb, query, interrupted):
    code, out, err = interrupted(["query", str(kb), query])
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


def test_the_program_ends_with_its_code_while_the_store_is_still_at_work(kb, within):
    query = LONG["in the store, which has not given a row"]
    with within(15):
        done = subprocess.run(
            [sys.executable, "-m", "hybridkg", "query", str(kb), query, "--timeout", "300ms"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error[Q103]: the query has taken longer than 0.3 s\n  at work: Oxigraph\n")
