"""Cancellation of work by a time limit, an event or Ctrl-C, whatever it is at.

Neither Oxigraph nor a compiled kernel can be interrupted: they release the interpreter, and come back when they are
done. So the work has a thread of its own, and the caller stops waiting for it. The Meter tells the work itself to
stop the next time that it looks; native code that runs until then is left behind, and its answer dropped.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Generic, ParamSpec, Self, TypeVar

from hybridkg.errors import ParameterError, QueryLimitError, QueryStoppedError
from hybridkg.interfaces.meter import Meter

P = ParamSpec("P")
T = TypeVar("T")

MAX_LISTED_ORPHANS = 8
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


class StoppableThread:
    """A thread for the steps of a query: the caller waits for a step no longer than the deadline or the event allows.

    Args:
        timeout: seconds for all steps together, from now on; None for no limit.
        cancel: stops the step that runs once it is set.
        doing: names the operator at work, for the error.

    Raises:
        QueryLimitError: too many steps that were stopped are still at work.

    >>> with StoppableThread(timeout=5) as run:
    ...     run(divmod, 7, 2)
    (3, 1)
    """

    def __init__(
        self,
        *,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
        doing: Callable[[], str] = str,
    ):
        left = busy()
        if left >= MAX_LISTED_ORPHANS:
            raise QueryLimitError(
                f"{left} queries that were stopped are still at work in the background",
                hint="wait until they are done, or start the program again",
            )
        stopped = threading.Event()
        self._stopped, self._doing = stopped, doing
        self._deadline = None if timeout is None else monotonic() + timeout
        self.meter = Meter(
            self._deadline, timeout, lambda: stopped.is_set() or (cancel is not None and cancel.is_set())
        )
        self._steps: SimpleQueue[_Step[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=_run_all, args=(self._steps,), name="hybridkg query", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread after the step that runs, if one does."""
        self._steps.put(None)

    def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The value of `work(*args, **kwargs)`, which looks at `meter` about every millisecond.

        Raises:
            QueryStoppedError: the time is over, or `cancel` was set.
            KeyboardInterrupt: Ctrl-C in the main thread; the step has been told to stop.
        """
        step = _Step(partial(work, *args, **kwargs))
        self._steps.put(step)
        try:
            error = _wait(step.done, self._deadline, self.meter)
        except BaseException:
            self._stop(step)
            raise
        if error is None:
            return step.outcome()
        error.doing = self._doing()
        self._stop(step)
        if step.done.is_set():
            return step.outcome()  # it has just ended, or says itself what it was at
        raise error

    def _stop(self, step: _Step[Any]) -> None:
        """Gives the step a moment to stop; counts its thread as left behind where it does not."""
        self._stopped.set()
        if not step.done.wait(PATIENCE_S):
            with _lock:
                _left.append(self._thread)


def _run_all(steps: SimpleQueue[_Step[Any] | None]) -> None:
    """The body of the thread: every step in turn, until None; no step outlives its turn here."""
    while (step := steps.get()) is not None:
        step.run()
        del step


def _wait(done: threading.Event, deadline: float | None, meter: Meter) -> QueryStoppedError | None:
    """Waits for the end of the step; or gives the reason not to wait any longer."""
    while True:
        # The step looks at the time as well, and can say better what it is at, so it has a little longer.
        seconds = POLL_S if deadline is None else min(POLL_S, deadline - monotonic() + 0.02)
        if done.wait(max(seconds, 0)):
            return None
        try:
            meter.check()
        except QueryStoppedError as e:
            if seconds <= 0 or meter.cancelled():
                return e


class _Step(Generic[T]):
    """A piece of work and how it ended."""

    def __init__(self, work: Callable[[], T]):
        self._work: Callable[[], T] | None = work
        self._answer: list[T] = []
        self._failure: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        """Does the work, once."""
        try:
            assert self._work is not None
            self._answer.append(self._work())
        except BaseException as e:
            _forget_frames(e)
            self._failure = e
        finally:
            self._work = None
            self.done.set()

    def outcome(self) -> T:
        """The value of the work.

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
