"""The knowledge base folder: its live generation, its writer lock and its leftovers.

Entries: kb.toml, CURRENT, LOCK, <generation>/, cost.json, and ENGINES, the text engines that may store something on a
server. While a writer runs: .building-<process id>/, PENDING (pending_settings.py), and .text-work/, .vector-work/ and
.graph-work/, from which an interrupted text index, vector index or export of an endpoint resumes. `building` makes the
next generation, and `make_live` (next_generation.py) switches to it.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from hybridkg.config.settings import Config, write_config
from hybridkg.config.settings_reader import parse_config, read_config, read_settings
from hybridkg.config.settings_writer import change_settings
from hybridkg.errors import CorruptError, LockedError, NotAKnowledgeBaseError, StorageError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.rdf.input_file import extensions
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
from hybridkg.store.generations.removal import is_being_removed
from hybridkg.store.generations.settings_lock import settings_lock
from hybridkg.store.generations.writer_lock import RECORD, writer_lock
from hybridkg.store.rdf_io.formats import FORMATS

GENERATION = re.compile(r"[0-9]{6,}")
FIRST = "000001"
"""Name of the generation that a creation makes, with an empty graph."""

BUILDING = ".building-"
REMOVED = ".removed-"
OURS = re.compile(
    rf"kb\.toml|cost\.json|CURRENT|LOCK|ENGINES|PENDING|{GENERATION.pattern}|\.text-work|\.vector-work|\.graph-work"
    r"|\.(building|removed)-.*|\.cost\.json\..*|\.(CURRENT|kb\.toml|ENGINES|PENDING)\.new"
    rf"|{re.escape(RECORD)}"
)
"""Names that a knowledge base may contain, finished or not."""

WRITTEN = ("CURRENT", "ENGINES", "PENDING")
"""Files that only the writer writes; kb.toml is not one of them."""

SIMILAR = 0.75
"""Similarity, of 1, from which a name is taken for a mistyped one."""


def checked_path(path: str | Path) -> Path:
    """The path of a knowledge base; refuses an empty one, which the system would take for the current folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"the path of a knowledge base is a str or a Path, not {type(path).__name__}: {path!r}")
    if path == "":
        raise NotAKnowledgeBaseError("the path of the knowledge base is empty", hint="for the current folder write '.'")
    return Path(path)


class _AlreadyCreatedError(NotAKnowledgeBaseError):
    """The folder in which a knowledge base is to be created has one."""


class AnotherGenerationError(Exception):
    """The live generation is not the one from which a writer has decided what to write."""


def _refuse_lost_current(path: Path) -> None:
    """Refuses a folder without CURRENT that has a generation with data: a copy that is not whole, or a mistake by hand.

    An interrupted creation leaves at most a first generation without data.

    Raises:
        NotAKnowledgeBaseError: names the generation, and how to use it.
    """
    unreadable = ""
    for name, manifest in _manifests(path):
        if manifest is None:
            unreadable = name
        elif manifest.counts.get("quads", 0) or manifest.documents or manifest.generation > 1:
            raise NotAKnowledgeBaseError(
                f"{str(path)!r} has lost its file 'CURRENT', which names the generation to open; {name} is complete",
                hint=_use(name, path),
            )
    if unreadable:
        raise NotAKnowledgeBaseError(
            f"{str(path)!r} has lost its file 'CURRENT', and the manifest of {unreadable} cannot be read", hint=RESTORE
        )


def _manifests(path: Path) -> Iterator[tuple[str, Manifest | None]]:
    """The generations of a folder, newest first, with their manifests; None for one that cannot be read."""
    names = [entry.name for entry in path.iterdir() if GENERATION.fullmatch(entry.name)] if path.is_dir() else []
    for name in sorted(names, key=int, reverse=True):
        try:
            yield name, read_manifest(path / name)
        except CorruptError:
            yield name, None


def _use(generation: str, path: Path) -> str:
    return f"to use it: echo {generation} > {path / 'CURRENT'}"


