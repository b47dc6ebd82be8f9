"""The search space of a model over some fields: the mapping of points to parameters, and the moves of the search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.config.model_parameters import ModelParameters
from hybridkg.errors import ParameterError
from hybridkg.evaluation.tuning.ranges import FIELD, LOG, MODEL, SHARE, Range, Stage
from hybridkg.evaluation.tuning.search import Point
from hybridkg.interfaces.ranking_model import RankingModel, ScoredField, ScoringTask
from hybridkg.text.models.mixture import DEFAULT_MU

DIGITS = 5
"""Significant digits of a learned number; rounding happens before evaluation."""


@dataclass(frozen=True)
class Coordinate:
    """One number of a point: its range and its field (empty for an argument of the model)."""

    range: Range
    field: str = ""


@dataclass(frozen=True)
class SearchSpace:
    """The search space of a model over some fields.

    Args:
        fields: the ON fields.
        fixed: arguments set by the user, which are not searched.
        coordinates: of all stages.
        start: the point of the default parameters.
        mu: default mu by field; under "", that of all fields as one text.
        per_field: whether fields have their own smoothing arguments.
    """

    model: str
    fields: tuple[str, ...]
    fixed: Mapping[str, float | str]
    coordinates: tuple[Coordinate, ...]
    start: Point
    mu: Mapping[str, float]
    per_field: bool

    def parameters(self, point: Point, pinned: Mapping[str, float]) -> ModelParameters:
        """The model's parameters at a point; `pinned` overrides arguments."""
        own: dict[str, float | str] = dict(self.fixed)
        fields: dict[str, dict[str, float]] = {name: {} for name in self.fields}
        for coordinate, value in zip(self.coordinates, point, strict=True):
            name = coordinate.range.name
            if coordinate.range.of == FIELD:
                fields[coordinate.field][name] = value
            elif coordinate.range.of == MODEL:
                own[name] = value
            elif self.per_field:
                for field, numbers in fields.items():
                    numbers[name] = _rounded(value * self.mu[field]) if value != 1 else self.mu[field]
            else:
                own[name] = _rounded(value * self.mu[""]) if value != 1 else self.mu[""]
        return ModelParameters(self.model, {**own, **pinned}, fields)


@dataclass(frozen=True)
class StageMoves:
    """The moves of one stage (a search.Moves).

    >>> names, text = (Coordinate(Range("weight", 0, 1, 0.2, SHARE), field) for field in ("names", "text"))
    >>> StageMoves((names, text), (0, 1), (3.0, 1.0)).moved((3.0, 1.0), 0, 0.5)
    (0.85, 0.15)
    """

    all: tuple[Coordinate, ...]
    places: tuple[int, ...]
    base: Point

    def coordinates(self) -> Sequence[int]:
        """Indexes of this stage's coordinates that can change."""
        shares = len(self._shares())
        return [place for place in self.places if self.all[place].range.scale != SHARE or shares > 1]

    def random(self, generator: np.random.Generator) -> Point:
        """A point uniform over each range on its scale; shares are uniform over the simplex."""
        point = list(self.base)
        for place in self.places:
            r = self.all[place].range
            if r.scale == SHARE:
                point[place] = float(generator.exponential())
            elif r.scale == LOG:
                point[place] = _rounded(math.exp(generator.uniform(math.log(r.low), math.log(r.high))))
            else:
                point[place] = _rounded(float(generator.uniform(r.low, r.high)))
        return self._whole(point)

    def moved(self, point: Point, coordinate: int, steps: float) -> Point:
        """The point with one coordinate moved by `steps` first steps, within its range; shares keep their sum."""
        r = self.all[coordinate].range
        if r.scale == SHARE:
            return self._share_moved(point, coordinate, steps * r.step)
        if r.scale == LOG:
            value = max(point[coordinate], r.low) * r.step**steps
        else:
            value = point[coordinate] + steps * r.step
        changed = _rounded(min(r.high, max(r.low, value)))
        return (*point[:coordinate], changed, *point[coordinate + 1 :])

    def _shares(self) -> list[int]:
        return [place for place in self.places if self.all[place].range.scale == SHARE]

    def _whole(self, point: list[float]) -> Point:
        places = self._shares()
        total = sum(point[place] for place in places)
        for place in places:
            point[place] = _rounded(point[place] / total) if total else _rounded(1 / len(places))
        return tuple(point)

    def _share_moved(self, point: Point, coordinate: int, amount: float) -> Point:
        new = list(self._whole(list(point)))
        share = min(1.0, max(0.0, new[coordinate] + amount))
        others = [place for place in self._shares() if place != coordinate]
        rest = sum(new[place] for place in others)
        for place in others:
            new[place] = new[place] / rest * (1 - share) if rest else (1 - share) / len(others)
        new[coordinate] = share
        moved = self._whole(new)
        # At the end of the range, a difference is only rounding.
        return point if moved[coordinate] == point[coordinate] else moved


def space_of(
    stages: Sequence[Stage],
    model: str,
    implementation: RankingModel,
    task: ScoringTask,
    fixed: Mapping[str, float | str],
) -> tuple[SearchSpace, tuple[tuple[Stage, StageMoves], ...]]:
    """The space of a model over the fields of a task, and its stages; ParameterError if all arguments are fixed."""
    smoothing = str(fixed.get("smoothing", "jm" if "lambda" in fixed else "dirichlet"))
    coordinates: list[Coordinate] = []
    places: list[list[int]] = []
    for stage in stages:
        own: list[int] = []
        for r in stage.ranges:
            if r.name in fixed or r.smoothing not in ("", smoothing):
                continue
            names = [f.name for f in task.fields] if r.of == FIELD else [""]
            own += range(len(coordinates), len(coordinates) + len(names))
            coordinates += [Coordinate(r, name) for name in names]
        places.append(own)
    if not coordinates:
        names = list(dict.fromkeys(r.name for stage in stages for r in stage.ranges))
        raise ParameterError(
            f"nothing is left to learn of {model!r}", hint=f"leave one of these open: {', '.join(names)}"
        )
    by_name = {f.name: f for f in task.fields}
    start = tuple(_start(c, by_name.get(c.field)) for c in coordinates)
    per_field = any(argument.name == "mu" for argument in implementation.field_arguments)
    space = SearchSpace(model, tuple(by_name), dict(fixed), tuple(coordinates), start, _default_mu(task), per_field)
    return space, tuple(
        (stage, StageMoves(space.coordinates, tuple(own), start))
        for stage, own in zip(stages, places, strict=True)
        if own
    )


def _start(coordinate: Coordinate, field: ScoredField | None) -> float:
    if field is None:
        return coordinate.range.start
    # `ordered` and `unordered` of a field default to its weight.
    return field.b if coordinate.range.name == "b" else field.weight


def _default_mu(task: ScoringTask) -> dict[str, float]:
    """Default mu of the mixture models: by field, and under "" for all fields as one text."""
    return {"": DEFAULT_MU, **{f.name: f.tokens / f.entities if f.entities else 1.0 for f in task.fields}}


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
