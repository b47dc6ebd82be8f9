"""The compiled loop of gathering texts. Import it through `hybridkg.compute.kernels` only: importing it compiles it."""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint8, void
from numba.core.types import Array

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _input(dtype: Any) -> Any:
    return Array(dtype, 1, "C", readonly=True)


@njit(void(_input(uint8), _input(int64), _input(int64), uint8[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def gather(data: Any, starts: Any, ends: Any, found: Any) -> None:
    """The texts data[starts[i]:ends[i]], one after another."""
    n = 0
    for i in range(len(starts)):
        size = ends[i] - starts[i]
        found[n : n + size] = data[starts[i] : ends[i]]
        n += size
