"""Text documents that are added while the graph is loaded, in a process of their own."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hybridkg.compute.worker_process import Emit, WorkerLostError, WorkerProcess
from hybridkg.entities.documents.document_store import ASIDE_FROM, DocumentCount, add_documents
from hybridkg.interfaces.progress import Progress

Finish = Callable[[Progress], list[DocumentCount]]
"""Tells the progress what is left to do, does it or waits for it, and returns what each file brought."""


@contextmanager
def adding(paths: Sequence[Path], previous: Path | None, folder: Path, *, beside: bool) -> Iterator[Finish]:
    """Adds documents as `add_documents` does; the block is given a function that finishes it.

    Args:
        paths: .jsonl files, plain or compressed.
        previous: the `documents` folder of the live generation, or None.
        folder: the new `documents` folder; must not exist.
        beside: whether there is other work to do meanwhile, so that a large file is begun at once.
    """

    def here(progress: Progress) -> list[DocumentCount]:
        return add_documents(paths, previous, folder, progress)

    if not beside or sum(path.stat().st_size for path in paths) < ASIDE_FROM:
        yield here
        return
    with WorkerProcess(_add, paths, previous, folder) as process:
        relay = _Relay(process)

        def finish(progress: Progress) -> list[DocumentCount]:
            try:
                return relay.finish(progress)
            except WorkerLostError:
                shutil.rmtree(folder, ignore_errors=True)
                return here(progress)

        yield finish


@dataclass(frozen=True, slots=True)
class _Started:
    """A file is begun."""

    label: str
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Advanced:
    """Some of it has been read."""

    bytes_read: int
    items: int


@dataclass(frozen=True, slots=True)
class _Done:
    """It has been read."""

    items: int


_Report = _Started | _Advanced | _Done


@dataclass(frozen=True)
class _Reports:
    """A Progress that sends what it is told."""

    emit: Emit

    def start(self, label: str, total_bytes: int | None) -> None:
        self.emit(_Started(label, total_bytes))

    def advance(self, bytes_read: int, items: int) -> None:
        self.emit(_Advanced(bytes_read, items))

    def done(self, items: int) -> None:
        self.emit(_Done(items))


def _add(emit: Emit, paths: Sequence[Path], previous: Path | None, folder: Path) -> list[DocumentCount]:
    """The work of the process."""
    return add_documents(paths, previous, folder, _Reports(emit))


class _Relay:
    """Takes the reports of a process as they come, and tells them once somebody wants to know."""

    def __init__(self, process: WorkerProcess):
        self._process = process
        self._waiting: list[_Report] = []
        self._changed = threading.Condition()
        self._over = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._take, name="hybridkg-documents", daemon=True)
        self._thread.start()

    def _take(self) -> None:
        try:
            for report in self._process:
                self._put(report)
        except BaseException as e:
            self._error = e
        with self._changed:
            self._over = True
            self._changed.notify()

    def _put(self, report: _Report) -> None:
        """What has been read of a file before anybody wants to know makes one report."""
        with self._changed:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(report, _Advanced) and isinstance(last, _Advanced):
                self._waiting[-1] = _Advanced(last.bytes_read + report.bytes_read, last.items + report.items)
            else:
                self._waiting.append(report)
            self._changed.notify()

    def finish(self, progress: Progress) -> list[DocumentCount]:
        """Tells everything to the end; what was read of a file before the first call is not a part of its work.

        Raises:
            HybridkgError, OSError, WorkerLostError: the work has failed.
        """
        first = True
        while reports := self._some():
            for report, following in zip(reports, [*reports[1:], None], strict=True):
                if isinstance(report, _Started):
                    left = report.total_bytes
                    if first and isinstance(following, _Advanced) and left is not None:
                        left = max(0, left - following.bytes_read)
                    progress.start(report.label, left)
                elif isinstance(report, _Done):
                    progress.done(report.items)
                elif not first:
                    progress.advance(report.bytes_read, report.items)
            first = False
        self._thread.join()
        if self._error is not None:
            raise self._error
        result: list[DocumentCount] = self._process.result
        return result

    def _some(self) -> list[_Report]:
        """What has come since the last call, or comes next; nothing at the end."""
        with self._changed:
            while not self._waiting and not self._over:
                self._changed.wait()
            reports, self._waiting = self._waiting, []
            return reports
