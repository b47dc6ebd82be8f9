"""The process that analyses batches: `python -m hybridkg.text.index.build.worker`, started by `worker_pool`.

It reads frames from stdin and leaves what came of each in a file:

    <8 bytes: length of the path> <8 bytes: length of the batch> <path> <batch>

and answers each with one byte on stdout: DONE, or FAILED where it could not,
so that the one who asked does it. It ends with stdin, that is, at the latest
with the process that started it, and leaves Ctrl-C to that one.
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
from hybridkg.text.index.build.analysis_batch import Analyst

DONE, FAILED = b"+", b"-"


def frame(path: Path, payload: bytes) -> bytes:
    """The beginning of a frame; the batch itself follows it."""
    name = os.fsencode(path)
    return len(name).to_bytes(8, "little") + len(payload).to_bytes(8, "little") + name


class BatchWorker:
    """Works batches out, remembering words from one to the next. One thread at a time."""

    def __init__(self) -> None:
        self._analyzers: dict[str, Analyzer] = {}
        self._analyst = Analyst({})

    def answer(self, path: Path, payload: bytes) -> bytes:
        """Leaves what comes of a batch in the file `path`."""
        try:
            name = json.loads(payload[: payload.index(b"\n")])["analyzer"]
            if name not in self._analyzers:
                self._analyzers[name] = ANALYZERS.get(name)()
                self._analyst = Analyst(self._analyzers)
            return DONE if self._analyst.analyzed(payload).write(path) else FAILED
        except (HybridkgError, OSError, ValueError, KeyError, MemoryError):
            return FAILED


def serve(frames: BinaryIO, answers: BinaryIO) -> None:
    """Answers frames until they end."""
    answering = BatchWorker()
    while len(head := frames.read(16)) == 16:
        path = frames.read(int.from_bytes(head[:8], "little"))
        size = int.from_bytes(head[8:], "little")
        payload = frames.read(size)
        if len(payload) < size:
            return
        answers.write(answering.answer(Path(os.fsdecode(path)), payload))
        answers.flush()


def main() -> None:
    """The program."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)  # what an analyzer prints is no answer
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
