"""Constants of the generated graph that give answers of the size that an application asks for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.hybrid.graph import Graph, Links
from benchmarks.relational.matches import Matches
from benchmarks.relational.seeds import seed_of


@dataclass(frozen=True)
class Draw:
    """Draws constants; the same for the same question and repetition.

    Args:
        graph: the constants are of.
        matches: words by how many papers have them.
        seed: of this drawing.
    """

    graph: Graph
    matches: Matches
    seed: tuple[int, int] = (0, 0)

    def at(self, name: str, repetition: int) -> Draw:
        """The constants of one repetition of a question."""
        found = Draw(self.graph, self.matches, (seed_of(name), repetition))
        found.__dict__["cited"] = self.cited
        return found

    @property
    def repetition(self) -> int:
        """Which one this is."""
        return self.seed[1]

    @cached_property
    def cited(self) -> Links:
        """From each paper to those that cite it."""
        return self.graph.cites.back(self.graph.papers)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def one(self, count: int) -> int:
        """A number below `count`."""
        return int(self._rng.integers(count))

    def paper(self) -> int:
        """A paper that cites others and is cited."""
        while True:
            paper = self.one(self.graph.papers)
            if len(self.graph.cites.at(paper)) and len(self.cited.at(paper)):
                return paper

    def author(self) -> int:
        """An author of a paper, so one with many papers more often."""
        return int(self._rng.choice(self.graph.authors.at(self.paper())))

    def field(self) -> int:
        """A leaf that some paper is about."""
        return int(self.graph.first_leaf[self.paper()])

    def venue(self) -> int:
        """A venue, large or small."""
        return self.one(self.graph.venues)

    def institution(self) -> int:
        """An institution, large or small, that an author is at."""
        return int(self.graph.affiliation[self.one(len(self.graph.affiliation) // 6) * 6])

    def year(self) -> int:
        """A year with many papers."""
        return 2000 + self.one(20)
