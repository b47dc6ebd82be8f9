"""How common the words and phrases of a query are in the whole index; remembered, because the index never changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.text.elasticsearch import bodies
from hybridkg.text.elasticsearch.header import IndexIdentity
from hybridkg.text.elasticsearch.reading import ElasticReader, Gathered
from hybridkg.text.elasticsearch.statistics import TermCounts, term_counts
from hybridkg.text.elasticsearch.vectors import read_vectors
from hybridkg.text.id_sets import union
from hybridkg.text.match_query.items import Item, ResolvedField

MAX_CACHED = 100_000
WORDS_AT_ONCE = 10_000
MAX_CACHED_POSTINGS = 2_000_000
"""Postings of phrases that an open index remembers; 8 bytes each."""


@dataclass(frozen=True)
class ItemCounts:
    """Of an item in the whole index.

    Args:
        df: entities that have it in any field where it may occur.
        field_df: int[ON fields], entities that have it there.
        cf: int[ON fields], its occurrences there.
        postings: of an item that needs positions, one for each ON field; None for words.
    """

    df: int
    field_df: tuple[int, ...]
    cf: tuple[int, ...]
    postings: tuple[Postings, ...] | None = None


class WordCounts:
    """The counts of one index; safe to use from many threads.

    Args:
        server: has the index.
        identity: which it is.
        reader: reads from it.
    """

    def __init__(self, server: Server, identity: IndexIdentity, reader: ElasticReader):
        self._server, self._identity, self._reader = server, identity, reader
        self._words: dict[tuple[str, str], TermCounts] = {}
        self._items: dict[tuple[tuple[int, ...], Item], ItemCounts] = {}
        self._postings = 0
        self._lock = threading.Lock()

    def of(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """The counts of some items in the ON fields."""
        numbers = tuple(f.number for f in fields)
        found = {item: own for item in items if (own := self._items.get((numbers, item))) is not None}
        new = [item for item in dict.fromkeys(items) if item not in found]
        found |= yield from self._plain([item for item in new if not item.positional], fields)
        if near := [item for item in new if item.positional]:
            found |= yield from self._positional(near, fields)
        self._remember(numbers, {item: found[item] for item in new})
        return found

    def _plain(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """Items of single words: the server knows each word's counts, and counts what words and fields share."""
        words_of = self._counts_of(pair for item in items for pair in _words(item, fields))
        found: dict[Item, ItemCounts] = {}
        questions: list[tuple[Item, int, Body]] = []
        for item in items:
            held = [
                [words_of[f.name, word] for word in bodies.words_of(patterns)]
                for f, patterns in zip(fields, item.places, strict=True)
            ]
            for place, counts in enumerate(held):
                if sum(own.df > 0 for own in counts) > 1:
                    questions.append((item, place, bodies.occurs_in(fields[place].name, item.places[place])))
            if sum(own.df > 0 for counts in held for own in counts) > 1:
                questions.append((item, -1, bodies.occurs(item, fields)))
            field_df = tuple(max((own.df for own in counts), default=0) for counts in held)
            found[item] = ItemCounts(max(field_df), field_df, tuple(sum(own.cf for own in counts) for counts in held))
        if not questions:
            return found
        # An entity may have several of them, so the server has to count.
        responses = yield [
            {"query": {"bool": {"filter": [body]}}, "size": 0, "track_total_hits": True} for _, _, body in questions
        ]
        for (item, place, _), response in zip(questions, responses, strict=True):
            own, df = found[item], int(response["hits"]["total"]["value"])
            if place < 0:
                found[item] = replace(own, df=df)
            else:
                found[item] = replace(own, field_df=(*own.field_df[:place], df, *own.field_df[place + 1 :]))
        return found

    def learn(self, asked: Iterable[tuple[Iterable[Item], Sequence[ResolvedField]]]) -> None:
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
            if len(self._words) + len(new) > MAX_CACHED:
                self._words = {}
            self._words.update(new)
        return {pair: new[pair] if own is None else own for pair, own in found.items()}

    def _positional(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """Phrases and windows are read where they occur, in whole: Elasticsearch does not tell how often they do."""
        gathered = Gathered()
        if self._identity.native:
            ids = yield from self._reader.ids(_filter([bodies.occurs(item, fields) for item in items]))
            lengths = np.zeros((max(f.number for f in fields) + 1, int(ids[-1]) + 1 if len(ids) else 0), np.uint32)
            read_vectors(self._server, self._identity.index, ids, items, fields, lengths, gathered)
        else:
            with_words = [item for item in items if any(pattern.is_word for pattern in item.patterns())]
            if with_words:
                body = _filter([bodies.occurs(item, fields) for item in with_words])
                yield from self._reader.words(body, with_words, fields, gathered)
            body = _filter([clause for item in items for clause in bodies.near(item, fields)])
            yield from self._reader.positional(body, items, fields, gathered)
        found = {}
        for item in items:
            postings = gathered.postings(item)
            found[item] = ItemCounts(
                len(union([own.ids for own in postings])),
                tuple(len(own.ids) for own in postings),
                tuple(int(own.tf.sum(dtype=np.int64)) for own in postings),
                postings,
            )
        return found

    def _remember(self, numbers: tuple[int, ...], found: dict[Item, ItemCounts]) -> None:
        size = sum(len(postings.ids) for own in found.values() for postings in own.postings or ())
        with self._lock:
            self._postings += size
            if len(self._items) > MAX_CACHED or self._postings > MAX_CACHED_POSTINGS:
                self._items, self._postings = {}, size
            for item, own in found.items():
                self._items[numbers, item] = own


def _filter(clauses: Sequence[Body]) -> Body:
    """Entities of any of the clauses, without scores."""
    return {"bool": {"filter": [bodies.any_of(clauses)]}}


def _words(item: Item, fields: Sequence[ResolvedField]) -> Iterator[tuple[str, str]]:
    """(field, word) of each word of an item."""
    return (
        (f.name, word) for f, patterns in zip(fields, item.places, strict=True) for word in bodies.words_of(patterns)
    )
