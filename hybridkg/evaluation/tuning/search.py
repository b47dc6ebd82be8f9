"""Coordinate ascent with random restarts, doubling steps and step halving.

Each round visits the coordinates in random order, and moves each by its step, up or down, then by doubled steps while
the value grows. A round without a gain halves all steps, down to a sixteenth. The best point over all starts wins.

Source: Metzler and Croft, "Linear feature-based models for information retrieval" (2007), as in RankLib and Galago
(random restarts, random order, growing steps); the halving is ours, as their smallest step is equal for all parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Point = tuple[float, ...]

HALVINGS = 4
"""Maximum halvings of the steps."""

MIN_GAIN = 1e-7
"""Minimum gain; means of equal values in another order differ by less."""

MAX_ROUNDS = 200
"""Maximum rounds of a climb; about 15 are usual."""


class Moves(Protocol):
    """The search space."""

    def random(self, generator: np.random.Generator) -> Point:
        """A random point."""

    def coordinates(self) -> Sequence[int]:
        """Indexes of the coordinates that can change."""

    def moved(self, point: Point, coordinate: int, steps: float) -> Point:
        """The point with one coordinate moved by a multiple of its first step, within its range; others may adapt."""


@dataclass(frozen=True)
class Climb:
    """The climb from one start.

    Args:
        point: its end.
        value: at `point`.
        path: the value at the start and after each accepted move, ascending.
    """

    point: Point
    value: float
    path: tuple[float, ...]


@dataclass(frozen=True)
class Ascent:
    """The climbs from all starts."""

    climbs: tuple[Climb, ...]

    @property
    def best(self) -> Climb:
        """The first climb with the highest value."""
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
        objective: the function; points repeat, so it should cache values.
        moves: the space.
        start: of the first climb; the others start at random points.
        restarts: number of climbs, at least 1; climb r does not depend on their number.
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
    point, value = start, objective(start)
    path = [value]
    size = 1.0
    coordinates = np.array(moves.coordinates(), np.int64)
    for _ in range(MAX_ROUNDS):
        before = value
        for coordinate in generator.permutation(coordinates).tolist():
            for direction in (1.0, -1.0):
                end, best, values = _line(objective, moves, point, value, coordinate, direction * size)
                if values:
                    point, value = end, best
                    path += values
                    break
        if value <= before:
            size /= 2
            if size < 0.5**HALVINGS:
                break
    return Climb(point, value, tuple(path))


def _line(
    objective: Callable[[Point], float], moves: Moves, point: Point, value: float, coordinate: int, steps: float
) -> tuple[Point, float, list[float]]:
    """Line search with doubling steps: (point, value, values after each accepted step)."""
    values: list[float] = []
    while True:
        candidate = moves.moved(point, coordinate, steps)
        if candidate == point:
            return point, value, values
        reached = objective(candidate)
        if reached < value + MIN_GAIN:
            return point, value, values
        point, value = candidate, reached
        values.append(value)
        steps *= 2
