"""Files of a flat index: vectors, their 8-bit codes, their entities, and the pieces of text that they encode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hybridkg.config.settings import EncodingSettings
from hybridkg.errors import CorruptError, VectorQueryError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids
from hybridkg.interfaces.vector_index import Encoded, StoredVectors
from hybridkg.storage.arrays import Array, FolderLayout, MappedArrays, Writer
from hybridkg.vector.encoders.embedding_cache import HASH_BYTES, CachedEmbeddings, Hashes
from hybridkg.vector.index.codes import LENGTH_ERROR, quantize
from hybridkg.vector.index.similarity import padded

LAYOUT = FolderLayout("hybridkg vectors", 2, "vectors.json", "vector index")

TEXTS = "texts"
"""Array of the hashes of the texts, where vectors can be cached."""

STARTS, SPANS, PIECES = "starts", "spans", "pieces"
"""Entities with several vectors: the first row of each and the number of rows; start and end of the piece of each row
in its text; and the key of the header that describes the pieces."""

WHOLE = EncodingSettings()


class FlatWriter:
    """Writes the vectors of a knowledge base, by ascending entity; without `finish` there is no index.

    Args:
        folder: existing; may have the files of the encoder.
        encoder: of the vectors.
        hashed: whether the hashes of the texts are written.
        encoding: entities or pieces.
    """

    def __init__(self, folder: Path, encoder: VectorSpace, *, hashed: bool = False, encoding: EncodingSettings = WHOLE):
        self._writer, self._encoder, self._encoding = Writer(LAYOUT, folder), encoder, encoding
        self._columns = padded(encoder.dimensions)
        self._vectors = self._writer.stream("vectors", np.float32, self._columns)
        self._codes = self._writer.stream("codes", np.int8, self._columns)
        self._scales = self._writer.stream("scales", np.float32)
        self._errors = self._writer.stream("errors", np.float32)
        self._ids = self._writer.stream("ids", np.uint32)
        self._streams = [self._vectors, self._ids, self._codes, self._scales, self._errors]
        self._in_pieces, self._last = encoding.what != "entity", -1
        if self._in_pieces:
            self._starts = self._writer.stream(STARTS, np.int64)
            self._streams += [self._starts, self._writer.stream(SPANS, np.uint32, 2)]
        if hashed:
            self._streams.append(self._writer.stream(TEXTS, np.uint8, HASH_BYTES))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in self._streams:
            stream.close()

    def add(
        self, ids: Ids, vectors: Vectors, texts: Hashes | None = None, spans: NDArray[np.uint32] | None = None
    ) -> None:
        """Adds entities, ascending, or their pieces; rows of zeros are skipped.

        Args:
            ids: uint32[n].
            vectors: float32[n, dimensions], of length 1 or 0.
            texts: uint8[n, HASH_BYTES], hashes of their texts.
            spans: uint32[n, 2], start and end of the pieces in the texts of their entities.

        Raises:
            VectorQueryError: a number is not finite, or a length neither 1 nor 0; nothing of the batch is written.
        """
        check_vectors(vectors, self._encoder)
        present = vectors.any(axis=1)
        rows = np.zeros((int(present.sum()), self._columns), np.float32)
        rows[:, : vectors.shape[1]] = vectors[present]
        codes, own = quantize(rows), ids[present]
        parts: list[Array] = [codes.codes, codes.scales, codes.errors]
        if self._in_pieces:
            first = np.diff(own.astype(np.int64), prepend=self._last) != 0
            self._last = int(own[-1]) if len(own) else self._last
            assert spans is not None
            parts += [self._vectors.rows + np.flatnonzero(first), spans[present]]
            own = own[first]
        if texts is not None:
            parts.append(texts[present])
        for stream, part in zip(self._streams, [rows, own, *parts], strict=True):
            stream.append(part)

    def finish(self, kind: str) -> dict[str, Any]:
        """Writes the header with the encoder's `kind`, and returns the counts."""
        encoder = self._encoder
        about: dict[str, Any] = {"kind": kind, "encoder": encoder.name, "dimensions": encoder.dimensions}
        counts = {**about, "entities": self._ids.rows}
        if self._in_pieces:
            self._starts.append(np.array([self._vectors.rows]))
            own = self._encoding
            about[PIECES] = {"what": describe_pieces(own), "aggregate": own.aggregate}
            counts |= {**about[PIECES], "vectors": self._vectors.rows}
        for stream in self._streams:
            stream.close()
        self._writer.finish(about)
        return counts


