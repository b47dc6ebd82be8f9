"""Vectors of a small change: those of the other entities are taken over, those of changed texts are encoded.

An encoder that is learned from the texts keeps what it has learned, until the next `hybridkg index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.changed_text import SelectedTexts
from hybridkg.entities.entity_text import PieceBatch, verbalised
from hybridkg.interfaces.encoder import Encoder
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.vector_index import ENCODER, Encoded, StoredVectors, VectorChange
from hybridkg.kb.write.encode_entities import Vectorising, confirm_upload
from hybridkg.kb.write.reports import VectorReport
from hybridkg.storage.durable import link_tree


def follow_vectors(
    previous: Path,
    folder: Path,
    wanted: Vectorising,
    old_to_new: NDArray[np.int64],
    texts: SelectedTexts,
    ids: Sequence[int],
    progress: Progress,
) -> VectorReport:
    """Writes the vector index of the next generation into a new folder.

    Args:
        previous: folder of the earlier vectors, of the same encoder, kind of index and settings.
        folder: the new folder.
        wanted: encoder and index.
        old_to_new: int64[earlier entities], the next id of each; -1 for one that is gone or has changed.
        texts: of the changed entities.
        ids: the next id of each of them, ascending.
        progress: counts encoded texts.

    Raises:
        ParameterError: many texts would be sent to a server, and nothing confirms that.
    """
    folder.mkdir()
    link_tree(previous / ENCODER, folder / ENCODER)
    encoder = wanted.kind.open(folder / ENCODER)
    cut, stored = wanted.cut(lambda: encoder), wanted.index.stored(previous)
    batches = list(verbalised(texts, wanted.positions(texts.fields), cut))
    if wanted.kind.is_billed:
        confirm_upload(wanted, [], iter(batches))
    new = _encoded(encoder, batches, ids, stored, progress)
    counts = wanted.index.follow(previous, folder, VectorChange(old_to_new, new), progress)
    wanted.write_kind(folder, texts.fields)
    return VectorReport.of({**counts, "encoded": len(new.ids)})


def _encoded(
    encoder: Encoder, batches: Sequence[PieceBatch], ids: Sequence[int], stored: StoredVectors, progress: Progress
) -> Encoded:
    """The vectors of the changed texts, with the columns of the stored ones."""
    from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, hashes
    from hybridkg.vector.index.flat_files import check_vectors

    progress.start("encoding entities", sum(len(batch.ids) for batch in batches))
    vectors, keys = [np.zeros((0, encoder.dimensions), np.float32)], [np.zeros((0, HASH_BYTES), np.uint8)]
    for batch in batches:
        vectors.append(np.asarray(encoder.passages(batch.texts), np.float32))
        check_vectors(vectors[-1], encoder)
        if stored.hashed:
            keys.append(hashes(batch.texts))
        progress.advance(len(batch.ids), len(batch.ids))
    places = [place for batch in batches for place in batch.ids]
    spans = [span for batch in batches for span in batch.spans]
    progress.done(len(places))
    return Encoded(
        np.array([ids[place] for place in places], np.uint32),
        np.concatenate(vectors),
        np.concatenate(keys) if stored.hashed else None,
        np.array(spans, np.uint32).reshape(-1, 2) if stored.in_pieces else None,
    )
