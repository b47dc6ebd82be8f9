"""Spools: arrays that grow in temporary files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spool:
    """An array in a new file, written sequentially, then memory-mapped; `width` 0 for one dimension."""

    def __init__(self, path: Path, dtype: Any, width: int = 0):
        self._path, self._dtype, self._width = path, np.dtype(dtype), width
        self._file = path.open("wb")
        self.rows = 0

    def append(self, array: NDArray[Any]) -> None:
        np.ascontiguousarray(array, self._dtype).tofile(self._file)
        self.rows += len(array)

    def map(self) -> NDArray[Any]:
        """The writable array; ends appending."""
        self._file.close()
        return mapped(self._path, self._dtype, (self.rows, self._width) if self._width else (self.rows,))

    def close(self) -> None:
        self._file.close()


def mapped(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A memory-mapped array over a file, created with zeros if missing; the system can evict its pages."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r+" if path.exists() else "w+", shape=shape))
