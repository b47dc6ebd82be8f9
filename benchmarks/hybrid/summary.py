"""From the rows of processes to milliseconds per question, percentiles, and how many answers were right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Times = dict[int, float]
"""Milliseconds by number of the question."""


def by_question(runs: Sequence[Mapping[str, Any] | None], which: str = "first") -> Times:
    """Of each question: for each spelling the median over the processes, then the quickest spelling."""
    found: dict[int, dict[str, list[float]]] = {}
    for run in runs:
        for number, row in run["questions"].items() if run else ():
            for spelling, went in row[which].items():
                found.setdefault(int(number), {}).setdefault(spelling, []).append(went)
    return {number: min(float(np.median(own)) for own in by.values()) for number, by in found.items()}


def percentiles(times: Sequence[float]) -> tuple[float, float]:
    """P50 and P99; (nan, nan) of nothing.

    >>> percentiles([1.0, 2.0, 3.0])
    (2.0, 2.98)
    """
    if not times:
        return float("nan"), float("nan")
    p50, p99 = np.percentile(times, [50, 99])
    return round(float(p50), 3), round(float(p99), 3)


def answers(run: Mapping[str, Any] | None) -> dict[str, Any]:
    """How many answers were right in every spelling, and how many had which fault in some."""
    rows = list(run["questions"].values()) if run else []
    wrong: Counter[str] = Counter()
    right = failed = short = missing = 0
    for row in rows:
        own = {fault for faults in row["faults"].values() for fault in faults}
        wrong.update(own)
        right += not own and bool(row["faults"])
        failed += not row["faults"]
        if row["returned"]:
            returned = min(row["returned"].values())
            wanted = min(row["true"], row["k"])
            short += returned < wanted
            missing += max(0, wanted - returned)
    scored = sum(bool(row["own"]) for row in rows)
    return {
        "questions": len(rows), "right": right, "failed": failed, "short": short, "rows_missing": missing,
        "own_scores_checked": scored, "faults": dict(wrong),
    }  # fmt: skip


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """The slope of the least-squares line through the logarithms; None where a cost is 0.

    >>> exponent([1, 2, 4], [3, 12, 48])
    2.0
    """
    if min(costs) <= 0:
        return None
    return round(float(np.polyfit(np.log(sizes), np.log(costs), 1)[0]), 3)
