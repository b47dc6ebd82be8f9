"""Threshold algorithm over several relations of one variable, read together until no unread entity can win."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from hybridkg.algebra.least import least_score
from hybridkg.interfaces.fusion import ENDS, LEAST, RANKS, FusedList, Spread
from hybridkg.interfaces.meter import LOOKS
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.context import CANDIDATES, JOINED, ExecutionContext
from hybridkg.operators.rank_functions import ListStatistics, fused
from hybridkg.operators.topk.filter_first import best_first
from hybridkg.operators.topk.rank_first import DEEPER, MIN_DEPTH
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.score_intervals import Listing
from hybridkg.operators.topk.survivor_scores import known_of
from hybridkg.operators.topk.top_k_rows import RankedTop, TopKRows
from hybridkg.query import ast
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from hybridkg.operators.context import Nodes


@dataclass(frozen=True)
class Threshold(TopKRows):
    """Threshold algorithm (Fagin, Lotem and Naor, 2003) over relations known within an error (Listing).

    No unread entity has a greater rank score than the last scores of the lists give, or, if ranks count, the following
    ranks: weight / (k + depth + 1) from each list of rrf. Only entities that can still be among the first get exact
    scores and ranks.

    Exact: ranks and statistics are those among all survivors, which are found before the lists are read.
    """

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k, and deeper if those gave too few rows."""
        import numpy as np

        assert self.top.k is not None
        (candidates,) = self.candidates
        allowed = candidates.find(context)
        if allowed is not None:
            context.record_count(CANDIDATES, len(allowed))
            context.record_detail(self, candidates=len(allowed))
        lists, everyone = _listings(self.top, allowed, context)
        if not candidates.unrestricted:
            context.record_count(JOINED, len(everyone))
        assert context.nodes is not None
        fusing = Fusing.of(self.top, lists, context.nodes)
        wanted, depth, looks = max(self.top.k, 1), max(MIN_DEPTH, 2 * self.top.k), 0
        while True:
            looks += 1
            context.meter.add(LOOKS, 1)
            done = any(depth >= len(lists[score].ids) for _, score in self.top.matches)
            seen = everyone
            if not done:
                seen = sorted_distinct(np.concatenate([one.best(depth) for one in lists.values()]))
            bound = -np.inf if done else fusing.unseen(depth)
            context.record_detail(self, looks=looks, read=min(depth, len(everyone)), seen=len(seen))
            part = fusing.best(seen, wanted, bound, context)
            if part is None:
                depth *= DEEPER
                continue
            context.record_detail(self, passed=len(next(iter(part.relations.values()))[0]))
            yield part
            if part.complete:
                return
            wanted, depth = wanted * DEEPER, depth * DEEPER


def _listings(top: RankedTop, allowed: Ids | None, context: ExecutionContext) -> tuple[dict[str, Listing], Ids]:
    lists: dict[str, Listing] = {}
    base = allowed
    # Cheap exact relations first: they leave less to be compared.
    for match, score in sorted(top.matches, key=lambda pair: (pair[0].top is None, isinstance(pair[0], ast.Near))):
        lists[score] = Listing.of(match, base, context)
        base = lists[score].ids
    assert base is not None
    for match, score in top.optional:
        whole = allowed is None and isinstance(match, ast.Match)
        lists[score] = Listing.of(match, None if whole else base, context)
    return {score: one.among(base) for score, one in lists.items()}, base


