"""Field lengths: which tokens count, and lengths in one byte each for ranking kernels."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

LONG = 255
"""The length at which narrow lengths saturate."""

_Int = TypeVar("_Int", bound=np.integer[Any])


def length_of(tokens: NDArray[_Int], stops: NDArray[_Int]) -> NDArray[_Int]:
    """The length of each text: its tokens without stop words, or all of them where it has nothing else.

    Args:
        tokens: int[n], the tokens of each text.
        stops: int[n], those of them that are stop words.

    >>> length_of(np.array([5, 2, 0]), np.array([2, 2, 0])).tolist()  # "The Who" has the length 2
    [3, 2, 0]
    """
    return np.where(tokens > stops, tokens - stops, tokens)


NO_LENGTHS = np.zeros((0, 0), np.uint8)


def narrow_lengths(lengths: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8[nodes, rows], the minimum of each length and LONG, from uint32[rows, nodes], tokens.

    The lengths of an entity are adjacent, because language models read all of them: one cache miss instead of several.

    >>> narrow_lengths(np.array([[3, 0, 999], [7, 8, 9]], np.uint32)).tolist()
    [[3, 7], [0, 8], [255, 9]]
    """
    narrow = np.empty(lengths.shape[::-1], np.uint8)
    for row, own in enumerate(lengths):
        narrow[:, row] = np.minimum(own, LONG)
    return narrow
