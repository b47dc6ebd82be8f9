"""Worker process: runs a function in a child process, which streams its results back.

A plain child process with pipes: not forked, because the store has threads in this process, and not multiprocessing,
which would run the user's main module again. It ignores Ctrl-C, and ends at the latest when its parent has gone and it
has something to send. Callers must be able to do the work themselves, where no process can be started or one dies.
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
"""Function that sends a value to the parent process."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybridkg.compute.worker_process import main; main()"

_SENT, _RETURNED, _RAISED = range(3)


class WorkerLostError(Exception):
    """The process could not be started, or ended without a result; the caller can do the work itself."""


class WorkerProcess:
    """A call `work(emit, *arguments)` in a child process, started at once; a context, whose end kills the process.

    The function is at the top of a module, and the arguments are picklable.
    """

    def __init__(self, work: Callable[..., Any], *arguments: Any):
        self.result: Any = None
        """Return value of the function, after the iteration."""
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
        """The emitted values, as they come.

        Raises:
            HybridkgError, OSError: raised by the work.
            WorkerLostError: no process, or it died.
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
            kind, value = pickle.load(self._process.stdout)  # noqa: S301  written by our own process
        except (EOFError, OSError, pickle.UnpicklingError, ValueError) as e:
            raise WorkerLostError from e
        return kind, value


def started(statement: str) -> subprocess.Popen[bytes]:
    """A process with the same module folders, as `sys.argv[1:]`, in its own group, which Ctrl-C does not reach.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    return subprocess.Popen(
        command(statement),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def command(statement: str) -> list[str]:
    """The command line of a process that runs a statement, with the module folders of this one as `sys.argv[1:]`.

    Raises:
        ValueError: Python does not know its own program.
    """
    if not sys.executable:
        raise ValueError("no program to start")
    flags = [flag for flag, is_set in (("-I", sys.flags.isolated), ("-E", sys.flags.ignore_environment)) if is_set]
    return [sys.executable, *flags, "-P", "-c", statement, *map(str, sys.path)]


def let_go(process: subprocess.Popen[bytes]) -> int:
    """Waits for a killed process, and returns its exit status."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    return process.wait()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    results = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # printed text must not mix with the results

    def send(kind: int, value: Any) -> None:
        results.write(pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL))
        results.flush()

    work, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  written by the parent process
    with suppress(BrokenPipeError):
        try:
            result = work(lambda value: send(_SENT, value), *arguments)
        except BrokenPipeError:
            raise
        except (HybridkgError, OSError) as e:
            send(_RAISED, e)
        else:
            send(_RETURNED, result)
