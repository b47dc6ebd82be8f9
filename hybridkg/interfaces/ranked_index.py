"""The index protocol of operators and planner: one relation per MATCH or NEAR, whichever index has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from hybridkg.interfaces.text_index import Ids, PushdownCondition, Scores, TermStatistics, TextQuery
from hybridkg.interfaces.vector_index import VectorIndex, VectorQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.interfaces.explanation import Passage
    from hybridkg.interfaces.ranking_model import ScoringTask

RankedQuery: TypeAlias = TextQuery | VectorQuery
"""One MATCH, or one NEAR."""


NUMBERS_PER_POSTING = 200
"""Numbers of vectors that are compared in the time of one posting of a top-k: 0.023 us for the codes of 384 numbers,
0.012 us for a posting."""


class RankedRequest(NamedTuple):
    """A relation that a plan reads: complete, or its best k."""

    query: RankedQuery
    k: int | None = None


class RankedIndex(Protocol):
    """The text index with the vector index, if any; methods as in TextIndex and VectorIndex."""

    is_remote: bool
    """Whether the text index or the vector index is remote."""
    text_is_remote: bool
    """Whether the text index is remote."""
    max_remote_scan: int
    """That of the text index where it is remote, else that of the vector index."""
    counts: Mapping[str, int]
    fields: tuple[str, ...]
    vectors: VectorIndex | None

    def supports_pushdown(self, condition: PushdownCondition) -> bool: ...

    def check(self, query: RankedQuery) -> None:
        """Raises UnknownNameError, TextQueryError or VectorQueryError; inexpensive."""

    def match_count_bound(self, query: RankedQuery) -> int:
        """Upper bound of the size of `score_all`; inexpensive."""

    def is_exact(self, query: RankedQuery, k: int, among: int | None = None) -> bool:
        """Whether the best k, of so many candidates or of all entities, are certain."""

    def prefetch_counts(self, queries: Sequence[RankedQuery]) -> None: ...

    def score_all(self, query: RankedQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""

    def matches(self, query: RankedQuery) -> Ids:
        """The ids of `score_all`, for a relation whose scores nothing reads: uint32[m], ascending."""

    def topk(self, query: RankedQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """The best k, by score descending, then the node's rank; of `among` (ascending, distinct) if given."""

    def score(self, query: RankedQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity is not in the relation."""

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]: ...

    def batch(self, questions: Sequence[RankedRequest]) -> list[tuple[Ids, Scores]]:
        """`score_all` or `topk` of each request, combined where that saves time."""

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask: ...

    def terms(self, query: TextQuery) -> list[TermStatistics]: ...

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str: ...

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]: ...


def is_remote_relation(index: RankedIndex, query: RankedQuery) -> bool:
    """Whether a relation is on a server, so that its size decides what is read first (`max_remote_scan`).

    A NEAR counts as remote where only the text is: its work is priced alike.
    """
    return index.text_is_remote if isinstance(query, TextQuery) else index.is_remote


def postings_read(index: RankedIndex, query: RankedQuery, among: float | None = None) -> float:
    """The work of a top-k, in postings.

    `among` is the number of candidates, None for all entities; a text index reads the same postings either way.
    """
    if isinstance(query, TextQuery) or index.vectors is None:
        return float(index.match_count_bound(query))
    return index.vectors.comparisons(query, among) * index.vectors.dimensions / NUMBERS_PER_POSTING
