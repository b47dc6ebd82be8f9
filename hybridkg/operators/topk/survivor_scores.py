"""Survivor scores: statistics of all surviving scores of a ranking, from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.algebra.least import least_score
from hybridkg.interfaces.fusion import LEAST, MOMENTS, RANKS, FusedList, Spread
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.operators.rank_functions import ListStatistics, fused, reads, spread
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.context import Nodes
    from hybridkg.operators.topk.top_k_rows import RankedTop


def known_of(functions: Sequence[ast.RankFunction]) -> dict[str, frozenset[str]]:
    """Statistics required of each score by the functions that read it."""
    required: dict[str, frozenset[str]] = {}
    for function in functions:
        for item in function.lists:
            required[item.score.name] = required.get(item.score.name, frozenset()) | reads(function)
    return required


@dataclass(frozen=True, eq=False)
class Surviving:
    """Surviving entities uint32[n], ascending, with float64[n] for each score variable; NaN for absent scores."""

    ids: Ids
    scores: Mapping[str, Scores]
    top: RankedTop
    nodes: Nodes

    @cached_property
    def floors(self) -> dict[str, float]:
        """Floor of each score that may be absent."""
        return {score: floor(self.scores[score]) for _, score in self.top.optional}

    @property
    def floored(self) -> Mapping[str, Scores]:
        """Scores with floors for absent ones."""
        import numpy as np

        if not self.top.optional:
            return self.scores
        return {
            name: np.where(np.isnan(own), self.floors[name], own) if name in self.floors else own
            for name, own in self.scores.items()
        }

    @cached_property
    def lists(self) -> dict[str, FusedList]:
        """Inputs of the rank functions."""
        import numpy as np

        least = {score: least_score(match) for match, score in (*self.top.matches, *self.top.optional)}
        lists, floored = {}, self.floored
        for name, needed in known_of(self.top.functions).items():
            own = self.scores[name]
            ranks = self._ranks(own) if RANKS in needed else np.ones(len(own))
            present = own[~np.isnan(own)]
            if MOMENTS in needed:
                of_all = spread(present.tolist())
            else:
                of_all = Spread(float(present.min()), float(present.max())) if len(present) else Spread()
            if LEAST in needed:
                of_all = Spread(of_all.low, of_all.high, of_all.mean, of_all.deviation, least[name])
            lists[name] = FusedList(own, floored[name], ranks, of_all)
        return lists

    @property
    def values(self) -> Scores:
        """float64[n], the rank scores; computed anew, for the one read of a run."""
        import numpy as np

        assert self.top.value is not None
        functions = {function: fused(function, self.lists) for function in self.top.functions}
        return np.asarray(self.top.value.of(self.floored, functions), np.float64)

    def statistics(self, chosen: Any) -> dict[str, ListStatistics]:
        """Statistics with the ranks of some entities, for their rows."""
        terms = self.nodes.nodes(self.ids[chosen])
        statistics = {}
        for name, one in self.lists.items():
            ranks = one.ranks[chosen].astype(int).tolist()
            statistics[name] = ListStatistics(dict(zip(terms, ranks, strict=True)), one.spread)
        return statistics

    def relations(self, chosen: Any) -> dict[str, tuple[Ids, Scores]]:
        """Relation of some entities by score variable, without absent scores."""
        import numpy as np

        own, relations = self.ids[chosen], {}
        for name, scores in self.scores.items():
            of_chosen = scores[chosen]
            relations[name] = own, of_chosen
            if name in self.floors:
                is_present = ~np.isnan(of_chosen)
                relations[name] = own[is_present], of_chosen[is_present]
        return relations

    def _ranks(self, scores: Scores) -> Scores:
        """float64[n]: rank of each, from 1, best first, ties by term; absent ones last."""
        import numpy as np

        ranks = np.empty(len(scores))
        ranks[np.lexsort((self.nodes.rank(self.ids), -scores))] = np.arange(1, len(scores) + 1)
        return ranks


def floor(scores: Scores) -> float:
    """min(0, the minimum of the present scores).

    >>> import numpy as np
    >>> floor(np.array([0.5, np.nan, -0.25])), floor(np.array([0.5]))
    (-0.25, 0.0)
    """
    import numpy as np

    return float(np.fmin.reduce(scores, initial=0.0))
