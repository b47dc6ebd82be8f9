"""Arrays on disk: one raw little-endian file each, and a JSON header that names their types and shapes.

The header is written last, so a folder without one is unfinished. Sizes are
checked when the folder is opened; the contents are covered by the checksums
of the generation's manifest.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError

HEADER = "text.json"
FORMAT = "hybridkg-text"
FORMAT_VERSION = 2
"""2: where the languages of a field's values change."""

Array = NDArray[Any]

_DTYPES = ("<u1", "<u2", "<u4", "<u8")


def smallest_unsigned(largest: int) -> np.dtype[Any]:
    """The narrowest little-endian unsigned type that holds `largest`.

    >>> smallest_unsigned(255).str, smallest_unsigned(256).str
    ('|u1', '<u2')
    """
    return next(np.dtype(d) for d in _DTYPES if largest <= np.iinfo(d).max)


class ArrayWriter:
    """Writes the arrays of one folder, then the header."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._arrays: dict[str, dict[str, Any]] = {}

    def create(self, name: str, dtype: np.dtype[Any] | str, shape: tuple[int, ...]) -> Array:
        """A new array of zeros, mapped to its file; `finish` makes it durable."""
        dtype = np.dtype(dtype).newbyteorder("<")
        self._arrays[name] = {"dtype": dtype.newbyteorder("<").str, "shape": list(shape)}
        if math.prod(shape) == 0:
            (self._folder / name).write_bytes(b"")
            return np.zeros(shape, dtype)
        return np.memmap(self._folder / name, dtype=dtype, mode="w+", shape=shape)

    def write(self, name: str, array: Array) -> None:
        """Writes a whole array."""
        target = self.create(name, array.dtype, array.shape)
        target[...] = array

    def finish(self, about: dict[str, Any]) -> None:
        """Writes the header, which makes the folder readable."""
        header = {"format": FORMAT, "version": FORMAT_VERSION, **about, "arrays": self._arrays}
        text = json.dumps(header, indent=1, ensure_ascii=False, sort_keys=True)
        (self._folder / HEADER).write_text(text + "\n", encoding="utf-8")


class ArrayReader:
    """The header and the memory-mapped arrays of a finished folder.

    Raises:
        CorruptError: the header is missing, unreadable or of another version, or a file has another size.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        path = folder / HEADER
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as e:
            raise CorruptError(f"the text index has no {HEADER!r}", hint="index again", place=str(folder)) from e
        except (OSError, ValueError) as e:
            raise CorruptError(f"{HEADER!r} cannot be read: {e}", hint="index again", place=str(path)) from e
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise CorruptError(f"{HEADER!r} is not the header of a text index", place=str(path))
        if header.get("version") != FORMAT_VERSION:
            raise CorruptError(
                f"text index of version {header.get('version')!r}; this hybridkg reads {FORMAT_VERSION}",
                hint="index again",
                place=str(path),
            )
        self.header: dict[str, Any] = header

    def about(self, key: str) -> Any:
        """A value of the header.

        Raises:
            CorruptError: the header lacks it.
        """
        if key not in self.header:
            raise CorruptError(f"{HEADER!r} lacks {key!r}", hint="index again", place=str(self._folder))
        return self.header[key]

    def array(self, name: str) -> Array:
        """An array, read-only and mapped."""
        path = self._folder / name
        try:
            declared = self.about("arrays")[name]
            dtype, shape = np.dtype(declared["dtype"]), tuple(int(n) for n in declared["shape"])
        except (KeyError, TypeError, ValueError) as e:
            raise CorruptError(f"{HEADER!r} does not describe {name!r}", place=str(self._folder)) from e
        try:
            size = path.stat().st_size
        except OSError as e:
            raise CorruptError(f"the text index lacks {name!r}", hint="index again", place=str(path)) from e
        wanted = math.prod(shape) * dtype.itemsize
        if size != wanted:
            raise CorruptError(
                f"{name!r} has {size:,} bytes instead of {wanted:,}", hint="index again", place=str(path)
            )
        if wanted == 0:
            return np.zeros(shape, dtype)
        # A plain array over the map: memmap objects make each slice several times dearer.
        return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=shape))
