"""Rank join: ranked relations on different variables, joined by the graph, read from their best entities on.

Source: Ilyas, Aref and Elmagarmid, "Supporting top-k join queries in relational databases" (VLDB 2003): a pair with
an entity that has not been read yet has at most the last score of its list and the first scores of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybridkg.operators.best_rows import BestRows
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.known import Known, times
from hybridkg.operators.rank_first import DEEPER, LEAST_DEPTH, look
from hybridkg.operators.slices import Slice

FIRST_DEPTH = 4
"""Times k that are read of each list at first: a pair needs two good entities."""


@dataclass(frozen=True)
class RankJoin(BestRows):
    """Runs the plan over the best entities of every list, deeper and deeper.

    One MATCH for each ranked variable. The slices grow, so each holds those before it.
    """

    def sizes(self, known: Known) -> dict[str, float | None]:
        """What the first look takes of each list."""
        depth = float(max(LEAST_DEPTH, FIRST_DEPTH * (self.top.k or 1)))
        found: dict[str, float | None] = {}
        for candidates, (match, score) in zip(self.candidates, self.top.matches, strict=True):
            most = known.most(match)
            read = depth if most is None else min(depth, most)
            found[score] = times(read, candidates.estimate(known), 1 / max(known.entities, 1.0))
        return found

    def estimate(self, known: Known) -> float | None:
        """As many as are wanted: it reads on until it has them."""
        return None if self.top.k is None else float(self.top.k)

    def slices(self, context: ExecutionContext) -> Iterator[Slice]:
        """The first entities of each list; the bound is that of the pairs with an entity behind them."""
        import numpy as np

        value, k = self.top.value, self.top.k
        assert value is not None
        assert k is not None
        depth, looks = max(LEAST_DEPTH, FIRST_DEPTH * k), 0
        while True:
            lists = {score: look(match, depth, context) for match, score in self.top.matches}
            looks += 1
            context.tell(self, looks=looks, read=max(len(ids) for ids, _, _ in lists.values()))
            relations = {score: (ids, own) for score, (ids, own, _) in lists.items()}
            tops = {score: own[0] for score, (_, own) in relations.items() if len(own)}
            bound = -np.inf
            if len(tops) == len(lists):  # where a list is empty, nothing can be joined
                for score, (_, own, ends) in lists.items():
                    if not ends:
                        bound = max(bound, float(value.of({**tops, score: own[-1]}, {})))
            for candidates, (_, score) in zip(self.candidates, self.top.matches, strict=True):
                ids, own = relations[score]
                if not candidates.unrestricted and len(ids):
                    ascending = np.argsort(ids)
                    passing = candidates.find(context, ids[ascending])
                    assert passing is not None
                    kept = np.isin(ids, passing)
                    relations[score] = ids[kept], own[kept]
            part = Slice(relations, bound, again=True)
            yield part
            if part.complete:
                return
            depth *= DEEPER
