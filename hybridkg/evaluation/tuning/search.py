"""Coordinate ascent: one parameter at a time, as far as it helps, with restarts and shrinking steps.

From a start, the coordinates are visited in a random order. Each is moved by its step, up or down, and further by
doubled steps as long as the value grows. When a round over all of them finds nothing, every step is halved, until
they are a sixteenth of the first. The best point over all starts is the answer; the value never falls on the way.

Source: Metzler and Croft, "Linear feature-based models for information retrieval" (2007), as RankLib and Galago have
it (random restarts, random order, growing steps); the halving is ours, for their smallest step stays the same for
every parameter. Nothing here knows what is maximised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Point = tuple[float, ...]

HALVINGS = 4
"""Times that the steps are halved."""

MIN_GAIN = 1e-7
"""A smaller one is none: means of the same values in another order differ by less."""

MAX_ROUNDS = 200
"""Rounds of one restart; some 15 are usual."""


class Moves(Protocol):
    """The space that is searched."""

    def random(self, generator: np.random.Generator) -> Point:
        """A point anywhere in the space."""

    def coordinates(self) -> Sequence[int]:
        """Places in a point that may change."""

    def moved(self, point: Point, coordinate: int, steps: float) -> Point:
        """The point with one coordinate moved by some of its first steps, inside its range; others may give way."""


@dataclass(frozen=True)
class Climb:
    """One restart.

    Args:
        point: where it ended.
        value: there.
        path: the value at the start and after each move that was kept, ascending.
    """

    point: Point
    value: float
    path: tuple[float, ...]


@dataclass(frozen=True)
class Ascent:
    """The climbs from all starts; the first among equals is the best."""

    climbs: tuple[Climb, ...]

    @property
    def best(self) -> Climb:
        """The climb with the highest value."""
        return max(self.climbs, key=lambda climb: climb.value)


def ascend(
    objective: Callable[[Point], float],
    moves: Moves,
    start: Point,
    *,
    restarts: int = 5,
    seed: int = 0,
    after: Callable[[], None] = lambda: None,
) -> Ascent:
    """Maximises a function of a point.

    Args:
        objective: the function; it should remember, for points come again.
        moves: the space.
        start: where the first climb starts; the others start at random.
        restarts: climbs in all, at least 1. The first r of more are those of r.
        seed: of the random starts and orders, at least 0.
        after: called after each climb.

    >>> class Line:
    ...     def random(self, generator): return (float(generator.uniform(-9, 9)),)
    ...     def coordinates(self): return [0]
    ...     def moved(self, point, coordinate, steps): return (point[0] + steps,)
    >>> ascend(lambda point: -(point[0] - 3) ** 2, Line(), (0.0,), restarts=1).best.point
    (3.0,)
    """
    climbs = []
    for restart in range(restarts):
        generator = np.random.default_rng([seed, restart])
        climbs.append(climb(objective, moves, start if restart == 0 else moves.random(generator), generator))
        after()
    return Ascent(tuple(climbs))


def climb(objective: Callable[[Point], float], moves: Moves, start: Point, generator: np.random.Generator) -> Climb:
    """One climb from a start."""
    point, value = start, objective(start)
    path = [value]
    size = 1.0
    coordinates = np.array(moves.coordinates(), np.int64)
    for _ in range(MAX_ROUNDS):
        before = value
        for coordinate in generator.permutation(coordinates).tolist():
            for direction in (1.0, -1.0):
                found, best, kept = _line(objective, moves, point, value, coordinate, direction * size)
                if kept:
                    point, value = found, best
                    path += kept
                    break
        if value <= before:
            size /= 2
            if size < 0.5**HALVINGS:
                break
    return Climb(point, value, tuple(path))


def _line(
    objective: Callable[[Point], float], moves: Moves, point: Point, value: float, coordinate: int, steps: float
) -> tuple[Point, float, list[float]]:
    """As far in one direction as each doubled step improves: the point, its value, and the values on the way."""
    kept: list[float] = []
    while True:
        candidate = moves.moved(point, coordinate, steps)
        if candidate == point:
            return point, value, kept
        reached = objective(candidate)
        if reached < value + MIN_GAIN:
            return point, value, kept
        point, value = candidate, reached
        kept.append(value)
        steps *= 2
