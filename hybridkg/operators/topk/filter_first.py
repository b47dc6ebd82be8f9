"""Filter first: the candidate set of the graph is found completely, and only its entities are scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.ranked_index import is_remote_relation
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.context import CANDIDATES, JOINED, ExecutionContext
from hybridkg.operators.id_sets import held
from hybridkg.operators.index_access import relation, scores_among
from hybridkg.operators.topk.candidates import MATCHES_PER_CANDIDATE
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.survivor_scores import Surviving
from hybridkg.operators.topk.top_k_rows import TopKRows
from hybridkg.query import ast

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROWTH = 4
"""Ratio of the size of each slice to that of those before it, if rows were lost."""


@dataclass(frozen=True)
class FilterFirst(TopKRows):
    """Scores of the whole candidate set of one variable, and its best.

    Exact: the score of a candidate equals that in the complete relation (law a). Entities are left out that are below
    the score that a FILTER demands (`least`, by score variable).
    """

    least: tuple[tuple[str, float], ...] = ()

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k of the candidates, then the next best if those were not enough."""
        import numpy as np

        (candidates,) = self.candidates
        ids = candidates.find(context)
        details = {}
        if ids is not None:
            context.record_count(CANDIDATES, len(ids))
            details = {"candidates": len(ids)}
        ids, scores = scored(self.top.matches, ids, context)
        if not candidates.unrestricted:
            context.record_count(JOINED, len(ids))
        for name, least in () if self.top.functions else self.least:
            keeps = scores[name] >= least
            ids, scores = ids[keeps], {score: values[keeps] for score, values in scores.items()}
        context.record_detail(self, **details, matching=len(ids))
        for match, score in self.top.optional:
            scores[score] = where_present(match, ids, context)
        assert context.nodes is not None
        all_of_them = Surviving(ids, scores, self.top, context.nodes)
        if self.top.k is None or self.top.value is None:
            yield self._slice(slice(None), all_of_them, -np.inf)
            return
        values = all_of_them.values
        begin, end = 0, self.top.k
        while True:
            order = best_first(values, end + 1, ids, context)
            bound = float(values[order[end]]) if end < len(order) else -np.inf
            yield self._slice(order[begin:end], all_of_them, bound)
            if end >= len(ids):
                return
            begin, end = end, GROWTH * end

    def _slice(self, chosen: Any, surviving: Surviving, bound: float) -> RelationPrefix:
        (candidates,) = self.candidates
        return RelationPrefix(
            surviving.relations(chosen),
            bound,
            self.top.ties_follow(candidates.variable),
            surviving.statistics(chosen) if self.top.functions else {},
            surviving.floors,
        )


def scored(
    matches: tuple[tuple[ast.RankedItem, str], ...], ids: Ids | None, context: ExecutionContext
) -> tuple[Ids, dict[str, Scores]]:
    """(uint32[m], ascending; float64[m] for each score variable): the entities that every MATCH matches, and their
    scores.

    `matches` are (MATCH, score variable) on one variable, `ids` a candidate set (ascending and distinct), None for all
    entities.
    """
    import numpy as np

    scores: dict[str, Scores] = {}
    # Short relations first: the others score only their entities.
    for match, name in sorted(matches, key=lambda pair: pair[0].top is None) if len(matches) > 1 else matches:
        if match.top is not None or ids is None:
            listed, values = relation(match, context)
            if ids is None:
                ids, scores[name] = listed, values
                continue
            ids, mine, theirs = np.intersect1d(ids, listed, assume_unique=True, return_indices=True)
            values = values[theirs]
        elif not len(ids):
            values, mine = np.zeros(0), np.zeros(0, np.int64)
        else:
            values = scores_among(*context.checked(match), ids, context)
            mine = (~np.isnan(values)).nonzero()[0]
            ids, values = ids[mine], values[mine]
        if scores:
            scores = {name: of_match[mine] for name, of_match in scores.items()}
        scores[name] = values
    assert ids is not None
    return ids, scores


def where_present(match: ast.RankedItem, ids: Ids, context: ExecutionContext) -> Scores:
    """float64[n]: scores of some entities, ascending and distinct; NaN for absent ones."""
    import numpy as np

    index, query = context.checked(match)
    is_local = not is_remote_relation(index, query)
    if match.top is None and not (is_local and len(ids) > MATCHES_PER_CANDIDATE * index.match_count_bound(query)):
        return scores_among(index, query, ids, context) if len(ids) else np.zeros(0)
    listed, listed_scores = relation(match, context)
    scores = np.full(len(ids), np.nan)
    is_member = held(listed, ids)
    scores[ids.searchsorted(listed[is_member])] = listed_scores[is_member]
    return scores


def best_first(values: Scores, k: int, ids: Ids, context: ExecutionContext) -> NDArray[Any]:
    """int64[m], m >= min(k, n): indices of the best values, best first, equal ones in term order of their entities."""
    import numpy as np

    assert context.nodes is not None
    chosen = np.arange(len(values))
    if k < len(values) // 2:
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        chosen = (values >= threshold).nonzero()[0]
    return chosen[np.lexsort((context.nodes.rank(ids[chosen]), -values[chosen]))]
