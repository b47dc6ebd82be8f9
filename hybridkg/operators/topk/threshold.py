"""The best by several relations of one variable, read together from their best on until nothing below can win."""

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

if TYPE_CHECKING:
    from hybridkg.operators.context import Nodes


@dataclass(frozen=True)
class Threshold(TopKRows):
    """The threshold algorithm (Fagin, Lotem and Naor, 2003) over relations that are known up to an error (Listing).

    No entity below the depth that has been read has a greater rank score than the last scores of the lists give, or,
    where ranks count, the ranks behind them: weight / (k + depth + 1) from each list of rrf. Of what has been read,
    only the entities that can still be among the first get exact scores and ranks.

    Exact: ranks and statistics are those among all that survive, which are found before the lists are read.
    """

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k, and where that gave too few rows, again and more."""
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
                seen = np.unique(np.concatenate([one.best(depth) for one in lists.values()]))
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
    """The relations of those entities that all of the required ones have, and these entities."""
    lists: dict[str, Listing] = {}
    base = allowed
    # What is cheap to know exactly leaves less to be compared.
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
    """The rank score of entities whose scores are known exactly, or not quite.

    Args:
        top: what is ranked by.
        lists: by score variable.
        spreads: of the lists that functions read.
        floors: what an absent score counts as, where one may be absent.
        ranked: the lists whose ranks a function reads.
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
        """What has to be known of the lists as wholes."""
        item = {score: match for match, score in (*top.matches, *top.optional)}
        known = known_of(top.functions)
        spreads = {}
        for name, needed in known.items():
            least = least_score(item[name]) if LEAST in needed else float("-inf")
            has_ends = ENDS in needed and len(lists[name].ids) > 0
            spreads[name] = Spread(lists[name].low, lists[name].high, least=least) if has_ends else Spread(least=least)
        floors = {score: min(0.0, lists[score].low) if len(lists[score].ids) else 0.0 for _, score in top.optional}
        ranked = frozenset(name for name, needed in known.items() if RANKS in needed)
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
        found: Scores = np.asarray(self.top.value.of(floored, functions), np.float64)
        return found

    def alone(self, name: str, scores: Scores, ranks: Scores) -> Scores:
        """float64[n], the rank scores of n entities that are in one list and in no other."""
        import numpy as np

        every = {other: scores if other == name else np.full(len(scores), np.nan) for other in self.lists}
        return self.values(every, {name: ranks})

    def unseen(self, depth: int) -> float:
        """No entity that is not among the best of any list, so deep, has a greater rank score."""
        import numpy as np

        scores = {}
        for name, one in self.lists.items():
            reached = one.reached(depth)
            scores[name] = np.array([np.nan if reached == -np.inf else reached + one.error])
        return float(self.values(scores, {name: np.array([depth + 1.0]) for name in self.ranked})[0])

    def best(self, seen: Ids, wanted: int, bound: float, context: ExecutionContext) -> RelationPrefix | None:
        """The best of some entities; None where entities outside may be better.

        Args:
            seen: uint32[n], ascending.
            wanted: how many.
            bound: no other entity has a greater rank score; -inf where there is none.
            context: of the run.
        """
        import numpy as np

        assert self.top.value is not None
        estimates = {name: one.estimates(seen) for name, one in self.lists.items()}
        low, high = self._bounds(estimates)
        limit = bound + self.top.value.slack(bound)
        if len(seen) > wanted:
            least = float(np.partition(low, len(low) - wanted)[len(low) - wanted])
            if least <= limit and bound > -np.inf:
                return None
            may_win = high >= (least - self.top.value.slack(least) if isfinite(least) else least)
            contend, left = seen[may_win], high[~may_win].max(initial=bound)
        elif bound > -np.inf:
            return None
        else:
            contend, left = seen, bound
        scores = {name: one.scores(contend) for name, one in self.lists.items()}
        ranks = {name: self.lists[name].ranks(contend, scores[name]) for name in self.ranked}
        values = self.values(scores, ranks)
        order = best_first(values, len(values), contend, context)
        if len(order) > wanted:  # and those that equal the last of them
            ends = wanted + int((values[order[wanted:]] == values[order[wanted - 1]]).sum())
            left = max(left, float(values[order[ends:]].max(initial=-np.inf)))
            order = order[:ends]
        return self._slice(contend, scores, ranks, order, float(left))

    def _bounds(self, estimates: Mapping[str, Scores]) -> tuple[Scores, Scores]:
        """What the rank scores are at least and at most."""
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
            has = ~np.isnan(of_all[chosen])
            relations[name] = (own[has], of_all[chosen][has])
        terms = self.nodes.nodes(own)
        known = {}
        for name, spread in self.spreads.items():
            places = ranks[name][chosen].astype(int).tolist() if name in ranks else [1] * len(own)
            known[name] = ListStatistics(dict(zip(terms, places, strict=True)), spread)
        return RelationPrefix(relations, bound, False, known, dict(self.floors), again=True)
