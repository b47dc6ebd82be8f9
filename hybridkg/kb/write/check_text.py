"""The parts of a check that are about text and vectors: what the indexes hold of entities, against their source."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.entities.entity_text import verbalised
from hybridkg.entities.passage_texts import EntityTexts
from hybridkg.interfaces.encoder import ENCODERS
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.vector_index import (
    ENCODER,
    VECTOR_INDEXES,
    Encoded,
    StoredVectors,
    kind_of,
)
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.build_indexes import GenerationText
from hybridkg.text.index.comparison import Difference, StoredText, compare_builds, compare_entities
from hybridkg.text.index.engine import EmbeddedTextEngine
from hybridkg.vector.encoders.embedding_cache import hashes
from hybridkg.vector.index.flat_files import LAYOUT as VECTOR_FILES
from hybridkg.vector.index.flat_files import codes_agree

if TYPE_CHECKING:
    from hybridkg.entities.extraction import Extraction
    from hybridkg.interfaces.encoder import Encoder
    from hybridkg.interfaces.text_engine import Values
    from hybridkg.interfaces.text_index import Ids
    from hybridkg.kb.snapshot import Snapshot

SAMPLE = 1_000
"""Entities whose text and vectors are compared where not all are."""

NODE_FILES = ("nodes.text", "nodes.offsets", "nodes.hashes")

MAX_ERROR = 1e-4
"""By which a number of a vector may differ from one that was encoded again: in other batches sums round otherwise."""


@dataclass(frozen=True)
class EntitySource:
    """Some or all entities with their texts, read from the graph and the documents.

    Args:
        ids: uint32[n], ascending.
        texts: the text of each, as an encoder gets it; empty for an entity without a value.
        encoded: names of the fields that an encoder reads; empty for all.
        values: for each field, (entity, values) of the entities that have it; empty for all entities.
        extraction: the texts of all entities; None for a sample.
        rebuilt: folder of the text index of all entities, built anew; None for a sample.
    """

    ids: Ids
    texts: Sequence[str] = ()
    encoded: Sequence[str] = ()
    values: Sequence[Sequence[tuple[int, Values]]] = ()
    extraction: Extraction | None = None
    rebuilt: Path | None = None


def sampled(state: Snapshot) -> EntitySource:
    """The same entities at each check of a generation, others in the next one."""
    assert state.nodes is not None
    assert state.profile is not None
    n = len(state.nodes)
    some = np.random.default_rng(state.generation.manifest.generation).choice(n, min(n, SAMPLE), replace=False)
    ids = np.sort(some).astype(np.uint32)
    # Without the projection: it is a copy, and the graph is the source.
    found = EntityTexts(state.profile, state.store, state.documents).of(state.nodes.nodes(ids))
    values: list[list[tuple[int, Values]]] = []
    for field in state.profile.fields:
        own = [
            (id, [(t, tag) for name, t, tag in texts if name == field.name])
            for id, texts in zip(ids.tolist(), found, strict=True)
        ]
        values.append([(id, texts) for id, texts in own if texts])
    encoded = state.encoded_fields
    whole = ["\n".join(text for name, text, _ in own if not encoded or name in encoded) for own in found]
    return EntitySource(ids, whole, encoded, values)


@contextmanager
def rebuilt(state: Snapshot, progress: Progress, *, with_index: bool) -> Iterator[EntitySource]:
    """All entities; `with_index`, with a text index of them in a temporary folder, as large as the stored one."""
    assert state.profile is not None
    with TemporaryDirectory(prefix="hybridkg-check-") as name:
        folder = Path(name)
        (folder / "text").mkdir()
        source = GenerationText(
            folder,
            state.profile,
            state.store,
            state.documents,
            progress,
            union_default_graph=state.union_default_graph,
            keeps=True,
        )
        if with_index:
            EmbeddedTextEngine(folder, state.config).build(folder / "text", source, progress)
        extraction = source.extraction or source.extract()
        ids = np.arange(len(extraction.nodes), dtype=np.uint32)
        kept = folder if with_index else None
        yield EntitySource(ids, encoded=state.encoded_fields, extraction=extraction, rebuilt=kept)


def compare_text(state: Snapshot, source: EntitySource) -> tuple[str, bool]:
    """The finding in words, and whether the text index holds the words of its entities and no others."""
    folder = state.generation.path
    index = StoredText(folder / "text")
    n, nodes = len(source.ids), 0 if state.nodes is None else len(state.nodes)
    if index.n_nodes != nodes:
        return f"it has {index.n_nodes:,} entities, and the table of entities {nodes:,}", False
    if source.rebuilt is None:
        difference, postings = compare_entities(index, source.ids, source.values)
        if difference is None:
            return f"{n:,} of {index.n_nodes:,} entities compared, {postings:,} postings", True
    else:
        for name in NODE_FILES:
            if not filecmp.cmp(folder / name, source.rebuilt / name, shallow=False):
                return f"the graph and the documents have {n:,} entities with text, and {name!r} has others", False
        difference = compare_builds(StoredText(source.rebuilt / "text"), index)
        if difference is None:
            return f"all {n:,} entities compared, {index.totals[0]['postings']:,} postings", True
    return _sentence(difference, state), False


def _sentence(difference: Difference, state: Snapshot) -> str:
    parts = [f"{difference.what} differ from the text"]
    parts += [f"of {difference.term!r}"] if difference.term else []
    parts += [f"in field {difference.field!r}"] if difference.field else []
    if state.nodes is not None and 0 <= difference.entity < len(state.nodes):
        parts.append(f"of {state.nodes.node(difference.entity)}")
    return ", ".join(filter(None, [parts[0], " ".join(parts[1:])]))


def compare_vectors(state: Snapshot, source: EntitySource, progress: Progress) -> tuple[str, bool]:
    """The finding in words, and whether vectors are those of the texts: by the hashes of these, else encoded again."""
    assert state.nodes is not None
    folder = state.generation.path / VECTORS
    stored: StoredVectors = VECTOR_INDEXES.get(kind_of(folder))(state.generation.path.parent, state.config).stored(
        folder
    )
    encoder = None if stored.hashed else ENCODERS.get(stored.kind)().open(folder / ENCODER)
    texts = _Texts(source)
    compared, last = 0, -1
    progress.start("comparing vectors", stored.count)
    for batch in stored.read():
        progress.advance(len(batch.ids), len(batch.ids))
        if int(batch.ids[0]) < last or (np.diff(batch.ids.astype(np.int64)) < 0).any():
            return "its entities are not in order", False
        last = int(batch.ids[-1])
        if last >= len(state.nodes):
            return f"it has entity {last:,}, and there are {len(state.nodes):,}", False
        if not _are_vectors(batch):
            return "a vector is not finite, or of another length than 1", False
        rows, pieces = texts.pieces(batch)
        compared += len(rows)
        if (wrong := _first_wrong(batch, rows, pieces, encoder)) is not None:
            return f"the vector of {state.nodes.node(wrong)} is not that of its text", False
    progress.done(stored.count)
    if source.extraction is not None and (folder / VECTOR_FILES.header).exists() and not codes_agree(folder):
        return "the 8-bit codes are not those of the vectors", False
    how = "by the hashes of their texts" if stored.hashed else "encoded again"
    return f"{compared:,} of {stored.count:,} vectors compared, {how}", True


class _Texts:
    """The texts of ascending entities, read beside the vectors."""

    def __init__(self, source: EntitySource):
        extraction = source.extraction
        self._all: Iterator[tuple[int, str]] = zip(source.ids.tolist(), source.texts, strict=False)
        if extraction is not None:
            fields = enumerate(extraction.fields)
            read = [place for place, field in fields if not source.encoded or field.name in source.encoded]
            batches = verbalised(extraction, read)
            self._all = (one for batch in batches for one in zip(batch.ids, batch.texts, strict=True))
        self._next = next(self._all, None)

    def pieces(self, batch: Encoded) -> tuple[list[int], list[str]]:
        """The rows of a batch whose entities are compared, and the text of each; "" where an entity has none."""
        rows: list[int] = []
        pieces: list[str] = []
        for row, id in enumerate(batch.ids.tolist()):
            while self._next is not None and self._next[0] < id:
                self._next = next(self._all, None)
            if self._next is None:
                break
            if self._next[0] == id:
                begin, end = (0, None) if batch.spans is None else batch.spans[row].tolist()
                rows.append(row)
                pieces.append(self._next[1][begin:end])
        return rows, pieces


def _are_vectors(batch: Encoded) -> bool:
    lengths = np.linalg.norm(batch.vectors, axis=1)
    return bool(np.isfinite(batch.vectors).all() and (np.abs(lengths - 1) < 1e-3).all())


def _first_wrong(batch: Encoded, rows: list[int], pieces: list[str], encoder: Encoder | None) -> int | None:
    """The first entity whose vector is another than that of its text."""
    if not rows:
        return None
    if batch.texts is not None:
        same = (hashes(pieces) == batch.texts[rows]).all(axis=1)
    elif encoder is not None:
        same = np.abs(encoder.passages(pieces) - batch.vectors[rows]).max(axis=1) < MAX_ERROR
    else:
        return None
    return None if same.all() else int(batch.ids[rows[int(np.flatnonzero(~same)[0])]])
