"""Writes quads into a store beside the parser.

Oxigraph takes text without the interpreter's lock, objects only with it. So
quads go in as N-Quads, in parts, from a few threads: measured on 600,000
triples and two cores, 200,000/s instead of 130,000. Quads with blank nodes
cannot take this way, because Oxigraph gives the blank nodes of every text new
labels.
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
    """Use as a context; at its end everything is written.

    Args:
        store: takes the quads.
    """

    def __init__(self, store: Store):
        self._store = store
        self._writers = min(MAX_WRITERS, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._writers, "hybridkg-loader")
        self._waiting: deque[Future[None]] = deque()
        self._start_part()

    def add(self, text: bytes, quads: int) -> None:
        """Takes quads without blank nodes.

        Args:
            text: N-Quads.
            quads: how many.

        Raises:
            OSError: the disk is full or fails; perhaps because of quads that came earlier.
        """
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
            del self._store  # the frames of an exception would keep it open while its folder is removed
