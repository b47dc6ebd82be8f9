"""Flat index with several vectors per entity, one for each piece of its text.

The rows of an entity are contiguous. Its similarity, the approximation of it and its bounds by codes are aggregates of
those of its rows (hybridkg.vector.index.aggregates), so top-k is exact for each aggregate, as in FlatIndex.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.storage.arrays import MappedArrays
from hybridkg.vector.index.aggregates import BEST_OF, aggregate
from hybridkg.vector.index.codes import propose_entities
from hybridkg.vector.index.flat import FlatIndex
from hybridkg.vector.index.flat_files import PIECES, SPANS, STARTS

Places = NDArray[np.int64]

MIN_LENGTH = 1e-6
"""Minimum length of the sum of the vectors of an entity; below it they have no common direction."""


class PieceIndex(FlatIndex):
    """A FlatIndex whose entities have several vectors; as a query, an entity is the normalised mean of its vectors."""

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        super().__init__(folder, find, rank)
        self._best = BEST_OF[self._pieces["aggregate"]]
        self._max_rows = int(np.diff(self._starts).max(initial=1))

    def _fits(self, reader: MappedArrays) -> bool:
        """Whether every entity has rows, and every row is the vector of a piece."""
        self._pieces: dict[str, Any] = reader.about(PIECES)
        self._starts: Places = reader.array(STARTS)
        self._spans: NDArray[np.uint32] = reader.array(SPANS)
        rows = self._vectors.shape[:1]
        return (
            isinstance(self._pieces, dict)
            and isinstance(self._pieces.get("what"), str)
            and self._pieces.get("aggregate") in tuple(BEST_OF)
            and self._ids.ndim == 1
            and self._starts.shape == (len(self._ids) + 1,)
            and self._spans.shape == (*rows, 2)
            and (self._starts.dtype, self._spans.dtype) == (np.dtype("<i8"), np.dtype("<u4"))
            and (int(self._starts[0]), int(self._starts[-1])) == (0, *rows)
            and bool((np.diff(self._starts) > 0).all())
        )

    def about(self) -> dict[str, Any]:
        """As of the flat index, with the description and number of pieces."""
        report = {**super().about(), **self._pieces, "vectors": self.pieces}
        return {**report, "bytes": report["bytes"] + int(self._starts.nbytes + self._spans.nbytes)}

    @property
    def pieces(self) -> int:
        return len(self._vectors)

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        return super().comparisons(query, among) * self.pieces / max(1, self.size)

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """Span of the most similar piece; of ties the first."""
        vector, places = self._resolve(query).vector, self._places(np.array([entity], np.uint32))[1]
        if vector is None or not len(places):
            return None
        first, end_row = self._starts[places[0]], self._starts[places[0] + 1]
        similar = super()._similar(np.arange(first, end_row), vector)
        begin, end = self._spans[first + similar.argmax()].tolist()
        return begin, end

    def _similar(self, places: Places | None, vector: Vectors) -> Scores:
        rows, starts = self._rows(places)
        return aggregate(super()._similar(rows, vector), starts, self._best, self._max_rows)

    def _about(self, places: Places | None, vector: Vectors) -> tuple[Scores, float]:
        """As of the flat index: an aggregate has no larger error than its rows, whose bound is doubled already."""
        rows, starts = self._rows(places)
        about, error = super()._about(rows, vector)
        return aggregate(about, starts, self._best, self._max_rows), error

    def _proposed_by_codes(self, vector: Vectors, k: int, places: Places | None) -> Places | None:
        return propose_entities(self._codes, self._starts, places, vector, k, self._best)

    def _vector_of(self, place: int) -> Vectors | None:
        own = self._vectors[self._starts[place] : self._starts[place + 1]]
        if len(own) == 1:
            return np.array(own[0])
        total = own.sum(axis=0, dtype=np.float64)
        length = np.linalg.norm(total)
        return np.asarray(total / length, np.float32) if length > MIN_LENGTH else None

    def _rows(self, places: Places | None) -> tuple[Places | None, Places]:
        """Rows of the entities at `places`, None for all; and the start of each entity in these, with their number."""
        if places is None:
            return None, self._starts
        begins = self._starts[places]
        starts = np.concatenate([[0], np.cumsum(self._starts[places + 1] - begins)])
        return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], np.diff(starts)), starts
