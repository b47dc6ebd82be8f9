"""Latencies of all engines in one run: passes over the engines, each engine in a fresh process on one core.

A question's time is from its text to ids and scores, as the engine's own
Python interface gives them. Each process first asks other questions of the
same cells (`before`), so files are in the page cache and kernels are loaded;
then every text is asked for the first time. A question's figure is the median
of its first times over the passes, a cell's P50 and P99 are over its questions.
In the first pass each cell is asked once more: `again`, what an engine's cache
of whole questions would change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.text import ours
from benchmarks.text.session import Session, say

PASSES_OF = {"fsdm": 1, "bm25": 1, "lm": 2, "mlm": 2, "bm25s": 2, "flat bm25f": 2}
"""Passes that an engine takes part in, where there are more; bm25s compiles 15 s in every process."""

Times = dict[str, dict[str, dict[str, list[list[float]]]]]
"""Engine, cell, `first` or `again`: milliseconds by pass and question."""


def contenders(session: Session, entities: int) -> list[tuple[str, str, str]]:
    """(prefix of the name in the result, engine of the task, folder) of those that have an index."""
    five, flat = session.folder(ours.FIVE, entities), session.folder(ours.FLAT, entities)
    tantivy, bm25s = session.folder("tantivy", entities), session.folder("bm25s", entities)
    wanted = [
        ("", "bm25f", five),
        ("", "tantivy parsed", tantivy),
        ("", "tantivy flat", tantivy),
        *(("", model, five) for model in ours.MODELS[1:]),
        ("flat ", "bm25f", flat),
        ("", "bm25s", bm25s),
    ]
    missing = sorted({folder.name for _, _, folder in wanted if not folder.exists()})
    if missing:
        say(f"latency {entities}: no index {', '.join(missing)}; left out")
    return [(prefix, engine, str(folder)) for prefix, engine, folder in wanted if folder.exists()]


def measure(session: Session, entities: int) -> None:
    """All passes over all engines at one size."""
    times: Times = {}
    slow: set[str] = set()
    failed: dict[str, str] = {}
    best: dict[str, list[list[int]]] = {}
    for number in range(session.passes):
        for prefix, engine, folder in contenders(session, entities):
            if number >= PASSES_OF.get(prefix + engine, session.passes):
                continue
            skipped = [cell.removeprefix(prefix) for cell in slow if cell.startswith(prefix + engine)]
            answer, went = session.run(
                "asking", single=True, engine=engine, folder=folder, cells=str(session.cells(entities)),
                skipped=skipped, budget_s=session.budget_s, again=number == 0,
            )  # fmt: skip
            say(f"latency {entities}, pass {number + 1}, {prefix}{engine}: {went.wall_s} s")
            if answer is None:
                failed[prefix + engine] = f"exit code {went.code}"
            for way, cells in (answer or {}).items():
                for cell, found in cells.items():
                    own = times.setdefault(prefix + way, {}).setdefault(cell, {"first": [], "again": []})
                    own["first"].append(found["first"])
                    own["again"].extend([found["again"]] if found["again"] else [])
                    best.setdefault(prefix + way, []).extend(found["best"])
                    if sum(found["first"]) > session.budget_s * 900:
                        slow.add(f"{prefix}{way} {cell}")
        figures = {"cells": summary(times), "failed": failed, "same_ids": agreement(best), "passes": number + 1}
        session.keep(f"latency-{entities}", figures)


def agreement(best: dict[str, list[list[int]]]) -> dict[str, float]:
    """For pairs of engines that rank by nearly the same formula: the mean share of common ids among the best 10."""
    found = {}
    for a, b in (("tantivy parsed", "tantivy flat"), ("flat bm25f", "bm25s"), ("bm25f", "tantivy flat")):
        shares = [
            len(set(x) & set(y[: len(x)])) / len(x) for x, y in zip(best.get(a, ()), best.get(b, ()), strict=False) if x
        ]
        if shares:
            found[f"{a}, {b}"] = round(float(np.mean(shares)), 3)
    return found


def summary(times: Times) -> dict[str, dict[str, dict[str, Any]]]:
    """Cell, engine: P50 and P99 in ms of the first and of the second asking, and how many questions."""
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for engine, by_cell in times.items():
        for cell, found in by_cell.items():
            figures: dict[str, Any] = {"questions": 0}
            for which, runs in found.items():
                if runs:
                    shortest = min(map(len, runs))
                    medians = np.median([run[:shortest] for run in runs], axis=0)
                    p50, p99 = np.percentile(medians, [50, 99])
                    figures[which] = [round(float(p50), 4), round(float(p99), 4)]
                    figures["questions"] = figures["questions"] or shortest
            cells.setdefault(cell, {})[engine] = figures
    return cells
