"""Backup and restoration of a knowledge base.

A backup is a knowledge base itself, which opens: the live generation, kb.toml, ENGINES, `models/`, and `backup.json`,
its manifest, with the checksums of what the manifest of the generation has not. Files of the generation, which never
change, are hard links on the same disk. Both commands fill a hidden folder, compare all checksums, and rename it.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Self

from hybridkg import __version__
from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.config.settings_reader import parse_config
from hybridkg.entities.profile.profile_reader import is_path
from hybridkg.errors import CorruptError, NotAKnowledgeBaseError, StorageError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES, engine_name, is_remote_engine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, kind_of
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.care_reports import BackupReport
from hybridkg.storage.durable import files_below, fsync_file, fsync_folder, link_or_copy, storage_error, write_durably
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.generation import READERS, Generation, open_generation
from hybridkg.store.generations.manifest import INDEXES, NAME, check_file, read_manifest
from hybridkg.store.generations.pending_settings import pending_settings
from hybridkg.store.generations.place import GENERATION

MANIFEST = "backup.json"
"""The manifest of a backup; a folder without it is none."""

FORMAT = 1

SETTINGS, MODELS = "kb.toml", "models"

ENGINES = "ENGINES"

TRIES = 5
"""Attempts to read a generation and its settings while writers switch both."""


@dataclass(frozen=True)
class BackupManifest:
    """backup.json: the generation, CRC-32 of its manifest and of the other files, and what the backup has not."""

    generation: str
    manifest: str
    files: dict[str, str]
    notes: list[str]

    def to_json(self, source: Path) -> str:
        """The text of the file, with the time and the path of the knowledge base, for people."""
        about = {"format": FORMAT, "hybridkg": __version__, "taken": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}
        about |= {"from": str(source.resolve())}
        return json.dumps({**about, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a backup.

        Raises:
            NotAKnowledgeBaseError: the folder is no backup.
            CorruptError: the manifest is damaged, or of another version.
        """
        path = folder / MANIFEST
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if value["format"] != FORMAT:
                raise CorruptError(
                    f"the backup {str(folder)!r} has format {value['format']!r}; this hybridkg reads {FORMAT}",
                    hint="use the hybridkg version that wrote it",
                )
            files = {str(name): str(crc) for name, crc in value["files"].items()}
            if not GENERATION.fullmatch(str(value["generation"])) or not all(map(_is_inside, files)):
                raise ValueError("a name leads out of the folder")
            return cls(str(value["generation"]), str(value["manifest"]), files, list(map(str, value["notes"])))
        except (FileNotFoundError, NotADirectoryError) as e:
            if not folder.exists():
                raise NotAKnowledgeBaseError(
                    f"there is no folder {str(folder)!r}", hint="the backup comes first: hybridkg restore FOLDER KB"
                ) from e
            raise NotAKnowledgeBaseError(
                f"{str(folder)!r} is not a backup: it has no file {MANIFEST!r}",
                hint=f"hybridkg backup {folder if (folder / 'CURRENT').exists() else 'KB'} FOLDER makes one",
            ) from e
        except OSError as e:
            raise storage_error(e, f"reading {str(path)!r}") from e
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            raise CorruptError(f"{str(path)!r} is damaged: {e}", hint="restore another backup") from e


def _is_inside(name: str) -> bool:
    """Whether the name of a file leads nowhere else: backups come from other machines.

    >>> _is_inside("models/a.toml"), _is_inside("../a"), _is_inside("/a")
    (True, False, False)
    """
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def backup(folder: Folder, target: Path, progress: Progress = SILENT) -> BackupReport:
    """Copies the live generation, beside writers, into a new or an empty folder.

    Raises:
        NotAKnowledgeBaseError: the target is not empty, or lies in the knowledge base.
        CorruptError: a file of the knowledge base is damaged; there is no backup.
        StorageError: the target cannot be written; it is as it was before.
    """
    _check_target(target, "a backup needs a new or an empty folder: choose another name")
    _refuse_inside(target, folder.path)
    generation, settings = _held(folder)
    with _hidden(target, "backup") as part:
        linked = _place(generation, part / generation.name, progress)
        config = parse_config(settings.decode(), str(folder.path / SETTINGS))
        (part / SETTINGS).write_bytes(settings)
        beside = _beside(folder.path, config)
        for name in beside:
            _copy(folder.path / name, part / name)
        notes = _not_included(folder, generation, config)
        files = {name: _crc(part / name) for name in (SETTINGS, *beside)}
        about = BackupManifest(generation.name, _crc(part / generation.name / NAME), files, notes)
        (part / MANIFEST).write_text(about.to_json(folder.path), encoding="utf-8")
        write_durably(part / "CURRENT", generation.name + "\n")
    return _report(generation, linked, notes)


