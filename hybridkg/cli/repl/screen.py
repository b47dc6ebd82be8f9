"""Screens of a session: plain streams, or a terminal with a pager."""

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

from hybridkg.cli.echo import in_place
from hybridkg.terminal_text import fitted, printable


class Streams:
    """A screen of two streams: rows on one, everything else on the other; no paging."""

    def __init__(self, out: TextIO, err: TextIO):
        self._out, self._err = out, err

    def rows(self, write: Callable[[TextIO], None]) -> None:
        """Writes an answer."""
        write(self._out)
        self._out.flush()

    def say(self, text: str) -> None:
        """Writes a message."""
        self._err.write(f"{printable(in_place(text))}\n")
        self._err.flush()

    def ask(self, question: str) -> bool | None:
        """None: there is nobody to ask."""
        return None


class TerminalBuffer(io.StringIO):
    """A buffer of text for a terminal: writers may use colour, if the environment allows it."""

    def isatty(self) -> bool:
        """True, for rich."""
        return True


class Terminal:
    """A terminal screen; an answer that is longer than it goes through a pager."""

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
        self._out.write(f"{fitted(printable(in_place(text)), shutil.get_terminal_size().columns)}\n")
        self._out.flush()

    def ask(self, question: str) -> bool | None:
        """Asks, and reads a line: y or yes is a yes, anything else and the end of the input are a no."""
        self._out.write(printable(question))
        self._out.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


PAGER_PROMPT = "q leaves, h helps"


def pager(environment: Mapping[str, str]) -> list[str] | None:
    """The command of the pager: $PAGER, else less, else more, if installed.

    None with `PAGER=cat`, or a TERM that cannot move its cursor.
    """
    if environment.get("TERM", "dumb") in ("dumb", "unknown", ""):
        return None
    try:
        command = shlex.split(environment.get("PAGER", ""))
    except ValueError:
        command = []
    for candidate in (command, ["less"], ["more"]):
        if candidate and shutil.which(candidate[0]):
            return None if candidate == ["cat"] else candidate
    return None


def page(text: str, environment: Mapping[str, str]) -> bool:
    """Shows a text in the pager; false if there is none, or it does not start."""
    command = pager(environment)
    if command is None:
        return False
    # Options of less: quit if the text fits, keep colours, leave the text on the screen, say how to leave.
    settings = {**environment, "LESS": environment.get("LESS", "-FRX -Ps" + PAGER_PROMPT + "$")}
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
