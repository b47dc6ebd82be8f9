"""Runs things and says how long they took, within a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from statistics import median
from time import perf_counter, thread_time

PART_S = 0.3
"""Seconds after which no run begins any more for the graph, for the store, for the text: in all, less than one."""

RUN_S = 0.03
"""Seconds after which a run is not repeated any more."""

MAX_REPEATS = 7
"""Of one run."""

WARM = 0.9
"""Of the time of the round before: who takes more does not get faster any more."""


class Stopwatch:
    """Runs things and says how long they took, until the time of a part is over.

    Args:
        work: seconds of this thread, for what is measured.
        wall: seconds of the clock on the wall.
        part_s: how many a part has; on the wall four times as many, where others keep the machine busy.
    """

    def __init__(
        self, work: Callable[[], float] = thread_time, wall: Callable[[], float] = perf_counter, part_s: float = PART_S
    ):
        self._work, self._wall, self._part_s, self._run_s = work, wall, part_s, RUN_S
        self._middle: Callable[[Sequence[float]], float] = median
        self._started = wall()
        self._began = work(), wall()
        self.runs = 0

    @property
    def seconds(self) -> float:
        """Since the first run."""
        return self._wall() - self._started

    def begin(self, *, elsewhere: bool = False, part_s: float | None = None, run_s: float = RUN_S) -> None:
        """A part begins.

        Args:
            elsewhere: another process does the work, so the time on the wall counts; and the least of the repeats,
                because whoever else is at work only adds to it.
            part_s: seconds that it has; None for as many as the last one.
            run_s: seconds after which its runs are not repeated.
        """
        if elsewhere:
            self._work, self._middle = self._wall, min
        self._part_s, self._run_s = self._part_s if part_s is None else part_s, run_s
        self._began = self._work(), self._wall()

    def warm_up(self, runs: Iterator[Callable[[], object]], round_s: float, most_s: float) -> None:
        """Runs that do not count, in rounds, until those of a round are hardly faster than those of the one before.

        Args:
            runs: without end.
            round_s: seconds on the wall of a round.
            most_s: seconds on the wall of all rounds.
        """
        started, before = self._wall(), inf
        while self._wall() - started < most_s:
            times: list[float] = []
            begun = self._wall()
            while not times or self._wall() - begun < round_s:
                run_at = self._wall()
                next(runs)()
                times.append(self._wall() - run_at)
            now = median(times)
            if now > WARM * before:
                return
            before = now

    def us(self, run: Callable[[], object]) -> float | None:
        """Microseconds of a run, the median of some, without a first one; None when the time is over."""
        begun = self._work()
        if begun - self._began[0] > self._part_s or self._wall() - self._began[1] > 4 * self._part_s:
            return None
        self.runs += 1
        run()
        times: list[float] = []
        while len(times) < MAX_REPEATS and (not times or self._work() - begun < self._run_s):
            before = self._work()
            run()
            times.append((self._work() - before) * 1e6)
        return self._middle(times)

    def slope(self, small: Callable[[], object], large: Callable[[], object], difference: float) -> float | None:
        """Microseconds for each unit that the large run has more than the small one; None where noise hides it."""
        few, many = self.us(small), self.us(large)
        return None if few is None or many is None or many <= few else (many - few) / difference
