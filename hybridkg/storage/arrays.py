"""Arrays on disk: one raw little-endian file each, and a JSON header with their types and shapes.

Headers are written last, so a folder without one is unfinished. Sizes are checked before a file is mapped; the
checksums of the generation's manifest cover the contents.

An array may have a *tail*: the rows of its *base*, an immutable file that other generations have, too, are followed by
those of a second file, `NAME.tail`. Rows of zeros lie between, because the tail begins at a page (adjacent_files.py);
the header says how many rows the base has. Only arrays whose readers are told where their rows are can have one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import DTypeLike, NDArray

from hybridkg.errors import CorruptError
from hybridkg.storage.adjacent_files import ALIGN, map_adjacent, tail_start
from hybridkg.storage.checksums import known_checksum, remember
from hybridkg.storage.durable import link_or_copy, start_writing
from hybridkg.storage.json_lines import json_lines
from hybridkg.storage.mapped_files import map_file
from hybridkg.storage.splicing import Piece, splice

Array = NDArray[Any]

BUFFER = 1 << 17
"""Bytes of short rows that a stream gathers before it writes them."""

JOINED = 1 << 16
"""Rows of pieces that a stream writes at once: a short one takes 0.1 us in a concatenation, and 0.7 alone."""

TAIL = ".tail"
"""Ends the name of the file with the rows behind those of the base."""

POPULATE_READ = 22
"""MADV_POPULATE_READ of Linux 5.14; other systems raise an error, which is ignored."""

_UNSIGNED = tuple(np.dtype(d) for d in ("<u1", "<u2", "<u4", "<u8"))


def smallest_unsigned(largest: int) -> np.dtype[Any]:
    """The narrowest little-endian unsigned type for `largest`.

    >>> smallest_unsigned(255).str, smallest_unsigned(256).str
    ('|u1', '<u2')
    """
    return next(dtype for dtype in _UNSIGNED if largest < 1 << 8 * dtype.itemsize)


@dataclass(frozen=True, slots=True)
class FolderLayout:
    """Format of the headers of one kind of folder.

    Args:
        format: name in every header.
        version: written and read by this hybridkg.
        header: file name of the folder's header.
        what: name in messages, such as `text index`.
        earlier: versions that this hybridkg reads and does not write.
    """

    format: str
    version: int
    header: str
    what: str
    earlier: tuple[int, ...] = ()

    def header_name(self, segment: str) -> str:
        """File of the header of a segment, or of the whole folder."""
        return f"{segment}.json" if segment else self.header


class Writer:
    """Writes the arrays of an existing folder, or of a segment (the prefix of its files), then the header."""

    def __init__(self, layout: FolderLayout, folder: Path, segment: str = ""):
        self._layout, self._folder, self._segment = layout, folder, segment
        self._arrays: dict[str, dict[str, Any]] = {}

    def path(self, name: str) -> Path:
        return self._folder / (f"{self._segment}.{name}" if self._segment else name)

    def create(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> Array:
        """A new array of zeros, mapped to its file; `finish` makes it durable."""
        dtype = np.dtype(dtype).newbyteorder("<")
        self.declare(name, dtype, shape)
        if math.prod(shape) == 0:
            self.path(name).write_bytes(b"")
            return np.zeros(shape, dtype)
        return np.memmap(self.path(name), dtype=dtype, mode="w+", shape=shape)

    def declare(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        """Adds an array to the header that the caller writes to `path(name)`."""
        self._arrays[name] = {"dtype": np.dtype(dtype).newbyteorder("<").str, "shape": list(shape)}

    def write(self, name: str, array: Array) -> None:
        stream = self.stream(name, array.dtype)
        stream.append(array)
        stream.close()
        self.declare(name, array.dtype, array.shape)

    def link(self, earlier: MappedArrays, names: Sequence[str]) -> None:
        """Adds arrays of an earlier folder as they are, by hard links, which write nothing; they must stay immutable.

        Raises:
            CorruptError: a file of the earlier folder is missing or has another size.
        """
        for name in names:
            self.link_as(name, earlier, name)

    def link_as(self, name: str, earlier: MappedArrays, earlier_name: str) -> None:
        """As `link`, for an array that may get another name."""
        self.declare(name, *earlier.check(earlier_name))
        self._link(name, earlier, earlier_name)
        if (base := earlier.base_rows(earlier_name)) is not None:
            self._arrays[name]["base"] = base
            self._link(name + TAIL, earlier, earlier_name + TAIL)

    def _link(self, name: str, earlier: MappedArrays, earlier_name: str) -> None:
        path, own = earlier.path(earlier_name), self.path(name)
        link_or_copy(path, own)
        if own.name != path.name and (crc := known_checksum(path)) is not None:
            remember(own, crc)

    def extend(self, name: str, earlier: MappedArrays, pieces: Sequence[Array | tuple[int, int]]) -> None:
        """Writes an array with the base of an earlier one, which is linked, and a tail in place of the earlier tail.

        Args:
            name: of both arrays, which have the same type and number of columns.
            earlier: the earlier folder.
            pieces: of the tail: ranges of rows (first, end) of the earlier array, and new rows.

        Raises:
            ValueError: the size of a row is no power of two up to ALIGN.
        """
        dtype, shape = earlier.check(name)
        base = earlier.base_rows(name)
        base = shape[0] if base is None else base
        row = dtype.itemsize * math.prod(shape[1:])
        if not row or ALIGN % row:
            raise ValueError(f"rows of {row} bytes cannot have a tail")
        array = earlier.array(name) if any(isinstance(piece, tuple) for piece in pieces) else np.zeros(0, dtype)
        stream = ArrayStream(self, name + TAIL, dtype, 0)
        stream.append_pieces(array, pieces)
        stream.close()
        del self._arrays[name + TAIL]
        self._link(name, earlier, name)
        self.declare(name, dtype, (tail_start(base * row) // row + stream.rows, *shape[1:]))
        self._arrays[name]["base"] = base

    def splice(self, name: str, earlier: MappedArrays, pieces: Sequence[Array | tuple[int, int]]) -> None:
        """Writes an array made of rows of the same array of an earlier folder, copied in bulk, and of new rows.

        Args:
            name: of both arrays, which have the same type and number of columns.
            earlier: the earlier folder.
            pieces: ranges of rows (first, end), ascending, and new rows.
        """
        array = earlier.array(name)
        if earlier.base_rows(name) is not None:
            stream = self.stream(name, array.dtype, array.shape[1] if array.ndim > 1 else 0)
            stream.append_pieces(array, pieces)
            stream.close()
            return
        row = array.dtype.itemsize * math.prod(array.shape[1:])
        ranges: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, tuple):
                ranges.append((piece[0] * row, piece[1] * row))
            elif len(piece):
                ranges.append(_bytes(piece, array.dtype))
        size = splice(self.path(name), earlier.path(name), ranges)
        self.declare(name, array.dtype, (size // row, *array.shape[1:]))

    def stream(self, name: str, dtype: DTypeLike, width: int = 0) -> ArrayStream:
        """A new array of unknown length, written sequentially; `width` is its columns, 0 for one dimension."""
        return ArrayStream(self, name, np.dtype(dtype).newbyteorder("<"), width)

    def header(self, about: dict[str, Any]) -> dict[str, Any]:
        """The header with which the arrays that have been written can be read before the folder is finished."""
        return {"format": self._layout.format, "version": self._layout.version, **about, "arrays": self._arrays}

    def finish(self, about: dict[str, Any]) -> None:
        """Writes the header, which makes the arrays readable."""
        header = self.header(about)
        path = self._folder / self._layout.header_name(self._segment)
        path.write_text(json_lines(header) + "\n", encoding="utf-8")


class ArrayStream:
    """An array that grows at its end; `close` adds it to the header."""

    def __init__(self, out: Writer, name: str, dtype: np.dtype[Any], width: int):
        self._out, self._name, self._dtype, self._width = out, name, dtype, width
        self._file = out.path(name).open("wb", buffering=BUFFER)
        self._crc = 0
        self.rows = 0

    def append(self, array: Array) -> None:
        """Appends rows, converted to the array's type, which must represent them."""
        if array.size:
            data = _bytes(array, self._dtype)
            self._crc = crc32(data, self._crc)
            self._file.write(data)
        self.rows += len(array)

    def append_pieces(self, source: Array, pieces: Iterable[Array | tuple[int, int]]) -> None:
        """Appends ranges of rows (first, end) of an array, and new rows; short pieces are joined first."""
        waiting, rows = list[Array](), 0
        for piece in pieces:
            own = source[piece[0] : piece[1]] if isinstance(piece, tuple) else piece
            if waiting and rows + len(own) > JOINED:
                self.append(waiting[0] if len(waiting) == 1 else np.concatenate(waiting))
                waiting, rows = [], 0
            waiting.append(own)
            rows += len(own)
        if waiting:
            self.append(waiting[0] if len(waiting) == 1 else np.concatenate(waiting))

    def close(self) -> None:
        if not self._file.closed:
            with self._file:
                self._file.flush()
                start_writing(self._file.fileno())
            remember(self._out.path(self._name), self._crc)
        self._out.declare(self._name, self._dtype, (self.rows, self._width) if self._width else (self.rows,))


