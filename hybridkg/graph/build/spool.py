"""Arrays that grow in temporary files: what a builder cannot keep in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spool:
    """An array in a file, written from its beginning to its end, then mapped.

    Args:
        path: a new file.
        dtype: of its elements.
        width: columns of each row; 0 for an array of one dimension.
    """

    def __init__(self, path: Path, dtype: Any, width: int = 0):
        self._path, self._dtype, self._width = path, np.dtype(dtype), width
        self._file = path.open("wb")
        self.rows = 0

    def append(self, array: NDArray[Any]) -> None:
        """Adds rows."""
        np.ascontiguousarray(array, self._dtype).tofile(self._file)
        self.rows += len(array)

    def map(self) -> NDArray[Any]:
        """The array, to be read and changed; it takes no more rows."""
        self._file.close()
        return mapped(self._path, self._dtype, (self.rows, self._width) if self._width else (self.rows,))

    def close(self) -> None:
        """Takes no more rows; may be called again."""
        self._file.close()


def mapped(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array over a file, which is made (zeros) where it is missing.

    Its pages belong to the system, which may write them out when memory is short.
    """
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r+" if path.exists() else "w+", shape=shape))
