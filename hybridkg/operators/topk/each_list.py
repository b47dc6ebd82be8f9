"""The best rows of a UNION of ranked relations: each branch ranks its own rows; the best of all are among theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybridkg.interfaces.meter import LOOKS
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.rank_functions import ListStatistics
from hybridkg.operators.topk.rank_first import DEEPER
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.operators.topk.score_intervals import Listing
from hybridkg.operators.topk.threshold import Fusing
from hybridkg.operators.topk.top_k_rows import TopKRows


@dataclass(frozen=True)
class EachList(TopKRows):
    """Reads each list so deep as rows are wanted: a row has one score, and rises with it, so the order is the list's.

    `top.optional` has the relation of each branch.
    """

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k of each list, as far as they are among the best of all; where ties hide that, again and more."""
        import numpy as np

        assert self.top.k is not None
        assert context.nodes is not None
        lists = {score: Listing.of(match, None, context) for match, score in self.top.optional}
        fusing = Fusing.of(self.top, lists, context.nodes)
        wanted = max(self.top.k, 1)
        while True:
            context.meter.add(LOOKS, 1)
            bound, found = -np.inf, {}
            for name, one in lists.items():
                ids = one.best(wanted)
                scores = one.scores(ids)
                ranks = one.ranks(ids, scores) if name in fusing.ranked else np.ones(len(ids))
                found[name] = ids, scores, ranks, fusing.alone(name, scores, ranks)
                if wanted < len(one.ids):
                    last = np.array([one.reached(wanted) + one.error]), np.array([wanted + 1.0])
                    bound = max(bound, float(fusing.alone(name, *last)[0]))
            every = np.concatenate([values for *_, values in found.values()])
            least = -np.inf if len(every) <= wanted else np.partition(every, len(every) - wanted)[len(every) - wanted]
            bound = max(bound, float(every[every < least].max(initial=-np.inf)))
            relations, known = {}, {}
            for name, (ids, scores, ranks, values) in found.items():
                kept = values >= least
                relations[name] = ids[kept], scores[kept]
                if name in fusing.spreads:
                    places = zip(context.nodes.nodes(ids[kept]), ranks[kept].astype(int).tolist(), strict=True)
                    known[name] = ListStatistics(dict(places), fusing.spreads[name])
            context.record_detail(self, read=wanted)
            yield RelationPrefix(relations, bound, False, known, dict(fusing.floors), again=True)
            if bound == -np.inf:
                return
            wanted *= DEEPER

    def matching(self, known: EstimationContext) -> float | None:
        """Those of all lists."""
        sizes = [known.match_count_bound(match) for match, _ in self.top.optional]
        return sum(size for size in sizes if size is not None)
