"""What the engine asks of a vector index, what builds and opens them, and the kinds by name.

A new kind is one file and one line here, or a package with an entry point in the group `hybridkg.vector_indexes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybridkg.errors import CorruptError
from hybridkg.interfaces.encoder import Vectors, VectorSpace
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.rdf.terms import Node
from hybridkg.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INDEX_FILE = "index"
"""In the folder of the vectors: the kind of index; before there was a second, none was written."""

ENCODER = "encoder"
"""In the folder of the vectors: what the encoder needs."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Some entities and what an encoder makes of their texts, or of pieces of them.

    Args:
        ids: uint32[n], ascending; an entity of several pieces is there once for each.
        vectors: float32[n, dimensions], of length 1, or 0 for a text of which the encoder knows nothing.
        texts: uint8[n, 32], SHA-256 of the texts; None where vectors cannot be used again.
        spans: uint32[n, 2], where each piece begins and ends in the entity's text, in characters; None where all of it
            is encoded at once.
    """

    ids: Ids
    vectors: Vectors
    texts: NDArray[np.uint8] | None = None
    spans: NDArray[np.uint32] | None = None


@dataclass(frozen=True)
class VectorQuery:
    """One NEAR as the index sees it.

    Args:
        text: what is to be near; empty where an entity or a vector is.
        entity: what others are compared with, which is left out itself; None where a text or a vector is.
        vector: numbers of the index's own space, of any length but 0; empty for none.
        within: the least similarity, -1..1; None for no bound.
        encoder: name that the query gives; empty for the one of the index.
        exact: whether the true best are demanded.
    """

    text: str = ""
    entity: Node | None = None
    vector: tuple[float, ...] = ()
    within: float | None = None
    encoder: str = ""
    exact: bool = False


class VectorIndex(Protocol):
    """Ranks entities by the cosine of their vectors with that of the query. Safe to use from many threads.

    Entities without a vector are in no relation: their score is NaN. Where an entity has several vectors, its
    similarity is made of theirs (`aggregate` in kb.toml).
    """

    is_remote: bool
    """Whether the vectors are compared on a server."""

    max_remote_scan: int
    """Of a remote index: the size of a relation beyond which the graph is read first, as of a text index."""

    @property
    def size(self) -> int:
        """Entities that have a vector."""

    @property
    def pieces(self) -> int:
        """Vectors that these have, each at least one."""

    @property
    def made_by(self) -> str:
        """Name and version of the encoder."""

    @property
    def dimensions(self) -> int:
        """Of the vectors."""

    def about(self) -> dict[str, Any]:
        """What `stats` says of it; a server is asked how it is. `problem` says what does not work, if anything."""

    def is_exact(self, query: VectorQuery, k: int, among: int | None = None) -> bool:
        """Whether the best k, of so many candidates or of everyone, are surely the true ones; told with every answer.

        Others may be missing; those that are there have their true similarities.
        """

    def comparisons(self, query: VectorQuery, among: float | None = None) -> float:
        """How many vectors could be compared one after the other in the time that finding the best few takes."""

    def check(self, query: VectorQuery) -> None:
        """Raises UnknownNameError (encoder) or VectorQueryError (dimensions, numbers)."""

    def knows(self, query: VectorQuery) -> bool:
        """Whether what the query asks about has a vector; nothing is near to what has none."""

    def score_all(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, similarities float64[m], -1..1)."""

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Best k: (ids uint32[m], similarities float64[m]), by similarity descending, then the node's rank; of `among`
        (uint32, ascending, distinct) where they are given.

        Exact or not, there are k where so many take part and are not missing, and the best of a smaller k come first
        among those of a greater one.
        """

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """The complete relation, or that of some entities (ascending, distinct), more cheaply than exactly.

        Returns:
            (ids uint32[m] ascending, about the similarities float[m], how far these are from the true ones at most).
        """

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity is not in the relation; ids in any order, repeats allowed."""

    def nearest(self, query: VectorQuery, entity: int) -> tuple[int, int] | None:
        """Where the piece of an entity's text that is nearest begins and ends, in characters; None where the text is in
        one piece, or one of both has no vector.
        """


class KnownVectors(Protocol):
    """Vectors by the hash of their text."""

    def places(self, texts: NDArray[np.uint8]) -> NDArray[np.int64]:
        """int64[n]: 0 or more for each of uint8[n, 32] whose vector is known, -1 for the others."""

    def fill(self, texts: NDArray[np.uint8], target: Vectors, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Writes what is known of the wanted rows of float32[n, dimensions], and tells which of them that is."""


@dataclass(frozen=True)
class StoredVectors:
    """What an index holds, to be built into another one; the Space of its vectors, too.

    Args:
        name: of the encoder that made them.
        dimensions: of the vectors.
        kind: of the encoder, in ENCODERS.
        count: vectors.
        hashed: whether the hashes of their texts are known.
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


class VectorIndexKind(Protocol):
    """Builds and opens indexes of one kind. Made with the folder of the knowledge base and its settings."""

    title: ClassVar[str]
    """Its name in a sentence, such as `Elasticsearch`."""

    is_remote: ClassVar[bool]
    """Whether the vectors are compared on a server."""

    section: ClassVar[str]
    """The table of kb.toml that it reads besides `[vectors]`; empty for none."""

    takes_pieces: ClassVar[bool]
    """Whether an entity may have several vectors."""

    engine: str
    """The text engine that knows what this kind keeps outside the folder, for `prune`; empty where it keeps nothing."""

    def ready(self) -> None:
        """Whether a build could begin; asked before the long work of loading and encoding.

        Raises:
            HybridkgError: it could not; says why.
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
        """Builds an index; nobody finds it before the generation of the folder is live.

        Args:
            folder: of the vectors, in the generation that is being built; holds the encoder (ENCODER) already.
            encoder: what makes the vectors.
            kind: its name in ENCODERS.
            batches: entities and their vectors, ids ascending over all of them; made while they are read, which tells
                the progress about entities itself.
            progress: told about the work behind that.
            hashed: whether the batches have hashes of their texts, to be kept with the vectors.

        Returns:
            Counts: kind, encoder, dimensions, entities, and what else there is to know.

        Raises:
            VectorQueryError: a vector is not finite, or its length neither 1 nor 0.
        """

    def open(self, folder: Path, find: Callable[[Node], int | None], rank: Callable[[Ids], Ids]) -> VectorIndex:
        """Opens the index of a folder; a server is not asked before the first query.

        Args:
            folder: filled by `build`.
            find: the id of a node, None where it has none.
            rank: order of the nodes, for ties: ids -> ranks.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def known(self, folder: Path, encoder: str) -> KnownVectors | None:
        """The vectors of an index by their texts; None unless it is whole and was made by an encoder of that name."""

    def stored(self, folder: Path) -> StoredVectors:
        """What the index of a folder holds; nothing is encoded, and no model is needed.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def discard(self) -> None:
        """What this object has built will never be live; it goes, as far as it can be reached."""


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
        CorruptError: the file that says so cannot be read, or names no kind.
    """
    file = folder / INDEX_FILE
    try:
        name = file.read_text(encoding="ascii").strip() if file.exists() else VECTOR_INDEXES.default
    except (OSError, UnicodeDecodeError) as e:
        raise CorruptError(f"cannot read {INDEX_FILE!r} of the vectors", hint="index again", place=str(file)) from e
    if name not in VECTOR_INDEXES:
        raise CorruptError(
            f"vectors in an index of kind {name!r}; this hybridkg knows {', '.join(VECTOR_INDEXES.names())}",
            hint="index again",
            place=str(file),
        )
    return name
