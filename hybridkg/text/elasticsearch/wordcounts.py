"""Counts of the words and phrases of a query in the whole index, cached because the index never changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.text.elasticsearch import bodies
from hybridkg.text.elasticsearch.header import IndexIdentity
from hybridkg.text.elasticsearch.reading import ElasticReader, PostingsBuilder
from hybridkg.text.elasticsearch.statistics import TermCounts, term_counts
from hybridkg.text.elasticsearch.vectors import read_vectors
from hybridkg.text.id_sets import union
from hybridkg.text.match_query.items import Item, ResolvedField

MAX_CACHED = 100_000
WORDS_AT_ONCE = 10_000
MAX_CACHED_POSTINGS = 2_000_000
"""Postings of phrases that an open index caches; 8 bytes each."""


@dataclass(frozen=True)
class ItemCounts:
    """The counts of an item in the whole index.

    Args:
        df: entities that have it in any field where it may occur.
        field_df: int[ON fields], entities that have it in the field.
        cf: int[ON fields], its occurrences in the field.
        postings: of an item that needs positions, one per ON field; None for words.
    """

    df: int
    field_df: tuple[int, ...]
    cf: tuple[int, ...]
    postings: tuple[Postings, ...] | None = None


class WordCounts:
    """The counts of one index. Safe to use from many threads."""

    def __init__(self, server: Server, identity: IndexIdentity, reader: ElasticReader):
        self._server, self._identity, self._reader = server, identity, reader
        self._words: dict[tuple[str, str], TermCounts] = {}
        self._items: dict[tuple[tuple[int, ...], Item], ItemCounts] = {}
        self._postings = 0
        self._lock = threading.Lock()

    def of(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """The counts of some items in the ON fields."""
        numbers = tuple(f.number for f in fields)
        counts = {item: cached for item in items if (cached := self._items.get((numbers, item))) is not None}
        new = [item for item in dict.fromkeys(items) if item not in counts]
        counts |= yield from self._plain([item for item in new if not item.positional], fields)
        if near := [item for item in new if item.positional]:
            counts |= yield from self._positional(near, fields)
        self._store(numbers, {item: counts[item] for item in new})
        return counts

    def _plain(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """Items of words only: the server counts each word, and the union of several words or fields."""
        words_of = self._counts_of(pair for item in items for pair in _words(item, fields))
        result: dict[Item, ItemCounts] = {}
        unions: list[tuple[Item, int, Body]] = []
        for item in items:
            by_field = [
                [words_of[f.name, word] for word in bodies.words_of(patterns)]
                for f, patterns in zip(fields, item.places, strict=True)
            ]
            for place, counts in enumerate(by_field):
                if sum(own.df > 0 for own in counts) > 1:
                    unions.append((item, place, bodies.occurs_in(fields[place].name, item.places[place])))
            if sum(own.df > 0 for counts in by_field for own in counts) > 1:
                unions.append((item, -1, bodies.occurs(item, fields)))
            field_df = tuple(max((own.df for own in counts), default=0) for counts in by_field)
            result[item] = ItemCounts(
                max(field_df), field_df, tuple(sum(own.cf for own in counts) for counts in by_field)
            )
        if not unions:
            return result
        # An entity may have several of them, so their df do not add up.
        responses = yield [
            {"query": {"bool": {"filter": [body]}}, "size": 0, "track_total_hits": True} for _, _, body in unions
        ]
        for (item, place, _), response in zip(unions, responses, strict=True):
            own, df = result[item], int(response["hits"]["total"]["value"])
            if place < 0:
                result[item] = replace(own, df=df)
            else:
                result[item] = replace(own, field_df=(*own.field_df[:place], df, *own.field_df[place + 1 :]))
        return result

    def prefetch(self, pairs: Iterable[tuple[Iterable[Item], Sequence[ResolvedField]]]) -> None:
        """Prefetches the words of several queries, each (items, ON fields), in one request."""
        self._counts_of(pair for items, fields in pairs for item in items for pair in _words(item, fields))

    def _counts_of(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], TermCounts]:
        cache = self._words
        counts = {pair: cache.get(pair) for pair in pairs}
        missing = [pair for pair, own in counts.items() if own is None]
        new: dict[tuple[str, str], TermCounts] = {}
        for start in range(0, len(missing), WORDS_AT_ONCE):
            wanted: dict[str, list[str]] = {}
            for name, word in missing[start : start + WORDS_AT_ONCE]:
                wanted.setdefault(name, []).append(word)
            new |= term_counts(self._server, self._identity.index, self._identity.shards, wanted)
        new = {pair: new.get(pair, TermCounts()) for pair in missing}
        with self._lock:
            if len(self._words) + len(new) > MAX_CACHED:
                self._words = {}
            self._words.update(new)
        return {pair: new[pair] if own is None else own for pair, own in counts.items()}

    def _positional(self, items: Sequence[Item], fields: Sequence[ResolvedField]) -> Steps[dict[Item, ItemCounts]]:
        """Phrases and windows are read completely: Elasticsearch does not count them."""
        gathered = PostingsBuilder()
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
        counts = {}
        for item in items:
            postings = gathered.postings(item)
            counts[item] = ItemCounts(
                len(union([own.ids for own in postings])),
                tuple(len(own.ids) for own in postings),
                tuple(int(own.tf.sum(dtype=np.int64)) for own in postings),
                postings,
            )
        return counts

    def _store(self, numbers: tuple[int, ...], counts: dict[Item, ItemCounts]) -> None:
        size = sum(len(postings.ids) for own in counts.values() for postings in own.postings or ())
        with self._lock:
            self._postings += size
            if len(self._items) > MAX_CACHED or self._postings > MAX_CACHED_POSTINGS:
                self._items, self._postings = {}, size
            for item, own in counts.items():
                self._items[numbers, item] = own


def _filter(clauses: Sequence[Body]) -> Body:
    """Entities of any of the clauses, without scores."""
    return {"bool": {"filter": [bodies.any_of(clauses)]}}


def _words(item: Item, fields: Sequence[ResolvedField]) -> Iterator[tuple[str, str]]:
    """(field, word) of each word of an item."""
    return (
        (f.name, word) for f, patterns in zip(fields, item.places, strict=True) for word in bodies.words_of(patterns)
    )
