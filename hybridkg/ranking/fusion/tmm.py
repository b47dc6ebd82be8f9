"""tmm: minmax from the least score that the model can give, so that the worst survivor is not always worth 0.

Which other entities survive then moves a score by one factor only. Weighted sums of it are the convex combinations of
Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval", ACM TOIS 42 (2023), there called TM2C2.
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
        """As Fusion has it."""
        (one,) = lists
        return between(one, one.spread.least, one.floored)
