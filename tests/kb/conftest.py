"""A clock that tests put forward, and the queries that have begun: no test of a time limit waits for a time to pass."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hybridkg.kb import cancellation
from hybridkg.kb.query_run import QueryRun


class Clock:
    """The clock of queries; `ahead` says by how many seconds it is put forward."""

    def __init__(self) -> None:
        self.ahead: Callable[[], float] = lambda: 0.0

    def seconds(self) -> float:
        return time.monotonic() + self.ahead()


class Runs:
    """The queries that have begun."""

    def __init__(self) -> None:
        self.begun: list[QueryRun] = []

    def is_at_work(self) -> bool:
        """Whether an operator of the last one is at work."""
        return bool(self.begun and self.begun[-1].context.doing())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("interfaces.meter", "kb.cancellation", "kb.query_run"):
        monkeypatch.setattr(f"hybridkg.{module}.monotonic", clock.seconds)
    return clock


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    def entered(run: QueryRun) -> QueryRun:
        runs.begun.append(run)
        return enter(run)

    runs, enter = Runs(), QueryRun.__enter__
    monkeypatch.setattr(QueryRun, "__enter__", entered)
    return runs


@pytest.fixture
def late_at_work(clock: Clock, runs: Runs) -> None:
    """A query with a time limit below 1,000 s is over it as soon as an operator is at work."""
    clock.ahead = lambda: 1000.0 * runs.is_at_work()


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped work gets a minute to end."""
    monkeypatch.setattr(cancellation, "PATIENCE_S", 60)
