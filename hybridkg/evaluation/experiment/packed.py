"""Rankings as arrays: the runs of all systems are in memory at once, and as tuples they would take a gigabyte.

A ranked document takes 12 bytes, and its name is held once for all runs: thirteen systems with 1,000 documents for
each of 467 topics take 73 MB and the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Ranking = tuple[tuple[str, float], ...]


class DocumentNames:
    """The names of documents, each once, by number.

    >>> documents = Documents()
    >>> documents.numbers(["d7", "d3", "d7"]).tolist(), documents.names
    ([0, 1, 0], ['d7', 'd3'])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}

    def numbers(self, names: Iterable[str]) -> NDArray[np.uint32]:
        """uint32[len(names)]; a name that is new gets the next number."""
        found = []
        for name in names:
            number = self._number.setdefault(name, len(self.names))
            if number == len(self.names):
                self.names.append(name)
            found.append(number)
        return np.array(found, np.uint32)


class PackedRankings(Mapping[str, Ranking]):
    """Rankings by topic, made into tuples when one is asked for.

    Args:
        rankings: by topic (document, score), best first.
        documents: the names that the runs of an experiment share.

    >>> packed = PackedRankings({"q1": (("d7", 2.5), ("d3", 2.0))}, Documents())
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
