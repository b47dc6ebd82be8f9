"""The exact vector index: one matrix of all vectors and their 8-bit codes, memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hybridkg.arrays import Array, Layout, Reader, Writer
from hybridkg.errors import CorruptError
from hybridkg.interfaces.encoder import Encoder, Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import Encoded, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.vector.asking import Asking, check_vectors, kept_in
from hybridkg.vector.codes import Codes, coded, proposed
from hybridkg.vector.kept import HASH_BYTES, Hashes, Known
from hybridkg.vector.similarity import padded, similarities

if TYPE_CHECKING:
    from hybridkg.config import Config
    from hybridkg.interfaces.progress import Progress

LAYOUT = Layout("hybridkg vectors", 2, "vectors.json", "vector index")

TEXTS = "texts"
"""The array of hashes of the texts, where an encoder's vectors can be used again."""

ERROR_PER_DIMENSION = 2.0**-23
"""Of a sum of float32 products of two vectors of length 1, whatever its order: below dimensions x 2**-24 for the sum
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), doubled."""

COPIED_OF = 4
"""Of more than one in so many vectors, to copy them out takes longer than to multiply all."""

MATRIX_ABOVE = 4_096
"""Candidates from which a BLAS proposes them, where there is no kernel; fewer are compared one by one."""

CODES_ABOVE = 64
"""Candidates from which the codes propose them."""

ONE_OF_SOME = 4
"""Vectors that are passed over, one after the other, in the time that one of a candidate set takes: 23 and 95 ns for
384 numbers."""


class Flat:
    """The VectorIndexKind of FlatIndex.

    Args:
        path: of the knowledge base.
        config: its settings.
    """

    engine = ""

    def __init__(self, path: Path, config: Config):
        """Everything is in the folder of the vectors."""

    def ready(self) -> None:
        """Nothing can be missing."""

    def build(
        self,
        folder: Path,
        encoder: Encoder,
        kind: str,
        batches: Iterable[Encoded],
        progress: Progress,
        *,
        hashed: bool,
    ) -> dict[str, Any]:
        """As VectorIndexKind has it."""
        with FlatWriter(folder, encoder, hashed=hashed) as writer:
            for batch in batches:
                writer.add(batch.ids, batch.vectors, batch.texts)
            return writer.finish(kind)

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> FlatIndex:
        """As VectorIndexKind has it."""
        return FlatIndex(folder, find, rank)

    def known(self, folder: Path, encoder: str) -> Known | None:
        """As VectorIndexKind has it."""
        return known_vectors(folder, encoder)

    def discard(self) -> None:
        """Nothing is outside the folder."""


class FlatWriter:
    """Writes the vectors of a knowledge base, entity by entity; without `finish` there is no index.

    Args:
        folder: existing; may hold the encoder already.
        encoder: what makes the vectors.
        hashed: whether the hashes of the texts are written as well.
    """

    def __init__(self, folder: Path, encoder: Encoder, *, hashed: bool = False):
        self._writer, self._encoder = Writer(LAYOUT, folder), encoder
        self._columns = padded(encoder.dimensions)
        self._vectors = self._writer.stream("vectors", np.float32, self._columns)
        self._codes = self._writer.stream("codes", np.int8, self._columns)
        self._scales = self._writer.stream("scales", np.float32)
        self._errors = self._writer.stream("errors", np.float32)
        self._ids = self._writer.stream("ids", np.uint32)
        self._streams = [self._vectors, self._codes, self._scales, self._errors, self._ids]
        if hashed:
            self._streams.append(self._writer.stream(TEXTS, np.uint8, HASH_BYTES))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in self._streams:
            stream.close()

    def add(self, ids: Ids, vectors: Vectors, texts: Hashes | None = None) -> None:
        """Adds entities, ascending; those whose vector is all zeros have none.

        Args:
            ids: uint32[n].
            vectors: float32[n, dimensions], of length 1 or 0.
            texts: uint8[n, HASH_BYTES], hashes of their texts.

        Raises:
            VectorQueryError: a number is not finite, or a length neither 1 nor 0; nothing of the batch is written.
        """
        check_vectors(vectors, self._encoder)
        kept = vectors.any(axis=1)
        rows = np.zeros((int(kept.sum()), self._columns), np.float32)
        rows[:, : vectors.shape[1]] = vectors[kept]
        codes = coded(rows)
        parts: list[Array] = [rows, codes.codes, codes.scales, codes.errors, ids[kept]]
        if texts is not None:
            parts.append(texts[kept])
        for stream, part in zip(self._streams, parts, strict=True):
            stream.append(part)

    def finish(self, kind: str) -> dict[str, Any]:
        """Writes the header, and gives its counts.

        Args:
            kind: of ENCODERS.
        """
        for stream in self._streams:
            stream.close()
        about = {"kind": kind, "encoder": self._encoder.name, "dimensions": self._encoder.dimensions}
        self._writer.finish(about)
        return {**about, "entities": self._ids.rows}


def known_vectors(folder: Path, encoder: str) -> Known | None:
    """The vectors of an index by their texts; None unless it is whole and was made by an encoder of that name."""
    with suppress(CorruptError):
        reader = Reader(LAYOUT, folder)
        if reader.about("encoder") == encoder and reader.has(TEXTS):
            texts, vectors = reader.array(TEXTS), reader.array("vectors")
            if texts.shape == (len(vectors), HASH_BYTES):
                return Known(texts, vectors)
    return None


