"""The lock of the one writer of a knowledge base, with a record of who holds it.

The operating system drops the lock when the process ends. `.writer` only says who it is, for the errors of others; a
record that a crashed process has left is never read, because the lock is free.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hybridkg.errors import LockedError
from hybridkg.storage.durable import storage_error
from hybridkg.terminal_text import printable

RECORD = ".writer"

MAX_RECORD = 4_096
"""Bytes of a record that are read, whoever wrote it."""


@contextmanager
def writer_lock(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Holds the exclusive lock of a writer.

    Args:
        folder: of the knowledge base.
        wait: seconds to wait for another writer.

    Raises:
        LockedError: another process, another thread, or this thread has the lock.
        StorageError: the folder cannot be written.
    """
    refuse_nested(folder)
    from filelock import FileLock, Timeout  # 40 ms, and readers never need it

    lock = FileLock(folder / "LOCK", timeout=max(wait, 0.0))
    try:
        lock.acquire()
    except Timeout as e:
        raise _locked(folder, wait) from e
    except OSError as e:
        raise storage_error(e, f"locking {str(folder)!r}") from e
    record, place = folder / RECORD, folder.resolve()
    try:
        _holders[place] = threading.get_ident()
        with suppress(OSError):  # without a record, the lock holds all the same
            record.write_text(json.dumps({"pid": os.getpid(), "command": _command(), "since": time.time()}))
        yield
    finally:
        with suppress(OSError):
            record.unlink()
        del _holders[place]
        lock.release()


_holders: dict[Path, int] = {}
"""The thread of this process that has the lock of a knowledge base."""


def refuse_nested(folder: Path) -> None:
    """Raises LockedError if this thread has the lock, for which it would wait in vain."""
    if _holders.get(folder.resolve()) == threading.get_ident():
        raise LockedError(
            f"this thread has been writing to {str(folder)!r} in a transaction that has not ended",
            hint="inside `with kb.transaction() as t:` write t.update(...), t.load(...), t.delete(...)",
        )


def _command() -> str:
    """The program, with the command of hybridkg's own; arguments may be secret."""
    program = Path(sys.argv[0]).name if sys.argv else ""
    if program not in ("hybridkg", "__main__.py"):
        return program or "python"
    return " ".join(["hybridkg", *sys.argv[1:2]])


def _locked(folder: Path, wait: float) -> LockedError:
    who = "another process has been"
    since = ""
    with suppress(OSError, ValueError, KeyError, TypeError):
        with (folder / RECORD).open("rb") as file:
            record = json.loads(file.read(MAX_RECORD))
        who = f"process {int(record['pid'])} ({printable(str(record['command']))[:60]}) has been"
        since = f" for {max(0.0, time.time() - float(record['since'])):,.0f} s"
    hint = f"--wait {max(60, round(wait * 6))} waits longer" if wait else "wait until it has finished, or stop it"
    return LockedError(f"{who} writing to {str(folder)!r}{since}", hint=f"{hint}; nothing is lost either way")