def _refuse_taken(path: Path) -> None:
    """Refuses a place where no knowledge base can be created. Raises NotAKnowledgeBaseError: see `Folder.create`."""
    shown = str(path)
    if path.exists() and not path.is_dir():
        raise NotAKnowledgeBaseError(f"{shown!r} is a file, not a folder", hint="choose another name")
    if (path / "CURRENT").exists():
        raise _AlreadyCreatedError(f"{shown!r} is a knowledge base already", hint="open it instead")
    _refuse_lost_current(path)
    foreign = [] if not path.exists() else [e.name for e in path.iterdir() if not OURS.fullmatch(e.name)]
    if foreign:
        raise NotAKnowledgeBaseError(
            f"{shown!r} is not empty and no knowledge base; it holds {min(foreign)!r}",
            hint="choose a new or an empty folder",
        )


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
            _refuse_taken(path)
            if path.exists():
                cls(path)._create_here(config, wait)
                return cls(path)
            _make(path.parent, path)
            beside = path.absolute().with_name(f".creating-{os.getpid()}-{threading.get_ident()}")
            shutil.rmtree(beside, ignore_errors=True)  # of a crashed process with the same id
            _make(beside, path)
            try:
                cls(beside)._create_here(config, 0.0)
                beside.rename(path)
            except OSError:
                _refuse_taken(path)  # by another process that has been faster
                raise
            finally:
                shutil.rmtree(beside, ignore_errors=True)
            fsync_folder(path.parent)
        return cls(path)

    def _create_here(self, config: Config | None, wait: float) -> None:
        with self.locked(wait):
            _refuse_taken(self.path)
            if config is not None or not (self.path / "kb.toml").exists():
                write_durably(self.path / "kb.toml", write_config(config or Config()))
            with self._next_generation(SILENT) as building:
                building.writable_graph()

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Opens a knowledge base. Raises NotAKnowledgeBaseError: it is missing, or the folder holds something else."""
        shown = str(path)
        try:
            if (path / "CURRENT").is_file():
                return cls(path)
            entries = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        except OSError as e:
            raise storage_error(e, f"opening {shown!r}") from e
        create = f"create one with: hybridkg load {shown} FILE..."
        if not path.exists():
            raise NotAKnowledgeBaseError(f"no knowledge base at {shown!r}", hint=_neighbour(path) or create)
        if not path.is_dir():
            raise NotAKnowledgeBaseError(f"{shown!r} is a file, not a knowledge base folder", hint=_folder_for(path))
        if not entries:
            raise NotAKnowledgeBaseError(f"{shown!r} is an empty folder, not a knowledge base", hint=create)
        if all(OURS.fullmatch(name) for name in entries):
            _refuse_lost_current(path)
            raise NotAKnowledgeBaseError(f"{shown!r} is a knowledge base whose creation was interrupted", hint=create)
        raise NotAKnowledgeBaseError(
            f"{shown!r} is a folder, but not a knowledge base; it has no file 'CURRENT'",
            hint=f"it holds {entries[0]!r}; give the path of a knowledge base, or of a new folder to load into",
        )

    @classmethod
    def open_or_create(cls, path: Path, wait: float = 0.0) -> Folder:
        """The knowledge base at `path`, created where there is none; same errors as `create`."""
        try:
            return cls.open(path) if (path / "CURRENT").is_file() else cls.create(path, wait=wait)
        except _AlreadyCreatedError:  # in this moment, by another process
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
            whole = next((one for one, manifest in _manifests(self.path) if manifest is not None), None)
            raise CorruptError(
                f"{str(self.path / 'CURRENT')!r} {damage}" + (f"; {whole} is complete" if whole else ""),
                hint=_use(whole, self.path) if whole else RESTORE,
            )
        return name

    def generations(self) -> list[Path]:
        """Folders of the generations on disk, oldest first, without those of a crashed writer."""
        live = int(self.live_name())
        entries = [entry for entry in self.path.iterdir() if GENERATION.fullmatch(entry.name)]
        return sorted((entry for entry in entries if int(entry.name) <= live), key=lambda entry: int(entry.name))

    def current(self) -> Generation:
        """The live generation, on disk while the object lives. Raises CorruptError: damage; StorageError: no access."""
        name = self.live_name()
        while True:
            try:
                return open_generation(self.path / name)
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


def _make(path: Path, wanted: Path) -> None:
    """Makes a folder with its parents. Raises StorageError: a parent that exists takes no folder, as in /proc.

    The error names `wanted`, which the folder is for.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as e:
        parent = next(one for one in path.absolute().parents if one.exists())
        raise StorageError(
            f"creating {str(wanted)!r} failed: no folder can be made in {str(parent)!r}",
            hint="choose a place that can be written",
        ) from e


def _folder_for(file: Path) -> str:
    """A hint for a file where a folder was expected: its knowledge base, or how to make one."""
    folder = file.with_name(file.name.partition(".")[0] + ".kb")
    if (folder / "CURRENT").is_file():
        return f"did you mean {str(folder)!r}?"
    is_rdf = extensions(file)[0] in FORMATS
    return f"create one with: hybridkg load {folder} {file if is_rdf else 'FILE...'}"


def _neighbour(path: Path) -> str:
    """A hint with the most similar knowledge base in the same folder, or an empty one."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if (entry / "CURRENT").is_file()]
    except OSError:
        return ""
    stems = {name.removesuffix(".kb"): name for name in names}  # the common suffix would make all names similar
    near = [stems[stem] for stem in difflib.get_close_matches(path.name.removesuffix(".kb"), stems, 1, SIMILAR)]
    return f"did you mean {str(path.parent / near[0])!r}?" if near else ""
