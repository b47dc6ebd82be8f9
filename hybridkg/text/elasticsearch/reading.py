"""Reading of postings from the server, as steps of hybridkg.remote.elasticsearch.server."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.remote.elasticsearch.pages import ROWS_AT_ONCE, PagedRows, Pages
from hybridkg.remote.elasticsearch.server import Body, Steps
from hybridkg.text.elasticsearch.bodies import frequencies
from hybridkg.text.id_sets import NO_POSTINGS
from hybridkg.text.index.positions.windows import windows
from hybridkg.text.match_query.items import Item, Pattern, ResolvedField

MAX_CACHED_WORDS = 200_000
"""Words per analyzer and language whose terms one reading of texts caches."""


@dataclass
class PostingsBuilder:
    """Postings under construction: for each item and ON field, entities and frequencies."""

    ids: dict[tuple[Item, int], array[int]] = field(default_factory=dict)
    tf: dict[tuple[Item, int], array[int]] = field(default_factory=dict)

    def add(self, key: tuple[Item, int], entity: int, tf: int) -> None:
        """Adds occurrences; those of one entity are summed."""
        if key not in self.ids:
            self.ids[key], self.tf[key] = array("I"), array("I")
        self.ids[key].append(entity)
        self.tf[key].append(tf)

    def postings(self, item: Item) -> tuple[Postings, ...]:
        """The postings of an item, one per ON field."""
        return tuple(self._postings((item, place)) for place in range(len(item.places)))

    def _postings(self, key: tuple[Item, int]) -> Postings:
        if key not in self.ids:
            return NO_POSTINGS
        ids, tf = np.array(self.ids[key], np.uint32), np.array(self.tf[key], np.uint32)
        if (ids[1:] > ids[:-1]).all():
            return Postings(ids, tf)
        distinct, place = np.unique(ids, return_inverse=True)
        return Postings(distinct, np.bincount(place, weights=tf).astype(np.uint32))


class ElasticReader(PagedRows):
    """Reads the words and phrases of one index."""

    def words(
        self, query: Body, items: Sequence[Item], fields: Sequence[ResolvedField], into: PostingsBuilder
    ) -> Steps[None]:
        """Frequencies of the words of some items in every match."""
        for clauses in frequencies(list(enumerate(items)), fields):
            names = [clause["script_score"]["_name"] for clause in clauses]
            keys = {name: _key(items, name) for name in names}
            body = {"bool": {"filter": [query], "should": clauses}}
            with closing(Pages(self._server, self._index, body)) as pages:
                while hits := (yield from pages.following()):
                    for hit, entity in zip(hits, self.entities(hits).tolist(), strict=True):
                        for name, tf in hit.get("matched_queries", {}).items():
                            into.add(keys[name], entity, int(tf))

    def positional(
        self, query: Body, items: Sequence[Item], fields: Sequence[ResolvedField], into: PostingsBuilder
    ) -> Steps[None]:
        """Frequencies of the phrases and windows of some items in every match, counted in the original texts."""
        wanted: list[tuple[ResolvedField, list[tuple[tuple[Item, int], Pattern]]]] = []
        for place, f in enumerate(fields):
            own = [((item, place), pattern) for item in items for pattern in item.places[place] if not pattern.is_word]
            if own:
                wanted.append((f, own))
        source = [f"{part}.{f.name}" for f, _ in wanted for part in ("text", "language")]
        analysed = Analysed()
        with closing(Pages(self._server, self._index, query, source=source, size=ROWS_AT_ONCE // 20)) as pages:
            while hits := (yield from pages.following()):
                for hit, entity in zip(hits, self.entities(hits).tolist(), strict=True):
                    for f, own in wanted:
                        values = analysed.values(f, hit.get("_source", {}))
                        for key, pattern in own:
                            if tf := sum(count_pattern(terms, pattern) for terms in values):
                                into.add(key, entity, tf)


def count_pattern(terms: Sequence[str], pattern: Pattern) -> int:
    """The occurrences of a phrase or window in a text with one term per place, empty where none is indexed.

    >>> count_pattern(["new", "york", "", "york"], Pattern(((0, "york"), (2, "york"))))
    1
    """
    if pattern.window:
        return sum(
            1 for _ in windows(list(enumerate(terms)), Counter(term for _, term in pattern.words), pattern.window)
        )
    first = pattern.words[0][1]
    last = len(terms) - pattern.words[-1][0]
    return sum(
        1
        for at in range(max(0, last))
        if terms[at] == first and all(terms[at + offset] == term for offset, term in pattern.words)
    )


class Analysed:
    """Analyses original texts, with a cache of words."""

    def __init__(self) -> None:
        self._terms: dict[tuple[int, str], dict[str, str]] = {}

    def values(self, f: ResolvedField, source: Any) -> list[list[str]]:
        """The terms of each value of a field, one per place."""
        texts = source.get("text", {}).get(f.name, [])
        tags = source.get("language", {}).get(f.name) or [""] * len(texts)
        return [self._terms_of(f, text, f.analyzer.stemmer(tag)) for text, tag in zip(texts, tags, strict=True)]

    def _terms_of(self, f: ResolvedField, text: str, stemmer: str) -> list[str]:
        term_of = self._terms.setdefault((id(f.analyzer), stemmer), {})
        terms = []
        for word in f.analyzer.words(text):
            term = term_of.get(word)
            if term is None:
                if len(term_of) >= MAX_CACHED_WORDS:
                    term_of.clear()
                term = term_of[word] = f.analyzer.term(word, stemmer)
            terms.append(term)
        return terms


def _key(items: Sequence[Item], name: str) -> tuple[Item, int]:
    number, _, place = name.partition(".")
    return items[int(number)], int(place)
