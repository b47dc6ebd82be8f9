"""What makes one rank score of several: the functions of RANK BY, by name. A new one is one file and one line here."""

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
"""The place of each subject among all that survive."""

ENDS = "ends"
"""The lowest and the highest surviving score."""

MOMENTS = "moments"
"""Mean and deviation of all surviving scores: nobody knows them who has not seen all."""

LEAST = "least"
"""The least score that the model can give, whoever survives."""


@dataclass(frozen=True)
class Spread:
    """Of all surviving scores of one relation.

    Args:
        low: the lowest; 0 without any.
        high: the highest.
        mean: over the distinct (subject, score).
        deviation: of the population; 0 where all are equal.
        least: the theoretical minimum: no score of the model is lower; -inf where there is none.
    """

    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    least: float = float("-inf")


@dataclass(frozen=True, eq=False)
class FusedList:
    """One score of n rows or entities, as a function of all scores sees it.

    Args:
        scores: float64[n]; NaN where it is absent.
        floored: the same, an absent one as min(0, the lowest surviving one).
        ranks: float64[n], from 1, the best first; anything where the score is absent.
        spread: of all surviving scores.
        weight: of the list; 1 where the query gives none.
    """

    scores: Scores
    floored: Scores
    ranks: Scores
    spread: Spread
    weight: float = 1.0

    @property
    def present(self) -> NDArray[np.bool_]:
        """bool[n]: where there is a score."""
        found: NDArray[np.bool_] = self.scores == self.scores
        return found


class Fusion(Protocol):
    """A function of all surviving scores. Has no state.

    Laws, which tests/ranking/test_fusion_laws.py holds every registered one to: to swap lists, with their weights,
    changes nothing, to the last bit; a row never falls when one of its scores rises, so an absent score never helps;
    over one list alone, the order is that of its scores.
    """

    several: ClassVar[bool]
    """Whether it takes several scores, each with a weight where one is given."""

    arguments: ClassVar[Mapping[str, float]]
    """Named arguments and their defaults; each is a number of at least 0."""

    reads: ClassVar[frozenset[str]]
    """What it has to know of all surviving scores: of RANKS, ENDS, MOMENTS and LEAST."""

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
    """The sum of some lists' parts, the same to the last bit in whatever order the lists come.

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
