"""Checkpoints of a training: one safetensors file with all that the next step depends on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, StorageError
from hybridkg.storage.tensor_file import TensorFile, write_tensors

NAME = "checkpoint.safetensors"

MAX_BYTES = 1 << 36
"""Maximum bytes of a checkpoint: four copies of a model with 4 billion parameters."""

FORMAT = 1

GROUPS = ("now", "best", "mean", "square")
"""The present parameters, those of the best epoch, and AdamW's moments."""

BATCHES = "batches/"

REMOVE = "remove it to train from the beginning"


@dataclass
class TrainingState:
    """The state between two steps.

    Args:
        epoch: number of finished epochs.
        step: finished steps of the present epoch.
        values: the held-out measure of the untrained model, and after each epoch.
        losses: mean loss of each finished epoch.
        loss: sum of the losses of the present epoch.
        batches: those of the present epoch; empty between two epochs.
        tensors: float32 by group and name of a parameter.
        updates: int64[parameters], the number of AdamW's updates, by sorted name.
    """

    epoch: int = 0
    step: int = 0
    values: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    loss: float = 0.0
    batches: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    tensors: dict[str, dict[str, NDArray[np.float32]]] = field(default_factory=dict)
    updates: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class CheckpointFile:
    """The checkpoint of one training.

    Args:
        folder: holds the file.
        key: of the task.
        settings: of the training, as JSON values.
    """

    folder: Path
    key: str
    settings: Mapping[str, Any]

    def prepare(self) -> None:
        """Makes the folder, so that a place that cannot be written to is found before the work; StorageError then."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise StorageError(f"cannot write {str(self.folder)!r}: {e.strerror or e}") from e

    def write(self, state: TrainingState) -> None:
        """Replaces the file; StorageError if that fails."""
        self.prepare()
        about = {name: getattr(state, name) for name in ("epoch", "step", "values", "losses", "loss")}
        tensors: dict[str, NDArray[Any]] = {
            f"{group}/{name}": array for group, own in state.tensors.items() for name, array in own.items()
        }
        tensors |= {f"{BATCHES}{name}": array for name, array in state.batches.items()} | {"updates": state.updates}
        head = {"format": FORMAT, "key": self.key, "settings": dict(self.settings), **about, "crc": _crc(tensors)}
        write_tensors(self.folder / NAME, tensors, {"hybridkg": json.dumps(head, sort_keys=True)})

    def read(self, shapes: Mapping[str, tuple[int, ...]]) -> TrainingState | None:
        """The stored state of this training; None without a file.

        Args:
            shapes: of the parameters, by name.

        Raises:
            ConfigError: the file is damaged, or of another training.
        """
        path = self.folder / NAME
        if not path.exists():
            return None
        try:
            file = TensorFile.open(path, max_bytes=MAX_BYTES)
        except ConfigError as e:
            raise ConfigError(e.message, hint=REMOVE, place=str(path)) from e
        try:
            about = json.loads(file.metadata["hybridkg"])
            own, crc = (about.pop("format"), about.pop("key"), about.pop("settings")), about.pop("crc")
            state = TrainingState(**about)
            whole, numbers = [state.epoch, state.step], [state.loss, *state.values, *state.losses]
            are_counts = all(type(one) is int and one >= 0 for one in whole)
            if not are_counts or not all(type(one) is float for one in numbers):
                raise ValueError("numbers of another kind")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as e:
            raise ConfigError("no checkpoint of a training", hint=REMOVE, place=str(path)) from e
        if own != (FORMAT, self.key, dict(self.settings)):
            raise ConfigError(
                "the checkpoint is that of a training with other data or settings", hint=REMOVE, place=str(path)
            )
        wanted = {f"{group}/{name}": shape for group in GROUPS for name, shape in shapes.items()}
        for name, shape in (wanted | {"updates": (len(shapes),)}).items():
            if name not in file.entries or file.entries[name].shape != tuple(shape):
                raise ConfigError(f"the checkpoint has no tensor {name!r} of its shape", hint=REMOVE, place=str(path))
        tensors = {name: file.read(name) for name in file.entries}
        if _crc(tensors) != crc:
            raise ConfigError("the checkpoint is damaged", hint=REMOVE, place=str(path))
        state.tensors = {group: {name: tensors[f"{group}/{name}"] for name in shapes} for group in GROUPS}
        state.batches = {name.removeprefix(BATCHES): tensors[name] for name in tensors if name.startswith(BATCHES)}
        state.updates = tensors["updates"]
        return state

    def remove(self) -> None:
        """Removes the file."""
        (self.folder / NAME).unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Removes a folder if it exists and nothing is in it."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _crc(tensors: Mapping[str, NDArray[Any]]) -> str:
    """CRC-32 of names and numbers: it detects damage, such as another question in a batch."""
    crc = 0
    for name, array in sorted(tensors.items()):
        crc = zlib.crc32(np.ascontiguousarray(array).tobytes(), zlib.crc32(name.encode(), crc))
    return f"{crc:08x}"
