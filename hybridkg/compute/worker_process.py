"""Work of ours in a process of its own, which sends back what it finds as it goes.

A plain child process that is spoken to over pipes: not forked, because the store has threads in this process, and not
multiprocessing, which would run the user's main module again. It leaves Ctrl-C to the one who started it, and ends with
it at the latest when it has something to send. Who asks must be able to do the work itself, where no process can be
started or one dies.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from hybridkg.errors import HybridkgError

Emit = Callable[[Any], None]
"""Sends something to the process that asked."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybridkg.compute.worker_process import main; main()"

_SENT, _RETURNED, _RAISED = range(3)


class WorkerLostError(Exception):
    """The process could not be started, or has ended without an answer; the work can be done here."""


class WorkerProcess:
    """One piece of work, begun at once; used as a context, at whose end it is over, done or not.

    Args:
        work: a function at the top of a module; called with an `Emit` and the arguments.
        arguments: what can be pickled.
    """

    def __init__(self, work: Callable[..., Any], *arguments: Any):
        self.result: Any = None
        """What the function has returned, once all that it sent has been taken."""
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError, ValueError):
            self._process = started(_START)
            assert self._process.stdin is not None
            pickle.dump((work, arguments), self._process.stdin)
            self._process.stdin.flush()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            let_go(self._process)

    def __iter__(self) -> Iterator[Any]:
        """What the work sends, as it comes.

        Raises:
            HybridkgError, OSError: the work has raised it.
            WorkerLostError: there is no process, or no more.
        """
        while True:
            kind, value = self._next()
            if kind == _RAISED:
                raise value
            if kind == _RETURNED:
                self.result = value
                return
            yield value

    def _next(self) -> tuple[int, Any]:
        if self._process is None or self._process.stdout is None:
            raise WorkerLostError
        try:
            kind, value = pickle.load(self._process.stdout)  # noqa: S301  what our own process has written
        except (EOFError, OSError, pickle.UnpicklingError, ValueError) as e:
            raise WorkerLostError from e
        return kind, value


def started(statement: str) -> subprocess.Popen[bytes]:
    """A process with the same modules, in a group of its own, which Ctrl-C in the terminal does not reach.

    Args:
        statement: what it runs; finds the folders of modules in `sys.argv[1:]`.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    if not sys.executable:
        raise ValueError("no program to start")
    given = [flag for flag, is_set in (("-I", sys.flags.isolated), ("-E", sys.flags.ignore_environment)) if is_set]
    return subprocess.Popen(
        [sys.executable, *given, "-P", "-c", statement, *map(str, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def let_go(process: subprocess.Popen[bytes]) -> int:
    """Waits for a process that has been killed; its exit status."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    return process.wait()


def main() -> None:
    """The process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what is printed is no answer

    def send(kind: int, value: Any) -> None:
        answers.write(pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL))
        answers.flush()

    work, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  what the process that started this one has written
    with suppress(BrokenPipeError):
        try:
            result = work(lambda value: send(_SENT, value), *arguments)
        except BrokenPipeError:
            raise
        except (HybridkgError, OSError) as e:
            send(_RAISED, e)
        else:
            send(_RETURNED, result)
