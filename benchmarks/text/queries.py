"""The questions, from a seed: 1, 3 and 6 words, by how common the words are.

The document frequency of a word is taken over all five fields. `rare`,
`middle` and `common` draw every word from one band; `mixed` draws a band for
each word; `entity` takes the words from names, categories and similar names of
one entity, so they do meet. Every text is asked for with one k only, so that
no k finds what another left in a cache.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.text.corpus import SEED, Corpus, words

TERMS = (1, 3, 6)
KS = (10, 100, 1000)
BANDS = ("rare", "middle", "common", "mixed", "entity")
COMMONEST = 300
WARM_UP = 2
"""Questions per cell that are asked before the clock runs; of other texts."""


@dataclass(frozen=True)
class Cell:
    """The questions of one length, band and k: those that are timed, and those before."""

    terms: int
    band: str
    k: int
    texts: tuple[str, ...]
    before: tuple[str, ...]

    @property
    def name(self) -> str:
        """`3 common 10`."""
        return f"{self.terms} {self.band} {self.k}"


def bands(df: NDArray[np.int64], entities: int) -> dict[str, NDArray[np.int64]]:
    """The words of each band, as ranks.

    Args:
        df: by rank of the word.
        entities: of the collection.
    """
    return {
        "rare": np.flatnonzero((df >= 5) & (df <= max(20, entities // 20_000))),
        "middle": np.flatnonzero((df >= max(1, entities // 2_000)) & (df <= entities // 200)),
        "common": np.argsort(-df, kind="stable")[:COMMONEST],
    }


def cells(corpus: Corpus, entities: int, queries: int, ks: tuple[int, ...] = KS) -> list[Cell]:
    """The cells of a collection's size, all texts distinct."""
    rng = np.random.default_rng([SEED, 3, entities])
    pools, found = bands(corpus.df(entities), entities), words()
    texts = _entity_texts(corpus, entities, len(TERMS) * len(ks) * (queries + WARM_UP) * 3, rng)
    seen: set[str] = set()

    def draw(terms: int, band: str) -> str:
        while True:
            if band == "entity":
                picked = texts.pop()
                if len(picked) < terms:
                    continue
                text = " ".join(rng.permutation(picked)[:terms].tolist())
            else:
                of = [band if band != "mixed" else ("rare", "middle", "common")[rng.integers(3)] for _ in range(terms)]
                ranks = [int(rng.choice(pools[one])) for one in of]
                if len(set(ranks)) < terms:
                    continue
                text = " ".join(found[rank] for rank in ranks)
            if text not in seen:
                seen.add(text)
                return text

    return [
        Cell(
            terms, band, k,
            tuple(draw(terms, band) for _ in range(queries)),
            tuple(draw(terms, band) for _ in range(WARM_UP)),
        )
        for terms in TERMS for band in BANDS for k in ks
    ]  # fmt: skip


def _entity_texts(corpus: Corpus, entities: int, wanted: int, rng: np.random.Generator) -> list[list[str]]:
    """The distinct words of names, categories and similar names of some entities of the first 100,000."""
    first = min(entities, 100_000)
    picked = set(rng.choice(first, min(wanted, first), replace=False).tolist())
    found = [
        sorted(set(" ".join(fields[:3]).split()))
        for number, fields in enumerate(corpus.lines(first))
        if number in picked
    ]
    return [found[i] for i in rng.permutation(len(found)).tolist()]


def write_cells(path: Path, made: list[Cell]) -> None:
    """Stores them for the processes that ask."""
    path.write_text(json.dumps([[c.terms, c.band, c.k, c.texts, c.before] for c in made]))


def read_cells(path: Path) -> list[Cell]:
    """What `write_cells` stored."""
    return [Cell(t, band, k, tuple(texts), tuple(before)) for t, band, k, texts, before in json.loads(path.read_text())]


def describe(df: NDArray[np.int64], entities: int) -> dict[str, Any]:
    """The document frequencies of each band and how many words it has."""
    return {
        band: f"df {int(df[ranks].min())}..{int(df[ranks].max())}, {len(ranks)} words" if len(ranks) else "no words"
        for band, ranks in bands(df, entities).items()
    }
