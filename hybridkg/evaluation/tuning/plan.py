"""The plan of trainings: one, or one for each category and fold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridkg.errors import ParameterError
from hybridkg.evaluation.tuning.folds import Fold


@dataclass(frozen=True)
class Training:
    """The topics of one model.

    Args:
        name: category and fold; empty for a single training.
        testing: test topics, disjoint over all trainings; empty without folds.
        category, fold: names; empty for all topics.
    """

    name: str
    training: tuple[str, ...]
    testing: tuple[str, ...] = ()
    category: str = ""
    fold: str = ""


def plan(
    topics: Sequence[str], folds: Sequence[Fold] | None, categories: Mapping[str, str] | None
) -> tuple[Training, ...]:
    """The trainings, by category in the order of the topics, then by fold.

    Raises:
        ParameterError: a topic has no category, or a fold has no training topic of a category.

    >>> fold = Fold("0", ("a", "b"), ("c",))
    >>> plan(["a", "b", "c"], [fold], {"a": "x", "b": "x", "c": "x"})
    (Training(name='x-0', training=('a', 'b'), testing=('c',), category='x', fold='0'),)
    """
    if categories is not None and (without := [topic for topic in topics if topic not in categories]):
        raise ParameterError(f"the topic {without[0]!r} has no category", hint="add it to the file of --by")
    groups = list(dict.fromkeys((categories or {}).get(topic, "") for topic in topics))
    trainings: dict[str, Training] = {}
    for group in groups:
        members = {topic for topic in topics if categories is None or categories[topic] == group}
        for fold in folds or (None,):
            training = tuple(t for t in topics if t in members and (fold is None or t in set(fold.training)))
            testing = tuple(t for t in topics if fold is not None and t in members and t in set(fold.testing))
            if fold is not None and not testing:
                continue
            parts = [part for part in (group, fold.name if fold else "") if part]
            if not training:
                raise ParameterError(f"nothing to train on for {' fold '.join(map(repr, parts))}")
            name = re.sub(r"[^\w.-]+", "_", "-".join(parts))
            while name in trainings:
                name += "_"
            trainings[name] = Training(name, training, testing, group, fold.name if fold else "")
    return tuple(trainings.values())
