"""A knowledge base that is deleted when it is closed, when nobody has it any more, or when the process ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

Base = TypeVar("Base")

Removal: TypeAlias = "weakref.finalize[..., Any]"
"""Called, removes the folder; not `alive` once it has."""


def made_in_a_new_folder(make: Callable[[Path], Base]) -> tuple[Base, Removal]:
    """A knowledge base in a folder that lives as long as it does, and what removes the folder earlier.

    Args:
        make: makes it in a folder that does not exist yet; where that fails, nothing stays.
    """
    folder = tempfile.mkdtemp(prefix="hybridkg-")
    try:
        base = make(Path(folder) / "kb")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return base, weakref.finalize(base, _remove, folder, os.getpid())


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a child that was forked ends without taking its parent's knowledge base away
        shutil.rmtree(folder, ignore_errors=True)
