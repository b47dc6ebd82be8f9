"""Filtered top-k: the candidate set is a mask for the text index, which ranks nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hybridkg.operators.context import CANDIDATES, JOINED, ExecutionContext
from hybridkg.operators.index_access import best_matches
from hybridkg.operators.topk.filter_first import GROWTH
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.top_k_rows import TopKRows


@dataclass(frozen=True)
class FilteredTopK(TopKRows):
    """The index's best k among the candidates of one variable, by one MATCH without TOP.

    Exact: entities outside the candidate set are left out, never scored 0 (law c). It ends below the score that a
    FILTER demands (`least`, by score variable).
    """

    least: tuple[tuple[str, float], ...] = ()

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k of the candidates, then the next best if those were not enough."""
        (candidates,), ((match, score),) = self.candidates, self.top.matches
        assert self.top.value is not None
        assert self.top.k is not None
        index, query = context.checked(match)
        among = candidates.find(context)
        details = {}
        if among is not None:
            context.record_count(CANDIDATES, len(among))
            details = {"candidates": len(among)}
        begin, end = 0, self.top.k
        while True:
            ids, scores = best_matches(index, query, end + 1, context, among, sized=True)
            context.record_detail(self, **details, read=len(ids))
            if len(ids) <= end and among is not None:
                context.record_count(JOINED, len(ids))
            is_last = len(ids) <= end or any(scores[end] < least for _, least in self.least)
            bound = -np.inf if is_last else float(self.top.value.of({score: scores[end]}, {}))
            relations = {score: (ids[begin:end], scores[begin:end])}
            yield RelationPrefix(relations, bound, self.top.ties_follow(candidates.variable))
            if is_last:
                return
            begin, end = end, GROWTH * end
