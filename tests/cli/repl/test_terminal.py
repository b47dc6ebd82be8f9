"""The parts around the terminal: leaving a query, paging, history; and the whole of it on a pseudo-terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.cli.repl.interrupts import Interrupts
from hybridkg.cli.repl.running import InterruptibleRunner
from hybridkg.cli.repl.screen import Terminal, pager
from hybridkg.query import tables

ROOT = Path(__file__).resolve().parents[3]
FILMS = ROOT / "examples" / "films.ttl"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repl") / "films.kb"
    KnowledgeBase.create(path).load(FILMS, index=False)
    return path


def piped(kb: Path, text: str | bytes, *options: str):
    return CliRunner().invoke(cli, ["repl", str(kb), *options], input=text, catch_exceptions=False)


def test_piped_queries_run_without_a_prompt_rows_on_stdout_the_rest_on_stderr(kb):
    result = piped(kb, "SELECT ?f { ?f a :Film }\nLIMIT 1\n.format csv\nASK {}\n", "--format", "tsv")
    assert result.exit_code == 0
    assert result.stdout.startswith("?f\n<http://example.org/films/")
    assert result.stdout.endswith("true\n")
    assert "1 row" in result.stderr
    assert "hq>" not in result.output


def test_piped_queries_go_on_after_a_mistake_and_the_exit_code_is_2(kb):
    result = piped(kb, "ASK { ?x ! }\n\nASK {}\n")
    assert result.exit_code == 2
    assert "stdin:1:12" in result.stderr
    assert result.stdout == "yes\n"
    assert piped(kb, b"ASK {} # \xff").exit_code == 2
    assert piped(kb, "").exit_code == 0


def test_ctrl_c_leaves_the_work_behind_and_the_next_work_is_done():
    def work() -> None:
        began.set()
        stop.wait(60)

    began, stop = threading.Event(), threading.Event()
    with Interrupts() as interrupts:
        workers = InterruptibleRunner(interrupts)
        presses = threading.Thread(target=lambda: began.wait(60) and signal.raise_signal(signal.SIGINT))
        presses.start()
        with pytest.raises(KeyboardInterrupt):
            workers(work)
        assert workers.busy() == 1
        assert workers(lambda: 7) == 7
        stop.set()
        for thread in workers._threads:
            thread.join(60)
        assert workers.busy() == 0


def test_work_in_python_is_stopped():
    def endless() -> None:
        signal.raise_signal(signal.SIGINT)
        while True:
            time.sleep(0.001)

    with Interrupts() as interrupts:
        workers = InterruptibleRunner(interrupts)
        with pytest.raises(KeyboardInterrupt):
            workers(endless)
        for thread in workers._threads:
            thread.join(60)
        assert workers.busy() == 0


def test_what_work_raises_arrives():
    with pytest.raises(ValueError, match="seven"), Interrupts() as interrupts:
        InterruptibleRunner(interrupts)(lambda: int("seven"))


def test_a_missing_pager_is_no_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PAGER", "/no/such/pager -x")
    assert pager(os.environ) is None
    assert pager({"TERM": "xterm", "PAGER": "'"}) is None
    assert pager({"TERM": "dumb", "PAGER": sys.executable}) is None
    assert pager({"TERM": "xterm", "PAGER": f"{sys.executable} -q"}) == [sys.executable, "-q"]
    Terminal().rows(lambda out: out.writelines(f"{i}\n" for i in range(500)) and None)
    assert capsys.readouterr().out.endswith("499\n")


def test_history_is_kept_and_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    from hybridkg.cli.repl import terminal

    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "cache"))
    first = terminal.history()
    first.append_string("half a pair: \ud800")
    first.append_string("ASK {\n}")
    assert next(iter(terminal.history().load_history_strings())) == "ASK {\n}"
    assert (tmp_path / "cache" / terminal.HISTORY_FILE).stat().st_mode & 0o077 == 0
    (tmp_path / "cache" / terminal.HISTORY_FILE).unlink()
    (tmp_path / "cache" / terminal.HISTORY_FILE).mkdir()
    first.append_string("ASK {}")
    assert list(terminal.history().load_history_strings()) == []
    monkeypatch.setenv("HYBRIDKG_CACHE", "/proc/none")
    terminal.history().append_string("ASK {}")


def test_a_long_history_loses_its_beginning(tmp_path, monkeypatch):
    from hybridkg.cli.repl import terminal

    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path))
    monkeypatch.setattr(terminal, "MAX_HISTORY", 2_000)
    for i in range(200):
        terminal.history().append_string(f"ASK {{ ?x a {i} }}")
    found = list(terminal.history().load_history_strings())
    assert found[0] == "ASK { ?x a 199 }"
    assert 5 < len(found) < 100
    assert all(text.startswith("ASK {") and text.endswith("}") for text in found)


SLOW = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }"
ENDLESS = "SELECT ?endless { ?endless a :Film }"
LAUNCHER = """
import fcntl, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from hybridkg.cli import main
from hybridkg.kb.query_run import QueryRun

