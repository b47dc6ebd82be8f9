"""Builds the node table and the text index of a generation from its graph and its documents."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hybridkg.entities.documents import Documents
from hybridkg.entities.doubts import doubts
from hybridkg.entities.extract import extract
from hybridkg.entities.fields import Profile
from hybridkg.entities.gathering import Value
from hybridkg.entities.table import MAX_NODES, NodeTable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.snapshot import PROFILE_FILE
from hybridkg.text.embedded import EmbeddedTextBuilder, EmbeddedTextIndex

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
        Counts: entities, fields, terms, postings, tokens, text_bytes; and `notes`, sentences about what of the
        profile has found nothing.
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
            builder.add_all(position, values)
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
            builder.add_all(position, _reported(extraction.stream(position), entities, progress))
            builder.complete(position)
        counts = builder.finish()
    progress.done(entities)
    (text_folder / PROFILE_FILE).write_text(extraction.profile.to_json(), encoding="utf-8")
    index = EmbeddedTextIndex.open(text_folder)
    empty = [name for name in index.fields if not index.field_totals(name)["entities"]]
    return {"fields": len(extraction.fields), **counts, "notes": doubts(extraction.profile, store, empty)}


def _reported(
    records: Iterator[tuple[int, list[Value]]], entities: int, progress: Progress
) -> Iterator[tuple[int, list[Value]]]:
    """The records of a field, in ascending order of their entities, told to the progress as they pass."""
    waiting = 0
    last = 0
    for record in records:
        yield record
        waiting += 1
        if waiting == ENTITIES_PER_REPORT:
            progress.advance(record[0] - last, waiting)
            waiting, last = 0, record[0]
    progress.advance(entities - last, waiting)


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
