"""From the lines of processes to a median for each engine, question and mode, and whether the answers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from benchmarks.relational.tasks import FIRST, FRESH

Table = dict[str, dict[str, dict[str, float]]]
"""Question, engine, mode: milliseconds."""


def medians(parts: Mapping[str, Iterable[Mapping[str, Any]]]) -> Table:
    """Medians over repetitions and passes.

    >>> lines = [{"name": "a", "mode": "fresh", "ms": 1.0}, {"name": "a", "mode": "fresh", "ms": 3.0}]
    >>> medians({"x": lines})
    {'a': {'x': {'fresh': 2.0}}}
    """
    times: dict[tuple[str, str, str], list[float]] = {}
    for engine, lines in parts.items():
        for line in lines:
            if "ms" in line:
                times.setdefault((line["name"], engine, line["mode"]), []).append(line["ms"])
    found: Table = {}
    for (name, engine, mode), own in times.items():
        found.setdefault(name, {}).setdefault(engine, {})[mode] = round(float(np.median(own)), 4)
    return found


def disagreements(parts: Mapping[str, Iterable[Mapping[str, Any]]]) -> tuple[int, list[str]]:
    """Answers that were compared with another engine's, and what differs from most of them.

    The same pass and repetition has the same constants for every engine, so equal digests.

    >>> line = {"name": "a", "mode": "fresh", "repetition": 1, "pass": 0, "rows": 2}
    >>> disagreements({"x": [{**line, "digest": "1"}], "y": [{**line, "digest": "1"}], "z": [{**line, "digest": "2"}]})
    (1, ['a, repetition 1: z (2 rows) differs from x, y (2 rows)'])
    """
    answers: dict[tuple[str, int, int], dict[str, tuple[str, int]]] = {}
    for engine, lines in parts.items():
        for line in lines:
            if line.get("mode") in (FIRST, FRESH) and line.get("digest"):
                key = line["name"], line.get("pass", 0), line["repetition"]
                answers.setdefault(key, {})[engine] = line["digest"], line["rows"]
    compared, found = 0, list[str]()
    for (name, _, repetition), own in answers.items():
        if len(own) < 2:
            continue
        compared += 1
        (most, size), _ = Counter(own.values()).most_common(1)[0]
        agreeing = ", ".join(engine for engine, (digest, _) in own.items() if digest == most)
        found += [
            f"{name}, repetition {repetition}: {engine} ({rows} rows) differs from {agreeing} ({size} rows)"
            for engine, (digest, rows) in own.items()
            if digest != most
        ]
    return compared, found


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of the least-squares line through the logarithms.

    >>> exponent([1, 10], [2.0, 20.0])
    1.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(times), 1)[0]), 3)
