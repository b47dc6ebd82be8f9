"""Rank join: ranked relations on different variables, joined by the graph, read from their best entities on.

Source: Ilyas, Aref and Elmagarmid, "Supporting top-k join queries in relational databases" (VLDB 2003): a pair with
an entity that has not been read yet has at most the last score of its list and the first scores of the others.
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
from hybridkg.operators.text_query import ranked_query
from hybridkg.operators.topk.rank_first import DEEPER, MIN_DEPTH, look
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.top_k_rows import TopKRows

Relation: TypeAlias = "tuple[Ids, Scores]"
"""(ids, scores) of a ranked list."""

FIRST_DEPTH = 4
"""Times k that are read of each list at first: a pair needs two good entities."""


@dataclass(frozen=True)
class RankJoin(TopKRows):
    """Runs the plan over the best entities of every list, deeper and deeper.

    One MATCH for each ranked variable. The slices grow, so each holds those before it.

    Args:
        budget: what may be spent before the complete lists are joined, in microseconds of the cost model.
    """

    budget: float = inf

    def sizes(self, known: EstimationContext) -> dict[str, float | None]:
        """What the first look takes of each list."""
        depth = float(max(MIN_DEPTH, FIRST_DEPTH * (self.top.k or 1)))
        found: dict[str, float | None] = {}
        for candidates, (match, score) in zip(self.candidates, self.top.matches, strict=True):
            most = known.match_count_bound(match)
            read = depth if most is None else min(depth, most)
            found[score] = times(read, candidates.estimate(known), 1 / max(known.entities, 1.0))
        return found

    def estimate(self, known: EstimationContext) -> float | None:
        """As many as are wanted: it reads on until it has them."""
        return None if self.top.k is None else float(self.top.k)

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The first entities of each list; the bound is that of the pairs with an entity behind them."""
        import numpy as np

        value, k = self.top.value, self.top.k
        assert value is not None
        assert k is not None
        depth, looks = max(MIN_DEPTH, FIRST_DEPTH * k), 0
        before, spent = context.spent(), 0.0
        while True:
            context.meter.add(LOOKS, 1)
            lists = {score: look(match, ranked_query(match), depth, context) for match, score in self.top.matches}
            looks += 1
            context.record_detail(self, looks=looks, read=max(len(ids) for ids, _, _ in lists.values()))
            relations = {score: (ids, own) for score, (ids, own, _) in lists.items()}
            tops = {score: own[0] for score, (_, own) in relations.items() if len(own)}
            bound = -np.inf
            if len(tops) == len(lists):  # where a list is empty, nothing can be joined
                for score, (_, own, ends) in lists.items():
                    if not ends:
                        bound = max(bound, float(value.of({**tops, score: own[-1]}, {})))
            part = RelationPrefix(self._passing(relations, context), bound, again=True)
            yield part
            if part.complete:
                return
            last_look, spent = context.spent() - before - spent, context.spent() - before
            # The next look costs as much as the last one, or more.
            if spent + last_look > self.budget:
                context.record_detail(self, switched=1)
                complete = {score: relation(match, context) for match, score in self.top.matches}
                yield RelationPrefix(self._passing(complete, context), again=True)
                return
            depth *= DEEPER

    def _linked(self, relations: dict[str, Relation], context: ExecutionContext) -> dict[str, Relation] | None:
        """The parts of the lists that a pattern links with each other; None where none has all the variables.

        Its solutions are found in ids, so that only what is in one of them is made a row of terms.
        """
        import numpy as np

        score_of = {one.variable: score for one, (_, score) in zip(self.candidates, self.top.matches, strict=True)}
        common = [one for one in self.candidates[0].fragments if all(one in c.fragments for c in self.candidates)]
        prepared = next((found for one in common if (found := one.prepared(context)) is not None), None)
        if prepared is None:
            return None
        bound = {name: np.sort(relations[score][0]) for name, score in score_of.items()}
        context.meter.add(GRAPH_QUESTIONS, 1)
        table = prepared.rows(list(bound), context.meter, bound)
        parts: dict[str, Relation] = {}
        for name, score in score_of.items():
            ids, own = relations[score]
            kept = np.isin(ids, table.column(name))
            parts[score] = ids[kept], own[kept]
        return parts

    def _passing(self, relations: dict[str, Relation], context: ExecutionContext) -> dict[str, Relation]:
        """The parts of the lists that the graph lets take part."""
        import numpy as np

        linked = self._linked(relations, context)
        if linked is not None:
            return linked
        found = dict(relations)
        for candidates, (_, score) in zip(self.candidates, self.top.matches, strict=True):
            ids, own = found[score]
            if not candidates.unrestricted and len(ids):
                passing = candidates.find(context, np.sort(ids))
                assert passing is not None
                kept = np.isin(ids, passing)
                found[score] = ids[kept], own[kept]
        return found
