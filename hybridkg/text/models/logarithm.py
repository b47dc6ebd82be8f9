"""A natural logarithm with the same bits on every machine.

numpy's logarithm depends on the instructions of the processor, and compiled code calls that of the C library: their
last bits differ, and so would scores. This one consists of additions, multiplications and one division in a fixed
order, which IEEE 754 rounds alike everywhere.

With x = 2^k (1 + f) and 1 + f between sqrt(1/2) and sqrt(2), and with s = f / (2 + f),

    ln(1 + f) = ln((1 + s) / (1 - s)) = 2s + s R(s^2),   R(z) = 2/3 z + 2/5 z^2 + 2/7 z^3 + ...
    ln x      = k ln 2 + f - (f^2/2 - s (f^2/2 + R))

where f is exact, so the largest part of ln(1 + f) is. Source: Ng, "e_log.c" of fdlibm (Sun Microsystems, 1993); the
variant without cases for small f is that of FreeBSD. The polynomial for R is our own: the minimax one of degree 7 by
the algorithm of Remez, its coefficients rounded one after the other, 2^-58.49 from R
(tests/text/models/test_logarithm.py).

`logarithm_kernel.py` does the same in compiled code, in the same order of operations: change both together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

R1 = float.fromhex("0x1.5555555555592p-1")
R2 = float.fromhex("0x1.999999997ff19p-2")
R3 = float.fromhex("0x1.24924941e155cp-2")
R4 = float.fromhex("0x1.c71c521450ec4p-3")
R5 = float.fromhex("0x1.74663ced78c41p-3")
R6 = float.fromhex("0x1.39a1e8c609e92p-3")
R7 = float.fromhex("0x1.2f03ba66740edp-3")
"""R(z) is near z (R1 + z (R2 + ... + z R7))."""

LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
"""ln 2 in 32 bits, so that its product with an exponent is exact."""

LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""The remainder of ln 2."""

MIN_NORMAL = 2.0**-1022
SCALE = 2.0**54
"""Scales a subnormal number to a normal one."""

SQRT_HALF = 0x3FE6A09E_00000000
"""The truncated bits of sqrt(1/2), the smallest 1 + f."""

TO_EXPONENT = 0x3FF00000_00000000 - SQRT_HALF
"""Added to the bits of x, it carries into the exponent where the mantissa is at least that of sqrt(1/2)."""

MANTISSA = 0x000FFFFF_FFFFFFFF

MAGIC = 0x43300000_00000000
"""The bits of 2^52; with a small whole number in the mantissa they are 2^52 plus that number."""

BIASED_ZERO = 2.0**52 + 1023

AT_ONCE = 4_096
"""Values per pass; their intermediate results, 32 KiB each, stay in the cache."""

Floats = NDArray[np.float64]


def log(x: Floats) -> Floats:
    """The natural logarithm, less than 1 ulp from the true one.

    Args:
        x: float64[n], finite and above 0, subnormal or not; for other numbers the result is undefined.

    Returns:
        float64[n], a new array; ln 1 is 0.

    >>> log(np.array([1.0, 10.0]))
    array([0.        , 2.30258509])
    """
    logarithms = np.empty(len(x), np.float64)
    for start in range(0, len(x), AT_ONCE):
        logarithms[start : start + AT_ONCE] = _log(np.ascontiguousarray(x[start : start + AT_ONCE], np.float64))
    return logarithms


def _log(x: Floats) -> Floats:
    small = x < MIN_NORMAL
    bits = (x * np.where(small, SCALE, 1.0)).view(np.uint64) + np.uint64(TO_EXPONENT)
    k = (bits >> np.uint64(52) | np.uint64(MAGIC)).view(np.float64) - np.where(small, BIASED_ZERO + 54, BIASED_ZERO)
    f = ((bits & np.uint64(MANTISSA)) + np.uint64(SQRT_HALF)).view(np.float64) - 1.0
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = w * (R2 + w * (R4 + w * R6)) + z * (R1 + w * (R3 + w * (R5 + w * R7)))
    logarithms: Floats = s * (half + r) + k * LN2_LOW - half + f + k * LN2_HIGH
    return logarithms
