"""The text index and the vectors beside it, as one index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hybridkg.errors import IndexMissingError
from hybridkg.interfaces.encoder import NO_ENCODER
from hybridkg.interfaces.ranked_index import RankedQuery, RankedRequest
from hybridkg.interfaces.text_index import (
    Ids,
    IndexRequest,
    PushdownCondition,
    Scores,
    TermStatistics,
    TextIndex,
    TextQuery,
)
from hybridkg.interfaces.vector_index import VectorIndex, VectorQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.interfaces.explanation import Passage
    from hybridkg.interfaces.ranking_model import ScoringTask


class Ranked:
    """A RankedIndex: a question about words goes to the one, a question about vectors to the other.

    Args:
        text: the text index.
        vectors: None where there are none; then questions about them raise IndexMissingError.
        encoder: the one that kb.toml names, which may be none.
    """

    def __init__(self, text: TextIndex, vectors: VectorIndex | None = None, encoder: str = NO_ENCODER):
        self._encoder = encoder
        self.text, self.vectors = text, vectors
        self.text_is_remote = text.is_remote
        self.is_remote = text.is_remote or (vectors is not None and vectors.is_remote)
        self.max_remote_scan = text.max_remote_scan if text.is_remote or vectors is None else vectors.max_remote_scan
        self.counts: Mapping[str, int] = text.counts
        self.fields: tuple[str, ...] = text.fields

    @property
    def _near(self) -> VectorIndex:
        if self.vectors is None:
            raise IndexMissingError(
                "NEAR needs vectors, and this knowledge base has none that can be used",
                hint="make them: hybridkg index KB --encoder lsa"
                if self._encoder == NO_ENCODER
                else f'its kb.toml has encoder = "{self._encoder}" already: hybridkg index KB builds them',
            )
        return self.vectors

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """As RankedIndex has it."""
        return self.text.supports_pushdown(condition)

    def check(self, query: RankedQuery) -> None:
        """As RankedIndex has it."""
        if isinstance(query, VectorQuery):
            self._near.check(query)
        else:
            self.text.check(query)

    def match_count_bound(self, query: RankedQuery) -> int:
        """As RankedIndex has it."""
        return self._near.size if isinstance(query, VectorQuery) else self.text.match_count_bound(query)

    def is_exact(self, query: RankedQuery, k: int, among: int | None = None) -> bool:
        """As RankedIndex has it."""
        return self._near.is_exact(query, k, among) if isinstance(query, VectorQuery) else self.text.exact

    def prefetch_counts(self, queries: Sequence[RankedQuery]) -> None:
        """As RankedIndex has it."""
        self.text.prefetch_counts([query for query in queries if isinstance(query, TextQuery)])

    def score_all(self, query: RankedQuery) -> tuple[Ids, Scores]:
        """As RankedIndex has it."""
        return self._near.score_all(query) if isinstance(query, VectorQuery) else self.text.score_all(query)

    def topk(self, query: RankedQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """As RankedIndex has it."""
        if isinstance(query, VectorQuery):
            return self._near.topk(query, k, among)
        return self.text.topk(query, k) if among is None else self.text.topk(query, k, among)

    def score(self, query: RankedQuery, ids: Ids) -> Scores:
        """As RankedIndex has it."""
        return self._near.score(query, ids) if isinstance(query, VectorQuery) else self.text.score(query, ids)

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        """As RankedIndex has it."""
        return self._near.estimates(query, among)

    def batch(self, questions: Sequence[RankedRequest]) -> list[tuple[Ids, Scores]]:
        """As RankedIndex has it."""
        of_text = [IndexRequest(one.query, one.k) for one in questions if isinstance(one.query, TextQuery)]
        answered = iter(self.text.batch(of_text) if of_text else ())
        found = []
        for one in questions:
            if isinstance(one.query, TextQuery):
                found.append(next(answered))
            else:
                found.append(self.score_all(one.query) if one.k is None else self.topk(one.query, one.k))
        return found

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """As RankedIndex has it."""
        return self.text.task(query, ids)

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """As RankedIndex has it."""
        return self.text.terms(query)

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """As RankedIndex has it."""
        return self.text.passage(query, texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """As RankedIndex has it."""
        return self.text.passages(query, texts)
