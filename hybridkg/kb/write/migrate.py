"""Migration of the text index and the vectors to another engine, with the same rows and scores.

The profile and the synonyms are those of the index, and vectors are not encoded again. The move is one new generation;
kb.toml names the new engine as soon as CURRENT names it (store/generations/pending_settings.py).
"""

from __future__ import annotations

import filecmp
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybridkg.config.settings import Config, EncodingSettings
from hybridkg.errors import ConfigError, IndexMissingError, LockedError, UnknownNameError
from hybridkg.graph.statistics.catalog import PART as STATISTICS
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES, TextEngine, engine_name
from hybridkg.interfaces.text_index import TextIndex
from hybridkg.interfaces.vector_index import (
    ENCODER,
    VECTOR_INDEXES,
    Encoded,
    StoredVectors,
    VectorIndexKind,
    encoded_fields,
    kind_of,
    write_kind,
)
from hybridkg.kb.snapshot import VECTORS, Snapshot
from hybridkg.kb.write.build_indexes import build_indexes
from hybridkg.kb.write.build_projection import PROJECTION
from hybridkg.kb.write.index_step import removed_on_failure
from hybridkg.kb.write.reports import MigrateReport, MovedIndex
from hybridkg.storage.durable import link_tree
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import Building
from hybridkg.text.match_query.synonyms import stored_synonyms

NODE_FILES = ("nodes.text", "nodes.offsets")
"""Files that determine the ids of entities."""

NATIVE = "native"
"""`analysis` in `about()` of an index whose terms are made by the engine (NativeAnalysis)."""


@dataclass(frozen=True)
class Move:
    """The indexes to move.

    Args:
        text: (source, target) engine; None if the text index is there already.
        vectors: (source, target) kind of index; None if there are no vectors, or they stay.
        notes: sentences that name what stays, and why.
    """

    text: tuple[str, str] | None = None
    vectors: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)


def migrate(folder: Folder, to: str, progress: Progress) -> MigrateReport:
    """Moves text and vectors to an engine of TEXT_ENGINES, in one generation with the same graph and documents.

    Raises:
        UnknownNameError: there is no such engine.
        IndexMissingError: there is no index, it is older than the graph, or building it again gives another one.
        ConfigError: the engine makes the terms of the index itself, or would.
        HybridkgError: a server does not answer; the knowledge base is unchanged.
    """
    if to not in TEXT_ENGINES:
        raise UnknownNameError(f"no place {to!r} to move to; known: {', '.join(TEXT_ENGINES.names())}")
    config, state = folder.config, Snapshot.open(folder)
    move = _planned_move(folder, state, to, config)
    moved = folder.with_settings(text=to, vectors=_vectors_setting(move, state, to, config))
    settings = moved.config
    if move.text is None and move.vectors is None:
        if settings != config:
            moved.write_settings()
        return MigrateReport(to, notes=tuple(move.notes))
    engine: TextEngine = TEXT_ENGINES.get(to)(folder.path, settings)
    # The encoding of kb.toml is for the next index; vectors that move are not encoded again.
    kind: VectorIndexKind = VECTOR_INDEXES.get(settings.vectors)(
        folder.path, replace(settings, encoding=EncodingSettings())
    )
    builders: list[TextEngine | VectorIndexKind] = [*([engine] if move.text else []), *([kind] if move.vectors else [])]
    with removed_on_failure(folder, *builders), moved.building(progress) as building:
        if building.previous.name != state.generation.name:
            raise LockedError("another writer has changed the knowledge base meanwhile", hint="run the command again")
        for builder in builders:
            builder.ready()
        if engine.is_remote:
            folder.remember_engine(to)
        text, vectors = None, None
        if move.text:
            text = _move_text(building, state, move.text, engine, progress)
        else:
            for name in ("nodes", "text"):
                building.keep(name)
        if move.vectors:
            vectors = _move_vectors(building, folder, config, kind, move.vectors, progress)
        elif (state.generation.path / VECTORS).is_dir():
            building.keep(VECTORS)
        building.keep(PROJECTION)
        building.keep(STATISTICS)
    return MigrateReport(to, text, vectors, tuple(move.notes))


