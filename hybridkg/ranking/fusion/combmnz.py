"""CombMNZ fusion: the sum of normalised scores, times the number of lists with the subject.

Fox and Shaw, "Combination of multiple searches", TREC-2 (1994); normalised by minmax as in Lee, "Analyses of multiple
evidence combination", SIGIR 1997.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import ENDS, FusedList, added
from hybridkg.interfaces.text_index import Scores
from hybridkg.ranking.fusion.minmax import between


class CombMNZ:
    """Number of lists with the subject, times the sum over these of weight * minmax(score).

    With 1 in one list and 1/4 in another a subject has 2 * 1.25 = 2.5.
    """

    several: ClassVar = True
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({ENDS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        lists_with = sum(one.present.astype(np.float64) for one in lists)
        parts = [one.weight * between(one, one.spread.low, one.scores) for one in lists]
        return lists_with * added([np.where(one.present, part, 0.0) for one, part in zip(lists, parts, strict=True)])
