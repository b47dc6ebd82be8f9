"""The pool of worker processes that analyse batches, one per core, with a cache of results in files.

The workers are plain child processes fed over a pipe (see hybridkg.compute.worker_process). If one cannot be started,
dies or fails, the batch is analysed in this process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from hybridkg.compute.worker_process import let_go, started
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.index.build import batch_cache
from hybridkg.text.index.build.analysis_batch import AnalyzedBatch, BatchAnalyzer, key_of
from hybridkg.text.index.build.batch_cache import SUFFIX
from hybridkg.text.index.build.worker import DONE, frame

MAX_WORKERS = 8
"""The parent process saturates at about ten workers; each takes up to 0.6 GB."""

MAX_DEATHS = 3
"""Workers that may die before no other one is started."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybridkg.text.index.build.worker import main; main()"
_log = logging.getLogger(__name__)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Analyses batches concurrently.

    Args:
        folder: of the batch cache.
        analyzers: by name.
        workers: number of processes; 0 to analyse in this process.
        max_bytes: of the batch cache; files beyond it are removed once read.
    """

    def __init__(
        self, folder: Path, analyzers: Mapping[str, Analyzer], workers: int, max_bytes: int = batch_cache.MAX_BYTES
    ):
        self.found = 0
        """Batches found in the cache."""
        self._room = max_bytes - sum(path.stat().st_size for path in batch_cache.files(folder))
        self._folder, self._analyzers, self._workers = folder, analyzers, workers
        self._batch_analyzer: BatchAnalyzer | None = None
        self._analyzer_lock = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._alive: set[subprocess.Popen[bytes]] = set()
        self._deaths = 0
        self._closed = False
        self._threads = ThreadPoolExecutor(max(1, workers), "hybridkg-analysis")

    def submit(self, payload: bytes, records: int) -> Future[AnalyzedBatch]:
        """Starts the analysis of a batch with a number of records."""
        return self._threads.submit(self._answer, payload, records)

    def close(self) -> None:
        """Kills the processes and cancels pending batches."""
        with self._lock:
            self._closed = True
            processes = list(self._alive)
        for process in processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in processes:
            let_go(process)

    def _answer(self, payload: bytes, records: int) -> AnalyzedBatch:
        """Runs in one of the threads."""
        path = self._folder / (key_of(payload) + SUFFIX)
        cached = AnalyzedBatch.read(path, records)
        if cached is not None:
            with self._lock:
                self.found += 1
            with suppress(OSError):
                os.utime(path)  # the oldest are deleted first
            return cached
        process = self._take()
        if process is not None and self._analysed_by(process, path, payload):
            analysed = AnalyzedBatch.read(path, records)
            if analysed is not None:
                self._account_for(path)
                return analysed
        with self._analyzer_lock:
            if self._closed:
                raise CancelledError
            self._batch_analyzer = self._batch_analyzer or BatchAnalyzer(self._analyzers)
            batch = self._batch_analyzer.analyze(payload)
        with suppress(OSError):
            if batch.write(path):
                self._account_for(path)
        return batch

    def _account_for(self, path: Path) -> None:
        """Counts a new file, or removes it if the cache is full: another build starts with the first batches."""
        with self._lock, suppress(OSError):
            size = path.stat().st_size
            if size > self._room:
                path.unlink()
            else:
                self._room -= size

    def _analysed_by(self, process: subprocess.Popen[bytes], path: Path, payload: bytes) -> bool:
        """Whether a process has analysed a batch; a process without an answer is killed."""
        try:
            answer = _answer_of(process, path, payload)
        except OSError:
            answer = b""
        if answer:
            with self._lock:
                self._idle.append(process)
        else:
            process.kill()
            with self._lock:
                self._alive.discard(process)
                self._deaths += 1
            if not self._closed:
                _log.info("a process that analyses text has ended (exit status %s)", let_go(process))
        return answer == DONE

    def _take(self) -> subprocess.Popen[bytes] | None:
        """An idle process, or a new one; None where none may or can be started."""
        with self._lock:
            if self._closed:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
            if not self._workers or self._deaths >= MAX_DEATHS:
                return None
            try:
                process = started(_START)
            except (OSError, ValueError) as e:
                self._deaths += 1
                _log.info("no process to analyse text can be started: %s", e)
                return None
            self._alive.add(process)
            return process


def _answer_of(process: subprocess.Popen[bytes], path: Path, payload: bytes) -> bytes:
    """The answer of a process to a batch; empty, or an OSError, where it has ended."""
    if process.stdin is None or process.stdout is None:
        return b""
    process.stdin.write(frame(path, payload))
    process.stdin.write(payload)
    process.stdin.flush()
    return process.stdout.read(1)