def _planned_move(folder: Folder, state: Snapshot, to: str, config: Config) -> Move:
    """The move; raises IndexMissingError or ConfigError where it would change rows or scores."""
    again = f"hybridkg index {folder.path}"
    if state.text is None:
        raise IndexMissingError("there is no text index to move", hint=again)
    if set(state.generation.behind()) & {"text", VECTORS}:
        raise IndexMissingError("the index is older than the graph or the documents", hint=again)
    live = engine_name(state.generation.path / "text")
    if live != to:
        was_native = state.text.about().get("analysis") == NATIVE
        if was_native or TEXT_ENGINES.get(to).analyzes_natively(config):
            engine = TEXT_ENGINES.get(live if was_native else to)
            raise ConfigError(
                f"with {engine.native_analysis.setting} the terms are {engine.title}'s own, so a move changes scores",
                hint=f"to accept this: {again} --text-engine {to}" if was_native else engine.native_analysis.remedy,
                place=str(folder.path / "kb.toml"),
            )
    text = None if live == to else (live, to)
    vectors = state.generation.path / VECTORS
    if not vectors.is_dir():
        return Move(text)
    kind, wanted = kind_of(vectors), TEXT_ENGINES.get(to).vector_index
    if _is_same_place(kind, wanted):
        return Move(text)
    target = VECTOR_INDEXES.get(wanted)
    if not target.takes_pieces and VECTOR_INDEXES.get(kind)(folder.path, config).stored(vectors).in_pieces:
        why = f"the vectors stay here: entities have several, and {target.title} holds one of each"
        return Move(text, notes=[why])
    return Move(text, (kind, wanted))


def _vectors_setting(move: Move, state: Snapshot, to: str, config: Config) -> str:
    """The kind of vector index that a later `index` makes: that of the target engine, where it can hold the vectors."""
    if move.vectors is not None:
        return move.vectors[1]
    stay = (state.generation.path / VECTORS).is_dir() or config.encoding.what != "entity"
    wanted: str = TEXT_ENGINES.get(to).vector_index
    return config.vectors if stay or _is_same_place(config.vectors, wanted) else wanted


def _is_same_place(kind: str, wanted: str) -> bool:
    """Whether a kind of vector index is in the engine that a text engine prefers; it may prefer none."""
    return not wanted or VECTOR_INDEXES.get(kind).engine == VECTOR_INDEXES.get(wanted).engine


def _move_text(
    building: Building, state: Snapshot, engines: tuple[str, str], engine: TextEngine, progress: Progress
) -> MovedIndex:
    assert state.profile is not None
    assert state.text is not None
    started, (source, target) = time.monotonic(), engines
    built = build_indexes(
        building.path,
        state.profile,
        state.store,
        state.documents,
        (target, engine),
        progress,
        union_default_graph=state.union_default_graph,
        synonyms=stored_synonyms(state.generation.path / "text"),
    )
    folder = building.path / "text"
    _check_same(building, state, target, engine.open(folder))
    building.built("text", engine.name_of(folder))
    return MovedIndex(source, target, built.entities, **_cost(folder, engine.open(folder).about(), started))


def _check_same(building: Building, state: Snapshot, to: str, after: TextIndex) -> None:
    """Raises IndexMissingError if the same sources gave another index, with other ids or other scores."""
    assert state.text is not None
    old, before = building.previous.path, state.text
    same = all(filecmp.cmp(old / name, building.path / name, shallow=False) for name in NODE_FILES)
    fields = tuple(before.fields)
    if same and all(before.field_totals(name) == after.field_totals(name) for name in fields):
        return
    again = f"hybridkg index {old.parent}"
    if state.endpoint:
        raise IndexMissingError(
            f"the text that {state.endpoint} gives is not the one that the index was built from: its graph has "
            "changed, or blank nodes have text, whose labels differ from answer to answer",
            hint=f"{again} --text-engine {to} reads the graph from there again and builds the index",
        )
    raise IndexMissingError(
        "the text of the entities has changed since the index was built: another default_graph, or another version "
        "of hybridkg",
        hint=f"{again}, and then run the command again",
    )


def _move_vectors(
    building: Building,
    folder: Folder,
    config: Config,
    kind: VectorIndexKind,
    kinds: tuple[str, str],
    progress: Progress,
) -> MovedIndex:
    """Builds the target index of the same vectors, and links the files of the encoder."""
    started, (source, target) = time.monotonic(), kinds
    old, new = building.previous.path / VECTORS, building.path / VECTORS
    before: VectorIndexKind = VECTOR_INDEXES.get(kind_of(old))(folder.path, config)
    stored = before.stored(old)
    new.mkdir()
    link_tree(old / ENCODER, new / ENCODER)
    counts = kind.build(new, stored, stored.kind, _batches(stored, progress), progress, hashed=stored.hashed)
    write_kind(new, target, encoded_fields(old))
    building.built(VECTORS, target)
    details = {"encoder": counts["encoder"], "dimensions": counts["dimensions"], "encoded": 0}
    about = kind.open(new, lambda node: None, lambda ids: ids).about()
    return MovedIndex(source, target, counts["entities"], **_cost(new, about, started), details=details)


def _batches(stored: StoredVectors, progress: Progress) -> Iterator[Encoded]:
    progress.start("moving vectors", stored.count)
    for batch in stored.read():
        yield batch
        progress.advance(len(batch.ids), len(batch.ids))
    progress.done(stored.count)


def _cost(folder: Path, about: dict[str, Any], started: float) -> dict[str, Any]:
    local = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    remote = about.get("bytes") if "url" in about else None
    return {"seconds": time.monotonic() - started, "bytes_here": local, "bytes_on_server": remote}
