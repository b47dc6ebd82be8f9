"""The worker process that analyses batches: `python -m hybridkg.text.index.build.worker`, started by `worker_pool`.

It reads frames from stdin and writes the result of each to a file:

    <8 bytes: length of the path> <8 bytes: length of the batch> <path> <batch>

and answers each with one byte on stdout: DONE, or FAILED, after which the parent analyses the batch. It ends with
stdin, at the latest with its parent, and leaves Ctrl-C to that.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.text.index.build.analysis_batch import BatchAnalyzer

DONE, FAILED = b"+", b"-"


def frame(path: Path, payload: bytes) -> bytes:
    """The beginning of a frame; the batch follows it."""
    name = os.fsencode(path)
    return len(name).to_bytes(8, "little") + len(payload).to_bytes(8, "little") + name


class BatchWorker:
    """Analyses batches with one cache of words. One thread at a time."""

    def __init__(self) -> None:
        self._analyzers: dict[str, Analyzer] = {}
        self._batch_analyzer = BatchAnalyzer({})

    def answer(self, path: Path, payload: bytes) -> bytes:
        """Analyses a batch and writes the result to `path`."""
        try:
            name = json.loads(payload[: payload.index(b"\n")])["analyzer"]
            if name not in self._analyzers:
                self._analyzers[name] = ANALYZERS.get(name)()
                self._batch_analyzer = BatchAnalyzer(self._analyzers)
            return DONE if self._batch_analyzer.analyze(payload).write(path) else FAILED
        except (HybridkgError, OSError, ValueError, KeyError, MemoryError):
            return FAILED


def serve(frames: BinaryIO, answers: BinaryIO) -> None:
    """Answers frames until stdin ends."""
    worker = BatchWorker()
    while len(head := frames.read(16)) == 16:
        path = frames.read(int.from_bytes(head[:8], "little"))
        size = int.from_bytes(head[8:], "little")
        payload = frames.read(size)
        if len(payload) < size:
            return
        answers.write(worker.answer(Path(os.fsdecode(path)), payload))
        answers.flush()


def main() -> None:
    """Serves stdin and stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # an analyzer's prints must not be read as answers
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
