"""Answers text queries from the files of an embedded index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.links import Linker
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
from hybridkg.text.embedded.languages import Views
from hybridkg.text.embedded.positional import pattern_postings
from hybridkg.text.embedded.postings import FieldPostings, TermDictionary
from hybridkg.text.items import Group, Item, OnField, Pattern, Patterns, ResolvedQuery
from hybridkg.text.layout import ArrayReader
from hybridkg.text.models.bm25f import idf
from hybridkg.text.presence import Presence
from hybridkg.text.query_string import NOT
from hybridkg.text.resolve import links_of, resolve, roles_of
from hybridkg.text.sets import NO_POSTINGS, NONE, contains, intersection, merged, restricted, union
from hybridkg.text.snippet import best_passage, field_passages
from hybridkg.text.stored import FieldsOfIndex, best, named_analyzer, stored_analyzers, stored_fields, stored_totals
from hybridkg.text.synonyms import NO_SYNONYMS, Synonyms, stored_synonyms
from hybridkg.text.vocabulary import ArrayVocabulary

MOST_REMEMBERED_COUNTS = 100_000
"""Document frequencies over several fields that an open index remembers; a prefix is as many as it has patterns."""

MOST_REMEMBERED_POSTINGS = 2_000_000
"""Postings of phrases and expansions that an open index remembers; 8 bytes each."""

PATTERN_AS_POSTINGS = 60
"""What a pattern among the keys takes, about 500 bytes: without it, phrases that occur nowhere would weigh nothing."""

MOST_REMEMBERED_QUERIES = 32
"""Analysed queries that an open index remembers."""


@dataclass(frozen=True)
class _Occurrences:
    """Where an item occurs: postings and occurrences in each ON field, and how many entities have it in any."""

    postings: tuple[Postings, ...]
    cf: tuple[int, ...]
    df: int

    def entities(self) -> Ids:
        return union([postings.ids for postings in self.postings])


class EmbeddedTextIndex(FieldsOfIndex):
    """A finished index, read-only and memory-mapped; safe to use from many threads.

    Scores use the statistics of the whole index, whatever entities are asked about.
    """

    exact = True
    scan_limit = None
    linker: Linker | None = None

    def __init__(
        self,
        reader: ArrayReader,
        fields: Sequence[IndexedField],
        analyzers: dict[str, Analyzer],
        rank: Callable[[Ids], Ids] | None,
        synonyms: Synonyms = NO_SYNONYMS,
    ):
        self._synonyms = synonyms
        super().__init__(fields, stored_totals(reader))
        self._analyzers, self._rank = analyzers, rank
        self._terms = TermDictionary(reader)
        self._postings = [FieldPostings(reader, f"field{i}", len(self._terms)) for i in range(len(fields))]
        lengths = reader.array("lengths")
        self.counts: Mapping[str, int] = dict(reader.about("counts"))
        if lengths.ndim != 2 or len(lengths) != len(fields):
            raise CorruptError("the field lengths of the text index have the wrong shape", hint="index again")
        self._views = Views(reader, self._fields, self._postings, lengths, self._totals, Presence(reader))
        self._df: dict[object, int] = {}
        self._df_size = 0
        self._vocabulary = ArrayVocabulary(self._terms, lambda terms, field: self._postings[field].frequencies(terms))
        self._resolved: OrderedDict[TextQuery, ResolvedQuery] = OrderedDict()
        self._found: dict[object, Postings] = {}
        self._found_size = 0
        self._lock = threading.Lock()

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
        analyzers = stored_analyzers(reader, folder)
        return cls(reader, stored_fields(reader, folder), analyzers, rank, stored_synonyms(folder))

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

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """What the query's model sees of the matching entities, of those among `ids` where they are given."""
        return self._task(self._resolve(query), ids)

    def answers(self, questions: Sequence[TextQuestion]) -> list[tuple[Ids, Scores]]:
        """One after the other."""
        return [self.matching(q.query) if q.k is None else self.topk(q.query, q.k) for q in questions]

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""
        resolved = self._resolve(query)
        roles = roles_of(resolved)
        return [
            TermStatistics(item.shown(), self._occurrences(item, resolved).df, role, item.alternatives, item.total)
            for item, role in roles
        ]

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match."""
        resolved = self._resolve(query)
        return best_passage(resolved.fields, self._idf_of(resolved), texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each field in which something matches, in the order of the ON fields."""
        resolved = self._resolve(query)
        return field_passages(resolved.fields, self._idf_of(resolved), texts)

    def _idf_of(self, query: ResolvedQuery) -> dict[Item, float]:
        n = self._n_entities(query)
        return {item: idf(self._occurrences(item, query).df, n) for item in query.counts}

    def _resolve(self, query: TextQuery) -> ResolvedQuery:
        """The query resolved; remembered, because a passage of each row asks for it, and expansions are dear."""
        with self._lock:
            if query in self._resolved:
                self._resolved.move_to_end(query)
                return self._resolved[query]
        resolved = resolve(query, self._fields, self._analyzers, self._vocabulary, self._synonyms)
        with self._lock:
            self._resolved[query] = resolved
            if len(self._resolved) > MOST_REMEMBERED_QUERIES:
                self._resolved.popitem(last=False)
        return resolved

    def _n_entities(self, query: ResolvedQuery) -> int:
        return self._views.entities(query.fields)

    def _occurrences(self, item: Item, query: ResolvedQuery) -> _Occurrences:
        found = [self._in_field(f, patterns) for f, patterns in zip(query.fields, item.places, strict=True)]
        postings = tuple(p for p, _ in found)
        return _Occurrences(postings, tuple(cf for _, cf in found), self._document_frequency(item, query, postings))

    def _in_field(self, field: OnField, patterns: Patterns) -> tuple[Postings, int]:
        """Postings and occurrences of the alternatives in one field."""
        if len(patterns) < 2:
            return self._pattern(field, patterns[0]) if patterns else (NO_POSTINGS, 0)
        postings = self._remembered(
            field, patterns, lambda: merged([self._pattern(field, pattern)[0] for pattern in patterns])
        )
        return postings, int(postings.tf.sum(dtype=np.int64))

    def _pattern(self, field: OnField, pattern: Pattern) -> tuple[Postings, int]:
        """Postings and occurrences of a word, a phrase or words in a window."""
        numbers = tuple((offset, self._terms.number(term)) for offset, term in pattern.words)
        if any(number < 0 for _, number in numbers):
            return NO_POSTINGS, 0
        view = self._views.postings(field)
        if len(numbers) == 1:
            number = numbers[0][1]
            return view.postings(number), view.occurrences(number)
        postings = self._remembered(field, (pattern,), lambda: pattern_postings(view, numbers, pattern.window))
        return postings, int(postings.tf.sum(dtype=np.int64))

    def _remembered(self, field: OnField, patterns: Patterns, find: Callable[[], Postings]) -> Postings:
        """Postings that are not at hand and cost time to find."""
        key = (*_key(field), patterns)
        postings = self._found.get(key)
        if postings is None:
            postings = find()
            size = len(postings.ids) + PATTERN_AS_POSTINGS * len(patterns)
            with self._lock:
                self._found_size += size
                if self._found_size > MOST_REMEMBERED_POSTINGS:
                    self._found, self._found_size = {}, size
                self._found[key] = postings
        return postings

    def _document_frequency(self, item: Item, query: ResolvedQuery, postings: Sequence[Postings]) -> int:
        """Entities in any of the postings; remembered, because the union of long lists is the dear part."""
        lists = [p.ids for p in postings if len(p.ids)]
        if len(lists) < 2:
            return len(lists[0]) if lists else 0
        key: object = (tuple(map(_key, query.fields)), item)
        df = self._df.get(key)
        if df is None:
            df = len(union(lists))
            size = sum(map(len, item.places))
            with self._lock:
                self._df_size += size
                if self._df_size > MOST_REMEMBERED_COUNTS:
                    self._df, self._df_size = {}, size
                self._df[key] = df
        return df

    def _entities(self, part: Item | Group, query: ResolvedQuery) -> Ids:
        """The entities that match a part of the query, ascending."""
        if isinstance(part, Item):
            return self._occurrences(part, query).entities()
        parts = [self._entities(one, query) for one in part.must or part.should]
        found = (intersection(parts) if parts else NONE) if part.must else union(parts)
        for one in part.excluded:
            found = found[~contains(found, self._entities(one, query))]
        return found

    def _scored(self, query: ResolvedQuery, candidates: Ids | None) -> tuple[Ids, Scores]:
        """Ids and scores of the matching entities, of the candidates only where they are given."""
        return query.model.score(self._task(query, candidates))

    def _task(self, query: ResolvedQuery, candidates: Ids | None) -> ScoringTask:
        """What the model sees of the matching entities, of the candidates only where they are given."""
        if not query.matching.any_of_its_items:
            matching = self._entities(query.matching, query)
            candidates = matching if candidates is None else intersection([matching, candidates])

        def terms(counts: Mapping[Item, float]) -> tuple[ScoredTerm, ...]:
            return tuple(self._term(item, count, query, candidates) for item, count in counts.items())

        lengths, rows = self._views.lengths(query.fields)
        fields = tuple(
            ScoredField(f.written, row, f.weight, f.b, *self._views.totals(f), f.arguments)
            for f, row in zip(query.fields, rows, strict=True)
        )
        return ScoringTask(
            fields=fields,
            terms=terms(query.counts),
            n_entities=self._n_entities(query),
            lengths=lengths,
            arguments=query.arguments,
            choices=query.choices,
            ordered=terms(query.ordered),
            unordered=terms(query.unordered),
            links=links_of(query, self.linker),
        )

    def _term(self, item: Item, count: float, query: ResolvedQuery, candidates: Ids | None) -> ScoredTerm:
        whole = self._occurrences(item, query)
        postings = whole.postings
        if candidates is not None:
            postings = tuple(restricted(p, candidates) for p in postings)
        field_df = tuple(len(p.ids) for p in whole.postings)
        return ScoredTerm(count, whole.df, whole.cf, field_df, item.allowed, postings, item.shown())


def _key(field: OnField) -> tuple[int, str]:
    return field.number, field.language
