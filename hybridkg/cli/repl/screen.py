"""Where a session writes: streams as they are, or a terminal with a pager."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TextIO

from hybridkg.cli.repl.listing import fitted
from hybridkg.terminal_text import printable


class Streams:
    """Rows on one stream, everything else on another; no paging."""

    def __init__(self, out: TextIO, err: TextIO):
        self._out, self._err = out, err

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Writes an answer."""
        write(self._out)
        self._out.flush()

    def say(self, text: str) -> None:
        """Writes a message."""
        self._err.write(f"{printable(text)}\n")
        self._err.flush()


class TerminalBuffer(io.StringIO):
    """Text on its way to a terminal: what writes into it may use colour, if the environment allows it."""

    def isatty(self) -> bool:
        """Yes: rich asks."""
        return True


class Terminal:
    """A terminal; an answer that is longer than the screen goes through a pager."""

    def __init__(self, out: TextIO | None = None):
        self._out = sys.stdout if out is None else out

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Shows an answer."""
        buffer = TerminalBuffer(newline="")
        write(buffer)
        text = buffer.getvalue()
        if text.count("\n") < shutil.get_terminal_size().lines - 1 or not page(text, os.environ):
            self._out.write(text)
            self._out.flush()

    def say(self, text: str) -> None:
        """Shows a message."""
        self._out.write(f"{fitted(printable(text), shutil.get_terminal_size().columns)}\n")
        self._out.flush()


def pager(environment: Mapping[str, str]) -> list[str] | None:
    """The command of the pager: $PAGER, else less, else more; None where none of them is there.

    `PAGER=cat`, or a TERM that cannot move its cursor, turns paging off.
    """
    if environment.get("TERM", "dumb") in ("dumb", "unknown", ""):
        return None
    wanted = environment.get("PAGER", "")
    try:
        command = shlex.split(wanted)
    except ValueError:
        command = []
    for candidate in (command, ["less"], ["more"]):
        if candidate and shutil.which(candidate[0]):
            return None if candidate == ["cat"] else candidate
    return None


def page(text: str, environment: Mapping[str, str]) -> bool:
    """Shows a text in the pager; false where there is none, or it did not start."""
    command = pager(environment)
    if command is None:
        return False
    # Quit if it fits after all, keep colours, leave the text on the screen.
    settings = {**environment, "LESS": environment.get("LESS", "-FRX")}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=settings)
    except OSError:
        return False
    assert process.stdin is not None  # it is a pipe
    while True:
        # Ctrl-C belongs to the pager while it runs.
        try:
            with suppress(OSError):
                process.stdin.write(text.encode("utf-8", "replace"))
            break
        except KeyboardInterrupt:
            break
    with suppress(OSError):
        process.stdin.close()
    while True:
        try:
            process.wait()
            return True
        except KeyboardInterrupt:
            continue
