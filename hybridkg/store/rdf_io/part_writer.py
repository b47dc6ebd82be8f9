"""Concurrent writing of quads into a store while the parser runs.

Oxigraph takes text without the interpreter's lock, but objects only with it. So quads go in as N-Quads, in parts, from
a few threads: 200,000/s instead of 130,000 (600,000 triples, two cores). Quads with blank nodes cannot go this way,
because Oxigraph relabels the blank nodes of every text.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from pyoxigraph import RdfFormat, Store

PART = 100_000
"""Quads that Oxigraph sorts at once, in 0.1 GB. More are no faster; fewer make more files to compact."""

PART_BYTES = 32_000_000

MAX_WRITERS = 4


class PartWriter:
    """A context manager that has written everything into the store at its end."""

    def __init__(self, store: Store):
        self._store = store
        self._writers = min(MAX_WRITERS, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._writers, "hybridkg-loader")
        self._waiting: deque[Future[None]] = deque()
        self._start_part()

    def add(self, text: bytes, quads: int) -> None:
        """Takes N-Quads without blank nodes. Raises OSError: a disk failure, perhaps of an earlier call."""
        self._texts.append(text)
        self._quads += quads
        self._bytes += len(text)
        if self._quads >= PART or self._bytes >= PART_BYTES:
            self._hand_on()

    def _start_part(self) -> None:
        self._texts: list[bytes] = []
        self._quads = self._bytes = 0

    def _hand_on(self) -> None:
        if len(self._waiting) > self._writers:
            self._waiting.popleft().result()
        if self._quads:
            text = b"".join(self._texts)
            self._waiting.append(self._pool.submit(self._store.bulk_load, text, RdfFormat.N_QUADS, lenient=True))
        self._start_part()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._hand_on()
                while self._waiting:
                    self._waiting.popleft().result()
        finally:
            self._pool.shutdown(cancel_futures=True)
            del self._store  # an exception's frames would keep it open while its folder is removed
