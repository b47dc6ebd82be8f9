"""Runs work that a time limit, an event or Ctrl-C can end, whatever it is at.

Neither Oxigraph nor a compiled kernel can be interrupted: they give the interpreter free, and come back when they are
done. So the work has a thread of its own, and whoever waits for it stops waiting. The work itself is told by its
Meter, and ends the next time that it looks; what is in native code until then is left behind, and its answer dropped.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from hybridkg.errors import ParameterError, QueryLimitError, QueryStoppedError
from hybridkg.interfaces.meter import Meter

T = TypeVar("T")

MOST_LEFT = 8
"""Threads that may be at work although nobody waits for them; each may keep a core busy."""

POLL_S = 0.05
"""How often a waiting thread looks whether somebody has cancelled the work."""

PATIENCE_S = 0.15
"""How long work that is told to stop may take to do so before it is left behind."""

_left: list[threading.Thread] = []
_lock = threading.Lock()


UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def read_duration(text: str) -> float:
    """Seconds, as a person writes them.

    Raises:
        ParameterError: the text is no duration.

    >>> read_duration("10s"), read_duration("500 ms"), read_duration("2m"), read_duration("0")
    (10.0, 0.5, 120.0, 0.0)
    """
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|)", text.strip())
    if found is None:
        raise ParameterError(f"{text!r} is no duration", hint="for example 10s, 500ms or 2m; 0 for no limit")
    return float(found[1]) * UNITS[found[2]]


def busy() -> int:
    """How many threads are still at work although nobody waits for them."""
    with _lock:
        _left[:] = [thread for thread in _left if thread.is_alive()]
        return len(_left)


def stoppable(
    work: Callable[[Meter], T],
    *,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
    doing: Callable[[], str] = str,
) -> T:
    """What the work returns, or raises, unless it is stopped before.

    Args:
        work: gets the meter that tells it to stop; looks at it every now and then.
        timeout: seconds that it may take.
        cancel: stops it once set.
        doing: says what it is at.

    Raises:
        QueryStoppedError: the time is over, or `cancel` was set.
        QueryLimitError: too much that was stopped is still at work.
        KeyboardInterrupt: Ctrl-C in the main thread; the work has been told to stop.

    >>> stoppable(lambda meter: 7, timeout=5)
    7
    """
    left = busy()
    if left >= MOST_LEFT:
        raise QueryLimitError(
            f"{left} queries that were stopped are still at work in the background",
            hint="wait until they are done, or start the program again",
        )
    stopped = threading.Event()
    deadline = None if timeout is None else monotonic() + timeout
    meter = Meter(deadline, timeout, lambda: stopped.is_set() or (cancel is not None and cancel.is_set()))
    run = _Run(work, meter)
    thread = threading.Thread(target=run.body, name="hybridkg query", daemon=True)
    thread.start()
    try:
        error = _wait(run.done, deadline, meter)
    except BaseException:
        stopped.set()
        _leave(run, thread)
        raise
    if error is None:
        return run.outcome()
    stopped.set()
    error.doing = doing()
    _leave(run, thread)
    if run.done.is_set():
        return run.outcome()  # it has just ended, or says itself what it was at
    raise error


def _wait(done: threading.Event, deadline: float | None, meter: Meter) -> QueryStoppedError | None:
    """Waits for the end of the work; or gives the reason not to wait any longer."""
    while True:
        # The work looks at the time as well, and knows better what it is at, so it has a little longer.
        seconds = POLL_S if deadline is None else min(POLL_S, deadline - monotonic() + 0.02)
        if done.wait(max(seconds, 0)):
            return None
        try:
            meter.check()
        except QueryStoppedError as e:
            if seconds <= 0 or meter.cancelled():
                return e


def _leave(run: _Run[T], thread: threading.Thread) -> None:
    """Gives the work a moment to stop; counts it where it does not."""
    if not run.done.wait(PATIENCE_S):
        with _lock:
            _left.append(thread)


class _Run(Generic[T]):
    """One piece of work and how it ended."""

    def __init__(self, work: Callable[[Meter], T], meter: Meter):
        self._work, self._meter = work, meter
        self._answer: list[T] = []
        self._failure: BaseException | None = None
        self.done = threading.Event()

    def body(self) -> None:
        """Does the work."""
        try:
            self._answer.append(self._work(self._meter))
        except BaseException as e:
            _forget_frames(e)
            self._failure = e
        finally:
            self.done.set()

    def outcome(self) -> T:
        """What the work returned.

        Raises:
            BaseException: what it raised.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return self._answer[0]


def _forget_frames(error: BaseException) -> None:
    """Ends what the frames of an error hold, in the thread that made it: an answer of Oxigraph may end nowhere else."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
