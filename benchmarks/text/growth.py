"""Cost against the size of the collection at six sizes, and the exponent of each: cost ~ size ** exponent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.text import latency, ours
from benchmarks.text.phases import build_one
from benchmarks.text.queries import BANDS, TERMS
from benchmarks.text.session import Session, say


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms.

    >>> exponent([1, 2, 4], [3, 12, 48])
    2.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(costs), 1)[0]), 3)


def measure(session: Session) -> None:
    """Builds where no phase has built, and asks bm25f's best 10 of each band."""
    points: dict[str, dict[str, float]] = {}
    for entities in session.growth:
        folder = session.folder(ours.FIVE, entities)
        # Of other sizes only the build phase of this run is trusted: an index left by older code says nothing.
        built = session.part(f"build-five-{entities}") if entities in session.sizes and folder.exists() else None
        if not built or "build_s" not in built:
            built = build_one(session, entities, ours.FIVE)
        point = {key: built[key] for key in ("build_s", "bytes", "bytes_per_posting_without_positions") if key in built}
        cells = session.cells(entities, (10,))
        runs = []
        for _ in range(2):
            answer, _ = session.run(
                "asking", single=True, engine="bm25f", folder=str(folder), cells=str(cells),
                skipped=[], budget_s=session.budget_s, again=False,
            )  # fmt: skip
            runs.append({cell: found["first"] for cell, found in (answer or {"bm25f": {}})["bm25f"].items()})
        times: latency.Times = {
            "bm25f": {cell: {"first": [run[cell] for run in runs if cell in run]} for cell in runs[0]}
        }
        medians = {cell: found["bm25f"]["first"][0] for cell, found in latency.summary(times).items()}
        for band in BANDS:
            own = [math.log(medians[f"{terms} {band} 10"]) for terms in TERMS if f"{terms} {band} 10" in medians]
            if own:
                point[f"{band}_ms"] = round(math.exp(sum(own) / len(own)), 4)
        points[str(entities)] = point
        say(f"growth {entities}: {point}")
    names = list(next(iter(points.values())))
    complete = [name for name in names if all(name in point for point in points.values())]
    exponents = {
        name: exponent(list(map(float, points)), [point[name] for point in points.values()]) for name in complete
    }
    session.keep("growth", {"points": points, "exponents": exponents})
    say(f"growth exponents: {exponents}")
