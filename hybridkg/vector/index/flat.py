"""The exact vector index: one matrix of all vectors and their 8-bit codes, memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.storage.arrays import MappedArrays
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings
from hybridkg.vector.index.codes import Codes, proposed
from hybridkg.vector.index.flat_files import LAYOUT, STARTS, FlatWriter, known_vectors, stored_vectors
from hybridkg.vector.index.similarity import padded, similarities
from hybridkg.vector.index.vector_query import Asking, kept_in

if TYPE_CHECKING:
    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

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

    title = "the flat index"
    is_remote = False
    section = ""
    takes_pieces = True
    engine = ""

    def __init__(self, path: Path, config: Config):
        self._encoding = config.encoding

    def ready(self) -> None:
        """Nothing can be missing."""

    def build(
        self,
        folder: Path,
        encoder: VectorSpace,
        kind: str,
        batches: Iterable[Encoded],
        progress: Progress,
        *,
        hashed: bool,
    ) -> dict[str, Any]:
        """As VectorIndexKind has it."""
        with FlatWriter(folder, encoder, hashed=hashed, encoding=self._encoding) as writer:
            for batch in batches:
                writer.add(batch.ids, batch.vectors, batch.texts, batch.spans)
            return writer.finish(kind)

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> FlatIndex:
        """As VectorIndexKind has it."""
        if MappedArrays(LAYOUT, folder).has(STARTS):
            from hybridkg.vector.index.piece_index import PieceIndex

            return PieceIndex(folder, find, rank)
        return FlatIndex(folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        """As VectorIndexKind has it."""
        return known_vectors(folder, encoder)

    def stored(self, folder: Path) -> StoredVectors:
        """As VectorIndexKind has it."""
        return stored_vectors(folder)

    def discard(self) -> None:
        """Nothing is outside the folder."""


class FlatIndex(Asking):
    """A VectorIndex that compares the query with every vector, or with every candidate.

    Args:
        folder: filled by a FlatWriter.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

    is_remote = False
    max_remote_scan = 0

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        reader = MappedArrays(LAYOUT, folder)
        super().__init__(folder, reader, find, rank)
        self._vectors: Vectors = reader.array("vectors")
        self._codes = Codes(reader.array("codes"), reader.array("scales"), reader.array("errors"))
        if (
            not isinstance(self._dimensions, int)
            or self._dimensions < 0
            or not self._fits(reader)
            or self._vectors.shape[1:] != (padded(self._dimensions),)
            or (self._ids.dtype, self._vectors.dtype) != (np.dtype("<u4"), np.dtype("<f4"))
            or not self._codes.fit(self._vectors)
        ):
            raise CorruptError("the vectors do not fit their header", hint="index again", place=str(folder))

    def _fits(self, reader: MappedArrays) -> bool:
        """Whether each row is the vector of an entity."""
        return self._ids.shape == self._vectors.shape[:1]

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

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
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
        """As VectorIndex has it; of few vectors the similarities themselves."""
        asked = self._asked(query)
        if asked.vector is None:
            return np.empty(0, np.uint32), np.empty(0), 0.0
        places = None if among is None else self._places(among)[1]
        ids = self._ids if places is None else self._ids[places]
        if len(ids) <= MATRIX_ABOVE:
            scores = self._similar(places, asked.vector)
            kept = kept_in(query, asked, ids, scores)
            return ids[kept], scores[kept], 0.0
        about, error = self._about(places, asked.vector)
        kept = ids != asked.entity if asked.entity >= 0 else np.ones(len(ids), bool)
        if query.within is not None:
            number = about.dtype.type
            kept &= about >= number(query.within + 2 * error)
            near = np.flatnonzero(np.abs(about - number(query.within)) <= number(2 * error))
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
        """Those of the entities at some places, or of all: float32 leaves lengths of 1 some 1e-8 too large."""
        scores = similarities(self._vectors, places, vector)
        return np.clip(scores, -1.0, 1.0, out=scores)

    def _about(self, places: NDArray[np.int64] | None, vector: Vectors) -> tuple[NDArray[Any], float]:
        """The similarities by one product of a BLAS, and how far they are from those of `_similar` at most."""
        if places is None or len(places) > len(self._vectors) // COPIED_OF:
            about = self._vectors @ vector
            about = about if places is None else about[places]
        else:
            about = self._vectors[places] @ vector
        return np.clip(about, -1.0, 1.0, out=about), ERROR_PER_DIMENSION * self._vectors.shape[1]

    def _proposed(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Places, of some or of all (None), that have the best k: k + 1 where one may be an entity that is left out."""
        n = self.size if places is None else len(places)
        if n <= max(CODES_ABOVE, k):
            return places
        found = self._proposed_by_codes(vector, k, places)
        if found is None:
            if n <= max(MATRIX_ABOVE, k):
                return places
            found = self._proposed_by_blas(vector, k, places)
        return found if places is None else places[found]

    def _proposed_by_codes(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """As `codes.proposed`."""
        return proposed(self._codes, places, vector, k)

    def _proposed_by_blas(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """As `codes.proposed`; the room is that of two errors."""
        about, error = self._about(places, vector)
        least = np.partition(about, len(about) - k)[len(about) - k]
        return np.flatnonzero(about >= least - about.dtype.type(2 * error))

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

    def _vector_of(self, place: int) -> Vectors | None:
        return np.array(self._vectors[place])
