"""What every index of vectors knows of its entities and its encoder: questions as numbers, and who is in a relation."""

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
"""Questions whose vectors are remembered: a plan asks about the same one several times."""


@dataclass(frozen=True, eq=False)
class ResolvedVectorQuery:
    """A question as numbers.

    Args:
        vector: float32[columns] of length 1; None where there is none, and nothing is near to it.
        entity: the id of the entity that is left out; -1 for none.
    """

    vector: Vectors | None
    entity: int = -1


class Asking:
    """The part of a VectorIndex that does not depend on where the vectors are.

    Args:
        folder: of the vectors.
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
        self._known: dict[VectorQuery, ResolvedVectorQuery] = {}

    def _vector_of(self, place: int) -> Vectors | None:
        """float32[columns], of length 1: what stands for an entity that others are compared with, by its place among
        the ids.
        """
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Entities that have a vector."""
        return len(self._ids)

    @property
    def pieces(self) -> int:
        """As VectorIndex has it: one of each entity."""
        return self.size

    @property
    def dimensions(self) -> int:
        """Of the vectors."""
        return self._dimensions

    @property
    def ids(self) -> Ids:
        """uint32[size], ascending: the entities that have a vector."""
        return self._ids

    @property
    def made_by(self) -> str:
        """Name and version of the encoder."""
        return self._name

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

    def knows(self, query: VectorQuery) -> bool:
        """As VectorIndex has it."""
        return self._asked(query).vector is not None

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """As VectorIndex has it: each text is in one piece."""
        return None

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

    def _asked(self, query: VectorQuery) -> ResolvedVectorQuery:
        asked = self._known.get(query)
        if asked is None:
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            asked = self._known[query] = self._numbers(query)
        return asked

    def _numbers(self, query: VectorQuery) -> ResolvedVectorQuery:
        found = np.zeros(padded(self._dimensions), np.float32)
        if query.entity is not None:
            entity = self._find(query.entity)
            has, places = self._places(np.array([0 if entity is None else entity], np.uint32))
            if entity is None or not has[0]:
                return ResolvedVectorQuery(None)
            return ResolvedVectorQuery(self._vector_of(int(places[0])), entity)
        if query.vector:
            wide = np.array(query.vector, np.float64)
            wide /= np.abs(wide).max()
            found[: self._dimensions] = wide / np.linalg.norm(wide)
        else:
            vectors = self.encoder.queries([query.text])
            check_vectors(vectors, self.encoder)
            found[: self._dimensions] = vectors[0]
        return ResolvedVectorQuery(found if found.any() else None)

    def _places(self, ids: Ids) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of some entities have a vector, and the places of those among all that have."""
        if not self.size:
            return np.zeros(len(ids), bool), np.empty(0, np.int64)
        places = self._place_of[np.minimum(ids, len(self._place_of) - 1)]
        has = places >= 0
        return has, places[has].astype(np.int64)

    @cached_property
    def _place_of(self) -> NDArray[np.int32]:
        """The place of each id up to the greatest and one more; -1 for none. To search the ids takes far longer."""
        places = np.full(int(self._ids[-1]) + 2, -1, np.int32)
        places[self._ids] = np.arange(self.size, dtype=np.int32)
        return places


def check_whole(index: str, what: str) -> None:
    """For a kind of index of which each entity has one vector.

    Args:
        index: its name.
        what: is to have a vector, as in kb.toml.

    Raises:
        ConfigError: anything but the entity is.
    """
    if what != "entity":
        raise ConfigError(
            f"the vector index {index!r} takes one vector of an entity, and not one of each of its {what}",
            hint='index = "flat" or what = "entity" in the table [vectors] of kb.toml',
        )


def kept_in(query: VectorQuery, asked: ResolvedVectorQuery, ids: Ids, scores: Scores) -> NDArray[np.bool_]:
    """Which entities are in the relation."""
    kept = np.ones(len(ids), bool) if query.within is None else scores >= query.within
    return kept & (ids != asked.entity) if asked.entity >= 0 else kept
