"""Cancellation of work by a time limit, an event or Ctrl-C.

The work has a thread of its own, and the caller stops waiting for it. Python code stops at its next check of the Meter;
Oxigraph and compiled kernels run to their end in an orphaned thread, and their result is dropped. Brief work that
checks the Meter runs in the thread of the caller: a thread of its own costs 0.3 ms a query (2-core machine).
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from time import monotonic, sleep
from typing import Any, Generic, ParamSpec, Self, TypeVar

from hybridkg.errors import OverloadedError, ParameterError, QueryStoppedError
from hybridkg.interfaces.meter import Meter

P = ParamSpec("P")
T = TypeVar("T")

MAX_ORPHANS = 8
"""Orphaned threads that may be at work; each may occupy a core."""

POLL_S = 0.05
"""Interval at which a waiting thread checks for cancellation."""

MAX_WAIT_S = 10.0
"""Time that a query without a deadline waits for an orphaned thread to end."""

PATIENCE_S = 0.15
"""Time that stopped work gets to end before its thread is orphaned."""

_orphans: list[threading.Thread] = []
_lock = threading.Lock()

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def read_duration(text: str, zero: str = "0 for no limit") -> float:
    """Parses a duration into seconds; `zero` says for the error what 0 means.

    Raises:
        ParameterError: the text is no duration.

    >>> read_duration("10s"), read_duration("500 ms"), read_duration("2m"), read_duration("0")
    (10.0, 0.5, 120.0, 0.0)
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|)", text.strip())
    if match is None:
        raise ParameterError(f"{text!r} is not a duration", hint=f"for example 10s, 500ms or 2m; {zero}")
    return float(match[1]) * UNITS[match[2]]


def count_orphans() -> int:
    """The number of orphaned threads that are still at work."""
    with _lock:
        _orphans[:] = [thread for thread in _orphans if thread.is_alive()]
        return len(_orphans)


class Latch:
    """An event, set once, that one thread waits for, also after Ctrl-C.

    A KeyboardInterrupt inside `threading.Event.wait`, which is Python code, may leave its lock held for ever: then the
    next wait, and `set`, never return. This one is an attribute and a lock of the interpreter.

    >>> latch = Latch()
    >>> latch.wait(0), latch.set(), latch.wait(0)
    (False, None, True)
    """

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Ends the wait; called once."""
        self.is_set = True
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Waits at most this long; returns whether the latch is set."""
        return self.is_set or self._lock.acquire(timeout=max(seconds, 0)) or self.is_set


class StoppableThread:
    """A thread that runs the steps of a query until a deadline or a cancellation; it starts with the first step.

    Args:
        timeout: seconds for all steps together, from now on; None for no limit.
        cancel: an event that stops the current step.
        doing: names the operator at work, for the error.

    >>> with StoppableThread(timeout=5) as run:
    ...     run(divmod, 7, 2)
    (3, 1)
    """

    def __init__(
        self, *, timeout: float | None = None, cancel: threading.Event | None = None, doing: Callable[[], str] = str
    ):
        self._deadline = None if timeout is None else monotonic() + timeout
        self._doing, self._cancel = doing, cancel
        self.meter = Meter(self._deadline, timeout, None if cancel is None else cancel.is_set)
        self._steps: SimpleQueue[_Step[Any] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def _start(self) -> None:
        _wait_for_orphans(self._deadline, self._cancel)
        self._thread = threading.Thread(target=_run_all, args=(self._steps,), name="hybridkg query", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Ends the thread after the current step and a last one, which nothing waits for."""
        if self._thread is None:
            return
        if last is not None:
            self._steps.put(_Step(last))
        self._steps.put(None)

    def prolong(self, seconds: float) -> None:
        """Moves the deadline: time between two steps in which the caller did something else."""
        if self._deadline is not None:
            self._deadline = self.meter.deadline = self._deadline + seconds

    def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The value of `work(*args, **kwargs)`, which checks `meter` about every millisecond.

        Raises:
            QueryStoppedError: the time is over, or `cancel` was set.
            OverloadedError: MAX_ORPHANS orphaned threads are at work, and none ends before the deadline.
            KeyboardInterrupt: Ctrl-C in the main thread; the step is stopped.
        """
        if self._thread is None:
            self._start()
        step = _Step(partial(work, *args, **kwargs))
        try:
            self._steps.put(step)
            error = _wait(step.done, self._deadline, self.meter)
        except BaseException:
            self._stop(step)
            raise
        if error is None:
            return step.outcome()
        error.doing = self._doing()
        self._stop(step)
        if step.done.is_set:
            return step.outcome()  # a value, or the error of the meter, which names the operator more precisely
        raise error

    def _stop(self, step: _Step[Any]) -> None:
        self.meter.cancelled = _is_stopped
        if not step.done.wait(PATIENCE_S):
            assert self._thread is not None
            with _lock:
                _orphans.append(self._thread)


def _is_stopped() -> bool:
    """Whether work that nobody waits for any longer has to stop."""
    return True


def _wait_for_orphans(deadline: float | None, cancel: threading.Event | None) -> None:
    """Waits until fewer than MAX_ORPHANS threads are orphaned, at most until the deadline or MAX_WAIT_S."""
    latest = monotonic() + MAX_WAIT_S if deadline is None else deadline
    while (orphans := count_orphans()) >= MAX_ORPHANS:
        if monotonic() >= latest or (cancel is not None and cancel.is_set()):
            raise OverloadedError(
                f"{orphans} queries that were stopped are still at work in the background",
                hint="ask again when they are done; Oxigraph cannot be stopped inside a query that it has been given",
            )
        sleep(POLL_S)


def _run_all(steps: SimpleQueue[_Step[Any] | None]) -> None:
    while (step := steps.get()) is not None:
        step.run()
        del step  # its value must not live until the next step comes


def _wait(done: Latch, deadline: float | None, meter: Meter) -> QueryStoppedError | None:
    """Waits for the end of the step; returns the reason not to wait any longer."""
    while True:
        # The step checks the time as well, and its error names the operator, so it gets a little longer.
        seconds = POLL_S if deadline is None else min(POLL_S, deadline - monotonic() + 0.02)
        if done.wait(seconds):
            return None
        try:
            meter.check()
        except QueryStoppedError as e:
            if seconds <= 0 or (meter.cancelled is not None and meter.cancelled()):
                return e


class _Step(Generic[T]):
    """A piece of work with its value or its error."""

    def __init__(self, work: Callable[[], T]):
        self._work: Callable[[], T] | None = work
        self._answer: list[T] = []
        self._failure: BaseException | None = None
        self.done = Latch()

    def run(self) -> None:
        """Runs the work; called once."""
        try:
            assert self._work is not None
            self._answer.append(self._work())
        except BaseException as e:
            forget_frames(e)
            self._failure = e
        finally:
            self._work = None
            self.done.set()

    def outcome(self) -> T:
        """Returns the value of the work, or raises its error."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return self._answer[0]


def forget_frames(error: BaseException) -> None:
    """Clears the frames of an error in the thread that raised it, where alone an answer of Oxigraph may be freed.

    Frames that are still at work stay as they are.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        traceback.clear_frames(current.__traceback__)
        pending += [current.__cause__, current.__context__]
