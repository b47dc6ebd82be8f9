"""A server is asked until it gets no faster."""

from __future__ import annotations

from itertools import cycle
from types import SimpleNamespace

import pytest

from hybridkg.planner.calibration import remote_calibration
from hybridkg.planner.calibration.stopwatch import Stopwatch


@pytest.mark.parametrize(
    ("durations", "asked"),
    [
        ([0.1] * 100, 10),  # as fast at once: two rounds of five
        ([0.1] * 5 + [0.05] * 100, 25),  # 5 slow ones, 10 fast ones, and 10 as fast
        ([0.1 * 0.99**i for i in range(500)], 12),  # a little faster each time is as good as warm
        ([0.1] * 5 + [0.05] * 10 + [0.02] * 100, 65),
        ([10.0 * 0.5**i for i in range(500)], 1),  # one question takes longer than all rounds may
    ],
)
def test_warm_up_ends_when_nothing_gets_faster(durations, asked):
    now, left, count = [0.0], iter(durations), [0]

    def run():
        now[0] += next(left)
        count[0] += 1

    watch = Stopwatch(work=lambda: now[0], wall=lambda: now[0])
    watch.warm_up(cycle([run]), 0.4999, 8.0)
    assert count[0] == asked


def test_warm_up_has_an_end_where_it_always_gets_faster():
    now, count = [0.0], [0]

    def run():
        count[0] += 1
        now[0] += 0.25 / 1.2 ** (now[0] / 0.5)

    Stopwatch(work=lambda: now[0], wall=lambda: now[0]).warm_up(cycle([run]), 0.5, 3.0)
    assert 3.0 <= now[0] < 3.6


def test_the_way_to_an_endpoint_is_as_long_as_its_quickest_answer_took(monkeypatch):
    now, durations = [0.0], iter([0.02] * 20 + [0.002, 0.018, *[0.018] * 500])

    class Slow:
        def select(self, sparql):
            now[0] += next(durations)
            return SimpleNamespace(rows=[])

    monkeypatch.setattr(remote_calibration, "perf_counter", lambda: now[0])
    watch = Stopwatch(work=lambda: now[0], wall=lambda: now[0])
    ((name, us),) = remote_calibration.calibrate_remote_store(Slow(), watch)
    assert name == "us_per_store_question"
    assert us == pytest.approx(2_000.0)
