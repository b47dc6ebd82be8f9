"""How common the words and phrases of a query are in the whole index; remembered, because the index never changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.elastic.bodies import occurs, occurs_in
from hybridkg.text.elastic.header import IndexIdentity
from hybridkg.text.elastic.reading import Gathered, Reader
from hybridkg.text.elastic.server import Server, Steps
from hybridkg.text.elastic.statistics import TermCounts, term_counts
from hybridkg.text.elastic.vectors import read_vectors
from hybridkg.text.resolve import Item, OnField
from hybridkg.text.sets import union

MOST_REMEMBERED = 100_000
WORDS_AT_ONCE = 10_000
MOST_REMEMBERED_POSTINGS = 2_000_000
"""Postings of phrases that an open index remembers; 8 bytes each."""


@dataclass(frozen=True)
class ItemCounts:
    """Of a word or phrase in the whole index.

    Args:
        df: entities that have it in any field where it may occur.
        field_df: int[ON fields], entities that have it there.
        cf: int[ON fields], its occurrences there.
        phrase: the postings of a phrase, one for each ON field; None for words.
    """

    df: int
    field_df: tuple[int, ...]
    cf: tuple[int, ...]
    phrase: tuple[Postings, ...] | None = None


class WordCounts:
    """The counts of one index; safe to use from many threads.

    Args:
        server: has the index.
        identity: which it is.
        reader: reads from it.
    """

    def __init__(self, server: Server, identity: IndexIdentity, reader: Reader):
        self._server, self._identity, self._reader = server, identity, reader
        self._words: dict[tuple[str, str], TermCounts] = {}
        self._items: dict[tuple[tuple[int, ...], Item], ItemCounts] = {}
        self._postings = 0
        self._lock = threading.Lock()

    def of(self, items: Sequence[Item], fields: Sequence[OnField]) -> Steps[dict[Item, ItemCounts]]:
        """The counts of some items in the ON fields."""
        numbers = tuple(f.number for f in fields)
        found = {item: own for item in items if (own := self._items.get((numbers, item))) is not None}
        new = [item for item in items if item not in found]
        plain = [item for item in new if all(len(words) < 2 for words in item.words)]
        words_of = self._counts_of(pair for item in plain for pair in _words(item, fields))
        spread: list[Item] = []
        for item in plain:
            counts = [words_of[f.name, words[0][1]] if words else TermCounts() for f, words in _places(item, fields)]
            found[item] = ItemCounts(
                max(c.df for c in counts), tuple(c.df for c in counts), tuple(c.cf for c in counts)
            )
            if sum(c.df > 0 for c in counts) > 1:
                spread.append(item)
        if spread:
            # In any of several fields: their sets overlap, so the server has to count.
            responses = yield [
                {"query": {"bool": {"filter": [occurs(item, fields)]}}, "size": 0, "track_total_hits": True}
                for item in spread
            ]
            for item, response in zip(spread, responses, strict=True):
                own_counts = found[item]
                df = int(response["hits"]["total"]["value"])
                found[item] = ItemCounts(df, own_counts.field_df, own_counts.cf)
        for item in new:
            if item not in plain:
                found[item] = yield from self._phrase(item, fields)
        self._remember(numbers, {item: found[item] for item in new})
        return found

    def learn(self, asked: Iterable[tuple[Iterable[Item], Sequence[OnField]]]) -> None:
        """Asks for the words of several queries at once, each (items, ON fields); `of` then finds them remembered."""
        self._counts_of(pair for items, fields in asked for item in items for pair in _words(item, fields))

    def _counts_of(self, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], TermCounts]:
        """Of each (field, word)."""
        known = self._words
        found = {pair: known.get(pair) for pair in asked}
        unknown = [pair for pair, own in found.items() if own is None]
        new: dict[tuple[str, str], TermCounts] = {}
        for start in range(0, len(unknown), WORDS_AT_ONCE):
            wanted: dict[str, list[str]] = {}
            for name, word in unknown[start : start + WORDS_AT_ONCE]:
                wanted.setdefault(name, []).append(word)
            new |= term_counts(self._server, self._identity.index, self._identity.shards, wanted)
        new = {pair: new.get(pair, TermCounts()) for pair in unknown}
        with self._lock:
            if len(self._words) + len(new) > MOST_REMEMBERED:
                self._words = {}
            self._words.update(new)
        return {pair: new[pair] if own is None else own for pair, own in found.items()}

    def _phrase(self, item: Item, fields: Sequence[OnField]) -> Steps[ItemCounts]:
        """A phrase is read where it occurs, in whole: Elasticsearch does not tell how often it does."""
        gathered = Gathered()
        body = {"bool": {"filter": [occurs(item, fields)]}}
        if self._identity.native:
            ids = yield from self._reader.ids(body)
            lengths = np.zeros((max(f.number for f in fields) + 1, int(ids[-1]) + 1 if len(ids) else 0), np.uint32)
            read_vectors(self._server, self._identity.index, ids, [item], fields, lengths, gathered)
        else:
            yield from self._reader.words(body, [item], fields, gathered)
            long = [occurs_in(f.name, words) for f, words in _places(item, fields) if len(words) > 1]
            yield from self._reader.phrases({"bool": {"filter": [{"bool": {"should": long}}]}}, item, fields, gathered)
        postings = gathered.postings(item)
        return ItemCounts(
            len(union([own.ids for own in postings])),
            tuple(len(own.ids) for own in postings),
            tuple(int(own.tf.sum(dtype=np.int64)) for own in postings),
            postings,
        )

    def _remember(self, numbers: tuple[int, ...], found: dict[Item, ItemCounts]) -> None:
        size = sum(len(postings.ids) for own in found.values() for postings in own.phrase or ())
        with self._lock:
            self._postings += size
            if len(self._items) > MOST_REMEMBERED or self._postings > MOST_REMEMBERED_POSTINGS:
                self._items, self._postings = {}, size
            for item, own in found.items():
                self._items[numbers, item] = own


def _places(item: Item, fields: Sequence[OnField]) -> list[tuple[OnField, tuple[tuple[int, str], ...]]]:
    return list(zip(fields, item.words, strict=True))


def _words(item: Item, fields: Sequence[OnField]) -> Iterator[tuple[str, str]]:
    """(field, word) of each place of an item that is one word."""
    return ((f.name, words[0][1]) for f, words in _places(item, fields) if len(words) == 1)
