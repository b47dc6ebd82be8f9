"""Text index and vector index behind one interface, RankedIndex."""

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
    """RankedIndex that dispatches requests to the text index or to the vector index by the class of the query.

    Without a vector index, vector queries raise IndexMissingError; `encoder` is the one that kb.toml names.
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
                "NEAR needs vectors; this knowledge base has none",
                hint="make them: hybridkg index KB --encoder lsa\n"
                "lsa learns from these texts alone; docs/vectors.md names encoders that rank better"
                if self._encoder == NO_ENCODER
                else f'its kb.toml has encoder = "{self._encoder}" already: hybridkg index KB builds them',
            )
        return self.vectors

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        return self.text.supports_pushdown(condition)

    def check(self, query: RankedQuery) -> None:
        if isinstance(query, VectorQuery):
            self._near.check(query)
        else:
            self.text.check(query)

    def match_count_bound(self, query: RankedQuery) -> int:
        return self._near.size if isinstance(query, VectorQuery) else self.text.match_count_bound(query)

    def is_exact(self, query: RankedQuery, k: int, among: int | None = None) -> bool:
        return self._near.is_exact(query, k, among) if isinstance(query, VectorQuery) else self.text.exact

    def prefetch_counts(self, queries: Sequence[RankedQuery]) -> None:
        self.text.prefetch_counts([query for query in queries if isinstance(query, TextQuery)])

    def score_all(self, query: RankedQuery) -> tuple[Ids, Scores]:
        return self._near.score_all(query) if isinstance(query, VectorQuery) else self.text.score_all(query)

    def matches(self, query: RankedQuery) -> Ids:
        return self._near.score_all(query)[0] if isinstance(query, VectorQuery) else self.text.matches(query)

    def topk(self, query: RankedQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        if isinstance(query, VectorQuery):
            return self._near.topk(query, k, among)
        return self.text.topk(query, k) if among is None else self.text.topk(query, k, among)

    def score(self, query: RankedQuery, ids: Ids) -> Scores:
        return self._near.score(query, ids) if isinstance(query, VectorQuery) else self.text.score(query, ids)

    def estimates(self, query: VectorQuery, among: Ids | None = None) -> tuple[Ids, NDArray[Any], float]:
        return self._near.estimates(query, among)

    def batch(self, requests: Sequence[RankedRequest]) -> list[tuple[Ids, Scores]]:
        text_requests = [IndexRequest(one.query, one.k) for one in requests if isinstance(one.query, TextQuery)]
        text_results = iter(self.text.batch(text_requests) if text_requests else ())
        results = []
        for one in requests:
            if isinstance(one.query, TextQuery):
                results.append(next(text_results))
            else:
                results.append(self.score_all(one.query) if one.k is None else self.topk(one.query, one.k))
        return results

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        return self.text.task(query, ids)

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        return self.text.terms(query)

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        return self.text.passage(query, texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        return self.text.passages(query, texts)