def restore(source: Path, target: Path, progress: Progress = SILENT) -> BackupReport:
    """Makes a knowledge base of a backup, in a new or an empty folder.

    Raises:
        NotAKnowledgeBaseError: the source is no backup, or the target is not empty.
        CorruptError: a file of the backup is damaged; there is no knowledge base.
        StorageError: the target cannot be written; it is as it was before.
    """
    about = BackupManifest.read(source)
    _check_target(target, f"move it away first: mv {target} {target}.old")
    _refuse_inside(target, source)
    _check_unchanged(source, about)
    generation = open_generation(source / about.generation, but=INDEXES)  # `_place` compares everything
    with _hidden(target, "restore") as part:
        try:
            linked = _place(generation, part / generation.name, progress)
        except CorruptError as e:
            raise _damaged_backup(source, target, e) from e
        for name in about.files:
            _copy(source / name, part / name)
        write_durably(part / "CURRENT", generation.name + "\n")
    return _report(generation, linked, about.notes)


def _report(generation: Generation, linked: int, notes: list[str]) -> BackupReport:
    return BackupReport(generation.name, len(generation.manifest.files), linked, generation.bytes(), tuple(notes))


def _held(folder: Folder) -> tuple[Generation, bytes]:
    """The live generation, and the kb.toml that belongs to it: a writer may switch both between two reads."""
    for _ in range(TRIES):
        generation = folder.current()
        pending = pending_settings(folder.path)
        try:
            settings = (folder.path / SETTINGS).read_bytes() if pending is None else pending.encode()
        except OSError as e:
            raise storage_error(e, f"reading {str(folder.path / SETTINGS)!r}") from e
        if folder.live_name() == generation.name:
            return generation, settings
    raise StorageError(
        f"{str(folder.path)!r} changes faster than it can be read", hint="run the command again, or stop the writers"
    )


def _place(generation: Generation, folder: Path, progress: Progress) -> int:
    """Links or copies the files of a generation into a new folder, and compares each with its checksum.

    Returns:
        The number of hard links.

    Raises:
        CorruptError: a file is damaged; names the one of `generation`.
    """
    folder.mkdir()
    linked, files = 0, generation.manifest.files
    progress.start(f"copying generation {generation.name}", sum(entry.size for entry in files.values()))
    for name, entry in files.items():
        source, target = generation.path / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.is_file():
            check_file(generation.path, name, entry)
        link_or_copy(source, target)
        if target.samefile(source):
            linked += 1
            check_file(generation.path, name, entry)
        else:
            fsync_file(target)
            try:
                check_file(folder, name, entry)
            except CorruptError:
                check_file(generation.path, name, entry)  # damaged already, or only in its copy?
                raise
        progress.advance(entry.size, 1)
    shutil.copyfile(generation.path / NAME, folder / NAME)
    read_manifest(folder)  # compares its own checksum
    (folder / READERS).touch()
    progress.done(len(files))
    return linked


