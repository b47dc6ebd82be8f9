"""What use teaches of unit costs: each is corrected by what pieces of work took that consist of it.

A prediction is a sum of parts, one for each kind of counted work. Where it was wrong by a factor, each part is blamed
by its share: a question for the best of 2 million postings says something of postings, one for a rare word of
questions. This is the normalised least-mean-squares rule (Widrow and Hoff, 1960) on the logarithms of the costs: one
piece of work of one part moves it by `weight` of the error, of many parts moves all of them so that their sum does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite, log

from hybridkg.interfaces.meter import ROWS, Lesson
from hybridkg.planner.cost_model import FARTHEST, PRICES, CostModel

FIRST_WEIGHT, LAST_WEIGHT = 0.1, 0.02
"""Of the error of one piece of work that is corrected at once: at first, and when many have been seen. Pieces of work
of one kind scatter by a factor of 2 around what is predicted; the mean of the last 100 scatters by a tenth."""

TRUST = 3.0
"""After n pieces of work the weight is TRUST / n between these two: later ones count for more than the first."""

SURPRISE = 4.0
"""A piece of work that took more times what was predicted, or less than the inverse, counts as this: an interruption
or a first time moves a cost by a seventh at most."""

LEAST_US = 20.0
"""Work that should take less, before any refinement, teaches nothing: calling it is most of it. What it took, and what
use has taught, do not matter here, or costs would be drawn to what is selected."""

FEW_ROWS = 64
"""Fewer rows of terms teach nothing either: what they have in common has no price of its own."""

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
    plain = parts_of(lesson.work, model)
    worth_it = sum(plain.values()) >= LEAST_US and lesson.work.get(ROWS, FEW_ROWS) >= FEW_ROWS
    if not (worth_it and lesson.us > 0 and isfinite(lesson.us)):
        return False
    parts = {name: us * refined.get(name, NOTHING).factor for name, us in plain.items()}
    predicted = sum(parts.values())
    error = log(min(max(lesson.us / predicted, 1 / SURPRISE), SURPRISE))
    shares = {name: part / predicted for name, part in parts.items() if part >= LEAST_SHARE * predicted}
    error /= sum(share * share for share in shares.values())
    for name, share in shares.items():
        before = refined.get(name, NOTHING)
        factor = before.factor * exp(weight(before.runs) * error * share)
        refined[name] = Refinement(min(max(factor, 1 / FARTHEST), FARTHEST), before.runs + 1)
    return True


def weight(runs: int) -> float:
    """Of the next piece of work, after some.

    >>> weight(0), weight(59), weight(10_000)
    (0.1, 0.05, 0.02)
    """
    return min(FIRST_WEIGHT, max(LAST_WEIGHT, TRUST / (runs + 1)))


def parts_of(work: Mapping[str, int], model: CostModel) -> dict[str, float]:
    """Predicted microseconds of some work, by name of the unit cost; kinds without a price are free."""
    return {(name := PRICES[kind]): getattr(model, name) * n for kind, n in work.items() if kind in PRICES}
