"""Theoretical min-max normalisation (tmm): from the minimum score of the model instead of the lowest survivor.

The other survivors then change a score by one common factor only. Weighted sums of it are the convex combinations
(TM2C2) of Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval", ACM TOIS 42 (2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hybridkg.interfaces.fusion import ENDS, LEAST, FusedList
from hybridkg.interfaces.text_index import Scores
from hybridkg.ranking.fusion.minmax import between


class TheoreticalMinMax:
    """(score - least) / (highest - least): least is 0 for bm25f, bm25 and combined_fields, -1 for a cosine.

    Of the cosines 0.6 and 0.2 the second has 1.2 / 1.6 = 0.75.
    """

    several: ClassVar = False
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({ENDS, LEAST})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        (one,) = lists
        return between(one, one.spread.least, one.floored)
