"""Statistics and postings of the items of a query in a segment. Statistics of words need no postings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.id_sets import NO_POSTINGS, merged, restricted, union
from hybridkg.text.index.language_view import Views
from hybridkg.text.index.positions.phrases import pattern_postings
from hybridkg.text.index.positions.word_pairs import PairPostings, Pairs, PostingsCache, pair_key
from hybridkg.text.index.postings import SegmentPostings, TermDictionary
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.match_query.items import Item, Pattern, Patterns, ResolvedField, ResolvedQuery
from hybridkg.text.models.additive import QueryLists

MAX_CACHED_COUNTS = 100_000
"""Cached document frequencies over several fields; a prefix counts as many times as it has patterns."""


@dataclass(frozen=True)
class Counts:
    """The cf and df of an item in each ON field, and its df in any."""

    cf: tuple[int, ...]
    field_df: tuple[int, ...]
    df: int


class Occurrences:
    """The occurrences of items in a segment. Safe to use from many threads."""

    def __init__(self, terms: TermDictionary, lists: SegmentPostings, sets: TermSets, views: Views, n_fields: int):
        self._terms, self._lists, self._sets, self._views, self._n_fields = terms, lists, sets, views, n_fields
        self._df: dict[object, int] = {}
        self._df_size = 0
        self._cache = PostingsCache()
        self.pairs = Pairs(lists, n_fields, self._cache)
        self._lock = threading.Lock()

    def counts(self, item: Item, query: ResolvedQuery) -> Counts:
        """The statistics of an item: stored for words, counted for phrases and expansions."""
        cf, field_df = [], []
        for field, patterns in zip(query.fields, item.places, strict=True):
            number = self._list(field, patterns)
            if number is None:
                postings = self.in_field(field, patterns)
                cf.append(int(postings.tf.sum(dtype=np.int64)))
                field_df.append(len(postings.ids))
            else:
                cf.append(self._lists.occurrences(number) if number >= 0 else 0)
                field_df.append(self._lists.size(number) if number >= 0 else 0)
        return Counts(tuple(cf), tuple(field_df), self._document_frequency(item, query, field_df))

    def postings(self, item: Item, query: ResolvedQuery) -> list[Postings]:
        """The postings of an item in each ON field."""
        return [self.in_field(f, patterns) for f, patterns in zip(query.fields, item.places, strict=True)]

    def candidates(self, item: Item, query: ResolvedQuery, candidates: Ids) -> list[Postings]:
        """The postings of the candidates in each ON field; words read only blocks that may contain one."""
        result = []
        for field, patterns in zip(query.fields, item.places, strict=True):
            number = self._list(field, patterns)
            if number is None:
                result.append(restricted(self.in_field(field, patterns), candidates))
            else:
                result.append(self._lists.restricted(number, candidates) if number >= 0 else NO_POSTINGS)
        return result

    def entities(self, item: Item, query: ResolvedQuery) -> Ids:
        """The entities that have an item in any ON field."""
        return union([postings.ids for postings in self.postings(item, query)])

    def lists(self, items: Sequence[Item], query: ResolvedQuery) -> QueryLists:
        """The lists of items for the kernel; those of words stay packed."""
        rows, plain = [], []
        start = 0
        for t, item in enumerate(items):
            for f, (field, patterns) in enumerate(zip(query.fields, item.places, strict=True)):
                number = self._list(field, patterns)
                if number is not None:
                    if number >= 0 and (size := self._lists.size(number)):
                        rows.append((t, f, self._lists.first_block(number), 0, size))
                    continue
                postings = self.in_field(field, patterns)
                if len(postings.ids):
                    rows.append((t, f, -1, start, len(postings.ids)))
                    plain.append(postings)
                    start += len(postings.ids)
        columns = np.array(rows, np.int64).reshape(len(rows), 5).T.copy()
        if not plain:
            return QueryLists(columns)
        return QueryLists(
            columns,
            np.concatenate([postings.ids for postings in plain]),
            np.concatenate([postings.tf for postings in plain], dtype=np.uint32),
        )

    def word(self, item: Item, query: ResolvedQuery) -> tuple[int, int] | None:
        """(term or -1, fields as bits) of an item that is the same word in all its fields, none in a language."""
        mask, word = 0, ""
        for field, patterns in zip(query.fields, item.places, strict=True):
            if not patterns:
                continue
            if field.language or len(patterns) > 1 or not patterns[0].is_word:
                return None
            own = patterns[0].words[0][1]
            if word and own != word:
                return None
            mask |= 1 << field.number
            word = own
        return self._terms.number(word) if word else -1, mask

    def in_field(self, field: ResolvedField, patterns: Patterns) -> Postings:
        """The postings of any of the patterns in one field."""
        if len(patterns) < 2:
            return self._pattern(field, patterns[0]) if patterns else NO_POSTINGS
        key = (*_key(field), patterns)
        return self._cached(key, len(patterns), lambda: merged([self._pattern(field, one) for one in patterns]))

    def _list(self, field: ResolvedField, patterns: Patterns) -> int | None:
        """The list number of a single word, -1 where nothing can match; None for anything else."""
        if not patterns:
            return -1
        if field.language or len(patterns) > 1 or not patterns[0].is_word:
            return None
        term = self._terms.number(patterns[0].words[0][1])
        return term * self._n_fields + field.number if term >= 0 else -1

    def _pattern(self, field: ResolvedField, pattern: Pattern) -> Postings:
        numbers = tuple((offset, self._terms.number(term)) for offset, term in pattern.words)
        if any(number < 0 for _, number in numbers):
            return NO_POSTINGS
        view = self._views.postings(field)
        if len(numbers) == 1:
            return view.postings(numbers[0][1])
        key: object = (*_key(field), (pattern,))
        if len(numbers) == 2 and not field.language:
            (place, first), (next_place, second) = numbers
            key = pair_key((first, second, next_place - place), pattern.window, field.number)
        return self._cached(key, 1, lambda: pattern_postings(view, numbers, pattern.window))

    def _cached(self, key: object, patterns: int, find: Callable[[], Postings]) -> Postings:
        cached = self._cache.entries.get(key)
        if cached is None:
            postings = find()
            cached = PairPostings(postings, int(postings.tf.sum(dtype=np.int64)))
            self._cache.add(key, cached, patterns)
        return cached.postings

    def _document_frequency(self, item: Item, query: ResolvedQuery, field_df: Sequence[int]) -> int:
        """The df over all fields; cached where it needs a union of lists."""
        present = [df for df in field_df if df]
        if len(present) < 2:
            return sum(present)
        word = self.word(item, query)
        if word is not None:
            return self._sets.df(*word, present)
        key: object = (tuple(map(_key, query.fields)), item)
        df = self._df.get(key)
        if df is None:
            df = len(self.entities(item, query))
            size = sum(map(len, item.places))
            with self._lock:
                self._df_size += size
                if self._df_size > MAX_CACHED_COUNTS:
                    self._df, self._df_size = {}, size
                self._df[key] = df
        return df


def _key(field: ResolvedField) -> tuple[int, str]:
    return field.number, field.language