def endless(meter):
    while True:
        meter.check()
        time.sleep(0.001)

def watched(self, query, plan):
    print("at work", flush=True)
    if "?endless" in str(self._text):
        self._step(endless, self.context.meter)
    return execute(self, query, plan)

execute, QueryRun.execute = QueryRun.execute, watched
main(["repl", sys.argv[1]])
"""
"""The program, which says when it begins to run a query, and runs ENDLESS until it is stopped."""

PATIENCE_S = 120
"""Seconds after which something does not happen at all."""


class Typist:
    """A person at a pseudo-terminal that runs the program."""

    def __init__(self, kb: Path, environment: dict[str, str]):
        pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
        try:
            self._mine, theirs = pty.openpty()
        except OSError as e:
            pytest.skip(f"no pseudo-terminal here: {e}")
        termios.tcsetwinsize(theirs, (24, 100))
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(kb)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment},
        )
        os.close(theirs)
        self._seen = ""

    def types(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def sees(self, wanted: str, seconds: float = PATIENCE_S) -> str:
        """Waits until something is on the screen that was not there before; returns what came before it."""
        import select

        end = time.monotonic() + seconds
        while wanted not in self._seen:
            ready, _, _ = select.select([self._mine], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{wanted!r} did not appear in {self._seen[-600:]!r}"
            try:
                self._seen += os.read(self._mine, 65536).decode("utf-8", "replace")
            except OSError:
                assert wanted in self._seen, f"the program ended: {self._seen[-600:]!r}"
        before, _, self._seen = self._seen.partition(wanted)
        return before

    def leaves(self) -> int:
        return self._process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._mine)


PROMPT_ENDS = "\x1b[?2004l"


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    """A cache folder of a person's own, with the tables of the parser, which take half a second to build."""
    folder = tmp_path / "cache"
    folder.mkdir()
    tables.load()
    for file in Path(os.environ["HYBRIDKG_CACHE"]).glob("parser-*.json"):
        shutil.copy(file, folder)
    return folder


def test_a_person_asks_cancels_asks_again_and_leaves(kb, own_cache):
    with Typist(kb, {"HYBRIDKG_CACHE": str(own_cache)}) as person:
        person.sees("hq>")
        person.types("SELECT ?f {\r?f a :Film }\r")
        person.sees("15 rows, exact")
        person.sees("hq>")
        person.types("not wanted\x03")
        person.sees(PROMPT_ENDS)  # the terminal echoes what is typed before the next prompt has it
        person.sees("hq>")
        person.types(SLOW + "\r")
        person.sees("at work")
        person.types("\x03")  # without Ctrl-C the query takes years
        person.sees("cancelled")
        person.sees("hq>")
        person.types("ASK {}\r")
        person.sees("yes")
        person.sees("hq>")
        person.types(".quit\r")
        assert person.leaves() == 0
    assert "ASK {}" in (own_cache / "repl-history").read_text()


def test_ctrl_c_cancels_a_query_however_soon_it_comes(kb, own_cache):
    with Typist(kb, {"HYBRIDKG_CACHE": str(own_cache)}) as person:
        person.sees("hq>")
        for keys, until in (("\r\x03", ""), ("\r", ""), ("\r", PROMPT_ENDS), ("\r", "at work")) * 2:
            person.types(ENDLESS)
            person.sees("Film")
            person.types(keys)
            if until:
                person.sees(until)
            if keys == "\r":
                person.types("\x03")
            assert "Traceback" not in person.sees("cancelled")
            person.sees("hq>")
        person.types(".quit\r")
        assert person.leaves() == 0
