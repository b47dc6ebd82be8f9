"""Rank join: ranked relations on different variables, joined by the graph and read best first.

Source: Ilyas, Aref and Elmagarmid, "Supporting top-k join queries in relational databases" (VLDB 2003): a pair with an
unread entity has at most the last score of its list and the first scores of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from hybridkg.interfaces.meter import GRAPH_QUESTIONS, LOOKS
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times
from hybridkg.operators.index_access import relation
from hybridkg.operators.topk.rank_first import DEEPER, MIN_DEPTH, look
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.top_k_rows import TopKRows

Relation: TypeAlias = "tuple[Ids, Scores]"
"""Pair (ids, scores) of a ranked list."""

FIRST_DEPTH = 4
"""Depth of the first round, in multiples of k: a pair needs two good entities."""


@dataclass(frozen=True)
class RankJoin(TopKRows):
    """Plan over the best entities of every list, deeper and deeper; one MATCH for each ranked variable. Each slice
    contains the previous ones. Once it has cost `budget` microseconds (cost model), the complete lists are joined.
    """

    budget: float = inf

    def sizes(self, estimates: EstimationContext) -> dict[str, float | None]:
        """Entities of the first round of each list."""
        depth = float(max(MIN_DEPTH, FIRST_DEPTH * (self.top.k or 1)))
        sizes: dict[str, float | None] = {}
        for candidates, (match, score) in zip(self.candidates, self.top.matches, strict=True):
            bound = estimates.match_count_bound(match)
            read = depth if bound is None else min(depth, bound)
            sizes[score] = times(read, candidates.estimate(estimates), 1 / max(estimates.entities, 1.0))
        return sizes

    def estimate(self, estimates: EstimationContext) -> float | None:
        """At most k: the lists are read until there are k rows."""
        return None if self.top.k is None else float(self.top.k)

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """First entities of each list; the bound is that of the pairs with an unread entity."""
        import numpy as np

        value, k = self.top.value, self.top.k
        assert value is not None
        assert k is not None
        depth, looks = max(MIN_DEPTH, FIRST_DEPTH * k), 0
        before, spent = context.spent(), 0.0
        while True:
            context.meter.add(LOOKS, 1)
            lists = {score: look(match, context.checked(match)[1], depth, context) for match, score in self.top.matches}
            looks += 1
            context.record_detail(self, looks=looks, read=max(len(ids) for ids, _, _ in lists.values()))
            relations = {score: (ids, scores) for score, (ids, scores, _) in lists.items()}
            tops = {score: scores[0] for score, (_, scores) in relations.items() if len(scores)}
            bound = -np.inf
            if len(tops) == len(lists):  # an empty list joins nothing
                for score, (_, scores, is_last) in lists.items():
                    if not is_last:
                        bound = max(bound, float(value.of({**tops, score: scores[-1]}, {})))
            part = RelationPrefix(self._passing(relations, context), bound, again=True)
            yield part
            if part.complete:
                return
            last_look, spent = context.spent() - before - spent, context.spent() - before
            # The next round costs at least as much as the last one.
            if spent + last_look > self.budget:
                context.record_detail(self, switched=1)
                complete = {score: relation(match, context) for match, score in self.top.matches}
                yield RelationPrefix(self._passing(complete, context), again=True)
                return
            depth *= DEEPER

    def _linked(self, relations: dict[str, Relation], context: ExecutionContext) -> dict[str, Relation] | None:
        """Parts of the lists linked by a pattern; None if no pattern has all the variables.

        Its solutions are found in ids, so that only joined entities become terms.
        """
        import numpy as np

        score_of = {one.variable: score for one, (_, score) in zip(self.candidates, self.top.matches, strict=True)}
        common = [one for one in self.candidates[0].fragments if all(one in c.fragments for c in self.candidates)]
        prepared = next((compiled for one in common if (compiled := one.prepared(context)) is not None), None)
        if prepared is None:
            return None
        bound = {name: np.sort(relations[score][0]) for name, score in score_of.items()}
        context.meter.add(GRAPH_QUESTIONS, 1)
        table = prepared.rows(list(bound), context.meter, bound)
        parts: dict[str, Relation] = {}
        for name, score in score_of.items():
            ids, scores = relations[score]
            is_linked = np.isin(ids, table.column(name))
            parts[score] = ids[is_linked], scores[is_linked]
        return parts

    def _passing(self, relations: dict[str, Relation], context: ExecutionContext) -> dict[str, Relation]:
        import numpy as np

        linked = self._linked(relations, context)
        if linked is not None:
            return linked
        parts = dict(relations)
        for candidates, (_, score) in zip(self.candidates, self.top.matches, strict=True):
            ids, scores = parts[score]
            if not candidates.unrestricted and len(ids):
                passing = candidates.find(context, np.sort(ids))
                assert passing is not None
                passes = np.isin(ids, passing)
                parts[score] = ids[passes], scores[passes]
        return parts
