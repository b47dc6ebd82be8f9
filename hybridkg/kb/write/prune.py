"""Removal of the indexes that a knowledge base has on servers."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from hybridkg.errors import ConfigError, CorruptError, HybridkgError
from hybridkg.interfaces.text_engine import TEXT_ENGINES, TextEngine, engine_name, is_remote_engine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, kind_of
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.reports import UnusedIndex
from hybridkg.storage.durable import storage_error
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.removal import await_removals


def prune(folder: Folder, *, remove: bool, names: Sequence[str] | None = None) -> list[UnusedIndex]:
    """Lists the indexes on servers that no generation on disk names; with `remove`, deletes them.

    Holds the lock, because an index that is being built has no generation yet. `names` restricts them to these names.

    Raises:
        LockedError: another writer has the lock.
        HybridkgError: a server does not answer.
    """
    result = []
    with folder.locked():
        live = _indexes(folder.generations())
        for name, engine in _engines(folder, map(_engine_of, live)).items():
            unused = [
                UnusedIndex(name, one["name"], one.get("created") or "", one.get("documents"), one.get("bytes"))
                for one in engine.unused(live)
                if names is None or one["name"] in names
            ]
            if remove and unused:
                engine.remove([one.name for one in unused])
            result += unused
    return result


def remove(folder: Folder) -> list[str]:
    """Deletes a knowledge base: first its indexes on servers, then its folder.

    Returns:
        Names of the indexes that stay on a server, because another folder made them: this one was copied or moved.

    Raises:
        LockedError: another writer has the lock.
        HybridkgError: a server that has one of its indexes does not answer; nothing has been deleted.
        StorageError: the folder cannot be deleted.
    """
    with folder.locked():
        remote, staying = _remote_indexes(folder)
        for engine, names in remote:
            engine.remove(names)
    _delete(folder.path)
    return staying


def _remote_indexes(folder: Folder) -> tuple[list[tuple[TextEngine, list[str]]], list[str]]:
    """(engine, names) of the indexes that this folder made, and names of those that it uses but another folder made.

    Skips the parts of a damaged knowledge base that cannot be read.
    """
    needed: dict[str, list[Path]] = {}
    for index in _indexes(sorted(path for path in folder.path.iterdir() if path.is_dir())):
        with suppress(OSError, UnicodeDecodeError):
            needed.setdefault(_engine_of(index), []).append(index)
    try:
        engines = _engines(folder, needed)
    except ConfigError:
        if all(name in TEXT_ENGINES and not is_remote_engine(name) for name in needed):
            return [], []
        raise
    remote, staying = [], []
    for name, engine in engines.items():
        try:
            own = [one["name"] for one in engine.unused([])]
        except HybridkgError as e:
            if name not in needed:  # no file on disk needs it; its leftovers can be removed by hand only
                if name in folder.engines():
                    staying.append(f"{name}: indexes of earlier states, if any, because {e.message}")
                continue
            part = "text index is" if any(index.name == "text" for index in needed[name]) else "vectors are"
            first = f"nothing was deleted, because the {part} on the server of {name!r}"
            e.hint = "\n".join([first, *filter(None, [e.hint])])
            raise
        if own:
            remote.append((engine, own))
        for index in needed.get(name, ()):
            with suppress(CorruptError):
                used = engine.name_of(index)
                if used != name and used.split()[-1] not in own:
                    staying.append(used)
    return remote, staying


def _indexes(generations: Sequence[Path]) -> list[Path]:
    """Folders of the text indexes, and of the vector indexes that have a part on a server."""
    folders = [path / part for path in generations for part in ("text", VECTORS) if (path / part).is_dir()]
    return [index for index in folders if index.name == "text" or _engine_of(index)]


def _engine_of(index: Path) -> str:
    """The engine of a text index, or that of the remote part of a vector index; empty where it has none."""
    if index.name == "text":
        return engine_name(index)
    try:
        return str(VECTOR_INDEXES.get(kind_of(index)).engine)
    except CorruptError:
        return ""


def _delete(path: Path) -> None:
    await_removals(path)
    try:
        shutil.rmtree(path)
    except OSError as e:
        raise storage_error(e, f"deleting {str(path)!r}") from e


def _engines(folder: Folder, names: Iterable[str]) -> dict[str, TextEngine]:
    config = folder.config
    return {
        name: TEXT_ENGINES.get(name)(folder.path, config) for name in sorted({config.text, *names, *folder.engines()})
    }
