"""The vector index protocol, its kinds, which build and open indexes, and their registry.

A new kind is one file and one line here, or a package with an entry point in the group `hybridkg.vector_indexes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybridkg.errors import CorruptError
from hybridkg.interfaces.encoder import Encoder, Vectors, VectorSpace
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.rdf.terms import Node
from hybridkg.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.config.settings import Config

INDEX_FILE = "index"
"""The file in the folder of the vectors with the kind of index, and on further lines the fields whose text has vectors,
if these are not all; missing for the first kind."""

ENCODER = "encoder"
"""The subfolder of the encoder."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A batch of entities with the vectors of their texts, or of pieces of them.

    Args:
        ids: uint32[n], ascending; an entity occurs once per piece.
        vectors: float32[n, dimensions], of length 1, or 0 for a text without any feature of the encoder.
        texts: uint8[n, 32], SHA-256 of the texts; None where vectors cannot be reused.
        spans: uint32[n, 2], start and end of each piece in the entity's text, in characters; None where texts are
            encoded whole.
    """

    ids: Ids
    vectors: Vectors
    texts: NDArray[np.uint8] | None = None
    spans: NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class VectorQuery:
    """A NEAR as the index receives it.

    Args:
        text: the query text; empty where an entity or a vector is given.
        entity: the entity to compare with, itself left out; None where a text or a vector is given.
        vector: numbers of the index's own space, of any length but 0; empty for none.
        within: minimum similarity, -1..1; None for no bound.
        encoder: its name in the query; empty for that of the index.
        exact: whether the true best are required.
    """

    text: str = ""
    entity: Node | None = None
    vector: tuple[float, ...] = ()
    within: float | None = None
    encoder: str = ""
    exact: bool = False


class VectorIndex(Protocol):
    """Ranks entities by the cosine similarity of their vectors and the query's. Safe to use from many threads.

    Entities without a vector are in no relation: their score is NaN. The similarity of an entity with several vectors
    is an aggregate of theirs (`aggregate` in kb.toml).
    """

    is_remote: bool
    """Whether the vectors are compared on a server."""

    max_remote_scan: int
    """The size of a remote relation beyond which the graph is read first, as in TextIndex."""

    @property
    def size(self) -> int:
        """Entities with a vector."""

    @property
    def pieces(self) -> int:
        """Number of vectors, at least one per entity."""

    @property
    def made_by(self) -> str:
        """Name and version of the encoder."""

    @property
    def dimensions(self) -> int: ...

    @property
    def encoder(self) -> Encoder:
        """The encoder, opened on first use.

        Raises:
            CorruptError: its files are damaged, or it is not the one that made the vectors.
        """

    def about(self) -> dict[str, Any]:
        """The part of `stats` about the index, with the state of a server; `problem` describes a failure, if any."""

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """Whether the best k, of so many candidates or of all entities, are certain; reported with every answer.

        Otherwise some may be missing; the others have their true similarities.
        """

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """The number of sequential vector comparisons that take as long as a top-k of a few."""

    def check(self, query: VectorQuery) -> None:
        """Raises UnknownNameError (encoder) or VectorQueryError (dimensions, numbers)."""

    def knows(self, query: VectorQuery) -> bool:
        """Whether the query has a vector; without one its relation is empty."""

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, similarities float64[m], -1..1)."""

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """The best k: (ids uint32[m], similarities float64[m]), by similarity descending, then the node's rank; of the
        candidates `among` (uint32, ascending, distinct) if given.

        Exact or not, there are k results if enough entities take part, and the results of a smaller k are a prefix of
        those of a larger one.
        """

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """The approximate relation, complete or of the candidates (ascending, distinct); faster than exact.

        Returns:
            (ids uint32[m] ascending, approximate similarities float[m], maximum error of these).
        """

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity is not in the relation; ids in any order, repeats allowed."""

    def vectors_of(self, ids: NDArray[np.int64]) -> Vectors:
        """float32[len(ids), dimensions]: the vector of each entity, of length 1, or the direction of the mean of its
        vectors; zeros for an entity without one, and for an id below 0.
        """

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """Start and end, in characters, of the piece of an entity's text that is nearest; None where the text is one
        piece, or the query or the entity has no vector.
        """


class KnownVectors(Protocol):
    """Cached vectors by the hash of their text."""

    def places(self, texts: NDArray[np.uint8]) -> NDArray[np.int64]:
        """int64[n]: at least 0 for each of uint8[n, 32] with a cached vector, -1 for the others."""

    def fill(self, texts: NDArray[np.uint8], target: Vectors, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Writes the cached vectors of the wanted rows into float32[n, dimensions]; returns the mask of these rows."""


@dataclass(frozen=True)
class StoredVectors:
    """The contents of an index, input of a build of another one; also the VectorSpace of its vectors.

    Args:
        name: of their encoder.
        dimensions: of the vectors.
        kind: of the encoder, in ENCODERS.
        count: vectors.
        hashed: whether the hashes of their texts are stored.
        in_pieces: whether an entity may have several.
        read: reads them, batch by batch, ids ascending.
    """

    name: str
    dimensions: int
    kind: str
    count: int
    hashed: bool
    in_pieces: bool
    read: Callable[[], Iterator[Encoded]]


