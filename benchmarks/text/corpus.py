"""A made-up corpus of DBpedia's size and shape: five text fields per entity, the same bytes for the same seed.

Every entity has up to five fields, about 100 tokens in all; words come from a
Zipf distribution over two million distinct made-up words. Real texts of one
entity speak of one thing, so words of its names come back in its other fields:
each token of those is, with the probability in FIELDS, a word of the names in
place of a fresh draw. Without this no two query words would meet more often
than chance, which no user's query is like.

One line per entity, fields separated by tabs, words by blanks. Entities are
drawn in blocks with a seed each, so a small corpus is the beginning of a large
one, and one file serves all sizes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20261121
VERSION = 1
VOCABULARY = 2_000_000
EXPONENT = 1.0
BLOCK = 20_000
"""Entities drawn at once, about 2 M tokens; a part of what the seed means."""

_ONSETS = ("b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "kr", "st", "tr")
_VOWELS = "aeiou"
_ENDS = ("a", "o", "u", "an", "on", "un", "ak", "ok", "uk", "am")
"""Ends of words that no English suffix ends in, so Snowball leaves every word as it is."""


@dataclass(frozen=True)
class Shape:
    """How one field is filled.

    Args:
        name: of the field.
        mean: tokens per entity, over all entities.
        missing: share of the entities without the field.
        spread: sigma of the log-normal lengths.
        longest: tokens of the longest value.
        from_names: probability that a token is a word of the entity's names.
    """

    name: str
    mean: float
    missing: float
    spread: float
    longest: int
    from_names: float


FIELDS = (
    Shape("names", 3, 0.002, 0.45, 20, 0.0),
    Shape("categories", 8, 0.15, 0.7, 120, 0.06),
    Shape("similar", 6, 0.40, 0.9, 200, 0.35),
    Shape("attributes", 35, 0.03, 0.9, 1_000, 0.08),
    Shape("related", 48, 0.10, 1.1, 4_000, 0.04),
)
NAMES = tuple(field.name for field in FIELDS)


def words(n: int = VOCABULARY, seed: int = SEED) -> list[str]:
    """n distinct words, frequent ones first and mostly shorter: syllables, shuffled among words of the same length.

    >>> words(6, 1) == words(6, 1), len(set(words(30_000, 1)))
    (True, 30000)
    """
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    last = [onset + end for onset in _ONSETS for end in _ENDS]
    rng = np.random.default_rng([seed, 1])
    found: list[str] = []
    inner: list[str] = [""]
    while len(found) < n:
        room = len(inner) * len(last)
        picked = rng.permutation(room)[: n - len(found)].tolist()
        found.extend(inner[i // len(last)] + last[i % len(last)] for i in picked)
        inner = [start + syllable for start in inner for syllable in syllables]
    return found


@dataclass(frozen=True)
class _Table:
    """The words as rows of bytes, each with a blank after it; the last row is that of an empty value."""

    rows: NDArray[np.uint8]
    lengths: NDArray[np.uint8]

    @classmethod
    def of(cls, found: list[str]) -> _Table:
        rows = np.array([f"{word} ".encode() for word in [*found, ""]])
        lengths = np.array([len(word) + 1 for word in found] + [1], np.uint8)
        return cls(rows.view(np.uint8).reshape(len(rows), -1), lengths)

    def text(self, tokens: NDArray[np.int64], separators: NDArray[np.uint8]) -> bytes:
        """The words of some tokens, each followed by its separator."""
        rows, lengths = self.rows[tokens], self.lengths[tokens]
        rows[np.arange(len(rows)), lengths - 1] = separators
        return rows[np.arange(rows.shape[1], dtype=np.uint8) < lengths[:, None]].tobytes()


def zipf(n: int = VOCABULARY, exponent: float = EXPONENT) -> NDArray[np.float64]:
    """float64[n]: probability that a token is one of the words up to this rank."""
    weights = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return np.asarray(np.cumsum(weights) / weights.sum())


def block(number: int, cumulative: NDArray[np.float64], seed: int = SEED) -> tuple[NDArray[Any], NDArray[Any]]:
    """The tokens of one block of entities.

    Returns:
        int64[BLOCK, fields] lengths, and the ranks of all tokens, entity by entity, field by field.
    """
    rng = np.random.default_rng([seed, 2, number])
    lengths = np.zeros((BLOCK, len(FIELDS)), np.int64)
    for column, field in zip(lengths.T, FIELDS, strict=True):
        mean = field.mean / (1 - field.missing)
        drawn = rng.lognormal(np.log(mean) - field.spread**2 / 2, field.spread, BLOCK)
        column[:] = np.clip(np.rint(drawn), 1, field.longest)
        column[rng.random(BLOCK) < field.missing] = 0
    tokens = np.searchsorted(cumulative, rng.random(int(lengths.sum())), side="right")
    tokens = np.minimum(tokens, len(cumulative) - 1)
    flat = lengths.ravel()
    starts = np.cumsum(flat) - flat
    names = lengths[:, 0]
    odds = np.where(names[:, None] > 0, [field.from_names for field in FIELDS], 0.0)
    again = np.flatnonzero(rng.random(len(tokens)) < np.repeat(odds.ravel(), flat))
    entity = np.repeat(np.arange(BLOCK), lengths.sum(axis=1))[again]
    place = (rng.random(len(again)) * names[entity]).astype(np.int64)
    tokens[again] = tokens[starts[entity * len(FIELDS)] + place]
    return lengths, tokens


def block_text(table: _Table, lengths: NDArray[Any], tokens: NDArray[Any]) -> bytes:
    """The lines of a block."""
    flat = lengths.ravel()
    empty = np.flatnonzero(flat == 0)
    starts = np.cumsum(flat) - flat
    tokens = np.insert(tokens, starts[empty], len(table.rows) - 1)
    ends = np.cumsum(np.maximum(flat, 1)) - 1
    separators = np.full(len(tokens), ord(" "), np.uint8)
    separators[ends] = np.tile(np.array([ord("\t")] * (len(FIELDS) - 1) + [ord("\n")], np.uint8), len(lengths))
    return table.text(tokens, separators)


def pairs(lengths: NDArray[Any], tokens: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Words, entities and occurrences of a block, all fields taken as one: by word, then by entity."""
    of = np.repeat(np.arange(len(lengths)), lengths.sum(axis=1))
    keys, counts = np.unique(tokens * BLOCK + of, return_counts=True)
    return keys // BLOCK, keys % BLOCK, counts


