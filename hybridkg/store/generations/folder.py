"""The knowledge base folder: its live generation, its writer lock and its leftovers.

Entries: kb.toml, CURRENT, LOCK, <generation>/, cost.json, and ENGINES, the text engines that may store something on a
server. While a writer runs: .building-<process id>/, PENDING (pending_settings.py), and .text-work/, .vector-work/ and
.graph-work/, from which an interrupted text index, vector index or export of an endpoint resumes. `building` makes the
next generation, and `make_live` (next_generation.py) switches to it. place.py says whether a path has a knowledge base.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from hybridkg.config.settings import Config, write_config
from hybridkg.config.settings_reader import parse_config, read_config, read_settings
from hybridkg.config.settings_writer import change_settings
from hybridkg.errors import CorruptError, LockedError, NotAKnowledgeBaseError, StorageError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.storage.durable import fsync_folder, storage_error, temporary_of, write_durably
from hybridkg.store.generations.generation import (
    Generation,
    open_generation,
    remove_around_unless_held,
    remove_unless_held,
)
from hybridkg.store.generations.manifest import RESTORE, Manifest, read_manifest
from hybridkg.store.generations.next_generation import Building, make_live
from hybridkg.store.generations.pending_settings import pending_settings, settle, write_pending
from hybridkg.store.generations.place import (
    BUILDING,
    FIRST,
    GENERATION,
    REMOVED,
    how_to_use,
    make_folder,
    manifests_of,
    nothing_to_open,
    refuse_taken,
)
from hybridkg.store.generations.removal import is_being_removed
from hybridkg.store.generations.settings_lock import settings_lock
from hybridkg.store.generations.writer_lock import writer_lock

T = TypeVar("T")

WRITTEN = ("CURRENT", "ENGINES", "PENDING")
"""Files that only the writer writes; kb.toml is not one of them."""


class AnotherGenerationError(Exception):
    """The live generation is not the one from which a writer has decided what to write."""


class Folder:
    """A knowledge base on disk. Safe for many readers, concurrent with one writer.

    Args:
        path: of the folder.
        changes: settings that override kb.toml.
        expected: name of the generation that a writer must find; None for any.
    """

    def __init__(self, path: Path, changes: Mapping[str, str] | None = None, expected: str | None = None):
        self.path, self._changes, self._expected = path, dict(changes or {}), expected
        self._config_file = str(path / "kb.toml")

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    @classmethod
    def create(cls, path: Path, config: Config | None = None, wait: float = 0.0) -> Folder:
        """Makes a knowledge base with an empty graph, in a new or an empty folder; completes an interrupted creation.

        A new folder appears whole: it is made beside its place, and renamed. An existing kb.toml is used, unless
        `config` is given. `wait` is in seconds, for another process that creates in the same folder.

        Raises:
            NotAKnowledgeBaseError: the folder holds something else, or is a knowledge base already.
            LockedError: another process is creating one in the folder.
            StorageError: it cannot be written.
        """
        shown = str(path)
        with _storage_errors(f"creating {shown!r}"):
            refuse_taken(path)
            if path.exists():
                cls(path)._create_here(config, wait)
                return cls(path)
            make_folder(path.parent, path)
            beside = path.absolute().with_name(f".creating-{os.getpid()}-{threading.get_ident()}")
            shutil.rmtree(beside, ignore_errors=True)  # of a crashed process with the same id
            make_folder(beside, path)
            try:
                cls(beside)._create_here(config, 0.0)
                beside.rename(path)
            except OSError:
                refuse_taken(path)  # by another process that has been faster
                raise
            finally:
                shutil.rmtree(beside, ignore_errors=True)
            fsync_folder(path.parent)
        return cls(path)

    def _create_here(self, config: Config | None, wait: float) -> None:
        with self.locked(wait):
            refuse_taken(self.path)
            if config is not None or not (self.path / "kb.toml").exists():
                write_durably(self.path / "kb.toml", write_config(config or Config()))
            with self._next_generation(SILENT) as building:
                building.writable_graph()

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Opens a knowledge base. Raises NotAKnowledgeBaseError: it is missing, or the folder holds something else."""
        try:
            if (path / "CURRENT").is_file():
                return cls(path)
        except OSError as e:
            raise storage_error(e, f"opening {str(path)!r}") from e
        raise nothing_to_open(path)

    @classmethod
    def open_or_create(cls, path: Path, wait: float = 0.0) -> Folder:
        """The knowledge base at `path`, created where there is none; same errors as `create`."""
        try:
            return cls.open(path) if (path / "CURRENT").is_file() else cls.create(path, wait=wait)
        except NotAKnowledgeBaseError:
            if not (path / "CURRENT").is_file():  # which another process may have written in this moment
                raise
            return cls.open(path)

    @property
    def config(self) -> Config:
        """The effective settings: kb.toml, pending settings of the live generation, then `changes`.

        Raises:
            ConfigError: the file is missing or wrong.
        """
        pending, place = pending_settings(self.path), self.path / "kb.toml"
        if pending is None and not self._changes:
            return read_config(place)
        text = read_settings(place) if pending is None else pending
        return parse_config(change_settings(text, self._changes, str(place)), str(place))

    def with_settings(self, **changes: str) -> Folder:
        """The same folder with new settings by name (PLACES); kb.toml gets them with the next generation."""
        return Folder(self.path, {**self._changes, **changes}, self._expected)

    def expecting(self, generation: str) -> Folder:
        """The same folder for a writer that has decided what to write from a generation."""
        return Folder(self.path, self._changes, generation)

    @property
    def has_changes(self) -> bool:
        """Whether there are new settings."""
        return bool(self._changes)

    def write_settings(self) -> None:
        """Writes the changed settings into kb.toml in place. Raises ConfigError: it cannot be edited."""
        place = self.path / "kb.toml"
        with _storage_errors(f"writing {str(place)!r}"), settings_lock(self.path):
            pending = pending_settings(self.path)
            text = read_settings(place) if pending is None else pending
            write_durably(place, change_settings(text, self._changes, str(place)))

    def config_state(self) -> object:
        """The identity of kb.toml's content, by one `stat`; it differs after a change."""
        try:
            stat = os.stat(self._config_file)  # noqa: PTH116 - runs for each query, and a Path builds its text again
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def configure(self, config: Config) -> None:
        """Replaces kb.toml."""
        with _storage_errors(f"writing {str(self.path / 'kb.toml')!r}"):
            write_durably(self.path / "kb.toml", write_config(config))

    def engines(self) -> list[str]:
        """Names of the text engines that may store something outside the folder, sorted."""
        try:
            return sorted((self.path / "ENGINES").read_text(encoding="utf-8").split())
        except (OSError, UnicodeDecodeError):
            return []

    def remember_engine(self, name: str) -> None:
        """Records, for the life of the folder, an engine with indexes on a server, before it builds."""
        engines = self.engines()
        if name not in engines:
            with _storage_errors(f"writing {str(self.path / 'ENGINES')!r}"):
                write_durably(self.path / "ENGINES", "".join(f"{engine}\n" for engine in [*engines, name]))

    def live_name(self) -> str:
        """Name of the live generation, such as `000002`. Raises CorruptError or StorageError: a bad CURRENT."""
        with _storage_errors(f"reading {str(self.path / 'CURRENT')!r}"):
            name = (self.path / "CURRENT").read_bytes().decode("ascii", "replace").strip()
        if not GENERATION.fullmatch(name):
            damage = f"is damaged: {name[:40]!r}" if name else "is empty"
            whole = next((one for one, manifest in manifests_of(self.path) if manifest is not None), None)
            raise CorruptError(
                f"{str(self.path / 'CURRENT')!r} {damage}" + (f"; {whole} is complete" if whole else ""),
                hint=how_to_use(whole, self.path) if whole else RESTORE,
            )
        return name

    def generations(self) -> list[Path]:
        """Folders of the generations on disk, oldest first, without those of a crashed writer."""
        live = int(self.live_name())
        entries = [entry for entry in self.path.iterdir() if GENERATION.fullmatch(entry.name)]
        return sorted((entry for entry in entries if int(entry.name) <= live), key=lambda entry: int(entry.name))

    def current(self) -> Generation:
        """The live generation, on disk while the object lives. Raises CorruptError: damage; StorageError: no access."""
        return self._of_live(open_generation)

    def manifest(self) -> Manifest:
        """The manifest of the live generation, whose other files are not looked at; errors are those of `current`."""
        return self._of_live(read_manifest)

    def _of_live(self, read: Callable[[Path], T]) -> T:
        name = self.live_name()
        while True:
            try:
                return read(self.path / name)
            except CorruptError as e:
                if isinstance(e.__cause__, PermissionError):
                    raise StorageError(
                        f"permission denied: {e.__cause__.filename or str(self.path / name)!r} cannot be read",
                        hint=f"the owner can allow it: chmod -R u+rX {self.path}",
                    ) from e.__cause__
                # Two writers in a row may have removed it since CURRENT was read.
                newer = self.live_name()
                if newer == name:
                    raise
                name = newer

    @contextmanager
    def building(self, progress: Progress = SILENT, wait: float = 0.0) -> Iterator[Building]:
        """Builds the next generation; it becomes live when the block ends without an exception, unless abandoned.

        Args:
            progress: receives the progress of long steps.
            wait: seconds to wait for another writer.

        Raises:
            LockedError: another process, or another thread, is writing.
            StorageError: the disk is full or fails; the old state stays.
            AnotherGenerationError: another writer has been faster; only after `expecting`.
        """
        with (
            _storage_errors(f"writing to {str(self.path)!r}"),
            self.locked(wait),
            self._next_generation(progress) as building,
        ):
            yield building

    @contextmanager
    def _next_generation(self, progress: Progress) -> Iterator[Building]:
        """`building` for the holder of the lock."""
        previous = self._previous()
        if self._expected not in (None, previous.name):
            raise AnotherGenerationError
        self._remove_leftovers(previous)
        number = previous.manifest.generation + 1
        path = self.path / f"{BUILDING}{os.getpid()}"
        path.mkdir()
        settle(self.path)
        try:
            building = Building(path, previous, number, progress)
            yield building
            if building.is_abandoned:
                shutil.rmtree(path, ignore_errors=True)
                return
            building.finish()
            if self._changes:
                place = self.path / "kb.toml"
                settings = change_settings(read_settings(place), self._changes, str(place))
                write_pending(self.path, f"{number:06d}", settings)
            make_live(path, self.path, number)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        settle(self.path)
        self._remove_before(number - 1)  # which the writer itself still reads

    def _previous(self) -> Generation:
        if (self.path / "CURRENT").exists():
            return self.current()
        return Generation(self.path / ".none", Manifest(0, ""))

    def locked(self, wait: float = 0.0) -> AbstractContextManager[None]:
        """The exclusive lock of a writer (writer_lock.py); `wait` is in seconds."""
        return writer_lock(self.path, wait)

    def _remove_leftovers(self, live: Generation) -> None:
        """Removes what a crashed writer has left: unfinished folders and files, and those that CURRENT never named."""
        for name in WRITTEN:
            temporary_of(self.path / name).unlink(missing_ok=True)
        for entry in self.path.iterdir():
            unnamed = GENERATION.fullmatch(entry.name) and int(entry.name) > live.manifest.generation
            if (entry.name.startswith((BUILDING, REMOVED)) or unnamed) and not is_being_removed(entry):
                shutil.rmtree(entry, ignore_errors=True)

    def remove_unread(self) -> None:
        """Removes all generations before the live one that nobody reads. A reader that has just read CURRENT and finds
        its generation gone reads it again.
        """
        self._remove_before(int(self.live_name()))

    def remove_unused(self) -> bool:
        """Deletes the folder of a new knowledge base, unless it has been changed, or another process uses it."""
        if not (self.path / "CURRENT").is_file():
            return False  # and no lock, which would make the folder
        grave = self.path.absolute().with_name(f"{REMOVED}{os.getpid()}-{threading.get_ident()}")
        with suppress(LockedError, CorruptError, StorageError), self.locked():
            return self.live_name() == FIRST and remove_around_unless_held(self.path / FIRST, self.path, grave)
        return False

    def _remove_before(self, first: int) -> None:
        for entry in self.path.iterdir():
            if GENERATION.fullmatch(entry.name) and int(entry.name) < first:
                remove_unless_held(entry, self.path / f"{REMOVED}{entry.name}")


@contextmanager
def _storage_errors(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise storage_error(e, doing) from e
