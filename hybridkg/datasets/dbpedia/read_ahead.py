"""Decompression of a file in a thread: bzip2 takes as long as all work on the lines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Full, Queue

from hybridkg.rdf.input_file import InputFile

BLOCKS = 8
"""Blocks of a megabyte that wait to be read."""


class ReadAhead:
    """Lines of a file, decompressed ahead; `file` must have no other reader, and stay open inside the `with`."""

    def __init__(self, file: InputFile):
        self._file = file
        self._blocks: Queue[tuple[bytes, int] | BaseException] = Queue(BLOCKS)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="hybridkg-unpacking", daemon=True)
        self.advanced = 0

    def __enter__(self) -> ReadAhead:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        try:
            while block := self._file.block():
                self._put((block, self._file.advanced()))
            self._put((b"", self._file.advanced()))
        except BaseException as e:  # raised again in the reader
            self._put(e)

    def _put(self, block: tuple[bytes, int] | BaseException) -> None:
        while not self._ended.is_set():
            try:
                self._blocks.put(block, timeout=0.1)
                return
            except Full:
                continue

    def lines(self, longest: int) -> Iterator[bytes]:
        """The lines as InputFile.lines gives them. Raises LoadError: a damaged archive, or a disk failure."""
        rest: list[bytes] = []
        waiting = 0
        while True:
            item = self._blocks.get()
            if isinstance(item, BaseException):
                raise item
            block, advanced = item
            self.advanced += advanced
            if not block:
                break
            first, end, behind = block.partition(b"\n")
            rest.append(first)
            waiting += len(first)
            if end:
                yield b"".join(rest) + end
                lines = behind.splitlines(keepends=True) if b"\r" not in behind else _split(behind)
                rest = [lines.pop()] if lines and not lines[-1].endswith(b"\n") else []
                waiting = len(rest[0]) if rest else 0
                yield from lines
            if waiting > longest:
                yield b"".join(rest)[: longest + 1]
                return
        if rest and (last := b"".join(rest)):
            yield last


def _split(block: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    parts = block.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])