def entities_with(lengths: NDArray[Any], tokens: NDArray[Any]) -> NDArray[np.int64]:
    """int64[VOCABULARY]: how many entities of a block have each word."""
    return np.bincount(pairs(lengths, tokens)[0], minlength=VOCABULARY)


class Corpus:
    """The corpus file in a scratch folder."""

    def __init__(self, folder: Path):
        self.path, self._about = folder / "corpus.txt", folder / "corpus.json"

    @property
    def entities(self) -> int:
        """How many entities the file holds; 0 where there is none of this seed and version."""
        return int(self.about().get("entities", 0)) if self.path.exists() else 0

    def about(self) -> dict[str, Any]:
        """What `write` counted; empty for another seed or version."""
        try:
            about: dict[str, Any] = json.loads(self._about.read_text())
        except (OSError, ValueError):
            return {}
        return about if about.get("version") == VERSION and about.get("seed") == SEED else {}

    def write(self, entities: int) -> None:
        """Writes at least that many entities, unless they are there already; prints its progress."""
        if self.entities >= entities:
            return
        started = time.perf_counter()
        self._about.unlink(missing_ok=True)
        table, cumulative = _Table.of(words()), zipf()
        blocks = -(-entities // BLOCK)
        sums = np.zeros(len(FIELDS), np.int64)
        with self.path.open("wb") as file:
            for number in range(blocks):
                lengths, tokens = block(number, cumulative)
                sums += lengths.sum(axis=0)
                file.write(block_text(table, lengths, tokens))
                if number % 25 == 24:
                    print(f"corpus: {number + 1} of {blocks} blocks, {time.perf_counter() - started:.0f} s", flush=True)
        about = {
            "version": VERSION, "seed": SEED, "entities": blocks * BLOCK, "bytes": self.path.stat().st_size,
            "tokens": dict(zip(NAMES, sums.tolist(), strict=True)),
            "seconds": round(time.perf_counter() - started, 1),
        }  # fmt: skip
        self._about.write_text(json.dumps(about))

    def frequencies(self, sizes: list[int]) -> None:
        """Counts, for each size, how many of the first entities have each word; kept beside the corpus."""
        wanted = sorted(size for size in set(sizes) if not self._counted(size).exists())
        cumulative, counts = zipf(), np.zeros(VOCABULARY, np.int64)
        started = time.perf_counter()
        for number in range(-(-max(wanted, default=0) // BLOCK)):
            lengths, tokens = block(number, cumulative)
            for size in wanted:
                if number * BLOCK < size < (number + 1) * BLOCK:
                    part = size - number * BLOCK
                    self._keep(size, counts + entities_with(lengths[:part], tokens[: int(lengths[:part].sum())]))
            counts += entities_with(lengths, tokens)
            if (number + 1) * BLOCK in wanted:
                self._keep((number + 1) * BLOCK, counts)
            if number % 25 == 24:
                print(f"frequencies: {number + 1} blocks, {time.perf_counter() - started:.0f} s", flush=True)

    def df(self, entities: int) -> NDArray[np.int64]:
        """int64[VOCABULARY]: how many of the first entities have each word in any field."""
        self.frequencies([entities])
        return np.asarray(np.load(self._counted(entities)), np.int64)

    def _counted(self, entities: int) -> Path:
        return self.path.with_name(f"df-{entities}.npy")

    def _keep(self, entities: int, counts: NDArray[np.int64]) -> None:
        np.save(self._counted(entities), counts.astype(np.uint32))

    def rows(self, entities: int) -> Iterator[str]:
        """The lines of the first entities, in order."""
        if entities > self.entities:
            raise ValueError(f"{self.path} holds {self.entities} entities, not {entities}")
        with self.path.open(encoding="ascii") as file:
            yield from islice(file, entities)

    def lines(self, entities: int) -> Iterator[list[str]]:
        """The fields of the first entities."""
        return (row[:-1].split("\t") for row in self.rows(entities))

    def records(self, entities: int, field: int) -> Iterator[tuple[int, list[tuple[str, str]]]]:
        """What a text builder takes of one field: (entity, values), of those that have it."""
        for entity, row in enumerate(self.rows(entities)):
            text = row.split("\t", field + 1)[field] if field < len(FIELDS) - 1 else row[row.rindex("\t") + 1 : -1]
            if text:
                yield entity, [(text, "")]

    def flat_records(self, entities: int) -> Iterator[tuple[int, list[tuple[str, str]]]]:
        """The same with all text of an entity as one field."""
        for entity, row in enumerate(self.rows(entities)):
            yield entity, [(row[:-1].replace("\t", " "), "")]
