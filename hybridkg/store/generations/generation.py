"""A generation: one immutable build of the graph, the documents and every index.

A reader holds a shared lock on its READERS file, which the operating system drops when the process ends. Writers
delete no generation that is held, because Oxigraph opens its tables lazily.
"""

from __future__ import annotations

import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hybridkg.storage.checksums import as_text, checksum_of, known_checksum
from hybridkg.store.generations.manifest import (
    DISPENSABLE,
    Manifest,
    check_opened,
    check_sizes,
    read_manifest,
)
from hybridkg.store.generations.removal import remove_beside
from hybridkg.store.generations.verification import read_record, recorded

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows refuses to delete open files by itself
    fcntl = None

READERS = "READERS"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Generation:
    """A generation that stays on disk for as long as this object lives."""

    path: Path
    manifest: Manifest
    suspects: tuple[str, ...] = ()
    """Names of files that a comparison of all files on this machine found damaged."""

    @property
    def name(self) -> str:
        """Name of its folder, such as `000002`."""
        return self.path.name

    @property
    def graph(self) -> Path:
        """Folder of the Oxigraph store."""
        return self.path / "graph"

    @property
    def documents(self) -> Path:
        """Folder of the texts that are not in the graph; may be missing."""
        return self.path / "documents"

    def behind(self) -> tuple[str, ...]:
        """Names of the stale indexes, which are older than the graph or the documents."""
        return self.manifest.behind()

    def verify(self) -> int:
        """Compares every file with its checksum, counts them, and records that for this machine.

        Raises:
            CorruptError: a file is missing or damaged.
        """
        check_sizes(self.path, self.manifest)
        with recorded(self.path, dict(self.manifest.files)) as compare:
            for name in self.manifest.files:
                compare(name, lambda: None)
        return len(self.manifest.files)

    def check_opened(self, *parts: str) -> None:
        """Compares the files that opening some parts reads whole with their checksums, and those that were damaged.

        See `manifest.check_opened`.
        """
        check_opened(self.path, self.manifest, parts, self.suspects)

    def is_intact(self, *parts: str) -> bool:
        """Whether every file of some folders, or named `part.*`, has its checksum; False where there is none.

        Files that this process has written or compared, and that nobody has changed since, are not read again.
        """
        beginnings = tuple(f"{part}{mark}" for part in parts for mark in "/.")
        entries = {name: entry for name, entry in self.manifest.files.items() if name.startswith(beginnings)}

        place = os.fspath(self.path)

        def fits(name: str) -> bool:
            return as_text(checksum_of(f"{place}/{name}")) == entries[name].checksum

        known = {name: known_checksum(f"{place}/{name}") for name in entries}
        if any(crc is not None and as_text(crc) != entries[name].checksum for name, crc in known.items()):
            return False
        unknown = [name for name, crc in known.items() if crc is None]
        try:
            if not unknown:
                return bool(entries)
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                return all(threads.map(fits, unknown))
        except OSError:
            return False

    def bytes(self) -> int:
        """Size of the files; those shared with other generations count in each."""
        return sum(entry.size for entry in self.manifest.files.values())


def open_generation(path: Path, *, but: tuple[str, ...] = DISPENSABLE) -> Generation:
    """Opens and holds a generation; files whose names begin with `but` may be missing or have another size.

    Raises:
        CorruptError: a missing, damaged or foreign manifest or file.
    """
    descriptor = _hold(path)
    try:
        manifest = read_manifest(path)
        check_sizes(path, manifest, but=but)
    except BaseException:
        if descriptor is not None:
            os.close(descriptor)
        raise
    record = read_record(path)
    generation = Generation(path, manifest, (record.damaged,) if record is not None and record.damaged else ())
    if descriptor is not None:
        _held[descriptor] = path
        weakref.finalize(generation, _release, descriptor)
    return generation


_held: dict[int, Path] = {}
"""The generations that this process reads, by the descriptors with their locks."""


def _release(descriptor: int) -> None:
    _held.pop(descriptor, None)
    os.close(descriptor)


def _hold(path: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path / READERS, os.O_RDONLY)
    except OSError:
        return None  # a copy without the file, or no right to read it: nothing to hold
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def remove_unless_held(path: Path, graveyard: Path) -> bool:
    """Deletes a generation without readers, renamed `graveyard` first, so that a reader finds all or nothing.

    Its files are deleted while the caller goes on (removal.py).
    """
    return _renamed_unless_held(path, path, graveyard) and _removed(graveyard)


def remove_around_unless_held(path: Path, folder: Path, graveyard: Path) -> bool:
    """Deletes the folder with a generation that no other process reads, as `remove_unless_held` does.

    This process reads it no more. An exception that has not ended keeps its objects alive, with their locks.
    """
    if fcntl is None:
        return _renamed_unless_held(path, folder, graveyard) and _removed(graveyard)
    own = [one for one, place in _held.items() if place == path]
    for descriptor in own:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    if _renamed_unless_held(path, folder, graveyard):
        return _removed(graveyard)
    for descriptor in own:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    return False


def _removed(graveyard: Path) -> bool:
    remove_beside(graveyard)
    return True


def _renamed_unless_held(path: Path, folder: Path, graveyard: Path) -> bool:
    descriptor = None
    if fcntl is not None and (path / READERS).exists():
        descriptor = os.open(path / READERS, os.O_RDONLY)
    try:
        if descriptor is not None and fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rename(graveyard)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True
