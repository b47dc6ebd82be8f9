"""The time of a question in plain words: one limit for its interpretation and its query together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from hybridkg.config.run_settings import LimitSettings
from hybridkg.errors import QueryStoppedError
from hybridkg.interfaces.meter import Meter
from hybridkg.kb.cancellation import StoppableThread
from hybridkg.kb.limits import Limits

T = TypeVar("T")

INTERPRETATION = "interpretation of the question"


class QuestionTime:
    """A deadline that begins now.

    Args:
        settings: of kb.toml.
        timeout: seconds, 0 for no limit; None for that of the settings.
        cancel: an event that stops the work.
        clock: in seconds.

    Raises:
        UserError: the timeout is no number of seconds.

    >>> now = iter([0.0, 3.0])
    >>> QuestionTime(LimitSettings(), 5, clock=lambda: next(now)).left()
    2.0
    """

    def __init__(
        self,
        settings: LimitSettings,
        timeout: float | None = None,
        *,
        cancel: threading.Event | None = None,
        clock: Callable[[], float] = monotonic,
    ):
        self.seconds, self.cancel, self._clock = Limits.of(settings, timeout).timeout, cancel, clock
        self._end = None if self.seconds is None else clock() + self.seconds

    def left(self) -> float:
        """Seconds that are left; 0 for no limit, as `kb.query` has it.

        Raises:
            QueryStoppedError: none is left.
        """
        if self._end is None:
            return 0.0
        left = self._end - self._clock()
        if left <= 0:
            raise self._over(INTERPRETATION)
        return left

    def interpretation(self, work: Callable[[Meter], T]) -> T:
        """The value of some work, which may check the meter.

        Raises:
            QueryStoppedError: the time is over.
        """
        seconds = self.left()
        if not seconds and self.cancel is None:
            return work(Meter())
        with StoppableThread(timeout=seconds or None, cancel=self.cancel, doing=lambda: INTERPRETATION) as run:
            return self.named(lambda: run(work, run.meter))

    def named(self, work: Callable[[], T]) -> T:
        """The value of some work; an error because its time is over names the limit of the whole question.

        Raises:
            QueryStoppedError: the time is over, or the work was cancelled.
        """
        try:
            return work()
        except QueryStoppedError as e:
            if self._end is None or self._clock() < self._end:
                raise
            raise self._over(e.doing) from None

    def _over(self, doing: str) -> QueryStoppedError:
        return QueryStoppedError(
            f"the question has taken longer than {self.seconds:g} s",
            hint="give it more time: --timeout 30s, or timeout=30 in Python",
            doing=doing,
        )
