"""The exact vector index: one matrix of all vectors, memory-mapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hybridkg.arrays import Layout, Reader, Writer
from hybridkg.errors import CorruptError, UnknownNameError, VectorQueryError
from hybridkg.interfaces.encoder import ENCODERS, Encoder, Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.vector.similarity import padded, similarities

LAYOUT = Layout("hybridkg vectors", 1, "vectors.json", "vector index")

ENCODER = "encoder"
"""In the folder: what the encoder needs."""

ERROR_PER_DIMENSION = 2.0**-23
"""Of a sum of float32 products of two vectors of length 1, whatever its order: below dimensions x 2**-24 for the sum
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), doubled."""

MATRIX_ABOVE = 4_096
"""Candidates from which a BLAS proposes them; fewer are compared one by one."""


class FlatWriter:
    """Writes the vectors of a knowledge base, entity by entity; without `finish` there is no index.

    Args:
        folder: existing; may hold the encoder already.
        encoder: what makes the vectors.
    """

    def __init__(self, folder: Path, encoder: Encoder):
        self._writer, self._encoder = Writer(LAYOUT, folder), encoder
        self._columns = padded(encoder.dimensions)
        self._vectors = self._writer.stream("vectors", np.float32, self._columns)
        self._ids = self._writer.stream("ids", np.uint32)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vectors.close()
        self._ids.close()

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Adds entities, ascending; those whose vector is all zeros have none.

        Args:
            ids: uint32[n].
            vectors: float32[n, dimensions], of length 1 or 0.

        Raises:
            VectorQueryError: a number is not finite; nothing of the batch is written.
        """
        if not np.isfinite(vectors).all():
            raise VectorQueryError(f"the encoder {self._encoder.name!r} gave a vector that is not finite")
        kept = vectors.any(axis=1)
        rows = np.zeros((int(kept.sum()), self._columns), np.float32)
        rows[:, : vectors.shape[1]] = vectors[kept]
        self._vectors.append(rows)
        self._ids.append(ids[kept])

    def finish(self, kind: str) -> dict[str, Any]:
        """Writes the header, and gives its counts.

        Args:
            kind: of ENCODERS.
        """
        self._vectors.close()
        self._ids.close()
        about = {"kind": kind, "encoder": self._encoder.name, "dimensions": self._encoder.dimensions}
        self._writer.finish(about)
        return {**about, "entities": self._ids.rows}


