"""What use teaches of unit costs: each is corrected by what pieces of work took that consist of it.

A prediction is a sum of parts, one for each kind of counted work. Where it was wrong by a factor, each part is blamed
by its share: a question for the best of 2 million postings says something of postings, one for a rare word of
questions. This is the normalised least-mean-squares rule (Widrow and Hoff, 1960) on the logarithms of the costs: one
piece of work of one part moves it by WEIGHT of the error, of many parts moves all of them so that their sum does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite, log

from hybridkg.interfaces.meter import Lesson
from hybridkg.planner.cost_model import FARTHEST, PRICES, CostModel

WEIGHT = 0.1
"""Of the error of one piece of work that is corrected at once: the mean of about the last 20."""

SURPRISE = 4.0
"""A piece of work that took more times what was predicted, or less than the inverse, counts as this: an interruption
or a first time moves a cost by a seventh at most."""

LEAST_US = 20.0
"""Work that should take less teaches nothing: calling it is most of it. What it took does not matter here, or costs
would be drawn to the noise."""

LEAST_SHARE = 0.1
"""Of a prediction that a unit cost must have in order to be corrected by it."""


@dataclass(frozen=True)
class Refinement:
    """What use has taught of one unit cost: times so much, as so many pieces of work say."""

    factor: float = 1.0
    runs: int = 0


NOTHING = Refinement()


def refine(refined: dict[str, Refinement], lesson: Lesson, model: CostModel) -> bool:
    """Corrects the unit costs that a piece of work consists of; whether it taught anything.

    Args:
        refined: what is known by now, by name of the unit cost; changed in place.
        lesson: the piece of work.
        model: the unit costs without refinement.

    >>> known = {}
    >>> refine(known, Lesson({"postings": 10_000}, 200.0), CostModel(us_per_posting=0.01))
    True
    >>> {name: (round(one.factor, 4), one.runs) for name, one in known.items()}  # 2 ** 0.1
    {'us_per_posting': (1.0718, 1)}
    """
    parts = parts_of(lesson.work, model, refined)
    predicted = sum(parts.values())
    if not (LEAST_US <= predicted < float("inf") and lesson.us > 0 and isfinite(lesson.us)):
        return False
    error = log(min(max(lesson.us / predicted, 1 / SURPRISE), SURPRISE))
    shares = {name: part / predicted for name, part in parts.items() if part >= LEAST_SHARE * predicted}
    step = WEIGHT * error / sum(share * share for share in shares.values())
    for name, share in shares.items():
        before = refined.get(name, NOTHING)
        factor = before.factor * exp(step * share)
        refined[name] = Refinement(min(max(factor, 1 / FARTHEST), FARTHEST), before.runs + 1)
    return True


def parts_of(work: Mapping[str, int], model: CostModel, refined: Mapping[str, Refinement]) -> dict[str, float]:
    """Predicted microseconds of some work, by name of the unit cost; kinds without a price are free."""
    return {
        (name := PRICES[kind]): getattr(model, name) * refined.get(name, NOTHING).factor * n
        for kind, n in work.items()
        if kind in PRICES
    }
