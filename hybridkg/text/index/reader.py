"""The reader of the embedded text index: queries on the memory-mapped arrays of a segment."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from hybridkg.errors import CorruptError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.links import EntityLinker
from hybridkg.interfaces.ranking_model import Postings, ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import (
    Ids,
    IndexedField,
    IndexRequest,
    PushdownCondition,
    Scores,
    TermStatistics,
    TextQuery,
)
from hybridkg.text.id_sets import NO_POSTINGS, NONE, contains, intersection, restricted, union
from hybridkg.text.index.field_lengths import NO_LENGTHS, narrow_lengths
from hybridkg.text.index.field_presence import Presence
from hybridkg.text.index.language_view import Views
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.positions.occurrences import Occurrences
from hybridkg.text.index.postings import FieldPostings, SegmentPostings, TermDictionary
from hybridkg.text.index.stored_fields import FieldsOfIndex, best, named_analyzer, stored_analyzers, stored_fields
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.index.topk.bag_of_words import BagOfWords, BagQuery
from hybridkg.text.index.topk.block_max import BlockMaxIndex
from hybridkg.text.index.topk.topk import look_ups, scores_of, top_k
from hybridkg.text.match_query.items import Item, ItemGroup, ResolvedQuery
from hybridkg.text.match_query.query_string import NOT
from hybridkg.text.match_query.resolve import links_of, resolve, roles_of
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms, stored_synonyms
from hybridkg.text.match_query.vocabulary import ArrayVocabulary
from hybridkg.text.models.additive import KERNEL, AdditiveModel, score_numpy
from hybridkg.text.models.bm25f import idf
from hybridkg.text.snippets import KnownTerms, PassageFinder

P = ParamSpec("P")
T = TypeVar("T")

OFTEN_READ = (
    "lengths", "packed", "blocks.first", "blocks.at", "blocks.widths", "lists.postings", "lists.tokens", "lists.blocks",
    "terms.prefixes", "terms.offsets", "terms.text", "terms.sets.offsets", "terms.sets.fields", "terms.sets.entities",
    "peaks.members", "peaks.levels",
)  # fmt: skip
"""Arrays that most queries read, without positions, which are the largest and needed by few."""

QUERY_AS_POSTINGS = 100_000
"""What a query counts towards the load of a kernel, besides its postings: who has asked thirty will ask more. With
numpy a query takes 0.8 ms more (100,000 papers of benchmarks.hybrid)."""

FEW_POSTINGS = 8192
"""Postings up to which the kernel scores all matches sooner than numpy unites their lists: 10 against 30 to 80 us for
100 postings, 80 against 120 for 6,600; 320 against 200 for 27,000 (100,000 papers of benchmarks.hybrid)."""

MAX_CACHED_QUERIES = 32
"""Cached resolved queries."""


class EmbeddedTextIndex(FieldsOfIndex):
    """An embedded index, read-only and memory-mapped. Safe to use from many threads.

    Scores use the statistics of the whole index, whatever the candidates.
    """

    exact = True
    is_remote = False
    max_remote_scan = 0
    linker: EntityLinker | None = None

    def __init__(
        self,
        index: ArrayReader,
        segment: ArrayReader,
        fields: Sequence[IndexedField],
        analyzers: dict[str, Analyzer],
        rank: Callable[[Ids], Ids] | None,
        synonyms: Synonyms = NO_SYNONYMS,
    ):
        self._synonyms = synonyms
        super().__init__(fields, _totals(segment))
        self._analyzers, self._rank = analyzers, rank
        self.counts: Mapping[str, int] = dict(index.about("counts"))
        lengths = segment.array("lengths")
        if lengths.shape != (len(fields), int(index.about("n_nodes"))):
            raise CorruptError("the field lengths of the text index have the wrong shape", hint="index again")
        terms = TermDictionary(segment)
        self._segment, self._populated = segment, False
        self._lengths, self._narrow = lengths, NO_LENGTHS
        self._block_maxima = BlockMaxIndex(segment, len(fields), lengths.shape[1])
        self._rank_of_all: Ids | None = None
        self._lists = SegmentPostings(segment, len(terms) * len(fields))
        postings = [FieldPostings(self._lists, i, len(fields)) for i in range(len(fields))]
        self._views = Views(segment, self._fields, postings, lengths, self._totals, Presence(segment))
        sets = TermSets(segment, len(terms))
        self._occurrences = Occurrences(terms, self._lists, sets, self._views, len(fields))
        # Not the methods themselves: a cycle would keep the files of an old generation open until it is collected.
        resolve, outline = _weak(self._resolve), _weak(self._outline)
        self._plain = BagOfWords(terms, self._lists, sets, len(fields), resolve, outline, self._occurrences.pairs)
        self._vocabulary = ArrayVocabulary(terms, lambda terms, field: postings[field].frequencies(terms))
        self._resolved: OrderedDict[TextQuery, ResolvedQuery] = OrderedDict()
        self._finders: dict[TextQuery, PassageFinder] = {}
        self._known_terms = KnownTerms()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path, rank: Callable[[Ids], Ids] | None = None) -> EmbeddedTextIndex:
        """Opens the index in a folder.

        Args:
            folder: written by EmbeddedTextBuilder.
            rank: order of the nodes, for ties: ids -> ranks; the ids themselves by default.

        Raises:
            CorruptError: a file is missing, of the wrong size, or written with other analyzers.
        """
        index = ArrayReader(folder)
        segments = index.about("segments")
        if not isinstance(segments, list) or len(segments) != 1:
            raise CorruptError(
                f"this hybridkg reads text indexes of one segment, not of {segments!r}", place=str(folder)
            )
        analyzers, fields = stored_analyzers(index, folder), stored_fields(index, folder)
        return cls(index, ArrayReader(folder, str(segments[0])), fields, analyzers, rank, stored_synonyms(folder))

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer that the index was built with."""
        return named_analyzer(self._analyzers, name)

    def about(self) -> dict[str, Any]:
        """The engine, for `stats`."""
        return {"engine": "embedded"}

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """Never: the graph is as local as the postings."""
        del condition
        return False

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError or TextQueryError for a query without an answer; reads no postings."""
        if self._synonyms.rules or self._plain.match_count_bound(query) is None:
            self._resolve(query)

    def match_count_bound(self, query: TextQuery) -> int:
        """The sum of the document frequencies."""
        plain = None if self._synonyms.rules else self._plain.match_count_bound(query)
        if plain is not None:
            return plain
        return sum(term.df for term in self.terms(query) if term.role != NOT)

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """Does nothing: counts are local."""

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The ranked relation: (ids uint32[m] ascending, scores float64[m])."""
        return self._scores_of(query, None)

    def matches(self, query: TextQuery) -> Ids:
        """The matching entities: uint32[m], ascending. Those of few postings come with their scores from the kernel,
        those of many are the union of the posting lists.
        """
        plain = self._plain_query(query)
        if plain is not None and plain.postings <= FEW_POSTINGS:
            kernel = KERNEL.for_work(plain.postings + QUERY_AS_POSTINGS)
            if kernel is not None:
                return scores_of(kernel, plain, self._lists.packed, None)[0]
        resolved = self._resolve(query)
        return self._entities(resolved.matching, resolved)

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """The exact top-k: (ids uint32[m], scores float64[m]), by score descending, then by the node's rank.

        Args:
            query: any.
            k: maximum number of results.
            among: uint32[n], ascending, distinct candidates; None for all entities.
        """
        if k <= 0:
            self.check(query)
            return NONE, np.zeros(0)
        result = self._plain.best(query, k) if among is None and not self._synonyms.rules else None
        if result is not None:
            return result
        plain = self._plain_query(query)
        if plain is not None:
            kernel = KERNEL.for_work(plain.postings + QUERY_AS_POSTINGS)
            if kernel is not None:
                return self._best(kernel, plain, k, among)
            return best(*self._score_plain(plain, among), k, self._rank)
        resolved = self._resolve(query)
        if isinstance(resolved.model, AdditiveModel):
            # The rows of the form: an item may be a word or phrase of the query and a pair as well.
            items = (*resolved.counts, *resolved.ordered, *resolved.unordered)
            lists = self._occurrences.lists(items, resolved)
            postings = int(lists.sizes.sum())
            kernel = KERNEL.for_work(postings + QUERY_AS_POSTINGS)
            if kernel is not None:
                if not resolved.matching.any_of_its_items:
                    matching = self._entities(resolved.matching, resolved)
                    among = matching if among is None else intersection([matching, among])
                words = [(self._occurrences.word(item, resolved) or (-1, 0))[0] for item in items]
                form, numbers = resolved.model.form(self._outline(resolved)), [f.number for f in resolved.fields]
                return self._best(kernel, BagQuery(form, lists, postings, words, numbers), k, among)
        return best(*self._scored(resolved, among), k, self._rank)

    def _score_plain(self, query: BagQuery, among: Ids | None) -> tuple[Ids, Scores]:
        """The scores of a bag of words by numpy, of the candidates only where there are any."""
        form, (rows, ids, tf), postings, _, fields = query
        lists = [NO_POSTINGS] * (len(form.gain) * len(fields))
        wanted = among if among is not None and look_ups(among, query.lists) <= postings else None
        words = rows[:, rows[2] >= 0]
        postings_of = self._lists.several(words[2], words[4], wanted)
        for begin, size in rows[3:, words.shape[1] :].T.tolist():
            pair = Postings(ids[begin : begin + size], tf[begin : begin + size])
            postings_of.append(pair if wanted is None else restricted(pair, wanted))
        for place, own in zip((rows[0] * len(fields) + rows[1]).tolist(), postings_of, strict=True):
            lists[place] = own
        ids, scores = score_numpy(form, lists)
        if among is None or wanted is not None:
            return ids, scores
        allowed = contains(ids, among)
        return ids[allowed], scores[allowed]

    def _best(self, kernel: Any, query: BagQuery, k: int, among: Ids | None) -> tuple[Ids, Scores]:
        if not self._populated:
            # Like the kernel itself, this pays in a process of many queries.
            self._populated = True
            self._segment.populate(OFTEN_READ)
            self._narrow = narrow_lengths(self._lengths)
            self._plain.enable_single_call(self._ranks(), self._lengths, self._narrow)
        narrow = self._narrow if query.form.lengths is self._lengths else NO_LENGTHS
        return top_k(kernel, query, k, self._lists.packed, self._block_maxima, self._ranks(), among, narrow)

    def _ranks(self) -> Ids:
        """uint32[nodes], the rank of each; empty where it is the id itself."""
        if self._rank is None:
            return NONE
        if self._rank_of_all is None:
            every = np.arange(self._views.n_nodes, dtype=np.uint32)
            ranks = self._rank(every)
            self._rank_of_all = NONE if np.array_equal(ranks, every) else np.asarray(ranks, np.uint32)
        return self._rank_of_all

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; ids in any order, repeats allowed."""
        ids = np.ascontiguousarray(ids, np.uint32)  # the kernel's only type
        if not (ids[1:] > ids[:-1]).all():
            wanted, place = np.unique(ids, return_inverse=True)
            return np.asarray(self.score(query, wanted)[place])
        matching, scores = self._scores_of(query, ids)
        answer = np.empty(len(ids))
        answer.fill(np.nan)  # np.full takes three times as long for few ids
        answer[ids.searchsorted(matching)] = scores
        return answer

    def _scores_of(self, query: TextQuery, wanted: Ids | None) -> tuple[Ids, Scores]:
        """Ids, ascending, and scores of the matching entities, among the candidates if there are any."""
        plain = self._plain_query(query)
        if plain is None:
            return self._scored(self._resolve(query), wanted)
        kernel = KERNEL.for_work((plain.postings if wanted is None else len(wanted)) + QUERY_AS_POSTINGS)
        if kernel is None:
            return self._score_plain(plain, wanted)
        return scores_of(kernel, plain, self._lists.packed, wanted)

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """The scoring task of the matching entities, or of those among `ids`."""
        return self._task(self._resolve(query), ids)

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        """Answers requests concurrently on all cores once the kernel is loaded, which releases the GIL."""

        def answer(request: IndexRequest) -> tuple[Ids, Scores]:
            return self.score_all(request.query) if request.k is None else self.topk(request.query, request.k)

        if len(questions) < 2 or KERNEL.loaded is None:
            return list(map(answer, questions))
        from hybridkg.text.index.build.worker_pool import cores

        threads = min(len(questions), cores())
        with ThreadPoolExecutor(threads, "hybridkg-query") as pool:
            return list(pool.map(answer, questions))

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""
        plain = self._frequencies(query)
        if plain is not None:
            return [TermStatistics(term, df) for term, df in plain.items()]
        resolved = self._resolve(query)
        counts = self._occurrences.counts
        return [
            TermStatistics(item.shown(), counts(item, resolved).df, role, item.alternatives, item.total)
            for item, role in roles_of(resolved)
        ]

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match."""
        return self._finder(query).best(texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each matching field, in the order of the ON fields."""
        return self._finder(query).of_fields(texts)

    def _finder(self, query: TextQuery) -> PassageFinder:
        finder = self._finders.get(query)
        if finder is None:
            resolved = self._resolve(query)
            n = self._views.entities(resolved.fields)
            weights = {item: idf(self._occurrences.counts(item, resolved).df, n) for item in resolved.counts}
            finder = PassageFinder(resolved.fields, weights, self._known_terms)
            if len(self._finders) >= MAX_CACHED_QUERIES:
                self._finders.clear()
            self._finders[query] = finder
        return finder

    def _plain_query(self, query: TextQuery) -> BagQuery | None:
        return None if self._synonyms.rules else self._plain.read(query)

    def _frequencies(self, query: TextQuery) -> dict[str, int] | None:
        return None if self._synonyms.rules else self._plain.frequencies(query)

    def _resolve(self, query: TextQuery) -> ResolvedQuery:
        """The resolved query; cached, because passages request it for each row, and expansions are expensive."""
        with self._lock:
            if query in self._resolved:
                self._resolved.move_to_end(query)
                return self._resolved[query]
        resolved = resolve(query, self._fields, self._analyzers, self._vocabulary, self._synonyms)
        with self._lock:
            self._resolved[query] = resolved
            if len(self._resolved) > MAX_CACHED_QUERIES:
                self._resolved.popitem(last=False)
        return resolved

    def _entities(self, part: Item | ItemGroup, query: ResolvedQuery) -> Ids:
        """The matching entities of a part of the query, ascending."""
        if isinstance(part, Item):
            return self._occurrences.entities(part, query)
        if part.any_of_its_items:  # one union of all lists, not one of each item
            return union([own.ids for item in part.items() for own in self._occurrences.postings(item, query)])
        parts = [self._entities(one, query) for one in part.must or part.should]
        result = (intersection(parts) if parts else NONE) if part.must else union(parts)
        for one in part.excluded:
            result = result[~contains(result, self._entities(one, query))]
        return result

    def _scored(self, query: ResolvedQuery, candidates: Ids | None) -> tuple[Ids, Scores]:
        """Ids and scores of the matching entities, or of the candidates among them."""
        return query.model.score(self._task(query, candidates))

    def _task(self, query: ResolvedQuery, candidates: Ids | None) -> ScoringTask:
        if not query.matching.any_of_its_items:
            matching = self._entities(query.matching, query)
            candidates = matching if candidates is None else intersection([matching, candidates])

        def postings(item: Item) -> Sequence[Postings]:
            if candidates is None:
                return self._occurrences.postings(item, query)
            return self._occurrences.candidates(item, query, candidates)

        return self._outline(query, postings)

    def _outline(
        self, query: ResolvedQuery, postings: Callable[[Item], Sequence[Postings]] | None = None
    ) -> ScoringTask:
        """The scoring task with the statistics of the whole index."""

        def terms(counts: Mapping[Item, float]) -> tuple[ScoredTerm, ...]:
            return tuple(_term(item, count) for item, count in counts.items())

        def _term(item: Item, count: float) -> ScoredTerm:
            counts = self._occurrences.counts(item, query)
            own = () if postings is None else tuple(postings(item))
            return ScoredTerm(count, counts.df, counts.cf, counts.field_df, item.allowed, own, item.shown())

        lengths, rows = self._views.lengths(query.fields)
        fields = tuple(
            ScoredField(f.written, row, f.weight, f.b, *self._views.totals(f), f.arguments)
            for f, row in zip(query.fields, rows, strict=True)
        )
        return ScoringTask(
            fields=fields,
            terms=terms(query.counts),
            n_entities=self._views.entities(query.fields),
            lengths=lengths,
            arguments=query.arguments,
            choices=query.choices,
            ordered=terms(query.ordered),
            unordered=terms(query.unordered),
            links=links_of(query, self.linker),
            text_lengths=self._views.text_lengths(query.fields) if query.model.traits.one_text else None,
        )


def _totals(segment: ArrayReader) -> list[tuple[int, int]]:
    """(entities, tokens) of each field; integers, so that those of several segments add up."""
    try:
        fields = segment.about("fields")
        return [(int(n), int(tokens)) for n, tokens in zip(fields["entities"], fields["tokens"], strict=True)]
    except (KeyError, TypeError, ValueError) as e:
        raise CorruptError(f"the header of a segment of the text index is damaged: {e}", hint="index again") from e


def _weak(method: Callable[P, T]) -> Callable[P, T]:
    """A method whose object may be deleted meanwhile; it is called only by a part of that object."""
    reference: Any = weakref.WeakMethod(method)

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        result: T = reference()(*args, **kwargs)
        return result

    return call
