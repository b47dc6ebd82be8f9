"""`hybridkg repl`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hybridkg.cli.options import format_option, kb_argument, opened

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

ROWS_ON_A_TERMINAL = 1_000
"""Default `.limit` in a terminal."""

MAX_INPUT = 16_000_000
"""Maximum bytes of piped input."""


@click.command()
@kb_argument
@format_option
def repl(kb: Path, fmt: str) -> None:
    """Run queries and updates interactively, with completion, history, and tables that fit the terminal.

    KB is a knowledge base folder, or an RDF file, from which a temporary knowledge base is built. Type .help for the
    commands. Piped input runs without a prompt: rows on stdout, the rest on stderr, exit code 2 if a query failed.

    \b
    Example:
      echo 'SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 3' | hybridkg repl films.ttl
    """
    with opened(kb) as base:
        code, busy = _interactive(base, kb, fmt) if _is_terminal() else (_piped(base, kb, fmt), False)
    if busy:
        # A cancelled query in native code must not return into a Python that shuts down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    if code:
        click.get_current_context().exit(code)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _interactive(base: KnowledgeBase, path: Path, fmt: str) -> tuple[int, bool]:
    """(exit code, whether an orphaned thread is at work)."""
    from hybridkg import __version__
    from hybridkg.cli.repl.interrupts import Interrupts
    from hybridkg.cli.repl.running import InterruptibleRunner
    from hybridkg.cli.repl.screen import Terminal
    from hybridkg.cli.repl.session import Session
    from hybridkg.cli.repl.terminal import converse
    from hybridkg.kb.write.care_reports import number_of

    interrupts = Interrupts()
    workers = InterruptibleRunner(interrupts)
    session = Session(base, Terminal(), fmt=fmt, limit=ROWS_ON_A_TERMINAL, runner=workers, place=str(path))
    stats = base.stats()
    size = f"{number_of(stats['triples'], 'triple')}, {stats['entities']:,} entities"
    session.screen.say(f"hybridkg {__version__}, {path.name}: {size}")
    session.screen.say(".help for help, Tab completes, Ctrl-D to end")
    with _leaving_on_hangup():
        converse(session, workers, interrupts)
    return 0, workers.busy() > 0


@contextmanager
def _leaving_on_hangup() -> Iterator[None]:
    """Ends the session in order when its window is closed, so that a temporary knowledge base is deleted."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before = [signal.signal(number, leave) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _piped(base: KnowledgeBase, path: Path, fmt: str) -> int:
    from hybridkg.cli.repl.screen import Streams
    from hybridkg.cli.repl.session import Session
    from hybridkg.errors import LoadError

    try:
        data = sys.stdin.buffer.read(MAX_INPUT + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise LoadError(f"cannot read the queries from standard input: {reason}") from None
    if len(data) > MAX_INPUT:
        raise LoadError(f"standard input has more than {MAX_INPUT:,} bytes", hint="give the queries in parts")
    session = Session(base, Streams(sys.stdout, sys.stderr), fmt=fmt, place=str(path))
    return 0 if session.run_all(text, "stdin") else 2
