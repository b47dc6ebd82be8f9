"""Words of a MATCH by the number of papers that have one of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.texts import vocabulary

SHARES = {"97 %": 0.97, "25 %": 0.25, "2.8 %": 0.028}
"""Of the papers: 97,000, 25,000 and 2,800 of 100,000."""
COMMON = 24
"""So many of the most frequent words are combined; those around a share in number are added alone."""
KEPT = 200


@dataclass(frozen=True)
class Matches:
    """For each share of the papers, texts that about so many match, nearest first.

    Args:
        texts: by share.
        rare: words that about ten papers have.
    """

    texts: dict[str, tuple[str, ...]]
    rare: tuple[str, ...]

    @classmethod
    def of(cls, df: NDArray[np.int64], papers: int) -> Matches:
        """From the frequencies of the words; words of a text are taken as independent.

        >>> found = Matches.of(np.array([900, 500, 260, 30] + [9] * 20), 1000)
        >>> len(found.texts["97 %"][0].split()) > 1, len(found.texts["25 %"][0].split())
        (True, 1)
        """
        words = vocabulary()
        order = np.argsort(-df, kind="stable")
        shares = df[order] / papers
        texts = {name: tuple(_near(shares, order, share, words)) for name, share in SHARES.items()}
        rare = np.argsort(np.abs(df - 10), kind="stable")[:KEPT]
        return cls(texts, tuple(words[at] for at in rare.tolist()))


def _near(shares: NDArray[np.float64], order: NDArray[np.int64], share: float, words: list[str]) -> list[str]:
    """The texts that match nearest to a share of the papers."""
    alone = np.argsort(np.abs(np.log(np.maximum(shares, 1e-9) / share)), kind="stable")[:KEPT]
    sets: list[tuple[int, ...]] = [(at,) for at in alone.tolist()]
    common = range(min(COMMON, len(order)))
    sets += [own for size in (2, 3) for own in combinations(common, size)]
    sizes = np.array([1 - np.prod(1 - shares[list(own)]) for own in sets])
    best = np.argsort(np.abs(np.log(np.maximum(sizes, 1e-9) / share)), kind="stable")[:KEPT]
    return [" ".join(words[int(order[at])] for at in sets[number]) for number in best.tolist()]
