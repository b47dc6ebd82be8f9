"""Arrays read from their addresses. Import it from kernel modules only: it imports numba.

A kernel that takes the table of `addresses.Addresses` makes of its rows the arrays that they stand for. The caller
vouches for their types.
"""

from __future__ import annotations

from typing import Any

from numba import carray, njit, types  # type: ignore[attr-defined, unused-ignore]
from numba.extending import intrinsic

from hybridkg.text.lists_kernel import INLINE


def _pointer(typing: Any, address: Any, kind: Any) -> Any:
    del typing
    signature = types.CPointer(kind.dtype)(address, kind)  # type: ignore[no-untyped-call, unused-ignore]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return signature, generate


pointer: Any = intrinsic(_pointer)
"""The pointer at an address, to numbers of a type."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def vector(table: Any, i: Any, kind: Any) -> Any:
    """Array i, of one dimension."""
    return carray(pointer(table[i, 0], kind), (table[i, 2],))


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def matrix(table: Any, i: Any, kind: Any) -> Any:
    """Array i, of two dimensions."""
    return carray(pointer(table[i, 0], kind), (table[i, 1], table[i, 2]))


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def shaped(table: Any, i: Any, kind: Any, rows: Any, columns: Any) -> Any:
    """The beginning of array i, which is large enough, in another shape."""
    return carray(pointer(table[i, 0], kind), (rows, columns))