class FlatIndex(Asking):
    """A VectorIndex that compares the query with every vector, or with every candidate.

    Args:
        folder: filled by a FlatWriter.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

    scan_limit: int | None = None

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        reader = Reader(LAYOUT, folder)
        super().__init__(folder, reader, find, rank)
        self._vectors: Vectors = reader.array("vectors")
        self._codes = Codes(reader.array("codes"), reader.array("scales"), reader.array("errors"))
        if (
            not isinstance(self._dimensions, int)
            or self._dimensions < 0
            or self._ids.shape != self._vectors.shape[:1]
            or self._vectors.shape[1:] != (padded(self._dimensions),)
            or (self._ids.dtype, self._vectors.dtype) != (np.dtype("<u4"), np.dtype("<f4"))
            or not self._codes.fit(self._vectors)
        ):
            raise CorruptError("the vectors do not fit their header", hint="index again", place=str(folder))

    def _vector_of(self, place: int) -> Vectors:
        return np.array(self._vectors[place])

    @property
    def vectors(self) -> Vectors:
        """float32[size, columns]: those of the entities, ascending; columns behind the dimensions are 0."""
        return self._vectors

    def about(self) -> dict[str, Any]:
        """Index, encoder, how many vectors of how many dimensions, and their bytes."""
        return {
            "index": "flat",
            "encoder": self._name,
            "entities": self.size,
            "dimensions": self._dimensions,
            "bytes": int(self._vectors.nbytes + self._codes.nbytes + self._ids.nbytes),
        }

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """Always."""
        return True

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """Everyone, or every candidate, whose codes do not lie one after the other."""
        return float(self.size) if among is None else ONE_OF_SOME * min(among, self.size)

    def matching(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """As VectorIndex has it."""
        asked = self._asked(query)
        if asked.vector is None:
            return np.empty(0, np.uint32), np.empty(0)
        scores = self._similar(None, asked.vector)
        kept = kept_in(query, asked, self._ids, scores)
        return self._ids[kept], scores[kept]

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """As VectorIndex has it: codes or a BLAS propose, with room for their errors, and `similarities` decides."""
        asked = self._asked(query)
        if asked.vector is None or k < 1:
            return np.empty(0, np.uint32), np.empty(0)
        places = None if among is None else self._places(among)[1]
        places = self._proposed(asked.vector, k + 1, places)
        scores = self._similar(places, asked.vector)
        ids = self._ids if places is None else self._ids[places]
        kept = kept_in(query, asked, ids, scores)
        ids, scores = ids[kept], scores[kept]
        best = np.lexsort((self._rank(ids), -scores))[:k]
        return ids[best], scores[best]

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """As VectorIndex has it: one product of a BLAS; of few vectors the similarities themselves."""
        asked = self._asked(query)
        if asked.vector is None:
            return np.empty(0, np.uint32), np.empty(0), 0.0
        places = None if among is None else self._places(among)[1]
        ids = self._ids if places is None else self._ids[places]
        if len(ids) <= MATRIX_ABOVE:
            scores = self._similar(places, asked.vector)
            kept = kept_in(query, asked, ids, scores)
            return ids[kept], scores[kept], 0.0
        if places is None or len(places) > self.size // COPIED_OF:
            about = self._vectors @ asked.vector
            about = about if places is None else about[places]
        else:
            about = self._vectors[places] @ asked.vector
        np.clip(about, -1.0, 1.0, out=about)
        error = ERROR_PER_DIMENSION * self._vectors.shape[1]
        kept = ids != asked.entity if asked.entity >= 0 else np.ones(len(ids), bool)
        if query.within is not None:
            kept &= about >= np.float32(query.within + 2 * error)
            near = np.flatnonzero(np.abs(about - np.float32(query.within)) <= np.float32(2 * error))
            exact = self._similar(near if places is None else places[near], asked.vector)
            kept[near] = kept_in(query, asked, ids[near], exact)
        return ids[kept], about[kept], error

    def best_rows(self, vector: Vectors, k: int) -> NDArray[np.int64]:
        """Rows of the best k, best first.

        Args:
            vector: float32[columns] of length 1.
            k: how many; at most all.
        """
        rows = self._proposed(vector, k, None)
        scores = self._similar(rows, vector)
        best = np.argsort(-scores, kind="stable")[:k]
        return best if rows is None else rows[best]

    def _similar(self, places: NDArray[np.int64] | None, vector: Vectors) -> Scores:
        """The cosines of the rows at some places, or of all: float32 leaves lengths of 1 some 1e-8 too large."""
        scores = similarities(self._vectors, places, vector)
        return np.clip(scores, -1.0, 1.0, out=scores)

    def _proposed(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Rows, of some or of all (None), that have the best k: k + 1 where one may be an entity that is left out."""
        n = self.size if places is None else len(places)
        if n <= max(CODES_ABOVE, k):
            return places
        found = proposed(self._codes, places, vector, k)
        if found is None:
            if n <= max(MATRIX_ABOVE, k):
                return places
            found = self._proposed_by_blas(vector, k, places)
        return found if places is None else places[found]

    def _proposed_by_blas(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """As `codes.proposed`.

        The room is twice what two errors of the product need, so it covers what `_similar` cuts off above 1 as well.
        """
        about = (self._vectors if places is None else self._vectors[places]) @ vector
        least = np.partition(about, len(about) - k)[len(about) - k]
        room = 2 * ERROR_PER_DIMENSION * self._vectors.shape[1]
        return np.flatnonzero(about >= least - np.float32(room))

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """As VectorIndex has it."""
        found = np.full(len(ids), np.nan)
        asked = self._asked(query)
        if asked.vector is None:
            return found
        has, places = self._places(ids)
        scores = self._similar(places, asked.vector)
        scores[~kept_in(query, asked, self._ids[places], scores)] = np.nan
        found[has] = scores
        return found
