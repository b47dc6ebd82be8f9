"""Score intervals: relations whose scores are known within an error, which suffices to bound ranks and rank scores.

Exact comparison of a query with all vectors takes several times as long as a matrix product, whose error is bounded.
Scores of a text index are exact, with error 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.meter import POSTINGS, TEXT_QUESTIONS
from hybridkg.interfaces.ranked_index import postings_read
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.operators.id_sets import held
from hybridkg.operators.index_access import relation, scores_among
from hybridkg.operators.topk.filter_first import where_present
from hybridkg.query import ast
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybridkg.operators.context import ExecutionContext, Nodes


@dataclass(frozen=True, eq=False)
class Listing:
    """Relation of a MATCH or NEAR for some entities.

    Args:
        ids: uint32[n], ascending.
        about: float[n], scores within `error` of the true ones.
        error: of the scores.
        exact: float64[m], true scores of some of the ids.
        nodes: the order of terms.
    """

    ids: Ids
    about: NDArray[Any]
    error: float
    exact: Callable[[Ids], Scores]
    nodes: Nodes

    @classmethod
    def of(cls, match: ast.RankedItem, among: Ids | None, context: ExecutionContext) -> Listing:
        """Relation of all entities or of some (ascending, distinct)."""
        import numpy as np

        index, query = context.checked(match)
        assert context.nodes is not None
        if isinstance(match, ast.Near) and match.top is None:
            assert isinstance(query, VectorQuery)
            ids, about, error = index.estimates(query, among)
            context.meter.add(TEXT_QUESTIONS, 1)
            context.meter.add(POSTINGS, int(postings_read(index, query, None if among is None else len(among))))
            return cls(ids, about, error, lambda some: scores_among(index, query, some, context), context.nodes)
        if among is None:
            ids, scores = relation(match, context)
        else:
            of_all = where_present(match, among, context)
            present = ~np.isnan(of_all)
            ids, scores = among[present], of_all[present]
        return cls(ids, scores, 0.0, lambda some: scores[ids.searchsorted(some)], context.nodes)

    def among(self, ids: Ids) -> Listing:
        """Restriction to a set of entities, ascending and distinct."""
        is_member = held(self.ids, ids)
        return self if is_member.all() else replace(self, ids=self.ids[is_member], about=self.about[is_member])

    @cached_property
    def ascending(self) -> NDArray[Any]:
        """float[n]: sorted scores."""
        import numpy as np

        return np.sort(self.about)

    def reached(self, depth: int) -> float:
        """Lower bound, within the error, of the score at a rank; -inf after the last one."""
        import numpy as np

        return float(self.ascending[-depth]) if depth <= len(self.ids) else -np.inf

    def best(self, depth: int) -> Ids:
        """Superset of the ids of the best `depth` entities; ascending."""
        if depth >= len(self.ids):
            return self.ids
        ids: Ids = self.ids[self.about >= self.about.dtype.type(self.reached(depth) - 3 * self.error)]
        return ids

    @cached_property
    def low(self) -> float:
        """Minimum score, exact."""
        near = self.ids[self.about <= self.about.dtype.type(float(self.ascending[0]) + 3 * self.error)]
        return float(self.exact(near).min())

    @cached_property
    def high(self) -> float:
        """Maximum score, exact."""
        return float(self.exact(self.best(1)).max())

    def estimates(self, ids: Ids) -> Scores:
        """float64[len(ids)]: approximate scores; NaN for absent ones."""
        return self._present(ids, lambda own: self.about[self.ids.searchsorted(own)])

    def scores(self, ids: Ids) -> Scores:
        """float64[len(ids)]: exact scores; NaN for absent ones."""
        return self._present(ids, self.exact)

    def _present(self, ids: Ids, find: Callable[[Ids], Scores]) -> Scores:
        import numpy as np

        scores = np.full(len(ids), np.nan)
        is_member = held(ids, self.ids)
        if is_member.any():
            scores[is_member] = find(ids[is_member])
        return scores

    def first_ranks(self, estimates: Scores) -> Scores:
        """float64[m], from 1: lower bounds of the ranks of entities with these approximate scores."""
        import numpy as np

        above = len(self.ids) - self.ascending.searchsorted(estimates + 3 * self.error, "right")
        best: Scores = (above + 1).astype(np.float64)
        return best

    def last_ranks(self, estimates: Scores) -> Scores:
        """float64[m]: upper bounds of the ranks of entities with these approximate scores."""
        import numpy as np

        reached = len(self.ids) - self.ascending.searchsorted(estimates - 3 * self.error, "left")
        worst: Scores = np.maximum(reached, 1).astype(np.float64)
        return worst

    def ranks(self, ids: Ids, scores: Scores) -> Scores:
        """float64[len(ids)]: ranks of some entities, from 1, ties by term; 1 for absent ones.

        Only entities within the error of one of them are compared exactly.
        """
        import numpy as np

        ranks = np.ones(len(ids))
        own_rank = self.nodes.rank(ids)
        for score in sorted_distinct(scores[~np.isnan(scores)]):
            low, high = (self.about.dtype.type(score + sign * 2 * self.error) for sign in (-1, 1))
            first, behind = self.ascending.searchsorted(low, "left"), self.ascending.searchsorted(high, "right")
            at, above = scores == score, len(self.ids) - int(behind)
            ranks[at] = 1 + above
            if behind - first > 1:
                near = self.ids[(self.about >= low) & (self.about <= high)]
                theirs = self.exact(near)
                tied = np.sort(self.nodes.rank(near[theirs == score]))
                ranks[at] += int((theirs > score).sum()) + tied.searchsorted(own_rank[at])
        return ranks
