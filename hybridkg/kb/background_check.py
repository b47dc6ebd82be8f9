"""Comparison of the files of an open generation with their checksums, in the background.

Opening compares small files only (store/generations/manifest.py). A process that asks queries for more than AFTER
seconds compares the others in a thread of low priority, which reads for at most half of the time: once for each
generation and machine (store/generations/verification.py), or in each process where the cache folder cannot be
written. Damage is an error of the next query. HYBRIDKG_VERIFY=off starts no thread.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic

from hybridkg.errors import CorruptError, IndexCorruptError
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import TEXT_FILES
from hybridkg.store.generations.verification import read_record, record_path, recorded

AFTER = 5.0
"""Seconds after opening; a query that comes later starts the thread. A command with one query never does."""

LOOK_AGAIN = 1.0
"""Seconds between two looks at whether another process has finished the same work."""

MAX_END = 1.0
"""Seconds that `close` waits for the end of a block of bytes, which a disk in trouble may not deliver."""

LOWEST_PRIORITY = 19

SWITCH = "HYBRIDKG_VERIFY"
"""Environment variable; `off` starts no thread."""

PARTS = (*TEXT_FILES, "projection/", "statistics.json", "vectors/", "documents/", "graph/")
"""Prefixes of names of files, in the order of the work: Oxigraph compares checksums of its own on reading."""


class BackgroundCheck:
    """The check of one open generation, or of none; safe to use from many threads."""

    def __init__(self, generation: Generation | None):
        self._generation = None if generation is None else weakref.ref(generation)
        self._identity = None if generation is None else (generation.path, generation.manifest)
        self._due, self._starting = monotonic() + AFTER, threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop, self._damage = threading.Event(), list[CorruptError]()
        weakref.finalize(self, self._stop.set)  # the thread refers to the generation, not to this object

    def before_query(self) -> None:
        """Starts the work when its time has come.

        Raises:
            CorruptError: the work has found a damaged file.
        """
        if self._damage and not self._stop.is_set():
            found = self._damage[0]
            raise type(found)(found.message, hint=found.hint)
        if self._thread is None and monotonic() >= self._due and os.environ.get(SWITCH) != "off":
            self._start()

    def after_refresh(self, generation: Generation | None) -> BackgroundCheck:
        """This check, if it is of the generation that has been opened now; else it ends, and another begins."""
        if generation is not None and not self._damage and (generation.path, generation.manifest) == self._identity:
            self._generation = weakref.ref(generation)
            return self
        self.close()
        return BackgroundCheck(generation)

    def close(self) -> None:
        """Ends the work, so that nothing here holds the generation; a later process begins again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(MAX_END)

    def wait(self, seconds: float) -> bool:
        """Waits for the end of the work, if it has been started; whether it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is not None and not self._thread.is_alive()

    def _start(self) -> None:
        with self._starting:
            generation = None if self._generation is None else self._generation()
            if self._thread is None and generation is not None and not self._stop.is_set():
                thread = threading.Thread(
                    target=_work, args=(generation, self._stop, self._damage), name="hybridkg-check", daemon=True
                )
                thread.start()
                self._thread = thread


class _StoppedError(Exception):
    """The knowledge base has been closed."""


def _work(generation: Generation, stop: threading.Event, damage: list[CorruptError]) -> None:
    if sys.platform == "linux":  # elsewhere it is a process that has a priority
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
    try:
        with _alone(generation, stop):
            before = read_record(generation.path)
            if before is None or before.damaged:
                _compare(generation, stop)
    except _StoppedError:
        pass
    except CorruptError as e:
        damage.append(e)


def _compare(generation: Generation, stop: threading.Event) -> None:
    files, began = generation.manifest.files, monotonic()

    def pause() -> None:
        nonlocal began
        if stop.wait(monotonic() - began):
            raise _StoppedError
        began = monotonic()

    def place(name: str) -> tuple[bool, int, int, str]:
        part = next((i for i, prefix in enumerate(PARTS) if name.startswith(prefix)), len(PARTS))
        return name not in generation.suspects, part, files[name].size, name

    with recorded(generation.path, dict(files)) as compare:
        for name in sorted(files, key=place):
            try:
                compare(name, pause)
            except CorruptError as e:
                if name.startswith(TEXT_FILES):
                    raise IndexCorruptError(e.message, hint=e.hint) from e
                raise


@contextmanager
def _alone(generation: Generation, stop: threading.Event) -> Iterator[None]:
    """The block runs while no other process compares this generation, where the cache folder can have a lock."""
    from filelock import FileLock, Timeout

    record = record_path(generation.path)
    with ExitStack() as stack:
        while record is not None:
            try:
                record.parent.mkdir(exist_ok=True)
                stack.enter_context(FileLock(record.with_suffix(".lock"), timeout=0))
                break
            except Timeout:
                if stop.wait(LOOK_AGAIN):
                    raise _StoppedError from None
            except OSError:
                break
        yield
