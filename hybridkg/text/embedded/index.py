"""Answers text queries from the files of an embedded index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.ranking_model import Postings, ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import (
    Condition,
    Ids,
    IndexedField,
    Scores,
    TermStatistics,
    TextQuery,
    TextQuestion,
)
from hybridkg.text.embedded.phrases import phrase_postings
from hybridkg.text.embedded.postings import FieldPostings, TermDictionary
from hybridkg.text.layout import ArrayReader
from hybridkg.text.models.bm25f import idf
from hybridkg.text.presence import Presence
from hybridkg.text.query_string import NOT
from hybridkg.text.resolve import Item, ResolvedQuery, Words, resolve, role_of
from hybridkg.text.sets import NO_POSTINGS, contains, intersection, restricted, union
from hybridkg.text.snippet import best_passage
from hybridkg.text.stored import best, named_analyzer, stored_analyzers, stored_fields

MOST_REMEMBERED_COUNTS = 100_000
"""Document frequencies over several fields that an open index remembers."""

MOST_REMEMBERED_PHRASE_POSTINGS = 2_000_000
"""Postings of phrases that an open index remembers; 8 bytes each."""


@dataclass(frozen=True)
class _Occurrences:
    """Where an item occurs: postings and occurrences in each ON field, and how many entities have it in any."""

    postings: tuple[Postings, ...]
    cf: tuple[int, ...]
    df: int

    def entities(self) -> Ids:
        return union([postings.ids for postings in self.postings])


class EmbeddedTextIndex:
    """A finished index, read-only and memory-mapped; safe to use from many threads.

    Scores use the statistics of the whole index, whatever entities are asked about.
    """

    exact = True
    scan_limit = None

    def __init__(
        self,
        reader: ArrayReader,
        fields: Sequence[IndexedField],
        analyzers: dict[str, Analyzer],
        rank: Callable[[Ids], Ids] | None,
    ):
        self._fields, self._analyzers, self._rank = tuple(fields), analyzers, rank
        self._terms = TermDictionary(reader)
        self._postings = [FieldPostings(reader, f"field{i}", len(self._terms)) for i in range(len(fields))]
        self._lengths = reader.array("lengths")
        self._totals = [(int(f["entities"]), int(f["tokens"])) for f in reader.about("fields")]
        self._presence = Presence(reader)
        self.counts: Mapping[str, int] = dict(reader.about("counts"))
        if self._lengths.ndim != 2 or len(self._lengths) != len(fields):
            raise CorruptError("the field lengths of the text index have the wrong shape", hint="index again")
        self._df: dict[object, int] = {}
        self._phrases: dict[tuple[int, tuple[tuple[int, int], ...]], Postings] = {}
        self._phrases_size = 0
        self._phrases_lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path, rank: Callable[[Ids], Ids] | None = None) -> EmbeddedTextIndex:
        """Opens the index in a folder.

        Args:
            folder: written by EmbeddedTextBuilder.
            rank: order of the nodes, for ties: ids -> ranks; without it the ids themselves.

        Raises:
            CorruptError: a file is missing, of the wrong size, or written with other analyzers.
        """
        reader = ArrayReader(folder)
        return cls(reader, stored_fields(reader, folder), stored_analyzers(reader, folder), rank)

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names, in the profile's order."""
        return tuple(field.name for field in self._fields)

    def field_totals(self, name: str) -> dict[str, float]:
        """Of one field: entities that have it, tokens in all, and mean length in tokens over those entities."""
        entities, tokens = self._totals[self.fields.index(name)]
        return {"entities": entities, "tokens": tokens, "mean_length": tokens / entities if entities else 0.0}

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of that name, as the index was built with it."""
        return named_analyzer(self._analyzers, name)

    def about(self) -> dict[str, Any]:
        """What `stats` says of the engine."""
        return {"engine": "embedded"}

    def holds(self, condition: Condition) -> bool:
        """Conditions on the graph are the graph's own business: it is as near as the postings."""
        del condition
        return False

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError or TextQueryError for a query without an answer; reads no postings."""
        self._resolve(query)

    def most(self, query: TextQuery) -> int:
        """The sum of the document frequencies."""
        return sum(term.df for term in self.terms(query) if term.role != NOT)

    def prepare(self, queries: Sequence[TextQuery]) -> None:
        """Nothing is far away."""

    def matching(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The complete relation: (ids uint32[m] ascending, scores float64[m])."""
        return self._scored(self._resolve(query), None)

    def topk(self, query: TextQuery, k: int) -> tuple[Ids, Scores]:
        """Best k: (ids uint32[m], scores float64[m]), by score descending, then the node's rank; exact."""
        return best(*self.matching(query), k, self._rank)

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; ids in any order, repeats allowed."""
        ids = np.asarray(ids, np.uint32)
        wanted, place = np.unique(ids, return_inverse=True)
        found, scores = self._scored(self._resolve(query), wanted)
        answer = np.full(len(wanted), np.nan)
        answer[np.searchsorted(wanted, found)] = scores
        return answer[place]

    def answers(self, questions: Sequence[TextQuestion]) -> list[tuple[Ids, Scores]]:
        """One after the other."""
        return [self.matching(q.query) if q.k is None else self.topk(q.query, q.k) for q in questions]

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""
        resolved = self._resolve(query)
        scoring = [
            TermStatistics(item.shown(), self._occurrences(item, resolved).df, role_of(item, resolved))
            for item in resolved.counts
        ]
        excluded = [
            TermStatistics(item.shown(), self._occurrences(item, resolved).df, NOT) for item in resolved.excluded
        ]
        return scoring + excluded

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match."""
        resolved = self._resolve(query)
        n = self._n_entities(resolved)
        values = {item: idf(self._occurrences(item, resolved).df, n) for item in resolved.counts}
        return best_passage(resolved.fields, values, texts)

    def _resolve(self, query: TextQuery) -> ResolvedQuery:
        return resolve(query, self._fields, self._analyzers)

    def _n_entities(self, query: ResolvedQuery) -> int:
        return self._presence.entities(field.number for field in query.fields)

    def _occurrences(self, item: Item, query: ResolvedQuery) -> _Occurrences:
        found = [self._in_field(f.number, words) for f, words in zip(query.fields, item.words, strict=True)]
        postings = tuple(p for p, _ in found)
        return _Occurrences(postings, tuple(cf for _, cf in found), self._document_frequency(item, query, postings))

    def _in_field(self, field: int, words: Words) -> tuple[Postings, int]:
        """Postings and occurrences of a word or phrase in one field."""
        numbers = tuple((offset, self._terms.number(term)) for offset, term in words)
        if not numbers or any(number < 0 for _, number in numbers):
            return NO_POSTINGS, 0
        if len(numbers) == 1:
            number = numbers[0][1]
            return self._postings[field].postings(number), self._postings[field].occurrences(number)
        postings = self._phrases.get((field, numbers))
        if postings is None:
            postings = phrase_postings(self._postings[field], numbers)
            with self._phrases_lock:
                self._phrases_size += len(postings.ids) + 1
                if self._phrases_size > MOST_REMEMBERED_PHRASE_POSTINGS:
                    self._phrases, self._phrases_size = {}, len(postings.ids) + 1
                self._phrases[field, numbers] = postings
        return postings, int(postings.tf.sum(dtype=np.int64))

    def _document_frequency(self, item: Item, query: ResolvedQuery, postings: Sequence[Postings]) -> int:
        """Entities in any of the postings; remembered, because the union of long lists is the dear part."""
        lists = [p.ids for p in postings if len(p.ids)]
        if len(lists) < 2:
            return len(lists[0]) if lists else 0
        key = (tuple(field.number for field in query.fields), item)
        df = self._df.get(key)
        if df is None:
            if len(self._df) >= MOST_REMEMBERED_COUNTS:
                self._df.clear()
            df = self._df[key] = len(union(lists))
        return df

    def _scored(self, query: ResolvedQuery, candidates: Ids | None) -> tuple[Ids, Scores]:
        """Ids and scores of the matching entities, of the candidates only where they are given."""
        found = {item: self._occurrences(item, query) for item in query.counts}
        if query.required:
            required = intersection([found[item].entities() for item in query.required])
            candidates = required if candidates is None else intersection([required, candidates])
        ids, scores = query.model.score(self._task(query, found, candidates))
        for item in query.excluded:
            kept = ~contains(ids, self._occurrences(item, query).entities())
            ids, scores = ids[kept], scores[kept]
        return ids, scores

    def _task(self, query: ResolvedQuery, found: dict[Item, _Occurrences], candidates: Ids | None) -> ScoringTask:
        terms = []
        for item, count in query.counts.items():
            whole = found[item]
            postings = whole.postings
            if candidates is not None:
                postings = tuple(restricted(p, candidates) for p in postings)
            field_df = tuple(len(p.ids) for p in whole.postings)
            terms.append(ScoredTerm(count, whole.df, whole.cf, field_df, tuple(map(bool, item.words)), postings))
        fields = tuple(
            ScoredField(f.name, f.number, f.weight, f.b, *self._totals[f.number], f.arguments) for f in query.fields
        )
        return ScoringTask(fields, tuple(terms), self._n_entities(query), self._lengths, query.arguments)