def _bytes(array: Array, dtype: np.dtype[Any]) -> memoryview:
    """The bytes of an array that is not empty, converted to a type."""
    return np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data


class MappedArrays:
    """Header and memory-mapped arrays of a folder, or of one segment of it (empty for the whole).

    Raises:
        CorruptError: the header is missing, unreadable or of another version, or a file has another size.
    """

    def __init__(self, layout: FolderLayout, folder: Path, segment: str = "", header: Mapping[str, Any] | None = None):
        """`header` is that of an unfinished folder; without it, the header is read."""
        self._layout, self._folder, self._segment = layout, folder, segment
        self._name = layout.header_name(segment)
        self.header: dict[str, Any] = self._read() if header is None else dict(header)
        self._start = os.path.join(folder, f"{segment}." if segment else "")  # noqa: PTH118 - a text is half of a Path
        self._mapped: dict[str, mmap] = {}

    def _read(self) -> dict[str, Any]:
        layout, path = self._layout, self._folder / self._name
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as e:
            raise CorruptError(
                f"the {layout.what} has no {self._name!r}", hint="index again", place=str(self._folder)
            ) from e
        except (OSError, ValueError, RecursionError) as e:
            raise CorruptError(f"{self._name!r} cannot be read: {e}", hint="index again", place=str(path)) from e
        if not isinstance(header, dict) or header.get("format") != layout.format:
            raise CorruptError(f"{self._name!r} is not the header of a {layout.what}", place=str(path))
        if header.get("version") not in (layout.version, *layout.earlier):
            *earlier, last = map(str, (*layout.earlier, layout.version))
            readable = f"{', '.join(earlier)} and {last}" if earlier else last
            raise CorruptError(
                f"{layout.what} of version {header.get('version')!r}; this hybridkg reads {readable}",
                hint="index again",
                place=str(path),
            )
        return header

    def about(self, key: str) -> Any:
        """A value of the header; raises CorruptError where it is missing."""
        if key not in self.header:
            raise CorruptError(f"{self._name!r} lacks {key!r}", hint="index again", place=str(self._folder))
        return self.header[key]

    def path(self, name: str) -> Path:
        """The file of an array."""
        return Path(self._file(name))

    def _file(self, name: str) -> str:
        return self._start + name

    def check(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """The type and the shape of an array.

        Raises:
            CorruptError: the header does not describe it, or its file is missing or has another size.
        """
        try:
            declared = self.about("arrays")[name]
            dtype, shape = np.dtype(declared["dtype"]), tuple(int(n) for n in declared["shape"])
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise CorruptError(f"{self._name!r} does not describe {name!r}", place=str(self._folder)) from e
        if dtype.kind not in "biuf" or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise CorruptError(f"{self._name!r} has no type of numbers for {name!r}", place=str(self._folder))
        whole, base = math.prod(shape) * dtype.itemsize, self.base_rows(name)
        if base is None:
            self._check_size(name, whole)
            return dtype, shape
        row = dtype.itemsize * math.prod(shape[1:])
        if row == 0 or ALIGN % row or base < 0 or whole < (begin := tail_start(base * row)):
            raise CorruptError(f"{self._name!r} has no tail for {name!r}", place=str(self._folder))
        self._check_size(name, base * row)
        self._check_size(name + TAIL, whole - begin)
        return dtype, shape

    def _check_size(self, name: str, expected: int) -> None:
        path = self._file(name)
        try:
            size = os.stat(path).st_size  # noqa: PTH116 - runs for each array, and a Path takes 6 us more
        except OSError as e:
            raise CorruptError(f"the {self._layout.what} lacks {name!r}", hint="index again", place=str(path)) from e
        if size != expected:
            raise CorruptError(
                f"{name!r} has {size:,} bytes instead of {expected:,}", hint="index again", place=str(path)
            )

    def base_rows(self, name: str) -> int | None:
        """The rows of the base of an array that has a tail; None for one without.

        Raises:
            CorruptError: the header does not tell it as a number.
        """
        base = self.about("arrays")[name].get("base")
        if base is not None and not isinstance(base, int):
            raise CorruptError(f"{self._name!r} does not describe {name!r}", place=str(self._folder))
        return base

    def tail_start(self, name: str) -> int:
        """The row at which the tail of an array begins, or would begin."""
        dtype, shape = self.check(name)
        row, base = dtype.itemsize * math.prod(shape[1:]), self.base_rows(name)
        if not row:
            raise CorruptError(f"{self._name!r} has no tail for {name!r}", place=str(self._folder))
        return tail_start((shape[0] if base is None else base) * row) // row

    def array(self, name: str) -> Array:
        """An array, read-only and mapped; errors as in `check`."""
        dtype, shape = self.check(name)
        if math.prod(shape) == 0:
            return np.zeros(shape, dtype)
        path, base = self._file(name), self.base_rows(name)
        pages: mmap | bytes | bytearray
        if base is None:
            pages = map_file(path)  # numpy's memmap takes five times as long, and so does a slice of one
        else:
            base_bytes = base * dtype.itemsize * math.prod(shape[1:])
            tail_bytes = math.prod(shape) * dtype.itemsize - tail_start(base_bytes)
            try:
                pages = map_adjacent(path, base_bytes, self._file(name + TAIL), tail_bytes)
            except OSError as e:
                raise CorruptError(f"{name!r} cannot be read: {e}", hint="index again", place=path) from e
        if isinstance(pages, mmap):
            self._mapped[name] = pages
        array: Array = np.frombuffer(pages, dtype).reshape(shape)
        array.flags.writeable = False
        return array

    def populate(self, names: Sequence[str] | None = None, most: float = inf) -> None:
        """Enters the pages of mapped arrays into the page table at once, where the system supports it.

        A query's first access to a page costs up to a microsecond, even where the system has it in memory; a rare word
        touches some thirty. This takes about 0.1 us for each page, and no memory of the process.

        Args:
            names: of the arrays; None for all that have been asked for.
            most: bytes of these arrays together above which none is populated.
        """
        names = [*self._mapped] if names is None else names
        mapped = [pages for name in names if (pages := self._mapped.get(name)) is not None]
        if sum(map(len, mapped)) > most:
            return
        for pages in mapped:
            with suppress(OSError, ValueError):
                pages.madvise(POPULATE_READ)

    def has(self, name: str) -> bool:
        return name in self.about("arrays")
