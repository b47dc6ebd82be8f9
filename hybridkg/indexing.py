"""Builds the node table and the text index of a generation from its graph and its documents."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hybridkg.entities.documents import Documents
from hybridkg.entities.extract import Extraction, extract
from hybridkg.entities.fields import Profile
from hybridkg.entities.gathering import Value
from hybridkg.entities.table import MAX_NODES, NodeTable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.snapshot import PROFILE_FILE
from hybridkg.text.embedded import EmbeddedTextBuilder

ENTITIES_PER_REPORT = 1_000
"""Entities between two reports of progress; at 50,000 texts/s that is 50 a second."""


def build_indexes(
    folder: Path, profile: Profile, store: GraphStore, documents: Documents | None, progress: Progress
) -> dict[str, Any]:
    """Writes `nodes.*` and `text/` into a generation that is being built.

    Args:
        folder: the generation's folder; holds neither yet.
        profile: the fields, before those that only the documents have.
        store: the graph.
        documents: text that is not in the graph.
        progress: told about rows read and entities indexed.

    Returns:
        Counts: entities, fields, terms, postings, tokens, text_bytes.
    """
    with _collector_paused():
        return _build(folder, profile, store, documents, progress)


def _build(
    folder: Path, profile: Profile, store: GraphStore, documents: Documents | None, progress: Progress
) -> dict[str, Any]:
    text_folder = folder / "text"
    text_folder.mkdir()
    if documents is not None:
        profile = profile.with_documents(documents.fields())
    with closing(EmbeddedTextBuilder(text_folder, profile.indexed_fields(), MAX_NODES)) as builder:
        done: list[int] = []

        def add_early(position: int, values: Iterator[tuple[int, list[Value]]]) -> None:
            for entity, texts in values:
                builder.add(entity, position, texts)
            done.append(position)

        progress.start("reading text from the graph", None)
        extraction = extract(profile, store, documents, lambda rows: progress.advance(0, rows), add_early)
        builder.renumber(extraction.provisional, len(extraction.nodes))
        for position in done:
            builder.complete(position)
        progress.done(len(extraction.nodes))
        entities = NodeTable.write(folder, extraction.nodes)
        left = [position for position in range(len(extraction.fields)) if position not in done]
        progress.start("indexing text", entities * len(left))
        for position in left:
            _add(builder, position, extraction, progress)
        counts = builder.finish()
    progress.done(entities)
    (text_folder / PROFILE_FILE).write_text(extraction.profile.to_json(), encoding="utf-8")
    return {"fields": len(extraction.fields), **counts}


def _add(builder: EmbeddedTextBuilder, position: int, extraction: Extraction, progress: Progress) -> None:
    """Adds a field from its first entity to its last."""
    waiting = 0
    last = 0
    for entity, values in extraction.stream(position):
        builder.add(entity, position, values)
        waiting += 1
        if waiting == ENTITIES_PER_REPORT:
            progress.advance(entity - last, waiting)
            waiting, last = 0, entity
    progress.advance(len(extraction.nodes) - last, waiting)
    builder.complete(position)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Indexing makes millions of objects that live to its end and no cycles; to look for cycles costs a fifth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
