"""Title, abstract and keywords of the papers: words from a Zipf background and from the paper's fields of study.

Word numbers: first BACKGROUND words that any paper uses, frequent ones first;
then AREA_WORDS of each area and LEAF_WORDS of each leaf, again frequent ones
first. A token comes from the background, from the area or from a leaf of its
paper, with odds that differ between title, abstract and keywords; one field
token in NOISE_ODDS is of a field that has nothing to do with the paper, so
that hardly any pair of word and field never meets.

Papers are drawn in blocks with a seed each: nothing has to be kept, whoever
needs the tokens draws them again (benchmarks/hybrid/texts.py::Texts.blocks).
Words are made of two syllables and more, are in lower case, end as no English
suffix does, and none is an English stop word, so every engine's analyzer leaves
them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.graph import AREAS, FIRST_AREA, FIRST_LEAF, LEAVES, Graph, distinct, draw, zipf
from benchmarks.text import corpus

BACKGROUND, AREA_WORDS, LEAF_WORDS = 150_000, 400, 300
FIRST_AREA_WORD = BACKGROUND
FIRST_LEAF_WORD = BACKGROUND + AREAS * AREA_WORDS
WORDS = FIRST_LEAF_WORD + LEAVES * LEAF_WORDS
FIELDS = ("title", "abstract", "keywords")
BLOCK = 20_000
"""Papers drawn at once; a part of what the seed means."""
NOISE_ODDS = 0.08
_ONE_SYLLABLE = 200
"""So many words of corpus.words have one syllable only, among them `to`, `so` and `no`."""

Tokens = NDArray[np.int32]


@dataclass(frozen=True)
class Block:
    """The texts of the papers from `first` on.

    Args:
        first: number of its first paper.
        lengths: int64[papers, fields], tokens of each text.
        tokens: words, paper by paper, field by field.
    """

    first: int
    lengths: NDArray[np.int64]
    tokens: Tokens

    def paper_of(self) -> NDArray[np.int64]:
        """int64[tokens]: the paper each token is in."""
        return self.first + np.repeat(np.arange(len(self.lengths)), self.lengths.sum(axis=1))

    def frequencies(self) -> NDArray[np.int64]:
        """int64[WORDS]: how many of its papers have each word."""
        keys = distinct(self.tokens.astype(np.int64) * BLOCK + self.paper_of() - self.first)
        return np.bincount(keys // BLOCK, minlength=WORDS)


@dataclass(frozen=True)
class Odds:
    """Where the tokens of a text come from; the rest from the background."""

    leaf: float
    area: float


ODDS = (Odds(0.35, 0.2), Odds(0.2, 0.15), Odds(0.6, 0.3))


@cache
def vocabulary() -> list[str]:
    """The words by number, made once for all that look words up; nobody changes the list.

    >>> found = vocabulary()
    >>> len(found) == len(set(found)) == WORDS, min(map(len, found)) > 3
    (True, True)
    """
    return corpus.words(WORDS + _ONE_SYLLABLE)[_ONE_SYLLABLE:]


def area_words(area: int) -> range:
    """The words of an area, given as a number among all fields."""
    start = FIRST_AREA_WORD + (area - FIRST_AREA) * AREA_WORDS
    return range(start, start + AREA_WORDS)


def leaf_words(leaf: int) -> range:
    """The words of a leaf, given as a number among all fields."""
    start = FIRST_LEAF_WORD + (leaf - FIRST_LEAF) * LEAF_WORDS
    return range(start, start + LEAF_WORDS)


@dataclass(frozen=True)
class Texts:
    """The texts of a graph's papers."""

    graph: Graph

    def blocks(self) -> Iterator[Block]:
        """All papers, in order."""
        cumulative = zipf(BACKGROUND, 1.0), zipf(AREA_WORDS, 0.9), zipf(LEAF_WORDS, 0.9)
        for number in range(-(-self.graph.papers // BLOCK)):
            yield self._block(number, *cumulative)

    def _block(
        self, number: int, background: NDArray[np.float64], area: NDArray[np.float64], leaf: NDArray[np.float64]
    ) -> Block:
        graph, first = self.graph, number * BLOCK
        papers = min(BLOCK, graph.papers - first)
        rng = np.random.default_rng([graph.seed, 3, graph.papers, number])
        lengths = np.empty((papers, len(FIELDS)), np.int64)
        lengths[:, 0] = 4 + rng.poisson(4.5, papers)
        lengths[:, 1] = np.clip(rng.lognormal(np.log(55) - 0.08, 0.4, papers), 8, 250)
        lengths[:, 2] = 3 + rng.poisson(2.5, papers)
        flat = lengths.ravel()
        kind = np.repeat(np.tile(np.arange(len(FIELDS)), papers), flat)
        of = first + np.repeat(np.arange(papers), lengths.sum(axis=1))
        n = len(of)
        choice = rng.random(n)
        leaf_odds = np.array([odds.leaf for odds in ODDS])[kind]
        area_odds = np.array([odds.area for odds in ODDS])[kind] + leaf_odds
        tokens = draw(rng, background, n)
        in_leaf, in_area = (
            np.flatnonzero(choice < leaf_odds),
            np.flatnonzero((choice >= leaf_odds) & (choice < area_odds)),
        )
        papers_leaf = of[in_leaf]
        second = graph.second_leaf[papers_leaf]
        leaves = np.where((rng.random(len(in_leaf)) < 0.33) & (second >= 0), second, graph.first_leaf[papers_leaf])
        noise = rng.random(len(in_leaf)) < NOISE_ODDS
        leaves = np.where(noise, rng.integers(FIRST_LEAF, FIRST_LEAF + LEAVES, len(in_leaf)), leaves)
        tokens[in_leaf] = FIRST_LEAF_WORD + (leaves - FIRST_LEAF) * LEAF_WORDS + draw(rng, leaf, len(in_leaf))
        areas = graph.parents[graph.first_leaf[of[in_area]]]
        noise = rng.random(len(in_area)) < NOISE_ODDS
        areas = np.where(noise, rng.integers(FIRST_AREA, FIRST_LEAF, len(in_area)), areas)
        tokens[in_area] = FIRST_AREA_WORD + (areas - FIRST_AREA) * AREA_WORDS + draw(rng, area, len(in_area))
        return Block(first, lengths, tokens.astype(np.int32))

    def frequencies(self) -> NDArray[np.int64]:
        """int64[WORDS]: how many papers have each word in any field."""
        counts = np.zeros(WORDS, np.int64)
        for block in self.blocks():
            counts += block.frequencies()
        return counts

    def papers_with(self, words: list[int]) -> dict[int, NDArray[np.int64]]:
        """The papers that have each of some words in any field, ascending."""
        wanted = np.zeros(WORDS, bool)
        wanted[words] = True
        parts: list[NDArray[np.int64]] = []
        for block in self.blocks():
            hits = wanted[block.tokens]
            parts.append(distinct(block.tokens[hits].astype(np.int64) * self.graph.papers + block.paper_of()[hits]))
        keys = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
        starts = np.searchsorted(keys, np.array(words, np.int64) * self.graph.papers)
        ends = np.searchsorted(keys, (np.array(words, np.int64) + 1) * self.graph.papers)
        return {word: keys[start:end] % self.graph.papers for word, start, end in zip(words, starts, ends, strict=True)}
