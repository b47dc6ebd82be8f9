"""Bag-of-words queries, the common case: from text to an additive form without the general resolution.

The general resolution of a query takes longer than ranking rare words. Where all ON fields have the same analyzer and
the text has no operators, its words are looked up once and the model's frame (text/models/additive.py) makes the form.
Both ways give the same bits; tests/text/index/topk/test_bag_of_words.py compares them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.text.analysis.standard import StandardAnalyzer
from hybridkg.text.index.layout import Array
from hybridkg.text.index.positions.word_pairs import Pairs
from hybridkg.text.index.postings import SegmentPostings, TermDictionary
from hybridkg.text.index.term_field_sets import TermSets, mask_of
from hybridkg.text.index.topk.single_call import DAMAGED, MAX_FIELDS, MAX_POSTINGS, SingleCall, SingleCallFrame
from hybridkg.text.index.topk.single_call import MAX_WORDS as MAX_WORDS_OF_CALL
from hybridkg.text.match_query.items import ResolvedQuery
from hybridkg.text.match_query.query_string import is_plain
from hybridkg.text.match_query.resolve import UNORDERED_WINDOW
from hybridkg.text.match_query.vocabulary import damaged_terms, encoded
from hybridkg.text.models.additive import KERNEL, AdditiveForm, AdditiveModel, FormTemplate, QueryLists

MAX_CACHED_WORDS = 100_000
"""Cached terms of words, for each analyzer and language."""

MAX_CACHED_SHAPES = 64

MAX_CACHED_TEXTS = 32
"""Cached texts of a shape: a plan requests their frequencies, then the top-k."""

MAX_WORDS = 256
"""Words above which a text is resolved in the general way."""

END = "\n"
"""Terminator of each term that the kernel looks up; no word contains it."""

OF_INDEX = "<u8", "<u8", "|u1", "<u4", "<u4", "<u4", "<u4", "|u1", "<u4"
"""The kernel's types of `terms.prefixes`, `.offsets`, `.text`, `lists.postings`, `.tokens`, `.blocks`,
`terms.sets.offsets`, `.fields` and `.entities`."""

MISSING_TERM = -1
"""The number of a term that the index lacks."""

STOPPED = ""
"""The term of a word that is not searched: a stop word, or one that the analyzer drops."""


class BagQuery(NamedTuple):
    """An additive query: the form of its words and pairs, their lists and the number of postings of these.

    `words` has the term number of each word, -1 where the index lacks it, and -1 for each pair; `fields` the index's
    number of each field of the form.
    """

    form: AdditiveForm
    lists: QueryLists
    postings: int
    words: list[int]
    fields: list[int]


class _Words(NamedTuple):
    """The words of a text: the term of each, or STOPPED; count in the text, number (or MISSING_TERM), df and cf,
    int64[t, f], of each distinct term; lists, int64[5, l], of QueryLists, and their postings; the sum of the df.
    """

    terms: list[str]
    counts: dict[str, float]
    numbers: list[int]
    df: list[int]
    cf: NDArray[np.int64]
    lists: NDArray[np.int64]
    postings: int
    bound: int


class _Terms(dict[str, str]):
    """Word -> its term, STOPPED for a stop word: found when it is first asked for, and cached."""

    def __init__(self, analyzer: StandardAnalyzer, stemmer: str):
        super().__init__()
        self._analyzer, self._stemmer = analyzer, stemmer

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        is_stop = self._analyzer.is_stop_word(word, self._stemmer)
        term = self[word] = STOPPED if is_stop else self._analyzer.term(word, self._stemmer)
        return term


@dataclass(frozen=True)
class _Shape:
    """The common part of queries that differ in their texts only."""

    frame: FormTemplate
    analyzer: StandardAnalyzer
    stemmer: str
    fields: list[int]
    rows: NDArray[np.int64]
    mask: int
    window: int
    """Width of the unordered window of neighbouring words; 0 for a model without pairs."""
    terms: _Terms
    texts: dict[str, _Words] = field(default_factory=dict)
    """Cached."""
    single_call: list[SingleCallFrame] = field(default_factory=list)
    """The frame for `SingleCall`, once a query has needed it."""


class BagOfWords:
    """Reads bag-of-words queries of one segment. Safe to use from many threads.

    Args:
        terms, lists, sets, pairs: of the segment.
        n_fields: of the index.
        resolve: resolves a query; may raise.
        outline: the scoring task of a resolved query, without postings.
    """

    def __init__(
        self,
        terms: TermDictionary,
        lists: SegmentPostings,
        sets: TermSets,
        n_fields: int,
        resolve: Callable[[TextQuery], ResolvedQuery],
        outline: Callable[[ResolvedQuery], ScoringTask],
        pairs: Pairs,
    ):
        self._pairs = pairs
        self._terms, self._lists, self._sets, self._n_fields = terms, lists, sets, n_fields
        self._resolve, self._outline = resolve, outline
        self._arrays = *terms.arrays, *lists.arrays, *sets.arrays
        self._single_call: SingleCall | None = None
        self._shapes: dict[object, _Shape | None] = {}
        self._words: dict[tuple[int, str], _Terms] = {}
        self._last: tuple[TextQuery, tuple[_Shape, _Words]] | None = None
        """The query that was read last, and its words: one MATCH is checked, counted and ranked."""
        self._lock = threading.Lock()

    def enable_single_call(self, ranks: Ids, lengths: NDArray[np.uint32], narrow: NDArray[np.uint8]) -> None:
        """Enables single-call ranking, once the kernel is loaded; the arguments are those of `SingleCall`."""
        arrays = self._kernel_arrays
        if arrays is not None and self._n_fields <= MAX_FIELDS:
            self._single_call = SingleCall(self._n_fields, arrays, self._lists.packed, ranks, lengths, narrow)

    @cached_property
    def _kernel_arrays(self) -> tuple[Array, ...] | None:
        """The arrays in the types of OF_INDEX, which are narrower in a small index; None for a very large index."""
        arrays = list(zip(self._arrays, OF_INDEX, strict=True))
        if any(np.dtype(own.dtype) > np.dtype(wanted) for own, wanted in arrays):
            return None
        return tuple(np.ascontiguousarray(own, wanted) for own, wanted in arrays)

    def best(self, query: TextQuery, k: int) -> tuple[Ids, Scores] | None:
        """The k >= 1 best entities by single-call ranking: (ids, scores), best first; None where it does not apply."""
        single_call = self._single_call
        shape = None if single_call is None else self._shape_of(query)
        if single_call is None or shape is None or query.text in shape.texts:
            return None
        words = [term for term in self._searched(shape, shape.analyzer.words(query.text)) if term]
        if not 0 < len(words) <= (1 if shape.window else MAX_WORDS_OF_CALL) or len({*words}) < len(words):
            return None
        if not shape.single_call:
            shape.single_call.append(single_call.frame(shape.rows, *shape.frame.word_numbers(MAX_POSTINGS)))
        wanted = np.frombuffer(encoded(END.join(words) + END), np.uint8)
        return single_call.best(shape.single_call[0], wanted, len(words), k)

    def read(self, query: TextQuery) -> BagQuery | None:
        """The query as an additive form; None where it is no bag of words, or its model has no frame."""
        read = self._read(query)
        if read is None:
            return None
        shape, words = read
        counts = list(words.counts.values())
        pairs = _pairs(words.terms, self._places(shape, query, words.terms)) if shape.window else {}
        if not pairs:
            form = shape.frame.form(counts, words.df, words.cf)
            return BagQuery(form, QueryLists(words.lists), words.postings, words.numbers, shape.fields)
        number = dict(zip(words.counts, words.numbers, strict=True))
        wanted = [(number[a], number[b], distance) for a, b, distance in pairs]
        pair_lists = self._pairs.lists(wanted, shape.fields, shape.window)
        pair_lists.rows[0] += len(counts)
        lists = QueryLists(np.concatenate((words.lists, pair_lists.rows), axis=1), pair_lists.ids, pair_lists.tf)
        form = shape.frame.form([*counts, *pairs.values()], words.df, np.concatenate((words.cf, pair_lists.cf)))
        numbers = words.numbers + [MISSING_TERM] * (2 * len(pairs))
        return BagQuery(form, lists, words.postings + len(pair_lists.ids), numbers, shape.fields)

    def frequencies(self, query: TextQuery) -> dict[str, int] | None:
        """The df of each term of the query, in order; None as of `read`."""
        read = self._read(query)
        return None if read is None else dict(zip(read[1].counts, read[1].df, strict=True))

    def match_count_bound(self, query: TextQuery) -> int | None:
        """The sum of the df; None as of `read`."""
        read = self._read(query)
        return None if read is None else read[1].bound

    def _shape_of(self, query: TextQuery) -> _Shape | None:
        if query.all_terms or (query.syntax and not is_plain(query.text)):
            return None
        key = (query.fields, query.model, query.arguments, query.language)
        shape = self._shapes.get(key)
        if shape is None:
            if key in self._shapes:
                return None
            shape = self._shape(query)
            with self._lock:
                if len(self._shapes) >= MAX_CACHED_SHAPES:
                    self._shapes.clear()
                self._shapes[key] = shape
        return shape

    def _read(self, query: TextQuery) -> tuple[_Shape, _Words] | None:
        last = self._last
        if last is not None and last[0] == query:
            return last[1]
        shape = self._shape_of(query)
        if shape is None:
            return None
        words = shape.texts.get(query.text)
        if words is None:
            raw = shape.analyzer.words(query.text)
            if len(raw) > MAX_WORDS:
                return None
            words = self._look_up(shape, self._searched(shape, raw))
            if len(shape.texts) >= MAX_CACHED_TEXTS:
                shape.texts.clear()
            shape.texts[query.text] = words
        self._last = query, (shape, words)
        return shape, words

    def _searched(self, shape: _Shape, words: list[str]) -> list[str]:
        """The term of each word, STOPPED for a stop word, unless the text has nothing else."""
        terms = [*map(shape.terms.__getitem__, words)]
        return terms if any(terms) else [shape.analyzer.term(word, shape.stemmer) for word in words]

    def _places(self, shape: _Shape, query: TextQuery, terms: Sequence[str]) -> Sequence[int]:
        """The place of each word, as of text/match_query/matching.py: a clause follows the last word of the one before
        that is searched. `terms` are those of the words.
        """
        if not query.syntax or query.text.isascii():
            return range(MAX_WORDS)
        places: list[int] = []
        begin = 0
        for clause in query.text.split():
            own = terms[len(places) : len(places) + len(shape.analyzer.words(clause))]
            places += range(begin, begin + len(own))
            begin += max((i for i, term in enumerate(own) if term), default=0) + 1
        return places

    def _look_up(self, shape: _Shape, terms: list[str]) -> _Words:
        counts: dict[str, float] = {}
        for term in terms:
            if term:
                counts[term] = counts.get(term, 0) + 1
        kernel = KERNEL.loaded
        arrays = None if kernel is None else self._kernel_arrays
        if kernel is None or arrays is None:
            return self._look_up_numpy(shape, terms, counts)
        wanted = np.frombuffer(encoded(END.join(counts) + END), np.uint8)
        t, f = len(counts), len(shape.fields)
        found = np.empty(t * (2 + 6 * f), np.int64)
        n, postings = kernel.look_up(wanted, t, shape.rows, self._n_fields, *arrays, found)
        numbers_df, begin = found[: 2 * t].tolist(), t * (2 + f)
        numbers, df = numbers_df[:t], numbers_df[t:]
        if DAMAGED in numbers:
            raise damaged_terms()
        lists = found[begin : begin + 5 * n].reshape(5, n)
        return _Words(terms, counts, numbers, df, found[2 * t : begin].reshape(t, f), lists, postings, sum(df))

    def _look_up_numpy(self, shape: _Shape, terms: list[str], counts: dict[str, float]) -> _Words:
        """The numpy reference of the kernel `look_up`."""
        numbers = [self._terms.number(term) for term in counts]
        rows: list[tuple[int, int, int, int, int]] = []
        cf = np.zeros((len(numbers), len(shape.fields)), np.int64)
        df = [0] * len(numbers)
        for t, number in enumerate(numbers):
            if number < 0:
                continue
            ends, tokens, blocks = self._lists.directory(number * self._n_fields, self._n_fields)
            df[t] = self._sets.df(number, shape.mask, [ends[own + 1] - ends[own] for own in shape.fields])
            for f, own in enumerate(shape.fields):
                cf[t, f] = tokens[own + 1] - tokens[own]
                if size := ends[own + 1] - ends[own]:
                    rows.append((t, f, blocks[own], 0, size))
        lists = np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), 5).T)
        return _Words(terms, counts, numbers, df, cf, lists, sum(row[4] for row in rows), sum(df))

    def _shape(self, query: TextQuery) -> _Shape | None:
        resolved = self._resolve(query._replace(text="", syntax=False))
        analyzer = resolved.fields[0].analyzer
        alike = all(field.analyzer is analyzer and not field.language for field in resolved.fields)
        if not alike or not isinstance(analyzer, StandardAnalyzer) or not isinstance(resolved.model, AdditiveModel):
            return None
        frame = resolved.model.frame(self._outline(resolved))
        if frame is None:
            return None
        stemmer = analyzer.stemmer(query.language)
        fields = [field.number for field in resolved.fields]
        pairs = resolved.model.traits.pairs
        window = int(resolved.arguments.get("window", UNORDERED_WINDOW)) if pairs else 0
        terms = self._words.setdefault((id(analyzer), stemmer), _Terms(analyzer, stemmer))
        return _Shape(frame, analyzer, stemmer, fields, np.array(fields, np.int64), mask_of(fields), window, terms)


def _pairs(terms: Sequence[str], places: Sequence[int]) -> dict[tuple[str, str, int], float]:
    """Occurrences of each (word, next word, distance)."""
    words = [(place, term) for place, term in zip(places, terms, strict=False) if term]
    pairs: dict[tuple[str, str, int], float] = {}
    for (place, first), (next_place, second) in pairwise(words):
        pair = first, second, next_place - place
        pairs[pair] = pairs.get(pair, 0) + 1
    return pairs
