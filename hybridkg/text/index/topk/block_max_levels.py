"""Quantisation of block maxima: the levels of a word, and the level of each of its document blocks, rounded up.

Most levels are spaced by the cube root of the density of blocks, which minimises the squared error (Panter and Dite,
"Quantization distortion in pulse-count modulation with nonuniform spacing of levels", 1951), in x / (x + mean), because
scores saturate in x. The others separate the highest blocks, all that a query of one word needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.models.additive import Floats

TOP = (0.97, 0.99, 0.999, 0.9999)
"""Quantiles that have a level of their own."""

CLASSES = 256
"""Classes of equal width of x / (x + mean), by whose counts levels are spaced."""

PARTS = 8
"""Parts of equal width of a class, by which the level of a maximum is guessed."""

Bytes = NDArray[np.uint8]


class MaximaClasses(NamedTuple):
    """Maxima by class.

    Args:
        of_each: uint16[n], the part of a class that each is in: PARTS times its class, and 0 to PARTS - 1.
        counts: int64[CLASSES], maxima of each class.
        highest: float64[...], those of the upper classes that together have the wanted number, or a few more.
    """

    of_each: NDArray[np.uint16]
    counts: NDArray[np.int64]
    highest: Floats


def quantised(maxima: Floats, levels: int, *, halves: bool) -> tuple[Floats, Bytes]:
    """(x of each level float64[levels], the level of each maximum as bytes).

    Levels ascend from 0 to the largest maximum; a maximum has the lowest level that is not below it.

    Args:
        maxima: float64[n], at least 0; n above 0.
        levels: more than 5, at most 256.
        halves: whether a byte holds two levels, of which there are at most 16.

    >>> code, numbers = quantised(np.array([1.0, 3.0, 5.0]), 16, halves=False)
    >>> code[[0, 1, 15]].round(3).tolist(), numbers.tolist()
    ([0.0, 0.998, 5.0], [2, 7, 11])
    """
    with np.errstate(over="ignore"):
        largest, mean = float(maxima.max()), float(maxima.mean())
    if not largest or not math.isfinite(mean):
        code = np.linspace(0.0, 1.0, levels) if not largest else np.array([0.0] + [largest] * (levels - 1))
        return code, levels_numpy(maxima, code, halves=halves)
    scale = CLASSES * (largest + mean) / largest
    ranks = [math.ceil(quantile * (len(maxima) - 1)) for quantile in TOP]
    wanted = len(maxima) - ranks[0]
    kernel = KERNEL.for_work(len(maxima))
    if kernel is None:
        classes = classes_numpy(maxima, wanted, mean, scale)
    else:
        of_each, highest = np.empty(len(maxima), np.uint16), np.empty(len(maxima))
        counts = np.zeros(CLASSES, np.int64)
        found = kernel.classes(maxima, wanted, mean, scale, of_each, counts, highest)
        classes = MaximaClasses(of_each, counts, highest[:found])
    code = _code(classes, len(maxima), ranks, mean, scale, levels)
    code[-1] = largest
    np.minimum(code, largest, out=code)
    if kernel is None:
        return code, levels_numpy(maxima, code, halves=halves)
    numbers = np.zeros(-(-len(maxima) // 2) if halves else len(maxima), np.uint8)
    kernel.levels(maxima, classes.of_each, code, mean, scale, halves, numbers)
    return code, numbers


def _code(classes: MaximaClasses, n: int, ranks: list[int], mean: float, scale: float, levels: int) -> Floats:
    """The x of each level; `ranks` are those of the highest among the n maxima."""
    wanted = np.zeros(CLASSES + 1)
    np.cumsum(np.cbrt(classes.counts), out=wanted[1:])
    even = np.arange(levels - len(TOP)) * (wanted[-1] / (levels - len(TOP) - 1))
    share = np.interp(even, wanted, np.arange(CLASSES + 1) / scale)
    share[0] = 0.0
    places = np.array(ranks) - n + len(classes.highest)
    code = np.concatenate((mean * share / (1 - share), np.sort(classes.highest)[places]))
    code.sort()
    return np.asarray(code)


def classes_numpy(maxima: Floats, wanted: int, mean: float, scale: float) -> MaximaClasses:
    """The numpy reference of `packing_kernel.classes`.

    Args:
        maxima: float64[n], at least 0.
        wanted: the least number of `highest`.
        mean: above 0.
        scale: CLASSES divided by the largest x / (x + mean).
    """
    of_each = np.minimum((maxima / (maxima + mean) * (scale * PARTS)).astype(np.int64), CLASSES * PARTS - 1)
    counts = np.bincount(of_each // PARTS, minlength=CLASSES)
    lowest = CLASSES - 1 - int(np.searchsorted(np.cumsum(counts[::-1]), wanted))
    return MaximaClasses(of_each.astype(np.uint16), counts, maxima[of_each >= lowest * PARTS])


def levels_numpy(maxima: Floats, code: Floats, *, halves: bool) -> Bytes:
    """The level of each maximum, as bytes; the numpy reference of `packing_kernel.levels`."""
    return packed_levels(np.searchsorted(code, maxima).astype(np.uint8), halves=halves)


def packed_levels(numbers: Bytes, *, halves: bool) -> Bytes:
    """Levels as they are stored: a byte each, or the lower half of a byte and then the higher one."""
    if not halves:
        return numbers
    padded = np.zeros(len(numbers) + len(numbers) % 2, np.uint8)
    padded[: len(numbers)] = numbers
    return np.asarray(padded[::2] | padded[1::2] << 4)
