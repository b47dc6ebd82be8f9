"""Spills: lines on disk by range of keys, so that each range can be sorted in memory alone.

A spill is a file of frames and a file of their offsets. A frame has the distinct lines of one range between two
flushes, sorted and compressed; a line is `key TAB rest`. Ranges are the same for all spills, so the lines of a key are
in one range of each.

The file of offsets begins with its numbers of rows and columns. A row has the offsets of one flush, one more than there
are ranges. It is not a `.npy` file, because `numpy.load` parses the header with `ast`, which before Python 3.11.8 fails
at times in threads (github.com/python/cpython/issues/106905).
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from hybridkg.errors import CorruptError

FLUSHED_AT = 48 << 20
"""Bytes of lines in memory; with their objects about twice as much."""

LEVEL = 1
"""Level of zlib; sorted lines shrink to an eighth."""

STARTS = "<u8"
"""Type of an offset."""

MAX_SAMPLED = 100_000
"""Keys from which ranges are chosen."""


class Sample:
    """A sample of every n-th key; n grows so that there are at most MAX_SAMPLED."""

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._step, self._seen = 1, 0

    def add(self, key: bytes) -> None:
        """Adds a key."""
        if self._seen % self._step == 0:
            self._keys.append(key)
            if len(self._keys) == MAX_SAMPLED:
                del self._keys[1::2]
                self._step *= 2
        self._seen += 1

    def splits(self, ranges: int) -> list[bytes]:
        """At most `ranges - 1` keys, ascending and distinct, which cut the keys into ranges of similar size.

        >>> sample = Sample()
        >>> for key in (b"d", b"a", b"c", b"b"):
        ...     sample.add(key)
        >>> sample.splits(2)
        [b'c']
        """
        keys = sorted(set(self._keys))
        return sorted({keys[len(keys) * i // ranges] for i in range(1, ranges)} - {b""}) if keys else []


class EntitySpill:
    """Writer of a spill; nothing is at `path` before `close`.

    Args:
        path: of the new file; its offsets are in `.starts` next to it.
        splits: first keys of the second and all further ranges.
        flushed_at: bytes of lines in memory.
    """

    def __init__(self, path: Path, splits: Sequence[bytes], flushed_at: int | None = None):
        self._path, self._splits = path, splits
        self._flushed_at = FLUSHED_AT if flushed_at is None else flushed_at
        self._file = _beside(path).open("wb")
        self._waiting: list[list[bytes]] = [[] for _ in range(len(splits) + 1)]
        self._bytes = 0
        self._starts: list[list[int]] = []
        self._key: bytes | None = None
        self._append: Callable[[bytes], None] = self._waiting[0].append

    def add(self, key: bytes, rest: bytes) -> None:
        """Adds a line; `rest` has no line end, and a line may be repeated."""
        if key != self._key:  # lines of a key often follow each other
            self._key = key
            self._append = self._waiting[bisect_right(self._splits, key)].append
        line = b"%b\t%b\n" % (key, rest)
        self._append(line)
        self._bytes += len(line)
        if self._bytes >= self._flushed_at:
            self._flush()

    def _flush(self) -> None:
        starts = [self._file.tell()]
        for lines in self._waiting:
            if lines:
                self._file.write(zlib.compress(b"".join(sorted(set(lines))), LEVEL))
                lines.clear()
            starts.append(self._file.tell())
        self._starts.append(starts)
        self._bytes = 0

    def close(self) -> None:
        """Writes the remaining lines, and gives the files their names."""
        self._flush()
        self._file.close()
        rows = np.array(self._starts, STARTS)
        _beside(starts_of(self._path)).write_bytes(np.array(rows.shape, STARTS).tobytes() + rows.tobytes())
        _beside(self._path).replace(self._path)
        _beside(starts_of(self._path)).replace(starts_of(self._path))  # last, because it marks the spill as complete

    def discard(self) -> None:
        """Removes the unfinished file."""
        self._file.close()
        _beside(self._path).unlink(missing_ok=True)


def starts_of(path: Path) -> Path:
    """The file of the offsets of a spill; if it exists, the spill is complete."""
    return path.with_name(path.name + ".starts")


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def remove(path: Path) -> None:
    """Removes a spill."""
    starts_of(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def lines_of(paths: Iterable[Path], number: int) -> list[bytes]:
    """Distinct sorted lines of a range, 200 bytes of memory for one of 80. Raises CorruptError: a damaged file."""
    lines: set[bytes] = set()
    for path in paths:
        try:
            numbers = np.memmap(starts_of(path), STARTS, "r")
            starts = numbers[2:].reshape(int(numbers[0]), int(numbers[1]))
            if starts[-1, -1] != path.stat().st_size:
                raise ValueError("its size does not match its offsets")
            with path.open("rb") as file:
                for start, end in starts[:, number : number + 2].tolist():
                    if end > start:
                        file.seek(start)
                        lines.update(zlib.decompress(file.read(end - start)).splitlines(keepends=True))
        except (OSError, ValueError, IndexError, OverflowError, MemoryError, EOFError, zlib.error) as e:
            raise CorruptError(f"{str(path)!r} is damaged: {e}", hint="remove its folder and start again") from e
    return sorted(lines)
