"""Reads dumps side by side: unpacking bzip2 takes longer than all the rest, and does not hold Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from hybridkg.evaluation.datasets.dbpedia.partition import Dump
from hybridkg.evaluation.datasets.dbpedia.triples import Lines
from hybridkg.interfaces.progress import Progress

AT_ONCE = 2
"""Dumps; the lines of all are looked at by one core, so more of them wait for each other."""


class _StoppedError(Exception):
    """Another dump has ended the work."""


class _Together:
    """What several dumps report, as one piece of work; ends the others when one has failed."""

    def __init__(self, progress: Progress):
        self._progress, self._lock = progress, threading.Lock()
        self.stopped = threading.Event()

    def start(self, label: str, total_bytes: int | None) -> None:
        """The piece has been started for all."""

    def advance(self, bytes_read: int, items: int) -> None:
        """What came of one of them."""
        if self.stopped.is_set():
            raise _StoppedError
        with self._lock:
            self._progress.advance(bytes_read, items)

    def done(self, items: int) -> None:
        """The piece ends with the last."""


def side_by_side(
    dumps: Sequence[Dump], read: Callable[[Dump, Progress], Lines], progress: Progress
) -> Iterator[tuple[Dump, Lines]]:
    """Each dump with what has come of it, as it is done; the largest are begun first.

    Args:
        dumps: the dumps.
        read: reads one, and tells the progress that it is given.
        progress: told the bytes and lines of all.

    Raises:
        LoadError: a dump is wrong; the others are given up, except those that are done.
    """
    if not dumps:
        return
    sizes = {dump.name: dump.path.stat().st_size for dump in dumps}
    together, triples = _Together(progress), 0
    progress.start(f"reading {len(dumps)} dumps", sum(sizes.values()))
    with ThreadPoolExecutor(AT_ONCE, "hybridkg-dumps") as threads:
        in_order = sorted(dumps, key=lambda dump: (-sizes[dump.name], dump.name))
        futures = {threads.submit(read, dump, together): dump for dump in in_order}
        error: BaseException | None = None
        try:
            for future in as_completed(futures):
                try:
                    lines = future.result()
                except BaseException as e:  # also of those that have been stopped because of it
                    error = error or e
                    _stop(together, futures)
                    continue
                triples += lines.triples
                yield futures[future], lines
        except BaseException:  # Ctrl-C
            _stop(together, futures)
            raise
        if error is not None:
            raise error
    progress.done(triples)


def _stop(together: _Together, futures: Iterable[Future[Lines]]) -> None:
    together.stopped.set()
    for future in futures:
        future.cancel()
