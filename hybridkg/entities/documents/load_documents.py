"""Loading of text documents in a worker process, in parallel with loading the graph."""

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
"""Reports the remaining work to the progress, does it or waits for it, and returns the counts of each file."""


@contextmanager
def adding(paths: Sequence[Path], previous: Path | None, folder: Path, *, beside: bool) -> Iterator[Finish]:
    """Runs `add_documents`; the block gets a function that finishes it.

    Args:
        paths: .jsonl files, plain or compressed.
        previous: the `documents` folder of the live generation, or None.
        folder: the new `documents` folder; must not exist.
        beside: whether the block does other work meanwhile, so that a large file starts at once.
    """

    def local(progress: Progress) -> list[DocumentCount]:
        return add_documents(paths, previous, folder, progress)

    if not beside or sum(path.stat().st_size for path in paths) < ASIDE_FROM:
        yield local
        return
    with WorkerProcess(_add, paths, previous, folder) as process:
        relay = _Relay(process)

        def finish(progress: Progress) -> list[DocumentCount]:
            try:
                return relay.finish(progress)
            except WorkerLostError:
                shutil.rmtree(folder, ignore_errors=True)
                return local(progress)

        yield finish


@dataclass(frozen=True, slots=True)
class _Started:
    label: str
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Advanced:
    bytes_read: int
    items: int


@dataclass(frozen=True, slots=True)
class _Done:
    items: int


_Report = _Started | _Advanced | _Done


@dataclass(frozen=True)
class _Reports:
    """A Progress that emits its calls."""

    emit: Emit

    def start(self, label: str, total_bytes: int | None) -> None:
        self.emit(_Started(label, total_bytes))

    def advance(self, bytes_read: int, items: int) -> None:
        self.emit(_Advanced(bytes_read, items))

    def done(self, items: int) -> None:
        self.emit(_Done(items))


def _add(emit: Emit, paths: Sequence[Path], previous: Path | None, folder: Path) -> list[DocumentCount]:
    return add_documents(paths, previous, folder, _Reports(emit))


class _Relay:
    """Receives the reports of a process in a thread, and forwards them from the first call of `finish`."""

    def __init__(self, process: WorkerProcess):
        self._process = process
        self._waiting: list[_Report] = []
        self._changed = threading.Condition()
        self._ended = False
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
            self._ended = True
            self._changed.notify()

    def _put(self, report: _Report) -> None:
        """Appends a report; merges progress of a file that nobody has read yet."""
        with self._changed:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(report, _Advanced) and isinstance(last, _Advanced):
                self._waiting[-1] = _Advanced(last.bytes_read + report.bytes_read, last.items + report.items)
            else:
                self._waiting.append(report)
            self._changed.notify()

    def finish(self, progress: Progress) -> list[DocumentCount]:
        """Forwards all reports to the end; progress before the first call is subtracted from the work.

        Raises:
            HybridkgError, OSError, WorkerLostError: the work has failed.
        """
        first = True
        while reports := self._some():
            for report, following in zip(reports, [*reports[1:], None], strict=True):
                if isinstance(report, _Started):
                    remaining = report.total_bytes
                    if first and isinstance(following, _Advanced) and remaining is not None:
                        remaining = max(0, remaining - following.bytes_read)
                    progress.start(report.label, remaining)
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
        """Reports since the last call, or the next ones; empty at the end."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            reports, self._waiting = self._waiting, []
            return reports
