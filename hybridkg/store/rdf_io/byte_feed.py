"""The byte stream from a document to the parser, with watchers that see each block first.

A watcher raises an error for input that the parser would accept; an empty block ends the document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

from hybridkg.rdf.input_file import InputFile

Watcher = Callable[[bytes], None]


class ByteFeed:
    """A file-like object for pyoxigraph, which reads 1 kB or more at a time.

    Args:
        file: the source; None for nothing.
        watchers: called with each block of it.
        begun: bytes in front of the file, which the watchers have seen.
    """

    def __init__(self, file: InputFile | None, watchers: Sequence[Watcher] = (), begun: bytes = b""):
        self._file, self._watchers = file, watchers
        self._block = BytesIO(begun)
        self._ended = file is None

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, fewer at the end of a block; empty at the end of the file."""
        piece = self._block.read(size)
        if piece or self._ended or self._file is None:
            return piece
        data = self._file.block()
        self._ended = not data
        for watch in self._watchers:
            watch(data)
        self._block = BytesIO(data)
        return self._block.read(size)

    def drain(self) -> None:
        """Passes to the watchers the blocks that the parser did not read."""
        while not self._ended:
            self._block = BytesIO()
            self.read()


class LineFeed:
    """A ByteFeed without watchers, one line at a time; `line` is the number of the last line read."""

    def __init__(self, file: InputFile):
        self._lines = file.lines(1 << 30)
        self._rest = b""
        self.line = 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes of one line."""
        if not self._rest:
            self._rest = next(self._lines, b"")
            self.line += bool(self._rest)
        size = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece
