"""Top rows of a UNION of ranked relations: the best of all are among the best of each branch."""

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
    """Top k of each list: a row has one score, and rises with it, so it follows the order of its list.

    `top.optional` has the relation of each branch.
    """

    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The best k of each list that are among the best of all; with ties at the end, more and more."""
        import numpy as np

        assert self.top.k is not None
        assert context.nodes is not None
        lists = {score: Listing.of(match, None, context) for match, score in self.top.optional}
        fusing = Fusing.of(self.top, lists, context.nodes)
        wanted = max(self.top.k, 1)
        while True:
            context.meter.add(LOOKS, 1)
            bound, answers = -np.inf, {}
            for name, listing in lists.items():
                ids = listing.best(wanted)
                scores = listing.scores(ids)
                ranks = listing.ranks(ids, scores) if name in fusing.ranked else np.ones(len(ids))
                answers[name] = ids, scores, ranks, fusing.alone(name, scores, ranks)
                if wanted < len(listing.ids):
                    last = np.array([listing.reached(wanted) + listing.error]), np.array([wanted + 1.0])
                    bound = max(bound, float(fusing.alone(name, *last)[0]))
            all_values = np.concatenate([values for *_, values in answers.values()])
            last_place = len(all_values) - wanted
            threshold = -np.inf if last_place <= 0 else np.partition(all_values, last_place)[last_place]
            bound = max(bound, float(all_values[all_values < threshold].max(initial=-np.inf)))
            relations, statistics = {}, {}
            for name, (ids, scores, ranks, values) in answers.items():
                chosen = values >= threshold
                relations[name] = ids[chosen], scores[chosen]
                if name in fusing.spreads:
                    places = zip(context.nodes.nodes(ids[chosen]), ranks[chosen].astype(int).tolist(), strict=True)
                    statistics[name] = ListStatistics(dict(places), fusing.spreads[name])
            context.record_detail(self, read=wanted)
            yield RelationPrefix(relations, bound, False, statistics, dict(fusing.floors), again=True)
            if bound == -np.inf:
                return
            wanted *= DEEPER

    def matching(self, estimates: EstimationContext) -> float | None:
        sizes = [estimates.match_count_bound(match) for match, _ in self.top.optional]
        return sum(size for size in sizes if size is not None)
