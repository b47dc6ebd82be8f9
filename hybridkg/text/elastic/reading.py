"""Reads from an index in pages, as askers (see server.py): rows, scores, and the postings that models need.

The first page of a question needs no point in time, so several questions can
share one request; from the second page on a point in time holds the index
still. Totals are tracked: a relation that is read is complete, or an error.
"""

from __future__ import annotations

import contextlib
from array import array
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybridkg.errors import TextServerError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.elastic.bodies import ROWS_AT_ONCE, frequencies
from hybridkg.text.elastic.server import Body, Server, Steps
from hybridkg.text.items import Item, OnField, Pattern
from hybridkg.text.sets import NO_POSTINGS, NONE
from hybridkg.text.windows import windows

BY_NODE: list[Body] = [{"node": "asc"}]
BEST_FIRST: list[Body] = [{"_score": "desc"}, {"node": "asc"}]

KEEP_ALIVE = "2m"
"""How long a point in time waits for the next page."""

MOST_PLACES = 10
"""Points in time that one page may need; a server that loses more does not work."""

GROWTH = 4
"""How much larger the next page of a ranking is: a few requests reach any depth, and most need one."""

MOST_REMEMBERED_WORDS = 200_000
"""Words whose terms one reading of texts remembers, for each analyzer and language."""

Hits = Sequence[Any]


@dataclass
class Gathered:
    """Postings under construction: for each item and ON field, entities and frequencies."""

    ids: dict[tuple[Item, int], array[int]] = field(default_factory=dict)
    tf: dict[tuple[Item, int], array[int]] = field(default_factory=dict)

    def add(self, key: tuple[Item, int], entity: int, tf: int) -> None:
        """Some occurrences; what comes twice for an entity is added up."""
        if key not in self.ids:
            self.ids[key], self.tf[key] = array("I"), array("I")
        self.ids[key].append(entity)
        self.tf[key].append(tf)

    def postings(self, item: Item) -> tuple[Postings, ...]:
        """The postings of an item, one for each ON field."""
        return tuple(self._postings((item, place)) for place in range(len(item.places)))

    def _postings(self, key: tuple[Item, int]) -> Postings:
        if key not in self.ids:
            return NO_POSTINGS
        ids, tf = np.array(self.ids[key], np.uint32), np.array(self.tf[key], np.uint32)
        if (ids[1:] > ids[:-1]).all():
            return Postings(ids, tf)
        found, place = np.unique(ids, return_inverse=True)
        return Postings(found, np.bincount(place, weights=tf).astype(np.uint32))


class Pages:
    """The rows of a query, page by page: `while hits := (yield from pages.following()): ...`, then `close`.

    Args:
        server: has the index.
        index: its name.
        query: what to search for.
        sort: a total order of the entities.
        size: rows of the first page; later ones are larger, up to 10,000.
        source: parts of `_source` to bring along.
        scores: whether scores are needed although the order is another.
        complete: whether all rows are wanted, and their number is to be checked.
    """

    def __init__(
        self,
        server: Server,
        index: str,
        query: Body,
        *,
        sort: Sequence[Body] = BY_NODE,
        size: int = ROWS_AT_ONCE,
        source: Sequence[str] = (),
        scores: bool = False,
        complete: bool = True,
    ):
        self._server, self._index, self._size, self._complete = server, index, size, complete
        self._body: Body = {"query": query, "sort": list(sort), "track_scores": scores}
        self._body |= {"_source": list(source)} if source else {"_source": False, "stored_fields": "_none_"}
        self._columns = len(sort)
        self._place: str | None = None
        self._after: list[Any] | None = None
        self._total, self._seen, self._ended = 0, 0, False

    def following(self) -> Steps[Hits]:
        """The hits of the next page; none when there are no more.

        Raises:
            TextServerError: fewer rows came than match.
        """
        if self._ended:
            return ()
        size = min(self._size, ROWS_AT_ONCE)
        for _ in range(MOST_PLACES):
            body = {**self._body, "size": size, "track_total_hits": self._complete and self._after is None}
            if self._after is not None:
                self._place = self._place or self._open_place()
                body |= {"search_after": self._after, "pit": {"id": self._place, "keep_alive": KEEP_ALIVE}}
            (response,) = yield [body]
            if not response.get("lost"):
                break
            self._place = None  # the index itself never changes, so another point in time shows the same
        else:
            raise TextServerError("the server loses its points in time at once", hint="nothing was returned; try again")
        hits: Hits = response.get("hits", {}).get("hits", [])
        self._place = response.get("pit_id") or self._place
        if self._complete and self._after is None:
            self._total = _total(response)
        self._seen += len(hits)
        self._ended = len(hits) < size
        self._size = GROWTH * size
        if hits:
            self._after = hits[-1]["sort"][: self._columns]
        if self._ended and self._complete and self._seen != self._total:
            raise TextServerError(
                f"{self._seen:,} of {self._total:,} matching entities came from the server",
                hint="nothing was returned; try again",
            )
        return hits

    def close(self) -> None:
        """Gives the point in time back; one that cannot be reached ends by itself in two minutes."""
        if self._place is not None:
            place, self._place = self._place, None
            with contextlib.suppress(Exception):
                self._server.client.options(request_timeout=1).close_point_in_time(id=place)

    def _open_place(self) -> str:
        answer = self._server.ask(
            "opening a point in time",
            lambda client: client.open_point_in_time(index=self._index, keep_alive=KEEP_ALIVE),
        )
        return str(answer["id"])


