"""Reciprocal rank fusion (rrf): uses ranks only, so scores of any kinds may be fused.

Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import RANKS, FusedList, added
from hybridkg.interfaces.text_index import Scores


class ReciprocalRankFusion:
    """Sum over the lists of weight / (k + rank); a list in which the subject is absent adds nothing.

    With k=60 the first of one list has 1 / 61 = .016393.
    """

    several: ClassVar = True
    arguments: ClassVar = {"k": 60.0}
    """The constant of the paper."""
    reads: ClassVar = frozenset({RANKS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        k = arguments["k"]
        return added([np.where(one.present, one.weight / (k + one.ranks), 0.0) for one in lists])
