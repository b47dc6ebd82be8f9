"""A file that is written as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TextIO

from hybridkg.errors import StorageError


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file in UTF-8, with line ends as they are written, that takes its name when the block has ended.

    After an error there is no file of this name, or the one from before. A path that is no regular file, such as
    /dev/null, is written directly; a link stays, and its target is replaced.

    Raises:
        StorageError: the file cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> with whole_file(path) as file:
    ...     _ = file.write("?s")
    ...     path.exists()
    False
    >>> path.read_text()
    '?s'
    """
    with _part(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def whole_binary_file(path: Path) -> Iterator[IO[bytes]]:
    """As `whole_file`, with bytes, which are on the disk before the file takes its name."""
    with _part(path) as part, part.open("wb") as file:
        yield file
        file.flush()
        if part.is_file():
            os.fsync(file.fileno())


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    """The path to write to, which is renamed to the wanted one when the block has ended."""
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            yield target
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            yield part
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
    except OSError as e:
        raise StorageError(f"cannot write {str(path)!r}: {e.strerror or e}") from e
