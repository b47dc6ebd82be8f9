"""Exact vector index: a memory-mapped matrix of all vectors, with 8-bit codes that propose candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorChange, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.storage.arrays import MappedArrays
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings
from hybridkg.vector.index.codes import Codes, propose_rows
from hybridkg.vector.index.flat_files import LAYOUT, STARTS, FlatWriter, cached_vectors, stored_vectors
from hybridkg.vector.index.merged import merged
from hybridkg.vector.index.similarity import padded, similarities
from hybridkg.vector.index.vector_query import VectorIndexBase, relation_mask

if TYPE_CHECKING:
    from hybridkg.config.settings import Config
    from hybridkg.interfaces.progress import Progress

ERROR_PER_DIMENSION = 2.0**-23
"""Error of a sum of float32 products of two vectors of length 1 in any order: below dimensions x 2**-24 for the sum
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), doubled."""

MAX_COPIED_SHARE = 4
"""Above one candidate in so many vectors, copying the candidates takes longer than multiplying all vectors."""

MATRIX_ABOVE = 4_096
"""Candidates above which a BLAS proposes, where there is no kernel; fewer are compared one by one."""

CODES_ABOVE = 64
"""Candidates above which the codes propose."""

CANDIDATE_COST = 4
"""Cost of one candidate, in vectors of a sequential scan: 95 and 23 ns for 384 numbers."""


class Flat:
    """VectorIndexKind of FlatIndex."""

    title = "the flat index"
    is_remote = False
    section = ""
    takes_pieces = True
    engine = ""

    @classmethod
    def follows(cls, config: Config) -> bool:
        """Always."""
        del config
        return True

    def __init__(self, path: Path, config: Config):
        self._encoding = config.encoding

    def ready(self) -> None:
        """Needs nothing."""

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
        with FlatWriter(folder, encoder, hashed=hashed, encoding=self._encoding) as writer:
            for batch in batches:
                writer.add(batch.ids, batch.vectors, batch.texts, batch.spans)
            return writer.finish(kind)

    def follow(self, previous: Path, folder: Path, change: VectorChange, progress: Progress) -> dict[str, Any]:
        """Builds the index from the stored vectors with the changed ones."""
        stored = self.stored(previous)
        return self.build(folder, stored, stored.kind, merged(stored, change), progress, hashed=stored.hashed)

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> FlatIndex:
        if MappedArrays(LAYOUT, folder).has(STARTS):
            from hybridkg.vector.index.piece_index import PieceIndex

            return PieceIndex(folder, find, rank)
        return FlatIndex(folder, find, rank)

    def known(self, folder: Path, encoder: str) -> CachedEmbeddings | None:
        return cached_vectors(folder, encoder)

    def stored(self, folder: Path) -> StoredVectors:
        return stored_vectors(folder)

    def discard(self) -> None:
        """Has nothing outside the folder."""


class FlatIndex(VectorIndexBase):
    """A VectorIndex that compares the query with every vector, or with every candidate."""

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
        """float32[size, columns], by ascending entity; columns after the dimensions are 0."""
        return self._vectors

    def about(self) -> dict[str, Any]:
        """Encoder, counts and size of the index."""
        return {
            "index": "flat",
            "encoder": self._name,
            "entities": self.size,
            "dimensions": self._dimensions,
            "bytes": int(self._vectors.nbytes + self._codes.nbytes + self._ids.nbytes),
        }

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        return True

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """All vectors, or the candidates, whose codes are not contiguous."""
        return float(self.size) if among is None else CANDIDATE_COST * min(among, self.size)

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
        resolved = self._resolve(query)
        if resolved.vector is None:
            return np.empty(0, np.uint32), np.empty(0)
        scores = self._similar(None, resolved.vector)
        members = relation_mask(query, resolved, self._ids, scores)
        return self._ids[members], scores[members]

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Top-k: codes or a BLAS propose candidates within their error bounds, and `similarities` decides."""
        resolved = self._resolve(query)
        if resolved.vector is None or k < 1:
            return np.empty(0, np.uint32), np.empty(0)
        places = None if among is None else self._places(among)[1]
        places = self._proposed(resolved.vector, k + 1, places)
        scores = self._similar(places, resolved.vector)
        ids = self._ids if places is None else self._ids[places]
        members = relation_mask(query, resolved, ids, scores)
        ids, scores = ids[members], scores[members]
        best = np.lexsort((self._rank(ids), -scores))[:k]
        return ids[best], scores[best]

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """Approximate similarities by one matrix product; up to MATRIX_ABOVE vectors the exact ones."""
        resolved = self._resolve(query)
        if resolved.vector is None:
            return np.empty(0, np.uint32), np.empty(0), 0.0
        places = None if among is None else self._places(among)[1]
        ids = self._ids if places is None else self._ids[places]
        if len(ids) <= MATRIX_ABOVE:
            scores = self._similar(places, resolved.vector)
            members = relation_mask(query, resolved, ids, scores)
            return ids[members], scores[members], 0.0
        about, error = self._about(places, resolved.vector)
        members = ids != resolved.entity if resolved.entity >= 0 else np.ones(len(ids), bool)
        if query.within is not None:
            number = about.dtype.type
            members &= about >= number(query.within + 2 * error)
            near = np.flatnonzero(np.abs(about - number(query.within)) <= number(2 * error))
            exact = self._similar(near if places is None else places[near], resolved.vector)
            members[near] = relation_mask(query, resolved, ids[near], exact)
        return ids[members], about[members], error

    def best_rows(self, vector: Vectors, k: int) -> NDArray[np.int64]:
        """Rows of the top-k, best first, of a vector float32[columns] of length 1."""
        rows = self._proposed(vector, k, None)
        scores = self._similar(rows, vector)
        best = np.argsort(-scores, kind="stable")[:k]
        return best if rows is None else rows[best]

    def _similar(self, places: NDArray[np.int64] | None, vector: Vectors) -> Scores:
        """Similarities of the entities at `places`, or of all; clipped, as float32 lengths are some 1e-8 too large."""
        scores = similarities(self._vectors, places, vector)
        return np.clip(scores, -1.0, 1.0, out=scores)

    def _about(self, places: NDArray[np.int64] | None, vector: Vectors) -> tuple[NDArray[Any], float]:
        """Approximate similarities by a BLAS, and the bound of their error against `_similar`."""
        if places is None or len(places) > len(self._vectors) // MAX_COPIED_SHARE:
            about = self._vectors @ vector
            about = about if places is None else about[places]
        else:
            about = self._vectors[places] @ vector
        return np.clip(about, -1.0, 1.0, out=about), ERROR_PER_DIMENSION * self._vectors.shape[1]

    def _proposed(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """A superset of the top-k of `places`, None for all; one more if the query entity is excluded."""
        n = self.size if places is None else len(places)
        if n <= max(CODES_ABOVE, k):
            return places
        proposed = self._proposed_by_codes(vector, k, places)
        if proposed is None:
            if n <= max(MATRIX_ABOVE, k):
                return places
            proposed = self._proposed_by_blas(vector, k, places)
        return proposed if places is None else places[proposed]

    def _proposed_by_codes(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        return propose_rows(self._codes, places, vector, k)

    def _proposed_by_blas(self, vector: Vectors, k: int, places: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """As `propose_rows`, within twice the error bound."""
        about, error = self._about(places, vector)
        kth = np.partition(about, len(about) - k)[len(about) - k]
        return np.flatnonzero(about >= kth - about.dtype.type(2 * error))

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        result = np.full(len(ids), np.nan)
        resolved = self._resolve(query)
        if resolved.vector is None:
            return result
        has, places = self._places(ids)
        scores = self._similar(places, resolved.vector)
        scores[~relation_mask(query, resolved, self._ids[places], scores)] = np.nan
        result[has] = scores
        return result

    def _vector_of(self, place: int) -> Vectors | None:
        return np.array(self._vectors[place])
