"""The compiled logarithm, for other kernels. Only kernel modules import it: it imports numba.

`logarithm.py` is the reference and gives the same bits: no fastmath, and no reordering of operations here. Without
branches, LLVM vectorises loops over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, njit
from numba.core.types import Array

from hybridkg.text.models.logarithm import (
    BIASED_ZERO,
    LN2_HIGH,
    LN2_LOW,
    MAGIC,
    MANTISSA,
    MIN_NORMAL,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    SCALE,
    SQRT_HALF,
    TO_EXPONENT,
)

# numba makes a float of an unsigned and a signed number, so all of these are unsigned.
_TO_EXPONENT, _SQRT_HALF = np.uint64(TO_EXPONENT), np.uint64(SQRT_HALF)
_MANTISSA, _MAGIC, _SHIFT = np.uint64(MANTISSA), np.uint64(MAGIC), np.uint64(52)
_BIASED_ZERO_SMALL = BIASED_ZERO + 54


@njit(float64(float64), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def log(x: Any) -> Any:
    """The natural logarithm of a number, finite and above 0; as `hybridkg.text.models.logarithm.log`."""
    small = x < MIN_NORMAL
    bits = np.float64(x * (SCALE if small else 1.0)).view(np.uint64) + _TO_EXPONENT
    k = np.uint64((bits >> _SHIFT) | _MAGIC).view(np.float64) - (_BIASED_ZERO_SMALL if small else BIASED_ZERO)
    f = np.uint64((bits & _MANTISSA) + _SQRT_HALF).view(np.float64) - 1.0
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = w * (R2 + w * (R4 + w * R6)) + z * (R1 + w * (R3 + w * (R5 + w * R7)))
    return s * (half + r) + k * LN2_LOW - half + f + k * LN2_HIGH


_SIGNATURE = (Array(float64, 1, "C", readonly=True), float64[::1])


@njit(_SIGNATURE, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def logs(x: Any, out: Any) -> Any:
    """Fills `out` with the logarithms of `x`, equally long."""
    for i in range(len(x)):
        out[i] = log(x[i])
