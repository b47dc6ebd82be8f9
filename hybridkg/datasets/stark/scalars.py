"""Scalars of numpy in a pickle, as Python's numbers and texts.

Amazon's brands are numpy.str_, because they went through numpy.unique; such a value is a call of numpy's `scalar` with
a type and bytes. Both are read without numpy's own reconstruction.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hybridkg.datasets.stark.pickles import Built, Names, PickledName

_NUMBER = re.compile(r"b1|[iu][1248]|f[248]")
_TEXT = re.compile(r"U([0-9]{1,9})")


class _Type(Built):
    """A numpy.dtype of numbers, or of texts of a fixed number of characters."""

    def __init__(self, arguments: tuple[Any, ...]):
        self.code: str = arguments[0]
        self.order = "<"
        if type(self.code) is not str or not (_NUMBER.fullmatch(self.code) or _TEXT.fullmatch(self.code)):
            raise ValueError(f"{str(self.code)[:20]!r} is not a type of numbers or text")

    def build(self, state: object) -> None:
        """Takes the byte order, the second part of the state."""
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("a type of numpy without the order of its bytes")
        self.order = "<" if state[1] == "=" else state[1]

    def value(self, data: object) -> object:
        """The value of the bytes."""
        if type(data) is not bytes:
            raise ValueError("a value of numpy without its bytes")
        if self.code.startswith("U"):
            if len(data) != 4 * int(self.code[1:]):
                raise ValueError("a text of numpy of another length")
            return data.decode("utf-32-be" if self.order == ">" else "utf-32-le", "replace").rstrip("\0")
        (number,) = np.frombuffer(data, self.order + self.code).tolist()
        return number


def _scalar(arguments: tuple[Any, ...]) -> object:
    kind, data = arguments
    if not isinstance(kind, _Type):
        raise TypeError("a value of numpy without its type")
    return kind.value(data)


NUMPY: Names = {
    "numpy.dtype": PickledName("numpy.dtype", _Type),
    "numpy.core.multiarray.scalar": PickledName("numpy.core.multiarray.scalar", _scalar),
    "numpy._core.multiarray.scalar": PickledName("numpy._core.multiarray.scalar", _scalar),
}
"""Names before and since numpy 2."""
