"""Rankings as arrays of 12 bytes a document, with names shared by all runs.

Thirteen systems with 1,000 documents for each of 467 topics take 73 MB and the names; tuples take a gigabyte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Ranking = tuple[tuple[str, float], ...]


class DocumentNames:
    """Numbering of document names.

    >>> documents = DocumentNames()
    >>> documents.numbers(["d7", "d3", "d7"]).tolist(), documents.names
    ([0, 1, 0], ['d7', 'd3'])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}

    def numbers(self, names: Iterable[str]) -> NDArray[np.uint32]:
        """Numbers of names, uint32[len(names)]; a new name gets the next number."""
        numbers = []
        for name in names:
            number = self._number.setdefault(name, len(self.names))
            if number == len(self.names):
                self.names.append(name)
            numbers.append(number)
        return np.array(numbers, np.uint32)


class PackedRankings(Mapping[str, Ranking]):
    """Rankings by topic as arrays, converted to tuples of (document, score) on access.

    >>> packed = PackedRankings({"q1": (("d7", 2.5), ("d3", 2.0))}, DocumentNames())
    >>> packed["q1"], packed == {"q1": (("d7", 2.5), ("d3", 2.0))}
    ((('d7', 2.5), ('d3', 2.0)), True)
    """

    def __init__(self, rankings: Mapping[str, Ranking], documents: DocumentNames):
        self._names = documents.names
        self._columns = {
            topic: (documents.numbers(name for name, _ in ranking), np.array([score for _, score in ranking], float))
            for topic, ranking in rankings.items()
        }

    def __getitem__(self, topic: str) -> Ranking:
        numbers, scores = self._columns[topic]
        return tuple(zip((self._names[number] for number in numbers.tolist()), scores.tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, topic: object) -> bool:
        return topic in self._columns
