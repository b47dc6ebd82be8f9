"""A flat index of entities that have several vectors each, one of every piece of their text.

The rows of an entity lie one behind the other. Whatever a FlatIndex asks of an entity is made of its rows here: the
similarity, what that is about, and its bounds by codes (hybridkg.vector.index.aggregates); so every law of the one holds for
the other, and the best are exact whatever the aggregate.
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
from hybridkg.vector.index.aggregates import BEST_OF, aggregated
from hybridkg.vector.index.codes import proposed_in_pieces
from hybridkg.vector.index.flat import FlatIndex
from hybridkg.vector.index.flat_files import PIECES, SPANS, STARTS

Places = NDArray[np.int64]

MIN_LENGTH = 1e-6
"""Of the sum of the vectors of an entity, below which they say nothing together."""


class PieceIndex(FlatIndex):
    """A FlatIndex whose entities have several vectors.

    An entity that others are compared with stands there with the mean of its vectors, brought to length 1.

    Args:
        folder: filled by a FlatWriter, in pieces.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

    def __init__(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]):
        super().__init__(folder, find, rank)
        self._best = BEST_OF[self._pieces["aggregate"]]
        self._most = int(np.diff(self._starts).max(initial=1))

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
        """As of the flat index; and what has a vector, and how many of these there are."""
        found = {**super().about(), **self._pieces, "vectors": self.pieces}
        return {**found, "bytes": found["bytes"] + int(self._starts.nbytes + self._spans.nbytes)}

    @property
    def pieces(self) -> int:
        """As VectorIndex has it."""
        return len(self._vectors)

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """As of the flat index, for each vector that an entity has."""
        return super().comparisons(query, among) * self.pieces / max(1, self.size)

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """As VectorIndex has it; of equals the first."""
        vector, places = self._asked(query).vector, self._places(np.array([entity], np.uint32))[1]
        if vector is None or not len(places):
            return None
        first, behind = self._starts[places[0]], self._starts[places[0] + 1]
        similar = super()._similar(np.arange(first, behind), vector)
        begin, end = self._spans[first + similar.argmax()].tolist()
        return begin, end

    def _similar(self, places: Places | None, vector: Vectors) -> Scores:
        rows, starts = self._rows(places)
        return aggregated(super()._similar(rows, vector), starts, self._best, self._most)

    def _about(self, places: Places | None, vector: Vectors) -> tuple[Scores, float]:
        """As of the flat index: no aggregate is further off than its rows, and their error is doubled already."""
        rows, starts = self._rows(places)
        about, error = super()._about(rows, vector)
        return aggregated(about, starts, self._best, self._most), error

    def _proposed_by_codes(self, vector: Vectors, k: int, places: Places | None) -> Places | None:
        return proposed_in_pieces(self._codes, self._starts, places, vector, k, self._best)

    def _vector_of(self, place: int) -> Vectors | None:
        own = self._vectors[self._starts[place] : self._starts[place + 1]]
        if len(own) == 1:
            return np.array(own[0])
        total = own.sum(axis=0, dtype=np.float64)
        length = np.linalg.norm(total)
        return np.asarray(total / length, np.float32) if length > MIN_LENGTH else None

    def _rows(self, places: Places | None) -> tuple[Places | None, Places]:
        """The rows of the entities at some places (None: all rows), and where in these those of each begin, and end."""
        if places is None:
            return None, self._starts
        begins = self._starts[places]
        starts = np.concatenate([[0], np.cumsum(self._starts[places + 1] - begins)])
        return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], np.diff(starts)), starts
