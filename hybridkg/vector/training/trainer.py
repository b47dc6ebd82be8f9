"""The trainer: AdamW with warm-up, linear decay and clipping, on one thread, from a seed. Imports torch.

Loshchilov and Hutter, "Decoupled weight decay regularization" (ICLR 2019). The best epoch by the held-out measure is
kept, the untrained model among them. A training that was interrupted and goes on gives the same bytes as one that was
not: batches are stored with the checkpoint, and torch is seeded before each step, so no state of a generator is needed.
tests/vector/training/test_trainer.py has the law.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hybridkg.errors import TrainingError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.training_task import TrainingTask
from hybridkg.vector.training.checkpoint import CheckpointFile, TrainingState, remove_empty
from hybridkg.vector.training.schedule import OptimizerSettings, learning_rate

SECONDS = 120
"""Seconds between two checkpoints; so much work is lost when the machine stops."""


@dataclass(frozen=True)
class TrainingOutcome:
    """The outcome of a training, whose task has the parameters of the best epoch.

    Args:
        values: the held-out measure of the untrained model, and after each epoch.
        losses: mean loss of each epoch.
        best: the first epoch with the highest measure; 0 for the untrained model.
        steps: those of this call; those before an interruption are not counted.
        seconds: wall-clock time of this call.
    """

    values: tuple[float, ...]
    losses: tuple[float, ...]
    best: int
    steps: int
    seconds: float


def train(
    task: TrainingTask, settings: OptimizerSettings, *, folder: Path | None = None, progress: Progress = SILENT
) -> TrainingOutcome:
    """Trains the parameters of a task, and leaves those of the best epoch in it.

    Args:
        task: whose parameters are changed in place.
        settings: of the optimizer.
        folder: of the checkpoint, which is continued if there is one and removed at the end; None for none.
        progress: counts steps.

    Raises:
        TrainingError: a loss is not finite.
        StorageError: the checkpoint cannot be written.
        ConfigError: the checkpoint is damaged, or of other data or settings.
        KeyboardInterrupt: after the checkpoint has been written.
    """
    checkpoint = None if folder is None else CheckpointFile(folder, task.key, asdict(settings))
    if checkpoint is None:
        with one_thread():
            return _Run(task, settings, None, progress).result()
    checkpoint.prepare()
    try:
        with one_thread():
            return _Run(task, settings, checkpoint, progress).result()
    finally:
        remove_empty(checkpoint.folder)


class _Run:
    """One call of `train`."""

    def __init__(
        self, task: TrainingTask, settings: OptimizerSettings, checkpoint: CheckpointFile | None, progress: Progress
    ):
        self._task, self._settings, self._progress = task, settings, progress
        self._parameters: dict[str, Any] = dict(sorted(task.parameters().items()))
        self._adam = torch.optim.AdamW(self._parameters.values(), lr=settings.rate, weight_decay=settings.decay)
        self._checkpoint = checkpoint
        shapes = {name: tuple(value.shape) for name, value in self._parameters.items()}
        stored = None if self._checkpoint is None else self._checkpoint.read(shapes)
        self._state = stored or TrainingState()
        if stored is not None:
            self._restore(stored)
        self._is_updating = False
        self._steps, self._started = 0, time.monotonic()
        self._written = self._started

    def result(self) -> TrainingOutcome:
        state, settings = self._state, self._settings
        try:
            if not state.values:
                self._measure()
            while state.epoch < settings.epochs:
                self._epoch()
        except KeyboardInterrupt:
            if not self._is_updating:  # else a part of the parameters is newer: the checkpoint before it stays
                self._write()
            raise
        self._assign(state.tensors["best"])
        if self._checkpoint is not None:
            self._checkpoint.remove()
        values = tuple(state.values)
        seconds = time.monotonic() - self._started
        return TrainingOutcome(values, tuple(state.losses), values.index(max(values)), self._steps, seconds)

    def _epoch(self) -> None:
        state, steps = self._state, self._task.steps
        if not state.batches:
            rng = np.random.default_rng([self._settings.seed, state.epoch])
            with torch.no_grad():
                drawn = self._task.batches(state.epoch, rng)
            batches = {name: np.asarray(rows, np.int64) for name, rows in drawn.items()}
            if any(len(rows) != steps for rows in batches.values()):
                raise ValueError(f"an epoch has {steps} steps, and its batches another number")
            state.batches = batches
        self._progress.start(f"epoch {state.epoch + 1} of {self._settings.epochs}", steps)
        self._progress.advance(state.step, state.step)
        while state.step < steps:
            self._step()
            self._progress.advance(1, 1)
            self._write_if_due()
        self._progress.done(steps)
        self._measure()

    def _step(self) -> None:
        state, settings = self._state, self._settings
        at, total = state.epoch * self._task.steps + state.step, settings.epochs * self._task.steps
        seed = np.random.SeedSequence([settings.seed, state.epoch, state.step]).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(seed >> np.uint64(1)))
        self._adam.zero_grad(set_to_none=True)
        loss = self._task.loss({name: rows[state.step] for name, rows in state.batches.items()})
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss of step {at + 1:,} is {value}", hint="lower the learning rate: --fixed rate=..."
            )
        loss.backward()
        if settings.clip:
            torch.nn.utils.clip_grad_norm_(self._parameters.values(), settings.clip)
        for group in self._adam.param_groups:
            group["lr"] = learning_rate(at, total, settings)
        self._is_updating = True
        self._adam.step()
        state.step, state.loss = state.step + 1, state.loss + value
        self._is_updating = False
        self._steps += 1

    def _measure(self) -> None:
        """Measures on the held-out topics, keeps the parameters if they are the best, and ends the epoch."""
        state = self._state
        with torch.no_grad():
            value = float(self._task.evaluate())
        if not math.isfinite(value):
            raise TrainingError(f"the measure on held-out topics is {value} after epoch {len(state.values)}")
        is_best = not state.values or value > max(state.values)
        best = self._numbers() if is_best else None
        self._is_updating = True
        if state.values:
            state.losses.append(state.loss / self._task.steps)
            state.epoch, state.step, state.loss, state.batches = state.epoch + 1, 0, 0.0, {}
        state.values.append(value)
        if best is not None:
            state.tensors["best"] = best
        self._is_updating = False
        self._write_if_due()

    def _write_if_due(self) -> None:
        if time.monotonic() - self._written > SECONDS:
            self._write()

    def _write(self) -> None:
        """Writes the checkpoint; not before the untrained model has been measured."""
        if self._checkpoint is None or not self._state.values:
            return
        state = self._state
        zeros = {name: np.zeros(tuple(value.shape), np.float32) for name, value in self._parameters.items()}
        moments = {name: self._adam.state.get(value, {}) for name, value in self._parameters.items()}
        state.tensors |= {"now": self._numbers(), "mean": dict(zeros), "square": dict(zeros)}
        for name, own in moments.items():
            if own:
                state.tensors["mean"][name] = own["exp_avg"].numpy()
                state.tensors["square"][name] = own["exp_avg_sq"].numpy()
        state.updates = np.array([int(own["step"]) if own else 0 for own in moments.values()], np.int64)
        self._checkpoint.write(state)
        self._written = time.monotonic()

    def _restore(self, state: TrainingState) -> None:
        self._assign(state.tensors["now"])
        for (name, parameter), updates in zip(self._parameters.items(), state.updates.tolist(), strict=True):
            if updates:
                self._adam.state[parameter] = {
                    "step": torch.tensor(float(updates)),
                    "exp_avg": torch.from_numpy(state.tensors["mean"][name].copy()),
                    "exp_avg_sq": torch.from_numpy(state.tensors["square"][name].copy()),
                }

    def _numbers(self) -> dict[str, Any]:
        return {name: value.detach().numpy().copy() for name, value in self._parameters.items()}

    def _assign(self, numbers: Mapping[str, Any]) -> None:
        with torch.no_grad():
            for name, value in self._parameters.items():
                value.copy_(torch.from_numpy(numbers[name]))


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which torch uses one thread, so that sums have one order, and random numbers of its own."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)
