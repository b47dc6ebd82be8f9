"""What operators and the planner ask of the indexes: the relation of a MATCH or of a NEAR, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from hybridkg.interfaces.text_index import Ids, PushdownCondition, Scores, TermStatistics, TextQuery
from hybridkg.interfaces.vector_index import VectorIndex, VectorQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.interfaces.explanation import Passage
    from hybridkg.interfaces.ranking_model import ScoringTask

RankedQuery: TypeAlias = TextQuery | VectorQuery
"""One MATCH, or one NEAR."""


NUMBERS_PER_POSTING = 200
"""Numbers of vectors that are compared in the time that one posting takes of a search for the best: 0.023 us for the
codes of 384 numbers, 0.012 us for a posting."""


@dataclass(frozen=True)
class RankedRequest:
    """A relation that a plan will read: complete, or its best k."""

    query: RankedQuery
    k: int | None = None


class RankedIndex(Protocol):
    """The text index, and the vectors beside it where there are any; methods as TextIndex and VectorIndex have them."""

    is_remote: bool
    """Whether the text index or the vector index is on a server."""
    text_is_remote: bool
    """Whether the text index is."""
    max_remote_scan: int
    """That of the text index where it is remote, else that of the vectors."""
    counts: Mapping[str, int]
    fields: tuple[str, ...]
    vectors: VectorIndex | None

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """As TextIndex has it."""

    def check(self, query: RankedQuery) -> None:
        """Raises UnknownNameError, TextQueryError or VectorQueryError; cheap."""

    def match_count_bound(self, query: RankedQuery) -> int:
        """No fewer than `matching` will give; cheap."""

    def is_exact(self, query: RankedQuery, k: int, among: int | None = None) -> bool:
        """Whether the best k, of so many candidates or of everyone, are surely the true ones."""

    def prefetch_counts(self, queries: Sequence[RankedQuery]) -> None:
        """As TextIndex has it."""

    def score_all(self, query: RankedQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""

    def topk(self, query: RankedQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Best k, by score descending, then the node's rank; of `among` (ascending, distinct) where they are given."""

    def score(self, query: RankedQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity is not in the relation."""

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """As VectorIndex has it."""

    def batch(self, questions: Sequence[RankedRequest]) -> list[tuple[Ids, Scores]]:
        """`matching` or `topk` of each question, asked together where that saves time."""

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """As TextIndex has it."""

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """As TextIndex has it."""

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """As TextIndex has it."""

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """As TextIndex has it."""


def is_remote_relation(index: RankedIndex, query: RankedQuery) -> bool:
    """Whether a relation is on a server, so that its size decides what is read first (`max_remote_scan`).

    A NEAR counts as remote where the text alone is: its work is priced as there.
    """
    return index.text_is_remote if isinstance(query, TextQuery) else index.is_remote


def postings_read(index: RankedIndex, query: RankedQuery, among: float | None = None) -> float:
    """What finding the best of a relation reads, in postings.

    Args:
        index: the indexes.
        query: the relation.
        among: how many candidates take part; None for everyone. Postings are read whoever takes part.
    """
    if isinstance(query, TextQuery) or index.vectors is None:
        return float(index.match_count_bound(query))
    return index.vectors.comparisons(query, among) * index.vectors.dimensions / NUMBERS_PER_POSTING
