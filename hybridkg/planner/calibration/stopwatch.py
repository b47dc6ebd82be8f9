"""Stopwatch for repeated runs within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from statistics import median
from time import perf_counter, thread_time

PART_S = 0.3
"""Seconds after which no run of a part (graph, store, text) starts: less than one in total."""

RUN_S = 0.03
"""Seconds after which a run is not repeated."""

MAX_REPEATS = 7
"""Maximum repeats of one run."""

WARM = 0.9
"""Ratio to the time of the previous round above which a server counts as warm."""


class Stopwatch:
    """Stopwatch for repeated runs, until the time budget of a part is spent.

    Args:
        work: clock of the measured work, in seconds.
        wall: wall clock, in seconds.
        part_s: budget of a part; four times as much in wall time, because other processes may keep the machine busy.
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
        """Seconds since creation."""
        return self._wall() - self._started

    def begin(self, *, remote: bool = False, part_s: float | None = None, run_s: float = RUN_S) -> None:
        """Start of a part with a time budget. If `remote`, another process does the work: wall time counts, and
        the minimum of the repeats, because other load only adds.
        """
        if remote:
            self._work, self._middle = self._wall, min
        self._part_s, self._run_s = self._part_s if part_s is None else part_s, run_s
        self._began = self._work(), self._wall()

    def warm_up(self, runs: Iterator[Callable[[], object]], round_s: float, most_s: float) -> None:
        """Unmeasured runs in rounds of `round_s` wall seconds, for at most `most_s`, until a round is hardly faster
        than the one before. `runs` is endless.
        """
        started, before = self._wall(), inf
        while self._wall() - started < most_s:
            times: list[float] = []
            round_start = self._wall()
            while not times or self._wall() - round_start < round_s:
                run_at = self._wall()
                next(runs)()
                times.append(self._wall() - run_at)
            now = median(times)
            if now > WARM * before:
                return
            before = now

    def us(self, run: Callable[[], object]) -> float | None:
        """Microseconds of a run, the median of several after a first one; None when the budget is spent."""
        run_start = self._work()
        if run_start - self._began[0] > self._part_s or self._wall() - self._began[1] > 4 * self._part_s:
            return None
        self.runs += 1
        run()
        times: list[float] = []
        while len(times) < MAX_REPEATS and (not times or self._work() - run_start < self._run_s):
            before = self._work()
            run()
            times.append((self._work() - before) * 1e6)
        return self._middle(times)

    def slope(self, small: Callable[[], object], large: Callable[[], object], difference: float) -> float | None:
        """Microseconds for each additional unit of the large run; None if noise hides the difference."""
        few, many = self.us(small), self.us(large)
        return None if few is None or many is None or many <= few else (many - few) / difference
