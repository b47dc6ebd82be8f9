"""Rank first: the best entities of the text are tested one after the other until enough satisfy the pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.meter import LOOKS
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.id_sets import held
from hybridkg.operators.index_access import best_matches, scores_among
from hybridkg.operators.predicate_pushdown import pushdown_conditions, shown, with_conditions
from hybridkg.operators.text_query import ranked_query
from hybridkg.operators.topk.filter_first import best_first
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.top_k_rows import TopKRows
from hybridkg.query import ast
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_DEPTH = 32
"""Entities of the first round of a relation."""

DEEPER = 4
"""Ratio of the depths of two rounds; a round costs little more than the one before it, because an index prunes all but
its best k."""


@dataclass(frozen=True)
class RankFirst(TopKRows):
    """Ranked relations of one variable, read best first; the graph tests their entities.

    With several relations it is the threshold algorithm (Fagin, Lotem and Naor, "Optimal aggregation algorithms for
    middleware", 2003): every entity of one list is scored by the others at once, and no unread entity has a greater
    rank score than the last scores of the lists together. Once it has cost as much as the cheapest operator of
    `instead` (`budgets`, in microseconds of the cost model), that takes over. It ends where a list is below the score
    that a FILTER demands (`least`, by score variable).
    """

    instead: tuple[TopKRows, ...] = ()
    budgets: tuple[float, ...] = ()
    least: tuple[tuple[str, float], ...] = ()

    @property
    def other(self) -> tuple[TopKRows | None, float]:
        """The cheapest alternative, and its cost."""
        if not self.instead:
            return None, inf
        lowest = min(self.budgets)
        return self.instead[self.budgets.index(lowest)], lowest

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """Candidates that no unread entity can beat, round by round."""
        import numpy as np

        value, k = self.top.value, self.top.k
        assert value is not None
        assert k is not None
        spent_before, depth = context.spent(), max(MIN_DEPTH, 2 * k)
        follow = len(self.top.matches) == 1 and self.top.ties_follow(self.candidates[0].variable)
        seen, pool = np.zeros(0, np.uint32), Pool.empty([score for _, score in self.top.matches])
        looks, passed, (other, budget) = 0, 0, self.other
        index, _ = context.checked(self.top.matches[0][0])
        queries = self._queries(index, [(match, context.checked(match)[1]) for match, _ in self.top.matches])
        spent = 0.0
        while True:
            context.meter.add(LOOKS, 1)
            lists = [self._look(match, query, depth, context) for match, query in queries]
            done = any(is_last for _, _, is_last in lists)
            matches = zip(lists, self.top.matches, strict=True)
            last = {score: values[-1] for (_, values, _), (_, score) in matches if len(values)}
            done = done or any(score in last and last[score] < least for score, least in self.least)
            bound = -np.inf if done else float(value.of(last, {}))
            listed = [ids for ids, _, _ in lists]
            read = np.sort(listed[0]) if len(listed) == 1 else sorted_distinct(np.concatenate(listed))
            fresh = read[~held(read, seen)] if len(seen) else read
            seen = np.sort(np.concatenate([seen, fresh])) if len(seen) else fresh
            survivors = self._survivors(fresh, lists, context)
            pool, looks, passed = pool.joined(survivors), looks + 1, passed + len(survivors.ids)
            context.record_detail(
                self, looks=looks, read=max(len(ids) for ids, _, _ in lists), seen=len(seen), passed=passed
            )
            chosen = pool.sure(bound if follow or done else bound + value.slack(bound), follow or done, context)
            if self.top.exact:
                chosen = _first(chosen, pool, k, follow) if done or len(chosen) >= k else chosen[:0]
            if done or len(chosen) or not k:
                part, pool = pool.split(chosen, bound, follow)
                yield part
                if not part.complete and done:
                    part, pool = pool.split(np.arange(len(pool.ids)), bound, follow)
                    yield part
                if done:
                    return
            last_look, spent = context.spent() - spent_before - spent, context.spent() - spent_before
            # The next round costs at least as much as the last one.
            if other is not None and spent + last_look > budget:
                context.record_detail(self, switched=1)
                yield from other.from_the_start(context)
                return
            depth *= DEEPER

    def _queries(
        self, index: RankedIndex, queries: list[tuple[ast.RankedItem, RankedQuery]]
    ) -> list[tuple[ast.RankedItem, RankedQuery]]:
        """Query of each MATCH; for a single one, with the pushed-down conditions of the graph."""
        (candidates,), (match, query) = self.candidates, queries[0]
        if len(queries) > 1 or match.top is not None or not candidates.fragments:
            return queries
        find = lambda: pushdown_conditions(candidates.variable, candidates.fragments[0])
        return [(match, with_conditions(query, find, index))]

    def _look(
        self, match: ast.RankedItem, query: RankedQuery, depth: int, context: ExecutionContext
    ) -> tuple[Ids, Scores, bool]:
        """`look`; but next to other lists, one of TOP is read completely, because no score decides its membership."""
        return look(match, query, depth if match.top is None or len(self.top.matches) == 1 else match.top, context)

    def details(self, estimates: EstimationContext) -> str:
        if estimates.text is None:
            return ""
        queries = [(match, ranked_query(match)) for match, _ in self.top.matches]
        _, query = self._queries(estimates.text, queries)[0]
        return shown(query.conditions).lstrip() if isinstance(query, TextQuery) else ""

    def _survivors(self, fresh: Ids, lists: list[tuple[Ids, Scores, bool]], context: ExecutionContext) -> Pool:
        import numpy as np

        assert self.top.value is not None
        (candidates,) = self.candidates
        ids = fresh if candidates.unrestricted else candidates.find(context, fresh)
        assert ids is not None
        scores: dict[str, Scores] = {}
        for (match, score), (listed, own, _) in zip(self.top.matches, lists, strict=True):
            if len(lists) == 1 or match.top is not None:
                order = np.argsort(listed)
                ascending = listed[order]
                if len(lists) > 1:  # with one list, all survivors are in it
                    matching = held(ids, ascending)
                    ids, scores = ids[matching], {name: of_match[matching] for name, of_match in scores.items()}
                scores[score] = own[order[ascending.searchsorted(ids)]]
            else:
                values = scores_among(*context.checked(match), ids, context)
                matching = ~np.isnan(values)
                ids, scores = ids[matching], {name: of_match[matching] for name, of_match in scores.items()}
                scores[score] = values[matching]
        return Pool(ids, scores, np.asarray(self.top.value.of(scores, {}), np.float64))


@dataclass(frozen=True)
class Pool:
    """Scored candidates not yet returned: uint32[n], float64[n] for each score variable, rank scores float64[n]."""

    ids: Ids
    scores: dict[str, Scores]
    values: Scores

    @classmethod
    def empty(cls, scores: list[str]) -> Pool:
        import numpy as np

        return cls(np.zeros(0, np.uint32), {score: np.zeros(0) for score in scores}, np.zeros(0))

    def joined(self, other: Pool) -> Pool:
        """Union of two pools."""
        if not len(self.ids):
            return other
        import numpy as np

        scores = {name: np.concatenate([own, other.scores[name]]) for name, own in self.scores.items()}
        ids = np.concatenate([self.ids, other.ids])
        return Pool(ids, scores, np.concatenate([self.values, other.values]))

    def sure(self, bound: float, equal_too: bool, context: ExecutionContext) -> NDArray[Any]:
        """Indices of candidates above a bound, or at it as well; best first, equal ones in term order."""
        import numpy as np

        above = np.flatnonzero(self.values >= bound if equal_too else self.values > bound)
        chosen: NDArray[Any] = above[best_first(self.values[above], len(above), self.ids[above], context)]
        return chosen

    def split(self, chosen: NDArray[Any], bound: float, follow: bool) -> tuple[RelationPrefix, Pool]:
        """The chosen candidates as a slice, and the others; `bound` is that of the unread entities."""
        import numpy as np

        rest = np.ones(len(self.ids), bool)
        rest[chosen] = False
        left = Pool(self.ids[rest], {name: own[rest] for name, own in self.scores.items()}, self.values[rest])
        own = self.ids[chosen]
        relations = {name: (own, of_match[chosen]) for name, of_match in self.scores.items()}
        return RelationPrefix(relations, max(bound, float(left.values.max(initial=-np.inf))), follow), left


def look(match: ast.RankedItem, query: RankedQuery, depth: int, context: ExecutionContext) -> tuple[Ids, Scores, bool]:
    """Best entities of the relation of a MATCH, best first, and whether there are no more."""
    index, _ = context.checked(match)
    k = depth if match.top is None else min(depth, match.top)
    ids, scores = best_matches(index, query, k, context, sized=True)
    return ids, scores, len(ids) < k or k == match.top


def _first(chosen: NDArray[Any], pool: Pool, k: int, follow: bool) -> NDArray[Any]:
    """First k of ordered candidates; unless ties follow, with those that equal the last of them."""
    if len(chosen) <= k:
        return chosen
    if follow or not k:
        return chosen[:k]
    last = pool.values[chosen[k - 1]]
    return chosen[: k + int((pool.values[chosen[k:]] == last).sum())]
