"""Recipes of encoder trainings: named settings, each of which `--fixed NAME=VALUE` replaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from hybridkg.errors import ParameterError, UnknownNameError
from hybridkg.registry import did_you_mean
from hybridkg.vector.training.schedule import OptimizerSettings


@dataclass(frozen=True)
class EncoderRecipe:
    """Settings of a training.

    Args:
        epochs, rate, warmup, decay, clip: of the optimizer (vector/training/schedule.py).
        batch: questions of a step.
        tokens: of a text that are read; 0 for the model's limit.
        scale: factor of the cosine.
        mined: hard negatives of a question and epoch, by the live model.
        bm25: those that BM25 finds.
        depth: rows of a ranking from which negatives are drawn.
    """

    epochs: int = 3
    rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    batch: int = 64
    tokens: int = 0
    scale: float = 20.0
    mined: int = 0
    bm25: int = 0
    depth: int = 100

    def optimizer(self, seed: int) -> OptimizerSettings:
        return OptimizerSettings(self.epochs, self.rate, self.warmup, self.decay, self.clip, seed)


RANGES: Mapping[str, tuple[float, float]] = {
    "epochs": (1, 10_000),
    "rate": (1e-9, 10.0),
    "warmup": (0.0, 1.0),
    "decay": (0.0, 1.0),
    "clip": (0.0, math.inf),
    "batch": (2, 100_000),
    "tokens": (0, 100_000),
    "scale": (1e-3, 1e4),
    "mined": (0, 100),
    "bm25": (0, 100),
    "depth": (1, 10_000),
}
"""Lowest and highest value of each setting."""

RECIPES: Mapping[str, EncoderRecipe] = {
    "small": EncoderRecipe(),
    "paper": EncoderRecipe(epochs=30, rate=2e-5, batch=512),
}
"""Settings for a transformer: `small` takes minutes on a CPU, `paper` is that of DiFaR."""

STATIC: Mapping[str, float] = {"epochs": 20, "rate": 0.01, "decay": 0.0}
"""Settings of the recipe `small` for a table of token vectors, each of which few questions change."""

METHODS: Mapping[str, Mapping[str, int]] = {"dpr": {"mined": 0}, "ance": {"mined": 2}}
"""Settings that make a method: DPR has in-batch negatives alone, ANCE hard ones of its own."""


def recipe_of(name: str, method: str, fixed: Mapping[str, float | str], *, is_static: bool) -> EncoderRecipe:
    """The settings of a training.

    Args:
        name: of RECIPES.
        method: of METHODS.
        fixed: settings that are given.
        is_static: whether the base is a table of token vectors.

    Raises:
        UnknownNameError: no recipe, method or setting of that name.
        ParameterError: a value is out of range.

    >>> recipe_of("small", "ance", {"epochs": 5.0}, is_static=False).epochs
    5
    """
    registries: tuple[tuple[str, str, list[str]], ...] = (("recipe", name, [*RECIPES]), ("method", method, [*METHODS]))
    for kind, one, known in registries:
        if one not in known:
            raise UnknownNameError(f"no {kind} {one!r}; known: {', '.join(known)}", hint=did_you_mean(one, known))
    values = {**asdict(RECIPES[name]), **(STATIC if is_static and name == "small" else {}), **METHODS[method]}
    for setting, value in fixed.items():
        if setting not in values:
            known_settings = ", ".join(RANGES)
            raise UnknownNameError(
                f"no setting {setting!r} of a training; known: {known_settings}",
                hint=did_you_mean(setting, list(RANGES)),
            )
        low, high = RANGES[setting]
        is_whole = isinstance(values[setting], int)
        if isinstance(value, str) or not low <= value <= high or (is_whole and value != int(value)):
            number = "a whole number" if is_whole else "a number"
            raise ParameterError(f"{setting} is {number} from {low:g} to {high:g}, not {value!r}")
        values[setting] = int(value) if is_whole else value
    return replace(RECIPES[name], **values)
