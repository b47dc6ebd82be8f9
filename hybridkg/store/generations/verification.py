"""The record of a comparison of all files of a generation with their checksums, once for each machine.

A generation never changes, so its files are compared once, and again where damage was found. The record is in the
user's cache folder, because the generation may be on read-only media, and a copy of it has other disk blocks: its name
is a digest of the path and the manifest.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hybridkg.errors import CorruptError
from hybridkg.resources import cache_dir
from hybridkg.store.generations.manifest import NAME, FileEntry, check_file

FOLDER = "verified"
"""Folder of the records in the user's cache folder."""

DAY = 86_400

MAX_DAYS = 365
"""Days after which a record is removed; its generation is compared again then."""

SWEEP = "sweep"
"""A file that was written when old records were last looked for."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of a comparison.

    Args:
        generation: path of the folder.
        at: day and time of its end, UTC, as in `2026-11-24 15:30`.
        files: number of files that had their checksums.
        damaged: name of the first file that had not, as in the manifest; empty for none.
    """

    generation: str
    at: str
    files: int
    damaged: str = ""


def read_record(generation: Path) -> Verification | None:
    """The record of a generation; None where there is none that can be read."""
    path = record_path(generation)
    if path is None:
        return None
    try:
        return Verification(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # the files are compared again


def write_record(generation: Path, files: int, damaged: str = "") -> None:
    """Writes the record; does nothing where the cache folder cannot be written, so that each process compares anew."""
    path = record_path(generation)
    if path is None:
        return
    record = Verification(str(generation), time.strftime("%Y-%m-%d %H:%M", time.gmtime()), files, damaged)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        _remove_old(path.parent)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
        part.replace(path)


def record_path(generation: Path) -> Path | None:
    """Path of the record; None without a cache folder, or without a manifest."""
    cache = cache_dir()
    if cache is None:
        return None
    try:
        manifest = (generation / NAME).read_bytes()
    except OSError:
        return None
    digest = hashlib.sha256(os.fsencode(os.path.realpath(generation)) + b"\n" + manifest).hexdigest()
    return cache / FOLDER / f"{digest[:32]}.json"


@contextmanager
def recorded(generation: Path, files: dict[str, FileEntry]) -> Iterator[Callable[[str, Callable[[], None]], None]]:
    """For the block, a function that compares one file of `files`; writes the record when the block ends.

    The function takes the name, and what `check_file` calls after each block of bytes. A block that ends in another
    exception than CorruptError leaves the record as it was.

    Raises:
        CorruptError: a file is missing, damaged or unreadable.
    """
    compared: list[str] = []

    def compare(name: str, after_block: Callable[[], None]) -> None:
        try:
            check_file(generation, name, files[name], after_block)
        except CorruptError:
            write_record(generation, len(compared), name)
            raise
        compared.append(name)

    yield compare
    write_record(generation, len(compared))


def _remove_old(folder: Path) -> None:
    """Removes old records, once a day, because a look at 8,000 records takes 40 ms."""
    now = time.time()
    with suppress(FileNotFoundError):
        if 0 <= now - (folder / SWEEP).stat().st_mtime < DAY:
            return
    (folder / SWEEP).touch()
    for entry in folder.iterdir():
        if entry.stat().st_mtime < now - MAX_DAYS * DAY:
            entry.unlink(missing_ok=True)