@dataclass(frozen=True, eq=False)
class Fusing:
    """Rank scores of entities whose scores are known exactly or within an error.

    Args:
        top: the ranking.
        lists: by score variable.
        spreads: of the lists that functions read.
        floors: floors of scores that may be absent.
        ranked: lists whose ranks a function reads.
        nodes: the order of terms.
    """

    top: RankedTop
    lists: Mapping[str, Listing]
    spreads: Mapping[str, Spread]
    floors: Mapping[str, float]
    ranked: frozenset[str]
    nodes: Nodes

    @classmethod
    def of(cls, top: RankedTop, lists: Mapping[str, Listing], nodes: Nodes) -> Fusing:
        """Statistics of the complete lists."""
        match_of = {score: match for match, score in (*top.matches, *top.optional)}
        required = known_of(top.functions)
        spreads = {}
        for name, needed in required.items():
            least = least_score(match_of[name]) if LEAST in needed else float("-inf")
            has_ends = ENDS in needed and len(lists[name].ids) > 0
            spreads[name] = Spread(lists[name].low, lists[name].high, least=least) if has_ends else Spread(least=least)
        floors = {score: min(0.0, lists[score].low) if len(lists[score].ids) else 0.0 for _, score in top.optional}
        ranked = frozenset(name for name, needed in required.items() if RANKS in needed)
        return cls(top, lists, spreads, floors, ranked, nodes)

    def values(self, scores: Mapping[str, Scores], ranks: Mapping[str, Scores]) -> Scores:
        """float64[n], the rank scores of n entities."""
        import numpy as np

        assert self.top.value is not None
        floored = {
            name: np.where(np.isnan(own), self.floors[name], own) if name in self.floors else own
            for name, own in scores.items()
        }
        lists = {
            name: FusedList(scores[name], floored[name], ranks.get(name, np.ones(len(scores[name]))), own)
            for name, own in self.spreads.items()
        }
        functions = {function: fused(function, lists) for function in self.top.functions}
        values: Scores = np.asarray(self.top.value.of(floored, functions), np.float64)
        return values

    def alone(self, name: str, scores: Scores, ranks: Scores) -> Scores:
        """float64[n], the rank scores of n entities that are in one list only."""
        import numpy as np

        every = {other: scores if other == name else np.full(len(scores), np.nan) for other in self.lists}
        return self.values(every, {name: ranks})

    def unseen(self, depth: int) -> float:
        """Upper bound on the rank score of entities outside the best `depth` of every list."""
        import numpy as np

        scores = {}
        for name, one in self.lists.items():
            reached = one.reached(depth)
            scores[name] = np.array([np.nan if reached == -np.inf else reached + one.error])
        return float(self.values(scores, {name: np.array([depth + 1.0]) for name in self.ranked})[0])

    def best(self, seen: Ids, wanted: int, bound: float, context: ExecutionContext) -> RelationPrefix | None:
        """The best `wanted` of the entities `seen` (uint32[n], ascending); None if others, whose rank scores are at
        most `bound`, may be better.
        """
        import numpy as np

        assert self.top.value is not None
        estimates = {name: one.estimates(seen) for name, one in self.lists.items()}
        low, high = self._bounds(estimates)
        limit = bound + self.top.value.slack(bound)
        if len(seen) > wanted:
            threshold = float(np.partition(low, len(low) - wanted)[len(low) - wanted])
            if threshold <= limit and bound > -np.inf:
                return None
            may_win = high >= (threshold - self.top.value.slack(threshold) if isfinite(threshold) else threshold)
            contenders, rest = seen[may_win], high[~may_win].max(initial=bound)
        elif bound > -np.inf:
            return None
        else:
            contenders, rest = seen, bound
        scores = {name: one.scores(contenders) for name, one in self.lists.items()}
        ranks = {name: self.lists[name].ranks(contenders, scores[name]) for name in self.ranked}
        values = self.values(scores, ranks)
        order = best_first(values, len(values), contenders, context)
        if len(order) > wanted:  # and those that equal the last of them
            ends = wanted + int((values[order[wanted:]] == values[order[wanted - 1]]).sum())
            rest = max(rest, float(values[order[ends:]].max(initial=-np.inf)))
            order = order[:ends]
        return self._slice(contenders, scores, ranks, order, float(rest))

    def _bounds(self, estimates: Mapping[str, Scores]) -> tuple[Scores, Scores]:
        low = {name: own - self.lists[name].error for name, own in estimates.items()}
        high = {name: own + self.lists[name].error for name, own in estimates.items()}
        if not self.ranked and all(one.error == 0 for one in self.lists.values()):
            exact = self.values(estimates, {})
            return exact, exact
        first = {name: self.lists[name].first_ranks(estimates[name]) for name in self.ranked}
        last = {name: self.lists[name].last_ranks(estimates[name]) for name in self.ranked}
        return self.values(low, last), self.values(high, first)

    def _slice(
        self, ids: Ids, scores: Mapping[str, Scores], ranks: Mapping[str, Scores], chosen: Ids, bound: float
    ) -> RelationPrefix:
        import numpy as np

        own, relations = ids[chosen], {}
        for name, of_all in scores.items():
            is_present = ~np.isnan(of_all[chosen])
            relations[name] = (own[is_present], of_all[chosen][is_present])
        terms = self.nodes.nodes(own)
        statistics = {}
        for name, spread in self.spreads.items():
            places = ranks[name][chosen].astype(int).tolist() if name in ranks else [1] * len(own)
            statistics[name] = ListStatistics(dict(zip(terms, places, strict=True)), spread)
        return RelationPrefix(relations, bound, False, statistics, dict(self.floors), again=True)
