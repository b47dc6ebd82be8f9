"""The lock of kb.toml, for who reads it, changes it and writes it again.

It is held for moments, so a setting can change while a writer with the lock of the knowledge base builds an index. The
operating system drops it when the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows cannot lock a folder
    fcntl = None


@contextmanager
def settings_lock(folder: Path) -> Iterator[None]:
    """Holds the lock of the settings in a folder; waits for other threads and processes. Not to be nested.

    A file system that has no locks of folders, such as some of a network, gives none.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
