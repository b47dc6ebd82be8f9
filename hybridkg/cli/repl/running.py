"""Runs work that Ctrl-C can leave.

Oxigraph works in native code, where a KeyboardInterrupt would wait until it
is done. So the work has a thread of its own: Ctrl-C reaches the waiting main
thread at once, and the worker is told to stop the next time that it comes
back to Python. What stays in native code is left behind and its answer dropped.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")

PATIENCE_S = 0.3
"""How long a cancelled worker may take to stop before it is said to be left behind."""


class Runner(Protocol):
    """Runs a piece of work and gives what it returns, or raises what it raises."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Runs it."""


def directly(work: Callable[[], T], /) -> T:
    """The runner that only calls the work."""
    return work()


class WorkerAbandoned(SystemExit):
    """Raised inside a worker that nobody waits for; a SystemExit, because threads end silently on that."""


class InterruptibleRunner:
    """A runner whose work Ctrl-C can leave."""

    def __init__(self) -> None:
        self._left: list[threading.Thread] = []

    def __call__(self, work: Callable[[], T], /) -> T:
        """Runs the work in a thread.

        Raises:
            KeyboardInterrupt: Ctrl-C; the thread has been told to stop.
        """
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

        thread = self.start(body)
        try:
            while not done.wait(0.2):
                pass
        except KeyboardInterrupt:
            _stop(thread)
            thread.join(PATIENCE_S)
            raise
        self._left.remove(thread)
        if failure:
            raise failure[0]
        return answer[0]

    def start(self, body: Callable[[], None]) -> threading.Thread:
        """Begins something in the background."""
        thread = threading.Thread(target=body, daemon=True)
        self._left.append(thread)
        thread.start()
        return thread

    def busy(self) -> int:
        """How many threads are still at work although nobody waits for them."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        return len(self._left)


def _stop(thread: threading.Thread) -> None:
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(WorkerAbandoned))
