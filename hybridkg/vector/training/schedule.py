"""Settings of the optimizer, and the learning rate of a step: linear warm-up and linear decay."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class OptimizerSettings:
    """Settings of a training.

    Args:
        epochs: at least 1.
        rate: highest learning rate, above 0.
        warmup: share of all steps in which the rate rises linearly, in 0..1.
        decay: AdamW's weight decay, at least 0.
        clip: largest length of the gradient of all parameters together; 0 for no limit.
        seed: of all random draws.
    """

    epochs: int = 3
    rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 0


def learning_rate(step: int, total: int, settings: OptimizerSettings) -> float:
    """The rate of a step, counted from 0 of `total`: up to the highest one, then down towards 0.

    >>> [learning_rate(step, 10, OptimizerSettings(rate=1.0, warmup=0.2)) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    rising = math.ceil(settings.warmup * total)
    if step < rising:
        return settings.rate * (step + 1) / rising
    return settings.rate * (total - step) / (total - rising)
