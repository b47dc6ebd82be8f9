"""What a knowledge base keeps outside its folder, on servers of text indexes, and how that goes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hybridkg.errors import ConfigError, CorruptError, HybridkgError
from hybridkg.interfaces.text_engine import TEXT_ENGINES, TextEngine, engine_name, is_remote_engine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, kind_of
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.reports import UnusedIndex
from hybridkg.storage.durable import storage_error
from hybridkg.store.generations.folder import Folder


def prune(folder: Folder, *, remove: bool, names: Sequence[str] | None = None) -> list[UnusedIndex]:
    """Finds the indexes on servers that no generation on disk names, and removes them.

    Nobody can write meanwhile: an index in the making has no generation yet.

    Args:
        folder: the knowledge base.
        remove: whether to remove them, or only to tell.
        names: removes those among them only.

    Returns:
        Those that were found; with `remove`, those that were removed.

    Raises:
        LockedError: somebody is writing.
        HybridkgError: a server does not answer.
    """
    found = []
    with folder.locked():
        live = _indexes(folder.generations())
        for name, engine in _engines(folder, map(_engine_of, live)).items():
            unused = [_unused(name, one) for one in engine.unused(live)]
            unused = [one for one in unused if names is None or one.name in names]
            if remove and unused:
                engine.remove([one.name for one in unused])
            found += unused
    return found


def _unused(engine: str, about: Mapping[str, Any]) -> UnusedIndex:
    """An index as its engine tells of it."""
    created, documents, size = (about.get(key) for key in ("created", "documents", "bytes"))
    return UnusedIndex(engine, about["name"], created or "", documents, size)


def remove(folder: Folder) -> list[str]:
    """Deletes a knowledge base: first its indexes on servers, then its folder.

    Returns:
        Indexes that it used and that stay on a server, because another folder has made them: this one was copied,
        and the original may still need them, or it was moved.

    Raises:
        LockedError: somebody is writing.
        HybridkgError: a server that has an index of it does not answer; nothing has been deleted.
        StorageError: the folder cannot be deleted.
    """
    with folder.locked():
        outside, left = _everything_outside(folder)
        for engine, found in outside:
            engine.remove(found)
    _delete(folder.path)
    return left


def _everything_outside(folder: Folder) -> tuple[list[tuple[TextEngine, list[str]]], list[str]]:
    """(engine, names) of what is this folder's but not in it, and what it uses that is another's.

    Of a damaged knowledge base, what can still be read.
    """
    needed: dict[str, list[Path]] = {}
    for index in _indexes(sorted(path for path in folder.path.iterdir() if path.is_dir())):
        with suppress(OSError, UnicodeDecodeError):
            needed.setdefault(_engine_of(index), []).append(index)
    try:
        engines = _engines(folder, needed)
    except ConfigError:
        if all(name in TEXT_ENGINES and not is_remote_engine(name) for name in needed):  # nothing is outside
            return [], []
        raise
    outside, left = [], []
    for name, engine in engines.items():
        try:
            found = [one["name"] for one in engine.unused([])]
        except HybridkgError as e:
            if name not in needed:  # nothing on disk needs it; whatever it still has can be removed by hand only
                if name in folder.engines():
                    left.append(f"{name}: indexes of earlier states, if any, because {e.message}")
                continue
            what = "text index is" if any(index.name == "text" for index in needed[name]) else "vectors are"
            first = f"nothing was deleted, because the {what} kept by {name!r}"
            e.hint = "\n".join([first, *filter(None, [e.hint])])
            raise
        if found:
            outside.append((engine, found))
        for text in needed.get(name, ()):
            with suppress(CorruptError):
                used = engine.name_of(text)
                if used != name and used.split()[-1] not in found:
                    left.append(used)
    return outside, left


def _indexes(generations: Sequence[Path]) -> list[Path]:
    """The folders of the text indexes, and of those vectors of which something is outside."""
    found = [path / part for path in generations for part in ("text", VECTORS) if (path / part).is_dir()]
    return [index for index in found if index.name == "text" or _engine_of(index)]


def _engine_of(index: Path) -> str:
    """The text engine of an index, or the one that knows what is outside of vectors; empty where nothing is."""
    if index.name == "text":
        return engine_name(index)
    try:
        return str(VECTOR_INDEXES.get(kind_of(index)).engine)
    except CorruptError:
        return ""


def _delete(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except OSError as e:
        raise storage_error(e, f"deleting {str(path)!r}") from e


def _engines(folder: Folder, names: Iterable[str]) -> dict[str, TextEngine]:
    """The engines of these names, those that have ever built here, and the one that kb.toml names."""
    config = folder.config
    return {
        name: TEXT_ENGINES.get(name)(folder.path, config) for name in sorted({config.text, *names, *folder.engines()})
    }
