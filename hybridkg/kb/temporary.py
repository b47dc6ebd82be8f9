"""Temporary folders of knowledge bases: deleted at `close`, at garbage collection, or when the process ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from hybridkg.store.generations.removal import await_removals

Base = TypeVar("Base")

Removal: TypeAlias = "weakref.finalize[..., Any]"
"""A call removes the folder; `alive` until then."""


def make_in_temporary_folder(make: Callable[[Path], Base]) -> tuple[Base, Removal]:
    """A knowledge base whose folder lives as long as the object, and the function that removes the folder earlier.

    Args:
        make: makes it in a folder that does not exist yet; if this fails, no folder stays.
    """
    folder = tempfile.mkdtemp(prefix="hybridkg-")
    try:
        base = make(Path(folder) / "kb")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return base, weakref.finalize(base, _remove, folder, os.getpid())


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child must not remove the folder of its parent when it ends
        await_removals(Path(folder))
        shutil.rmtree(folder, ignore_errors=True)
