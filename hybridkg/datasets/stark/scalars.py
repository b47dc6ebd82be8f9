"""Numbers and texts of numpy in a pickle, as those of Python.

The names of Amazon's brands are numpy.str_, because they went through numpy.unique; such a value is a call of
numpy's `scalar` with a type and bytes. Both are read here, and numpy itself is not asked to rebuild anything.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hybridkg.datasets.stark.pickles import Built, Names, PickledName

_NUMBER = re.compile(r"b1|[iu][1248]|f[248]")
_TEXT = re.compile(r"U([0-9]{1,9})")


class _Type(Built):
    """A numpy.dtype: a number, or a text of so many characters."""

    def __init__(self, arguments: tuple[Any, ...]):
        self.code: str = arguments[0]
        self.order = "<"
        if type(self.code) is not str or not (_NUMBER.fullmatch(self.code) or _TEXT.fullmatch(self.code)):
            raise ValueError(f"{str(self.code)[:20]!r} is no type of numbers or text")

    def build(self, state: object) -> None:
        """Takes the order of the bytes, the second of its parts."""
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("a type of numpy without the order of its bytes")
        self.order = "<" if state[1] == "=" else state[1]

    def value(self, data: object) -> object:
        """What the bytes hold."""
        if type(data) is not bytes:
            raise ValueError("a value of numpy without its bytes")
        if self.code.startswith("U"):
            if len(data) != 4 * int(self.code[1:]):
                raise ValueError("a text of numpy of another length")
            return data.decode("utf-32-be" if self.order == ">" else "utf-32-le", "replace").rstrip("\0")
        (found,) = np.frombuffer(data, self.order + self.code).tolist()
        return found


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