@contextmanager
def _hidden(target: Path, doing: str) -> Iterator[Path]:
    """A hidden folder beside the target, which takes its name when the block ends without an exception."""
    path = Path(os.path.abspath(target))  # noqa: PTH100 - keeps a link, as `mv` would
    part = path.with_name(f".{path.name}.{os.getpid()}.{doing}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir()
        try:
            yield part
            for file in files_below(part):
                fsync_file(file)
            for inner in sorted(entry for entry in part.rglob("*") if entry.is_dir()):
                fsync_folder(inner)
            fsync_folder(part)
            if os.name == "nt" and path.exists():
                path.rmdir()
            part.replace(path)  # an empty folder may be there; a full one makes this fail
            fsync_folder(path.parent)
        finally:
            with suppress(FileNotFoundError):
                shutil.rmtree(part)
    except OSError as e:
        error = storage_error(e, f"writing {str(target)!r}")
        error.hint = error.hint and f"free some space and run the command again; {str(target)!r} is as it was before"
        raise error from e


def _check_target(target: Path, hint: str) -> None:
    """Raises NotAKnowledgeBaseError unless there is nothing, or an empty folder."""
    try:
        if not os.path.lexists(target):
            return
        if not target.is_dir():
            raise NotAKnowledgeBaseError(f"{str(target)!r} is not a folder", hint=hint)
        first = min((entry.name for entry in target.iterdir()), default=None)
    except OSError as e:
        raise storage_error(e, f"looking at {str(target)!r}") from e
    if first is not None:
        raise NotAKnowledgeBaseError(f"{str(target)!r} is not empty; it holds {first!r}", hint=hint)


def _refuse_inside(target: Path, folder: Path) -> None:
    if target.resolve().is_relative_to(folder.resolve()):
        raise NotAKnowledgeBaseError(
            f"{str(target)!r} lies in {str(folder)!r}, which it is to be a copy of", hint="choose a folder beside it"
        )


def _beside(folder: Path, config: Config) -> list[str]:
    """Paths of the files besides the generation and kb.toml, sorted: people edit them, so they are copied.

    Unit costs are not among them: they belong to the machine.
    """
    found = [file.relative_to(folder).as_posix() for file in _files(folder / MODELS)]
    found += [ENGINES] if (folder / ENGINES).is_file() else []
    synonyms = folder / config.synonyms
    if synonyms.is_file() and synonyms.resolve().is_relative_to(folder.resolve()):
        found.append(synonyms.relative_to(folder).as_posix())
    return sorted(set(found))


def _files(folder: Path) -> list[Path]:
    return list(files_below(folder)) if folder.is_dir() else []


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _crc(path: Path) -> str:
    return f"{zlib.crc32(path.read_bytes()):08x}"


def _check_unchanged(source: Path, about: BackupManifest) -> None:
    """Raises CorruptError: the backup was written to since, or a file besides those of its generation is damaged."""
    if Folder.open(source).live_name() != about.generation:
        raise CorruptError(
            f"{str(source)!r} has been written to since it was made, and is a knowledge base of its own now",
            hint=f"make a backup of it: hybridkg backup {source} FOLDER",
        )
    for name, crc in {**about.files, f"{about.generation}/{NAME}": about.manifest}.items():
        try:
            actual = _crc(source / name)
        except OSError:
            actual = ""
        if actual != crc:
            raise CorruptError(
                f"{str(source / name)!r} is not as it was when the backup was made", hint="restore another backup"
            )
    for file in _files(source / MODELS):
        if file.relative_to(source).as_posix() not in about.files:
            raise CorruptError(
                f"{str(file)!r} is not part of the backup", hint="move it away, and copy it by hand later"
            )


def _damaged_backup(source: Path, target: Path, error: CorruptError) -> CorruptError:
    hint = "restore another backup"
    if error.hint and "index" in error.hint:  # only what can be built again is damaged
        hint += f"; or copy this one and build its index again: cp -r {source} {target}; hybridkg index {target}"
    return CorruptError(error.message, hint=hint, place=error.place)


def _not_included(folder: Folder, generation: Generation, config: Config) -> list[str]:
    """Sentences about what belongs to the knowledge base and is not in its folder."""
    notes = []
    if graph := generation.manifest.endpoint.get("url", "" if config.graph == EMBEDDED else config.graph):
        notes.append(f"the graph lies at {graph} and is not in the backup")
    text = generation.path / "text"
    if text.is_dir() and is_remote_engine(name := engine_name(text)):
        title = TEXT_ENGINES.get(name).title
        notes.append(f"the text index lies on a server ({title}) and is not in the backup; hybridkg index builds it")
    vectors = generation.path / VECTORS
    with suppress(CorruptError):  # of a kind that is not installed: it is local, or its package knows
        if vectors.is_dir() and (kind := VECTOR_INDEXES.get(kind_of(vectors))).is_remote:
            notes.append(
                f"the vectors lie on a server ({kind.title}) and are not in the backup; hybridkg index makes them"
            )
    outside = [config.profile] if is_path(config.profile) else []
    if config.synonyms and not (folder.path / config.synonyms).resolve().is_relative_to(folder.path.resolve()):
        outside.append(config.synonyms)
    notes += [f"kb.toml names {path!r}, which is not in the backup; hybridkg index needs it" for path in outside]
    return notes
