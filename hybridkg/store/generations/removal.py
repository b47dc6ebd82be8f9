"""Removal of earlier generations while the caller of a commit goes on.

A generation that nobody reads is renamed, which takes it away at once. Where it has more than a few megabytes of its
own, its files are deleted in a thread. The process ends when they are. After a crash the next writer deletes them.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from hybridkg.storage.durable import entries_below

MIN_BESIDE = 1 << 23
"""Bytes of files of its own from which a folder is deleted in a thread; fewer take a millisecond."""

_removing: dict[Path, threading.Thread] = {}
_changing = threading.Lock()


def remove_beside(folder: Path) -> None:
    """Deletes a folder: at once, or in a thread for whose end the process waits when it ends."""
    if _own_bytes(folder) < MIN_BESIDE:
        shutil.rmtree(folder, ignore_errors=True)
        return
    thread = threading.Thread(target=_remove, args=(folder,), name="hybridkg-removal", daemon=False)
    with _changing:
        _removing[folder] = thread
    try:
        thread.start()
    except RuntimeError:  # the process is ending, or has no room for a thread
        _remove(folder)


def is_being_removed(folder: Path) -> bool:
    """Whether a thread of this process deletes a folder."""
    return folder in _removing


def await_removals(below: Path) -> None:
    """Waits until nothing below a folder is being deleted."""
    with _changing:
        threads = [thread for folder, thread in _removing.items() if folder.is_relative_to(below)]
    for thread in threads:
        thread.join()


def _own_bytes(folder: Path) -> int:
    """Bytes of the files below a folder that no other folder has."""
    try:
        stats = [entry.stat() for entry in entries_below(folder)]
    except OSError:
        return 0
    return sum(stat.st_size for stat in stats if stat.st_nlink == 1)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        with _changing:
            _removing.pop(folder, None)
