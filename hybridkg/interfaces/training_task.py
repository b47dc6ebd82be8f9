"""The protocol of what is trained: parameters, batches from a seed, a loss, and a measure on held-out topics.

The trainer (vector/training/trainer.py) owns the rest: optimizer, schedule, checkpoints, resuming, the choice of the
best epoch. Tensors are those of torch, which is not imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Batches: TypeAlias = Mapping[str, NDArray[np.int64]]
"""int64[steps, ...] by name: row i of each array is the batch of step i. Ragged batches are padded with -1. They are
numbers of questions, documents, negatives and such, so they fit into a checkpoint."""

Batch: TypeAlias = Mapping[str, NDArray[np.int64]]
"""Row i of all arrays of Batches."""


class TrainingTask(Protocol):
    """A model with its examples and its held-out topics.

    The law of resuming rests on it: `batches` and `loss` are functions of the parameters, their arguments and torch's
    random numbers alone. The trainer seeds torch before each step, so a dropout needs no care.
    """

    @property
    def key(self) -> str:
        """A hash of everything that the training depends on but its settings: texts, judgements, base model, options.

        A checkpoint of another key is refused.
        """

    @property
    def steps(self) -> int:
        """Steps of an epoch, at least 1; the same in every epoch, so that the schedule is known."""

    def parameters(self) -> Mapping[str, Any]:
        """The tensors that are trained, float32 leaves on the CPU with `requires_grad`, by unique name."""

    def batches(self, epoch: int, rng: np.random.Generator) -> Batches:
        """The batches of an epoch, which begins with the present parameters; `rng` depends on seed and epoch alone."""

    def loss(self, batch: Batch) -> Any:
        """The scalar loss of one batch, which torch can differentiate."""

    def evaluate(self) -> float:
        """The measure on held-out topics with the present parameters; higher is better."""
