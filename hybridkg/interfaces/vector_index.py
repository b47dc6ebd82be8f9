"""What the engine asks of a vector index, and the question it asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.rdf.terms import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class VectorQuery:
    """One NEAR as the index sees it.

    Args:
        text: what is to be near; empty where an entity or a vector is.
        entity: what others are compared with, which is left out itself; None where a text or a vector is.
        vector: numbers of the index's own space, of any length but 0; empty for none.
        within: the least similarity, -1..1; None for no bound.
        encoder: name that the query gives; empty for the one of the index.
    """

    text: str = ""
    entity: Node | None = None
    vector: tuple[float, ...] = ()
    within: float | None = None
    encoder: str = ""


class VectorIndex(Protocol):
    """Ranks entities by the cosine of their vectors with that of the query. Safe to use from many threads.

    Entities without a vector are in no relation: their score is NaN.
    """

    exact: bool
    """Whether `topk` is the true best k; told to the user with every answer."""

    @property
    def size(self) -> int:
        """Entities that have a vector."""

    @property
    def dimensions(self) -> int:
        """Of the vectors."""

    def about(self) -> dict[str, Any]:
        """What `stats` says of it."""

    def check(self, query: VectorQuery) -> None:
        """Raises UnknownNameError (encoder) or VectorQueryError (dimensions, numbers)."""

    def knows(self, query: VectorQuery) -> bool:
        """Whether what the query asks about has a vector; nothing is near to what has none."""

    def matching(self, query: VectorQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, similarities float64[m], -1..1)."""

    def topk(self, query: VectorQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Best k: (ids uint32[m], similarities float64[m]), by similarity descending, then the node's rank; of `among`
        (uint32, ascending, distinct) where they are given.
        """

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """The complete relation, or that of some entities (ascending, distinct), more cheaply than exactly.

        Returns:
            (ids uint32[m] ascending, about the similarities float[m], how far these are from the true ones at most).
        """

    def score(self, query: VectorQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity is not in the relation; ids in any order, repeats allowed."""
