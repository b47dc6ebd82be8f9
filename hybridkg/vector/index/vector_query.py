"""Base of vector indexes: resolves queries to vectors, and decides membership in the relation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, CorruptError, UnknownNameError, VectorQueryError
from hybridkg.interfaces.encoder import ENCODERS, Encoder, Vectors
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import ENCODER, VectorQuery
from hybridkg.rdf.terms import Node
from hybridkg.storage.arrays import MappedArrays
from hybridkg.vector.index.flat_files import check_vectors
from hybridkg.vector.index.similarity import padded

MAX_CACHED = 64
"""Resolved queries in the cache: a plan uses the same one several times."""


@dataclass(frozen=True, eq=False)
class ResolvedVectorQuery:
    """A query as a vector.

    Args:
        vector: float32[columns] of length 1; None where there is none, and the relation is empty.
        entity: the id of the query's own entity, which is excluded; -1 for none.
    """

    vector: Vectors | None
    entity: int = -1


class VectorIndexBase:
    """The part of a VectorIndex that does not depend on the location of the vectors.

    Args:
        folder: of the index.
        reader: of its arrays: `ids`, and in the header `kind`, `encoder` and `dimensions`.
        find: the id of a node, None where it has none.
        rank: order of the nodes, for ties: ids -> ranks.
    """

    def __init__(
        self, folder: Path, reader: MappedArrays, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]
    ):
        self._folder, self._find, self._rank = folder, find, rank
        self._kind, self._name = str(reader.about("kind")), str(reader.about("encoder"))
        self._dimensions: int = reader.about("dimensions")
        self._ids: Ids = reader.array("ids")
        self._opened: Encoder | None = None
        self._resolved: dict[VectorQuery, ResolvedVectorQuery] = {}

    def _vector_of(self, place: int) -> Vectors | None:
        """float32[columns], of length 1: the query vector of an entity, by its place in the ids; None for none."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        return len(self._ids)

    @property
    def pieces(self) -> int:
        """One for each entity."""
        return self.size

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def ids(self) -> Ids:
        """uint32[size], ascending: the entities that have a vector."""
        return self._ids

    @property
    def made_by(self) -> str:
        return self._name

    def check(self, query: VectorQuery) -> None:
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
            raise VectorQueryError("a vector must have a direction: all numbers finite, and at least one not 0")

    def knows(self, query: VectorQuery) -> bool:
        return self._resolve(query).vector is not None

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """None: each text is in one piece."""
        return None

    @property
    def encoder(self) -> Encoder:
        """Encoder of the index, opened on first use.

        Raises:
            CorruptError: its files are damaged, or it is not the one that made the vectors.
        """
        if self._opened is None:
            opened: Encoder = ENCODERS.get(self._kind)().open(self._folder / ENCODER)
            if opened.name != self._name:
                raise CorruptError(
                    f"the vectors were made by {self._name!r}, and the encoder is now {opened.name!r}",
                    hint="build the index again: hybridkg index KB",
                )
            self._opened = opened
        return self._opened

    def vectors_of(self, ids: NDArray[np.int64]) -> Vectors:
        """The query vector of each entity, or zeros."""
        vectors = np.zeros((len(ids), self._dimensions), np.float32)
        known = np.flatnonzero(ids >= 0)
        has, places = self._places(ids[known].astype(np.uint32))
        for row, place in zip(known[has].tolist(), places.tolist(), strict=True):
            if (own := self._vector_of(place)) is not None:
                vectors[row] = own[: self._dimensions]
        return vectors

    def _resolve(self, query: VectorQuery) -> ResolvedVectorQuery:
        resolved = self._resolved.get(query)
        if resolved is None:
            if len(self._resolved) >= MAX_CACHED:
                self._resolved.clear()
            resolved = self._resolved[query] = self._vectorize(query)
        return resolved

    def _vectorize(self, query: VectorQuery) -> ResolvedVectorQuery:
        vector = np.zeros(padded(self._dimensions), np.float32)
        if query.entity is not None:
            entity = self._find(query.entity)
            has, places = self._places(np.array([0 if entity is None else entity], np.uint32))
            if entity is None or not has[0]:
                return ResolvedVectorQuery(None)
            return ResolvedVectorQuery(self._vector_of(int(places[0])), entity)
        if query.vector:
            wide = np.array(query.vector, np.float64)
            wide /= np.abs(wide).max()
            vector[: self._dimensions] = wide / np.linalg.norm(wide)
        else:
            vectors = self.encoder.queries([query.text])
            check_vectors(vectors, self.encoder)
            vector[: self._dimensions] = vectors[0]
        return ResolvedVectorQuery(vector if vector.any() else None)

    def _places(self, ids: Ids) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Whether each entity has a vector, and the places in `ids` of those that have."""
        if not self.size:
            return np.zeros(len(ids), bool), np.empty(0, np.int64)
        places = self._place_of[np.minimum(ids, len(self._place_of) - 1)]
        has = places >= 0
        return has, places[has].astype(np.int64)

    @cached_property
    def _place_of(self) -> NDArray[np.int32]:
        """Place of each id up to the greatest and one more; -1 for none. A binary search takes many times longer."""
        places = np.full(int(self._ids[-1]) + 2, -1, np.int32)
        places[self._ids] = np.arange(self.size, dtype=np.int32)
        return places


def check_takes_entities(index: str, what: str) -> None:
    """Raises ConfigError where `what` of kb.toml demands several vectors of an entity from a kind that takes one."""
    if what != "entity":
        raise ConfigError(
            f"the vector index {index!r} supports one vector per entity, not one for each of its {what}",
            hint='index = "flat" or what = "entity" in the table [vectors] of kb.toml',
        )


def relation_mask(query: VectorQuery, resolved: ResolvedVectorQuery, ids: Ids, scores: Scores) -> NDArray[np.bool_]:
    """Whether each entity is in the relation: similar enough, and not the query's own."""
    mask = np.ones(len(ids), bool) if query.within is None else scores >= query.within
    return mask & (ids != resolved.entity) if resolved.entity >= 0 else mask
