"""Builds the node table and the text index of a generation from its graph and its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridkg.entities.documents import Documents
from hybridkg.entities.extract import extract
from hybridkg.entities.fields import Profile
from hybridkg.entities.table import NodeTable
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
    progress.start("reading text from the graph", None)
    extraction = extract(profile, store, documents, lambda rows: progress.advance(0, rows))
    progress.done(len(extraction.nodes))
    entities = NodeTable.write(folder, extraction.nodes)
    text_folder = folder / "text"
    text_folder.mkdir()
    builder = EmbeddedTextBuilder(text_folder, extraction.fields, entities)
    progress.start("indexing text", entities * len(extraction.fields))
    for position in range(len(extraction.fields)):
        waiting = 0
        last = 0
        for entity, values in extraction.stream(position):
            builder.add(entity, position, values)
            waiting += 1
            if waiting == ENTITIES_PER_REPORT:
                progress.advance(entity - last, waiting)
                waiting, last = 0, entity
        progress.advance(entities - last, waiting)
    counts = builder.finish()
    progress.done(entities)
    (text_folder / PROFILE_FILE).write_text(extraction.profile.to_json(), encoding="utf-8")
    return {"fields": len(extraction.fields), **counts}
