"""Made-up vectors that have structure, and filters that go with a query, against it, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.text_index import Ids

SUBJECTS, RANK, BASES = 32, 24, 16
"""Groups of clusters; directions in which a cluster extends; different sets of such directions."""

SPREAD, NOISE = 0.6, 0.25
"""Of the vectors of a cluster: in its directions, and in all."""

AT_ONCE = 20_000

PER_AUTHOR, PER_PLACE = 5, 50
"""Entities of an author, and of the place where authors are."""

SHAPES = ("range", "star", "two-hop")
"""One value of the entity in an interval; two values, each in one; a value of the place of its author."""

WAYS = {"none": 0, "with": 1, "against": -1}
"""How candidates go with the query."""

SHARES = (1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.5, 0.9)


class Mixture:
    """Clusters of low rank around centres that lie around subjects; sizes fall as those of words do.

    Args:
        clusters: how many.
        dimensions: of the vectors.
        seed: of everything.
    """

    def __init__(self, clusters: int, dimensions: int, seed: int):
        self._random = random = np.random.default_rng(seed)
        subjects = random.standard_normal((SUBJECTS, dimensions), dtype=np.float32)
        own = random.standard_normal((clusters, dimensions), dtype=np.float32)
        self._centres = subjects[random.integers(0, SUBJECTS, clusters)] + own
        falling = 0.85 ** np.arange(RANK, dtype=np.float32)
        self._bases = random.standard_normal((BASES, RANK, dimensions), dtype=np.float32) * falling[:, None]
        weights = np.arange(1, clusters + 1) ** -0.5
        self._shares = weights / weights.sum()

    def drawn(self, n: int) -> Iterator[Vectors]:
        """float32[m, dimensions] of length 1, until there are n."""
        random = self._random
        for first in range(0, n, AT_ONCE):
            labels = random.choice(len(self._centres), min(AT_ONCE, n - first), p=self._shares)
            found = self._centres[labels]
            along = random.standard_normal((len(labels), RANK), dtype=np.float32)
            for number, base in enumerate(self._bases):
                own = labels % BASES == number
                found[own] += np.float32(SPREAD) * (along[own] @ base)
            found += np.float32(NOISE) * random.standard_normal(found.shape, dtype=np.float32)
            yield found / np.linalg.norm(found, axis=1, keepdims=True)


@dataclass(frozen=True)
class Values:
    """What filters look at: of each entity three numbers in 0..1, evenly spread, and of its place two.

    Args:
        own: float64[n, 3]: by chance, and by the places of the vector along two directions.
        place: float64[n, 2]: of its author's place: by chance, and as the second of those.
        directions: float32[2, dimensions].
        sorted: float64[2, n]: all places along the directions, ascending.
    """

    own: NDArray[np.float64]
    place: NDArray[np.float64]
    directions: Vectors
    sorted: NDArray[np.float64]

    @classmethod
    def of(cls, parts: Iterator[Vectors], n: int, dimensions: int, seed: int) -> Values:
        """Of n vectors, given part by part."""
        random = np.random.default_rng(seed)
        directions = random.standard_normal((2, dimensions), dtype=np.float32)
        along = np.concatenate([part @ directions.T for part in parts]).T.astype(np.float64)
        ranks = np.argsort(np.argsort(along, axis=1), axis=1) / n
        own = np.stack([random.permutation(n) / n, *ranks], axis=1)
        places = np.stack([np.floor(value * n / PER_PLACE) * PER_PLACE / n for value in own.T[:2]], axis=1)
        return cls(own, places, directions, np.sort(along, axis=1))

    def about(self, query: Vectors) -> list[float]:
        """Where a query stands along the directions, in 0..1."""
        pairs = zip(self.sorted, self.directions @ query, strict=True)
        return [float(np.searchsorted(all_of_them, one) / len(all_of_them)) for all_of_them, one in pairs]


@dataclass(frozen=True)
class Filter:
    """Conditions on values: the number of the column, at least, less than.

    Args:
        shape: of SHAPES.
        way: of WAYS.
        share: of the entities that should pass.
        conditions: on `own` values, for `two-hop` on those of the place.
    """

    shape: str
    way: str
    share: float
    conditions: tuple[tuple[int, float, float], ...]

    def passing(self, values: Values) -> Ids:
        """uint32[m], ascending: who passes."""
        columns = values.place if self.shape == "two-hop" else values.own
        kept = np.ones(len(columns), bool)
        for column, low, high in self.conditions:
            kept &= (columns[:, column] >= low) & (columns[:, column] < high)
        return np.flatnonzero(kept).astype(np.uint32)


def filters(query: Vectors, values: Values, shape: str, way: str, share: float, random: np.random.Generator) -> Filter:
    """The filter of a query: an interval around its own place, one far from it, or one anywhere."""
    at = values.about(query)
    columns = ([0] if way == "none" else [1]) if shape != "star" else ([0, 1] if way == "none" else [1, 2])
    width = share if len(columns) == 1 else share**0.5
    conditions = []
    for column in columns:
        own = at[max(0, column - 1)]
        if way == "with":
            low = min(max(0.0, own - width / 2), 1 - width)
        elif way == "against":
            low = 0.0 if own > 0.5 else 1 - width
        else:
            low = float(random.uniform(0, 1 - width))
        conditions.append((column, low, low + width))
    return Filter(shape, way, share, tuple(conditions))
