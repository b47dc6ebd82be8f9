"""Analyses batches in processes of their own, one to a core, and keeps what came of them in files.

Plain child processes that are fed over a pipe (hybridkg.compute.worker_process tells why). One
that cannot be started, dies or cannot do a batch costs time and nothing else:
the batch is worked out in this process.
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
from hybridkg.text.index.build.analysis_batch import Analyst, AnalyzedBatch, key_of
from hybridkg.text.index.build.batch_cache import SUFFIX
from hybridkg.text.index.build.worker import DONE, frame

MAX_WORKERS = 8
"""The process that feeds them and collects what they find is busy with about ten; each takes up to 0.6 GB."""

MAX_DEATHS = 3
"""Processes that may end by themselves, before no other one is started."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybridkg.text.index.build.worker import main; main()"
_log = logging.getLogger(__name__)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Works batches out, several at a time.

    Args:
        folder: where files of batches are looked for, and written.
        analyzers: by name.
        workers: how many processes; 0 for none, then this process does it.
        most: bytes of files that stay; what comes once there are so many is read and removed.
    """

    def __init__(
        self, folder: Path, analyzers: Mapping[str, Analyzer], workers: int, most: int = batch_cache.MAX_BYTES
    ):
        self.found = 0
        """Batches that had a file already."""
        self._room = most - sum(path.stat().st_size for path in batch_cache.kept(folder))
        self._folder, self._analyzers, self._workers = folder, analyzers, workers
        self._analyst: Analyst | None = None
        self._here = threading.Lock()
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._alive: set[subprocess.Popen[bytes]] = set()
        self._deaths = 0
        self._closed = False
        self._threads = ThreadPoolExecutor(max(1, workers), "hybridkg-analysis")

    def submit(self, payload: bytes, records: int) -> Future[AnalyzedBatch]:
        """What will come of a batch.

        Args:
            payload: the batch.
            records: how many it has.
        """
        return self._threads.submit(self._answer, payload, records)

    def close(self) -> None:
        """Ends the processes and what they are doing."""
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
        known = AnalyzedBatch.read(path, records)
        if known is not None:
            with self._lock:
                self.found += 1
            with suppress(OSError):
                os.utime(path)  # the oldest go first
            return known
        process = self._take()
        if process is not None and self._asked(process, path, payload):
            found = AnalyzedBatch.read(path, records)
            if found is not None:
                self._keep(path)
                return found
        with self._here:
            if self._closed:
                raise CancelledError
            self._analyst = self._analyst or Analyst(self._analyzers)
            batch = self._analyst.analyzed(payload)
        with suppress(OSError):
            if batch.write(path):
                self._keep(path)
        return batch

    def _keep(self, path: Path) -> None:
        """Counts a new file, or removes it: the first batches are those that another build begins with."""
        with self._lock, suppress(OSError):
            size = path.stat().st_size
            if size > self._room:
                path.unlink()
            else:
                self._room -= size

    def _asked(self, process: subprocess.Popen[bytes], path: Path, payload: bytes) -> bool:
        """Whether a process has done a batch; it is put back, or given up."""
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
        """A process that waits for work, or a new one; None where there should or can be none."""
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
    """What a process says to a batch; empty where it has ended.

    Raises:
        OSError: it has ended.
    """
    if process.stdin is None or process.stdout is None:
        return b""
    process.stdin.write(frame(path, payload))
    process.stdin.write(payload)
    process.stdin.flush()
    return process.stdout.read(1)