def describe_pieces(encoding: EncodingSettings) -> str:
    """The unit of encoding, in words.

    >>> describe_pieces(EncodingSettings(what="chunks", chunk=100, unit="tokens"))
    'chunks of 100 tokens, overlap 64'
    """
    if encoding.what != "chunks":
        return encoding.what
    return f"chunks of {encoding.chunk:,} {encoding.unit}, overlap {encoding.overlap:,}"


def cached_vectors(folder: Path, encoder: str) -> CachedEmbeddings | None:
    """The vectors of an index by the hash of their text; None unless it is complete and made by that encoder."""
    with suppress(CorruptError):
        reader = MappedArrays(LAYOUT, folder)
        if reader.about("encoder") == encoder and reader.has(TEXTS):
            texts, vectors = reader.array(TEXTS), reader.array("vectors")
            if texts.shape == (len(vectors), HASH_BYTES):
                return CachedEmbeddings(texts, vectors)
    return None


def codes_agree(folder: Path) -> bool:
    """Whether the 8-bit codes of a flat index are those of its vectors. Raises CorruptError: a file is missing."""
    reader = MappedArrays(LAYOUT, folder)
    vectors, stored = reader.array("vectors"), [reader.array(name) for name in ("codes", "scales", "errors")]
    for start in range(0, len(vectors), STORED_AT_ONCE):
        some = slice(start, start + STORED_AT_ONCE)
        own = quantize(np.array(vectors[some]))
        made: list[Array] = [own.codes, own.scales, own.errors]
        if not all(np.array_equal(one, array[some]) for one, array in zip(made, stored, strict=True)):
            return False
    return True


STORED_AT_ONCE = 4_096
"""Vectors of a batch: 6 MB of 384 numbers."""


def stored_vectors(folder: Path) -> StoredVectors:
    """Stored vectors of a flat index; raises CorruptError where a file is missing or damaged."""
    reader = MappedArrays(LAYOUT, folder)
    dimensions = int(reader.about("dimensions"))
    vectors: Vectors = reader.array("vectors")
    texts: Hashes | None = reader.array(TEXTS) if reader.has(TEXTS) else None
    in_pieces = reader.has(STARTS)
    spans = reader.array(SPANS) if in_pieces else None
    ids = np.repeat(reader.array("ids"), np.diff(reader.array(STARTS))) if in_pieces else reader.array("ids")
    if any(one is not None and len(one) != len(vectors) for one in (ids, texts, spans)):
        raise CorruptError("the vectors do not fit their header", hint="index again", place=str(folder))

    def read() -> Iterator[Encoded]:
        for start in range(0, len(vectors), STORED_AT_ONCE):
            some = slice(start, start + STORED_AT_ONCE)
            parts = [None if one is None else np.array(one[some]) for one in (texts, spans)]
            yield Encoded(np.array(ids[some]), np.array(vectors[some, :dimensions]), *parts)

    return StoredVectors(
        str(reader.about("encoder")), dimensions, str(reader.about("kind")), len(vectors), texts is not None,
        in_pieces, read,
    )  # fmt: skip


def check_vectors(vectors: Vectors, encoder: VectorSpace) -> None:
    """Raises VectorQueryError unless all rows are finite and of length 1 or 0."""
    if not np.isfinite(vectors).all():
        raise VectorQueryError(f"the encoder {encoder.name!r} returned a vector that is not finite")
    lengths = np.linalg.norm(vectors, axis=1)
    if not ((np.abs(lengths - 1) < LENGTH_ERROR) | (lengths == 0)).all():
        raise VectorQueryError(f"the encoder {encoder.name!r} returned a vector whose length is neither 1 nor 0")
