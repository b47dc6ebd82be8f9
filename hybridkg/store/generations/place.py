"""The place of a knowledge base: whether one is there, can be created there, or why not.

Every refusal names what is there and what to do: another name, the neighbour that was meant, or how a damaged folder is
used again.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from hybridkg.errors import CorruptError, NotAKnowledgeBaseError, StorageError
from hybridkg.rdf.input_file import extensions
from hybridkg.storage.durable import storage_error
from hybridkg.store.generations.manifest import RESTORE, Manifest, read_manifest
from hybridkg.store.generations.writer_lock import RECORD
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

SIMILAR = 0.75
"""Similarity, of 1, from which a name is taken for a mistyped one."""


def checked_path(path: str | Path) -> Path:
    """The path of a knowledge base; refuses an empty one, which the system would take for the current folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"the path of a knowledge base is a str or a Path, not {type(path).__name__}: {path!r}")
    if path == "":
        raise NotAKnowledgeBaseError("the path of the knowledge base is empty", hint="for the current folder write '.'")
    return Path(path)


def refuse_lost_current(path: Path) -> None:
    """Refuses a folder without CURRENT that has a generation with data: a copy that is not whole, or a mistake by hand.

    An interrupted creation leaves at most a first generation without data.

    Raises:
        NotAKnowledgeBaseError: names the generation, and how to use it.
    """
    unreadable = ""
    for name, manifest in manifests_of(path):
        if manifest is None:
            unreadable = name
        elif manifest.counts.get("quads", 0) or manifest.documents or manifest.generation > 1:
            raise NotAKnowledgeBaseError(
                f"{str(path)!r} has lost its file 'CURRENT', which names the generation to open; {name} is complete",
                hint=how_to_use(name, path),
            )
    if unreadable:
        raise NotAKnowledgeBaseError(
            f"{str(path)!r} has lost its file 'CURRENT', and the manifest of {unreadable} cannot be read", hint=RESTORE
        )


def manifests_of(path: Path) -> Iterator[tuple[str, Manifest | None]]:
    """The generations of a folder, newest first, with their manifests; None for one that cannot be read."""
    names = [entry.name for entry in path.iterdir() if GENERATION.fullmatch(entry.name)] if path.is_dir() else []
    for name in sorted(names, key=int, reverse=True):
        try:
            yield name, read_manifest(path / name)
        except CorruptError:
            yield name, None


def how_to_use(generation: str, path: Path) -> str:
    return f"to use it: echo {generation} > {path / 'CURRENT'}"


def refuse_taken(path: Path) -> None:
    """Refuses a place where no knowledge base can be created. Raises NotAKnowledgeBaseError: see `Folder.create`."""
    shown = str(path)
    if path.exists() and not path.is_dir():
        raise NotAKnowledgeBaseError(f"{shown!r} is a file, not a folder", hint="choose another name")
    if (path / "CURRENT").exists():
        raise NotAKnowledgeBaseError(f"{shown!r} is a knowledge base already", hint="open it instead")
    refuse_lost_current(path)
    foreign = [] if not path.exists() else [e.name for e in path.iterdir() if not OURS.fullmatch(e.name)]
    if foreign:
        raise NotAKnowledgeBaseError(
            f"{shown!r} is not empty and no knowledge base; it holds {min(foreign)!r}",
            hint="choose a new or an empty folder",
        )


def nothing_to_open(path: Path) -> NotAKnowledgeBaseError:
    """Why a path without CURRENT cannot be opened. Raises StorageError: it cannot be read."""
    shown = str(path)
    try:
        entries = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    except OSError as e:
        raise storage_error(e, f"opening {shown!r}") from e
    create = f"create one with: hybridkg load {shown} FILE..."
    if not path.exists():
        return NotAKnowledgeBaseError(f"no knowledge base at {shown!r}", hint=_neighbour(path) or create)
    if not path.is_dir():
        return NotAKnowledgeBaseError(f"{shown!r} is a file, not a knowledge base folder", hint=_folder_for(path))
    if not entries:
        return NotAKnowledgeBaseError(f"{shown!r} is an empty folder, not a knowledge base", hint=create)
    if all(OURS.fullmatch(name) for name in entries):
        refuse_lost_current(path)
        return NotAKnowledgeBaseError(f"{shown!r} is a knowledge base whose creation was interrupted", hint=create)
    return NotAKnowledgeBaseError(
        f"{shown!r} is a folder, but not a knowledge base; it has no file 'CURRENT'",
        hint=f"it holds {entries[0]!r}; give the path of a knowledge base, or of a new folder to load into",
    )


def make_folder(path: Path, wanted: Path) -> None:
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
