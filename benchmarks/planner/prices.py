"""What each kind of counted work takes, fitted to all runs: the unit costs that the timed runs themselves ask for.

Non-negative least squares of relative errors. The counts of a plan hang together (who scores a candidate has asked a
question before), so single prices are uncertain where two kinds nearly always come together; the machine's own load is
in all of them alike. A price that is far from its default, in proportion to the others, is worth a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.planner.measure import Measured
from hybridkg.planner.cost_model import PRICES, CostModel

ROUNDS = 10
STEPS = 400
Floats = NDArray[np.float64]


def fitted(found: Sequence[Measured], cost: CostModel) -> dict[str, dict[str, Any]]:
    """By kind: the unit cost that holds, that of the fit, and how often the kind was counted."""
    runs = [run for one in found for run in one.forced.values()]
    kinds = sorted({kind for run in runs for kind in run.counts} & PRICES.keys())
    counts = np.array([[run.counts.get(kind, 0) for kind in kinds] for run in runs], float)
    us = np.array([run.ms * 1e3 for run in runs])
    prices = relative_fit(counts, us)
    return {
        kind: {
            "us": getattr(cost, PRICES[kind]),
            "fitted_us": float(f"{price:.3g}"),
            "runs": int((column > 0).sum()),
        }
        for kind, price, column in zip(kinds, prices.tolist(), counts.T, strict=True)
    }


def relative_fit(counts: Floats, us: Floats) -> Floats:
    """Non-negative prices whose sums are near the times, by ratio.

    >>> counts = np.array([[1.0, 0.0], [1.0, 10.0], [2.0, 100.0]])
    >>> relative_fit(counts, counts @ np.array([50.0, 2.0])).round(3).tolist()
    [50.0, 2.0]
    """
    weight = 1.0 / us
    prices = np.zeros(counts.shape[1])
    for _ in range(ROUNDS):
        prices = _not_negative(counts * weight[:, None], us * weight)
        made = np.maximum(counts @ prices, 1e-9)
        weight = 1.0 / np.sqrt(us * made)  # an error by a factor counts the same upwards and downwards
    return prices


def _not_negative(a: Floats, b: Floats) -> Floats:
    """min |a x - b| with x >= 0, one coordinate after the other."""
    scale = np.sqrt((a * a).sum(axis=0))
    scale[scale == 0] = 1.0
    a = a / scale
    gram, right = a.T @ a, a.T @ b
    x = np.zeros(a.shape[1])
    for _ in range(STEPS):
        for i in range(len(x)):
            x[i] = max(0.0, x[i] + (right[i] - gram[i] @ x) / max(gram[i, i], 1e-12))
    return np.asarray(x / scale)
