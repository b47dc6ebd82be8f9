"""Filter first: the graph says who takes part, then only those are scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.best_rows import BestRows
from hybridkg.operators.context import CANDIDATES, JOINED, ExecutionContext
from hybridkg.operators.rank_functions import ListStatistics, rrf_term, spread
from hybridkg.operators.slices import Slice
from hybridkg.operators.text_access import relation, scores_among
from hybridkg.operators.text_query import checked_index, ranked_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from numpy.typing import NDArray

RankedList: TypeAlias = "tuple[NDArray[Any], tuple[float, float, float, float]]"
"""Of all surviving scores of a MATCH: int64[n] ranks, from 1; lowest, highest, mean and deviation."""

GROWTH = 4
"""Each slice has as many times the entities of those before it, where rows were lost on the way."""


@dataclass(frozen=True)
class FilterFirst(BestRows):
    """Scores the whole candidate set of one variable, and keeps its best.

    Exact: the score of a candidate is what it has in the complete relation (law a).
    """

    def slices(self, context: ExecutionContext) -> Iterator[Slice]:
        """The best k of the candidates; more, the next best, where those were not enough."""
        import numpy as np

        (candidates,) = self.candidates
        ids = candidates.find(context)
        if ids is not None:
            context.note(CANDIDATES, len(ids))
            context.tell(self, candidates=len(ids))
        ids, scores = scored(self.top.matches, ids, context)
        if not candidates.unrestricted:
            context.note(JOINED, len(ids))
        context.tell(self, matching=len(ids))
        lists = self._lists(ids, scores, context)
        if self.top.k is None or self.top.value is None:
            yield self._slice(slice(None), ids, scores, -np.inf, lists, context)
            return
        values = np.asarray(self.top.value.of(scores, self._function_values(scores, lists)), np.float64)
        begin, end = 0, self.top.k
        while True:
            order = best_first(values, end + 1, ids, context)
            bound = float(values[order[end]]) if end < len(order) else -np.inf
            yield self._slice(order[begin:end], ids, scores, bound, lists, context)
            if end >= len(ids):
                return
            begin, end = end, GROWTH * end

    def _slice(
        self,
        chosen: Any,
        ids: Ids,
        scores: dict[str, Scores],
        bound: float,
        lists: dict[str, RankedList],
        context: ExecutionContext,
    ) -> Slice:
        own = ids[chosen]
        relations = {score: (own, of_match[chosen]) for score, of_match in scores.items()}
        assert context.nodes is not None
        known = {}
        if lists:
            terms = context.nodes.nodes(own)
            for score, (ranks, numbers) in lists.items():
                known[score] = ListStatistics(dict(zip(terms, ranks[chosen].tolist(), strict=True)), *numbers)
        (candidates,) = self.candidates
        return Slice(relations, bound, self.top.ties_follow(candidates.variable), known)

    @property
    def _functions(self) -> tuple[ast.RankFunction, ...]:
        return () if self.top.value is None else self.top.value.functions

    def _lists(self, ids: Ids, scores: dict[str, Scores], context: ExecutionContext) -> dict[str, RankedList]:
        """For each score that a rank function reads: int64[n] ranks, and the statistics of all scores."""
        read = dict.fromkeys(item.score.name for function in self._functions for item in function.lists)
        return {name: (_ranks(scores[name], ids, context), spread(scores[name].tolist())) for name in read}

    def _function_values(
        self, scores: dict[str, Scores], lists: dict[str, RankedList]
    ) -> dict[ast.RankFunction, Scores]:
        """The rank functions of every surviving entity."""
        import numpy as np

        values: dict[ast.RankFunction, Scores] = {}
        for function in self._functions:
            parts = []
            for item in function.lists:
                ranks, (low, high, mean, deviation) = lists[item.score.name]
                own = scores[item.score.name]
                if function.name == "rrf":
                    parts.append(rrf_term(function, item, ranks))
                elif function.name == "minmax":
                    parts.append(np.ones(len(own)) if low == high else (own - low) / (high - low))
                else:
                    parts.append((own - mean) / deviation if deviation else np.zeros(len(own)))
            values[function] = sum(parts[1:], parts[0])
        return values


def scored(
    matches: tuple[tuple[ast.RankedItem, str], ...], ids: Ids | None, context: ExecutionContext
) -> tuple[Ids, dict[str, Scores]]:
    """The entities that every MATCH matches, and their scores.

    Args:
        matches: on one variable; (MATCH, score variable).
        ids: uint32[n], ascending and distinct: who takes part; None for everyone.
        context: of the run.

    Returns:
        (uint32[m], ascending; float64[m] for each score variable).
    """
    import numpy as np

    found: dict[str, Scores] = {}
    # Short relations first: what they leave out need not be scored by the others.
    for match, score in sorted(matches, key=lambda pair: pair[0].top is None):
        if match.top is not None or ids is None:
            listed, own = relation(match, context)
            if ids is None:
                ids, found[score] = listed, own
                continue
            ids, mine, theirs = np.intersect1d(ids, listed, assume_unique=True, return_indices=True)
            own = own[theirs]
        elif not len(ids):
            own, mine = np.zeros(0), np.zeros(0, np.int64)
        else:
            own = scores_among(checked_index(context.text, match), ranked_query(match), ids, context)
            mine = np.flatnonzero(~np.isnan(own))
            ids, own = ids[mine], own[mine]
        found = {name: of_match[mine] for name, of_match in found.items()}
        found[score] = own
    assert ids is not None
    return ids, found


def best_first(values: Scores, k: int, ids: Ids, context: ExecutionContext) -> NDArray[Any]:
    """int64[m], m >= min(k, n): indices of the best values, best first, equal ones in term order of their entities."""
    import numpy as np

    assert context.nodes is not None
    chosen = np.arange(len(values))
    if k < len(values) // 2:
        least = np.partition(values, len(values) - k)[len(values) - k]
        chosen = np.flatnonzero(values >= least)
    return chosen[np.lexsort((context.nodes.rank(ids[chosen]), -values[chosen]))]


def _ranks(scores: Scores, ids: Ids, context: ExecutionContext) -> NDArray[Any]:
    """int64[n]: the rank of each, from 1, the best first, ties by term."""
    import numpy as np

    assert context.nodes is not None
    ranks = np.empty(len(scores), np.int64)
    ranks[np.lexsort((context.nodes.rank(ids), -scores))] = np.arange(1, len(scores) + 1)
    return ranks