@dataclass(frozen=True, eq=False)
class VectorChange:
    """A change of some vectors, which an index follows.

    Args:
        old_to_new: int64[earlier entities], the next id of each, ascending; -1 for one that is gone or has changed.
        new: the vectors of the changed entities by their next ids, with the columns of the earlier ones.
    """

    old_to_new: NDArray[np.int64]
    new: Encoded


class VectorIndexKind(Protocol):
    """Builds and opens indexes of one kind. Constructed with the folder of the knowledge base and its settings."""

    title: ClassVar[str]
    """Its display name, such as `Elasticsearch`."""

    is_remote: ClassVar[bool]
    """Whether the vectors are compared on a server."""

    section: ClassVar[str]
    """Its table of kb.toml besides `[vectors]`; empty for none."""

    takes_pieces: ClassVar[bool]
    """Whether an entity may have several vectors."""

    engine: str
    """The text engine that prunes what this kind stores outside the folder; empty where it stores nothing there."""

    @classmethod
    def follows(cls, config: Config) -> bool:
        """Whether an index follows a commit by `follow`; otherwise it is built anew, or stays behind on a server."""

    def ready(self) -> None:
        """Checks that a build can begin, before the long work of loading and encoding.

        Raises:
            HybridkgError: it cannot; says why.
        """

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
        """Builds an index, which is invisible until the generation of the folder is live.

        Args:
            folder: of the vectors, in the generation under construction; already has the encoder (ENCODER).
            encoder: the space of the vectors.
            kind: its name in ENCODERS.
            batches: entities with their vectors, ids ascending over all of them; encoded while they are read, with
                their own reports to the progress.
            progress: counts the work after that.
            hashed: whether the batches have hashes of their texts, to be stored with the vectors.

        Returns:
            Counts: kind, encoder, dimensions, entities, and further details.

        Raises:
            VectorQueryError: a vector is not finite, or its length neither 1 nor 0.
        """

    def follow(self, previous: Path, folder: Path, change: VectorChange, progress: Progress) -> dict[str, Any]:
        """Builds the next index from the earlier one, as if by `build`.

        Args:
            previous: folder of the earlier vectors, of this kind, which stay as they are.
            folder: as for `build`.
            change: the changed vectors.
            progress: counts the work.

        Returns:
            Counts, as of `build`.

        Raises:
            HybridkgError: a server does not answer or refuses.
        """

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> VectorIndex:
        """Opens the index of a folder; a server gets no request before the first query.

        Args:
            folder: filled by `build`.
            find: the id of a node, None where it has none.
            rank: order of the nodes, for ties: ids -> ranks.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def known(self, folder: Path, encoder: str) -> KnownVectors | None:
        """The vectors of an index by their texts; None unless it is intact and of the encoder with that name."""

    def stored(self, folder: Path) -> StoredVectors:
        """The contents of the index in a folder; needs no model.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def discard(self) -> None:
        """Removes what this object has built for an abandoned generation, if it can be reached."""


VECTOR_INDEXES = Registry(
    "vector index",
    "hybridkg.vector_indexes",
    {
        "flat": "hybridkg.vector.index.flat:Flat",
        "hnsw": "hybridkg.vector.index.hnsw:Hnsw",
        "elasticsearch": "hybridkg.vector.elasticsearch.kind:ElasticVectors",
    },
    default="flat",
)
"""Classes of VectorIndexKind, made as `Kind(folder of the knowledge base, config)`."""


def kind_of(folder: Path) -> str:
    """The kind of the index in a folder of vectors, a name of VECTOR_INDEXES.

    Raises:
        CorruptError: the file of the kind cannot be read, or names none.
    """
    file = folder / INDEX_FILE
    name = next(iter(_lines_of(file)), VECTOR_INDEXES.default)
    if name not in VECTOR_INDEXES:
        raise CorruptError(
            f"vectors in an index of kind {name!r}; this hybridkg has {', '.join(VECTOR_INDEXES.names())}",
            hint="index again",
            place=str(file),
        )
    return name


def encoded_fields(folder: Path) -> tuple[str, ...]:
    """The fields whose text has the vectors of a folder, in the order of the profile; empty for all.

    Raises:
        CorruptError: the file cannot be read.
    """
    return tuple(_lines_of(folder / INDEX_FILE)[1:])


def write_kind(folder: Path, name: str, fields: Sequence[str] = ()) -> None:
    """Writes what `kind_of` and `encoded_fields` read."""
    (folder / INDEX_FILE).write_text("".join(f"{line}\n" for line in (name, *fields)), encoding="utf-8")


def _lines_of(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as e:
        raise CorruptError(f"cannot read {INDEX_FILE!r} of the vectors", hint="index again", place=str(file)) from e
