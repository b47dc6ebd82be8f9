"""A knowledge base that lives as long as a `with` block."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

Base = TypeVar("Base")


class Temporary(Generic[Base]):
    """`with KnowledgeBase.temporary("films.ttl") as kb: ...`; the folder is deleted at the end.

    Args:
        make: makes the knowledge base in a folder that does not exist yet.
    """

    def __init__(self, make: Callable[[Path], Base]):
        self._make = make
        self._folder = ""

    def __enter__(self) -> Base:
        self._folder = tempfile.mkdtemp(prefix="hybridkg-")
        try:
            return self._make(Path(self._folder) / "kb")
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
