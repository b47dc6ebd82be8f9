"""Arrays that stay where they are, as one argument of a kernel: each array that is handed over takes 0.1 us."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Addresses:
    """Where some arrays lie. Keeps them alive; `address_kernel.py` reads them.

    Args:
        arrays: (array, the type that the kernel takes it for), each of one or two dimensions.

    Raises:
        ValueError: an array is of another type, or not in one piece.

    >>> Addresses((np.zeros((2, 3), np.uint8), "|u1"), (np.zeros(5), "<f8")).table[:, 1:].tolist()
    [[2, 3], [1, 5]]
    """

    __slots__ = ("_arrays", "table")

    def __init__(self, *arrays: tuple[NDArray[Any], str]):
        for array, wanted in arrays:
            if array.dtype.str != wanted or not array.flags.c_contiguous or not 1 <= array.ndim <= 2:
                raise ValueError(f"a kernel takes {wanted} in one piece, not {array.dtype.str} of {array.shape}")
        self._arrays = [array for array, _ in arrays]
        rows = [(array.ctypes.data, *((1, *array.shape)[-2:])) for array in self._arrays]
        self.table: NDArray[np.int64] = np.array(rows, np.int64)
