"""Inverse square rank fusion (isr): favours the first ranks, and presence in several lists, more than rrf does.

Mourao, Martins and Magalhaes, "Multimodal medical information retrieval with unsupervised rank fusion", Computerized
Medical Imaging and Graphics 39 (2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.fusion import RANKS, FusedList, added
from hybridkg.interfaces.text_index import Scores


class InverseSquareRank:
    """Number of lists with the subject, times the sum over these of weight / rank^2.

    The first of one list and the second of another has 2 * (1 + 1/4) = 2.5.
    """

    several: ClassVar = True
    arguments: ClassVar[Mapping[str, float]] = {}
    reads: ClassVar = frozenset({RANKS})

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        lists_with = sum(one.present.astype(np.float64) for one in lists)
        return lists_with * added([np.where(one.present, one.weight / (one.ranks * one.ranks), 0.0) for one in lists])
