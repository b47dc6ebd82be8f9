"""Score fusion, the functions of RANK BY, and their registry. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from hybridkg.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.interfaces.text_index import Scores

RANKS = "ranks"
"""The rank of each subject among all surviving ones."""

ENDS = "ends"
"""The minimum and maximum surviving score."""

MOMENTS = "moments"
"""Mean and deviation of all surviving scores, which need the complete lists."""

LEAST = "least"
"""The theoretical minimum of the model's scores."""


@dataclass(frozen=True)
class Spread:
    """Statistics of all surviving scores of one relation.

    Args:
        low: the minimum; 0 without any.
        high: the maximum.
        mean: over the distinct (subject, score).
        deviation: of the population; 0 where all are equal.
        least: the theoretical minimum of the model's scores; -inf where there is none.
    """

    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    least: float = float("-inf")


@dataclass(frozen=True, eq=False)
class FusedList:
    """The scores of one list for n rows or entities, as a fusion reads them.

    Args:
        scores: float64[n]; NaN where absent.
        floored: the same, with min(0, the minimum surviving score) where absent.
        ranks: float64[n], from 1, best first; undefined where the score is absent.
        spread: of all surviving scores.
        weight: of the list; 1 by default.
    """

    scores: Scores
    floored: Scores
    ranks: Scores
    spread: Spread
    weight: float = 1.0

    @property
    def present(self) -> NDArray[np.bool_]:
        """bool[n]: whether there is a score."""
        present: NDArray[np.bool_] = self.scores == self.scores
        return present


class Fusion(Protocol):
    """A stateless function of all surviving scores.

    Laws, which tests/ranking/test_fusion_laws.py checks for every registered one: permuting the lists, with their
    weights, changes no bit; a row never falls when one of its scores rises, so an absent score never helps; over a
    single list, the order is that of its scores.
    """

    several: ClassVar[bool]
    """Whether it takes several scores, each with an optional weight."""

    arguments: ClassVar[Mapping[str, float]]
    """Named arguments with their defaults; each is a number of at least 0."""

    reads: ClassVar[frozenset[str]]
    """The statistics of all surviving scores that it needs: of RANKS, ENDS, MOMENTS and LEAST."""

    def values(self, lists: Sequence[FusedList], arguments: Mapping[str, float]) -> Scores:
        """float64[n], finite."""


FUSIONS = Registry(
    "function of RANK BY",
    "hybridkg.fusions",
    {
        "combmnz": "hybridkg.ranking.fusion.combmnz:CombMNZ",
        "isr": "hybridkg.ranking.fusion.isr:InverseSquareRank",
        "minmax": "hybridkg.ranking.fusion.minmax:MinMax",
        "rrf": "hybridkg.ranking.fusion.rrf:ReciprocalRankFusion",
        "tmm": "hybridkg.ranking.fusion.tmm:TheoreticalMinMax",
        "zscore": "hybridkg.ranking.fusion.zscore:ZScore",
    },
)


def added(parts: Sequence[Scores]) -> Scores:
    """The sum of the parts of some lists, with the same bits in any order of the lists.

    >>> import numpy as np
    >>> added([np.array([1e16]), np.array([1.0]), np.array([-1e16])])
    array([0.])
    """
    import numpy as np

    ordered = np.sort(np.stack(parts), axis=0) if len(parts) > 2 else parts  # a + b is b + a
    total: Scores = ordered[0].copy()
    for part in ordered[1:]:
        total += part
    return total