class FlatIndex:
    """A VectorIndex that compares the query with every vector, or with every candidate.

    Args:
        folder: filled by a FlatWriter.
        rank: order of the nodes, for ties: ids -> ranks; without it the ids themselves.
    """

    exact = True

    def __init__(self, folder: Path, rank: Callable[[Ids], Ids] | None = None):
        reader = Reader(LAYOUT, folder)
        self._folder, self._rank = folder, rank or (lambda ids: ids)
        self._kind, self._name = str(reader.about("kind")), str(reader.about("encoder"))
        self._dimensions = int(reader.about("dimensions"))
        self._ids: Ids = reader.array("ids")
        self._vectors: Vectors = reader.array("vectors")
        if self._vectors.shape != (len(self._ids), padded(self._dimensions)):
            raise CorruptError("the vectors do not fit their header", hint="index again", place=str(folder))
        self._opened: Encoder | None = None

    @property
    def size(self) -> int:
        """Entities that have a vector."""
        return len(self._ids)

    @property
    def dimensions(self) -> int:
        """Of the vectors."""
        return self._dimensions

    def about(self) -> dict[str, Any]:
        """Index, encoder, how many vectors of how many dimensions, and their bytes."""
        return {
            "index": "flat",
            "encoder": self._name,
            "entities": self.size,
            "dimensions": self._dimensions,
            "bytes": int(self._vectors.nbytes + self._ids.nbytes),
        }

    def check(self, query: VectorQuery) -> None:
        """As VectorIndex has it."""
        if query.encoder and query.encoder != self._kind:
            raise UnknownNameError(
                f"the vectors of this knowledge base were made by {self._kind!r}, not by {query.encoder!r}",
                hint=f"leave USING out, or write USING {self._kind}",
            )
        if query.vector and len(query.vector) != self._dimensions:
            raise VectorQueryError(
                f"a vector of {len(query.vector)} numbers; those of this knowledge base have {self._dimensions}",
                hint=f"they were made by {self._name!r}",
            )
        if query.vector and not (all(map(isfinite, query.vector)) and any(query.vector)):
            raise VectorQueryError("a vector must have a direction: finite numbers, and not all of them 0")

    def matching(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """As VectorIndex has it."""
        asked = self._asked(query)
        if asked is None:
            return np.empty(0, np.uint32), np.empty(0)
        scores = similarities(self._vectors, None, asked)
        kept = self._kept(query, self._ids, scores)
        return self._ids[kept], scores[kept]

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """As VectorIndex has it: a BLAS proposes, with room for its rounding, and `similarities` decides."""
        asked = self._asked(query)
        if asked is None or k < 1:
            return np.empty(0, np.uint32), np.empty(0)
        places = None if among is None else self._places(among)[1]
        n = self.size if places is None else len(places)
        if n > max(MATRIX_ABOVE, k):
            rows = self._vectors if places is None else self._vectors[places]
            about = rows @ asked
            if query.entity >= 0:
                own = self._ids == query.entity if places is None else self._ids[places] == query.entity
                about[own] = -np.inf
            room = 2 * ERROR_PER_DIMENSION * self._vectors.shape[1]
            proposed = np.flatnonzero(about >= np.partition(about, n - k)[n - k] - np.float32(room))
            places = proposed if places is None else places[proposed]
        scores = similarities(self._vectors, places, asked)
        ids = self._ids if places is None else self._ids[places]
        kept = self._kept(query, ids, scores)
        ids, scores = ids[kept], scores[kept]
        best = np.lexsort((self._rank(ids), -scores))[:k]
        return ids[best], scores[best]

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """As VectorIndex has it."""
        found = np.full(len(ids), np.nan)
        asked = self._asked(query)
        if asked is None:
            return found
        has, places = self._places(ids)
        scores = similarities(self._vectors, places, asked)
        scores[~self._kept(query, self._ids[places], scores)] = np.nan
        found[has] = scores
        return found

    @property
    def encoder(self) -> Encoder:
        """What makes vectors of texts, opened when it is first needed.

        Raises:
            CorruptError: its files are damaged, or it is no longer the one that made the vectors.
        """
        if self._opened is None:
            opened: Encoder = ENCODERS.get(self._kind)().open(self._folder / ENCODER)
            if opened.name != self._name:
                raise CorruptError(
                    f"the vectors were made by {self._name!r}, and the encoder is {opened.name!r} now",
                    hint="build the index again: hybridkg index KB",
                )
            self._opened = opened
        return self._opened

    def _asked(self, query: VectorQuery) -> Vectors | None:
        """float32[columns] of length 1; None where the query has no vector, which nothing is near to."""
        found = np.zeros(self._vectors.shape[1], np.float32)
        if query.entity >= 0:
            has, places = self._places(np.array([query.entity], np.uint32))
            if not has[0]:
                return None
            found[:] = self._vectors[places[0]]
        elif query.vector:
            wide = np.array(query.vector, np.float64)
            found[: self._dimensions] = wide / np.abs(wide).max() / np.linalg.norm(wide / np.abs(wide).max())
        else:
            found[: self._dimensions] = self.encoder.queries([query.text])[0]
        return found if found.any() else None

    def _places(self, ids: Ids) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of some entities have a vector, and the rows of those."""
        if not self.size:
            return np.zeros(len(ids), bool), np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(self._ids, ids), self.size - 1)
        has = self._ids[places] == ids
        return has, places[has]

    def _kept(self, query: VectorQuery, ids: Ids, scores: Scores) -> NDArray[np.bool_]:
        """Which entities are in the relation."""
        kept = np.ones(len(ids), bool) if query.within is None else scores >= query.within
        return kept & (ids != query.entity) if query.entity >= 0 else kept