class Reader:
    """Reads one index.

    Args:
        server: has it.
        index: its name.
    """

    def __init__(self, server: Server, index: str):
        self._server, self._index = server, index

    def count(self, query: Body) -> Steps[int]:
        """How many entities match; exact, however many."""
        (response,) = yield [{"query": query, "size": 0, "track_total_hits": True}]
        return _total(response)

    def scored(self, query: Body) -> Steps[tuple[Ids, Scores]]:
        """Every match with the server's own score: (ids uint32[m] ascending, scores float64[m])."""
        ids, scores = [NONE], [np.zeros(0)]
        with closing(Pages(self._server, self._index, query, scores=True)) as pages:
            while hits := (yield from pages.following()):
                ids.append(np.array([hit["sort"][0] for hit in hits], np.uint32))
                scores.append(scores_of(hits))
        return np.concatenate(ids), np.concatenate(scores)

    def ids(self, query: Body) -> Steps[Ids]:
        """Every match: uint32[m], ascending."""
        ids = [NONE]
        with closing(Pages(self._server, self._index, query)) as pages:
            while hits := (yield from pages.following()):
                ids.append(np.array([hit["sort"][0] for hit in hits], np.uint32))
        return np.concatenate(ids)

    def best_first(self, query: Body, size: int) -> Pages:
        """Pages in the order of the server's scores, then of the ids; to be closed."""
        return Pages(self._server, self._index, query, sort=BEST_FIRST, size=size, scores=True, complete=False)

    def words(self, query: Body, items: Sequence[Item], fields: Sequence[OnField], into: Gathered) -> Steps[None]:
        """Frequencies of the words of some items in every match."""
        for clauses in frequencies(list(enumerate(items)), fields):
            names = [clause["script_score"]["_name"] for clause in clauses]
            keys = {name: _key(items, name) for name in names}
            body = {"bool": {"filter": [query], "should": clauses}}
            with closing(Pages(self._server, self._index, body)) as pages:
                while hits := (yield from pages.following()):
                    for hit in hits:
                        entity = hit["sort"][0]
                        for name, tf in hit.get("matched_queries", {}).items():
                            into.add(keys[name], entity, int(tf))

    def positional(self, query: Body, items: Sequence[Item], fields: Sequence[OnField], into: Gathered) -> Steps[None]:
        """Frequencies of the phrases and windows of some items in every match, counted in the original texts."""
        wanted: list[tuple[OnField, list[tuple[tuple[Item, int], Pattern]]]] = []
        for place, f in enumerate(fields):
            own = [((item, place), pattern) for item in items for pattern in item.places[place] if not pattern.is_word]
            if own:
                wanted.append((f, own))
        source = [f"{part}.{f.name}" for f, _ in wanted for part in ("text", "language")]
        analysed = Analysed()
        with closing(Pages(self._server, self._index, query, source=source, size=ROWS_AT_ONCE // 20)) as pages:
            while hits := (yield from pages.following()):
                for hit in hits:
                    for f, patterns in wanted:
                        values = analysed.values(f, hit.get("_source", {}))
                        for key, pattern in patterns:
                            if tf := sum(count_pattern(terms, pattern) for terms in values):
                                into.add(key, hit["sort"][0], tf)


def scores_of(hits: Hits) -> Scores:
    """float64[n]: the scores, which are 32-bit numbers that JSON shows by their shortest decimal form."""
    return np.array([hit["_score"] for hit in hits], np.float32).astype(np.float64)


def count_pattern(terms: Sequence[str], pattern: Pattern) -> int:
    """How often a phrase begins in a text, or how many windows of it have all the words.

    Args:
        terms: of the text, one for each place; empty where none is indexed.
        pattern: what is looked for.

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
    """Original texts cut into terms again; each word is analysed once."""

    def __init__(self) -> None:
        self._terms: dict[tuple[int, str], dict[str, str]] = {}

    def values(self, f: OnField, source: Any) -> list[list[str]]:
        """The terms of each value of a field, one for each place."""
        texts = source.get("text", {}).get(f.name, [])
        tags = source.get("language", {}).get(f.name) or [""] * len(texts)
        return [self._terms_of(f, text, f.analyzer.stemmer(tag)) for text, tag in zip(texts, tags, strict=True)]

    def _terms_of(self, f: OnField, text: str, stemmer: str) -> list[str]:
        known = self._terms.setdefault((id(f.analyzer), stemmer), {})
        terms = []
        for word in f.analyzer.words(text):
            term = known.get(word)
            if term is None:
                if len(known) >= MOST_REMEMBERED_WORDS:
                    known.clear()
                term = known[word] = f.analyzer.term(word, stemmer)
            terms.append(term)
        return terms


def _key(items: Sequence[Item], name: str) -> tuple[Item, int]:
    number, _, place = name.partition(".")
    return items[int(number)], int(place)


def _total(response: Any) -> int:
    total = response.get("hits", {}).get("total", {})
    if total.get("relation") != "eq":
        raise TextServerError("the server counted only in part", hint="nothing was returned; try again")
    return int(total["value"])
