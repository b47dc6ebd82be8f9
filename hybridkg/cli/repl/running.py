"""Interruption of work by Ctrl-C.

Oxigraph runs in native code, which a KeyboardInterrupt does not end. So the work has a thread of its own: Ctrl-C ends
the wait of the main thread, and an exception stops the worker when it returns to Python.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from hybridkg.cli.repl.interrupts import Interrupts

T = TypeVar("T")

POLL_S = 0.05
"""Interval at which the main thread checks for Ctrl-C."""

PATIENCE_S = 0.3
"""Time that a cancelled worker gets to stop."""


class Runner(Protocol):
    """A way to run work: returns its value, or raises its exception."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Runs the work."""


def directly(work: Callable[[], T], /) -> T:
    """The runner that calls the work in the same thread."""
    return work()


class WorkerAbandoned(SystemExit):
    """Raised inside an orphaned worker; a SystemExit, on which threads end silently."""


class InterruptibleRunner:
    """A runner that Ctrl-C interrupts, inside the `with` block of the interrupts."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._threads: list[threading.Thread] = []

    def __call__(self, work: Callable[[], T], /) -> T:
        """Runs the work in a thread; Ctrl-C stops it and raises KeyboardInterrupt."""
        answer: list[T] = []
        failure: list[BaseException] = []
        done = threading.Event()

        def body() -> None:
            try:
                answer.append(work())
            except BaseException as e:
                failure.append(e)
            finally:
                done.set()

        with self._interrupts.deferred():
            thread = self.start(body)
            while not done.wait(POLL_S):
                if self._interrupts.pressed:
                    _stop(thread)
                    thread.join(PATIENCE_S)
                    break
        self._threads.remove(thread)
        if failure:
            raise failure[0]
        return answer[0]

    def start(self, body: Callable[[], None]) -> threading.Thread:
        """Starts work in the background."""
        thread = threading.Thread(target=body, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def busy(self) -> int:
        """The number of orphaned and background threads at work."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return len(self._threads)


def _stop(thread: threading.Thread) -> None:
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(WorkerAbandoned))
