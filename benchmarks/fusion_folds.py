"""Learns which of some points ranks best, inside folds only: no topic has a say in the point that ranks it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from hybridkg.evaluation.tuning.folds import Fold

P = TypeVar("P", bound=Hashable)

Values = Mapping[P, Mapping[str, float]]
"""point -> topic -> what a measure says of it, the more the better."""


def chosen(values: Values[P], folds: Sequence[Fold]) -> dict[str, P]:
    """For each fold, by its name, the point with the greatest mean over the training topics; of equals the first.

    >>> values = {"a": {"1": 0.0, "2": 1.0}, "b": {"1": 0.5, "2": 0.0}}
    >>> chosen(values, [Fold("0", ("1",), ("2",)), Fold("1", ("2",), ("1",))])
    {'0': 'b', '1': 'a'}
    """
    return {fold.name: max(values, key=lambda point: _mean(values[point], fold.training)) for fold in folds}


def by_topic(points: Mapping[str, P], folds: Sequence[Fold]) -> dict[str, P]:
    """The point that ranks each topic: that of the fold which tests it."""
    return {topic: points[fold.name] for fold in folds for topic in fold.testing}


def _mean(values: Mapping[str, float], topics: Sequence[str]) -> float:
    # Rounded, so that points that rank every topic alike are equal in whatever order their values are added.
    return round(sum(values[topic] for topic in topics) / len(topics), 12)
