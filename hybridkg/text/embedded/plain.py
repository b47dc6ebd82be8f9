"""Queries of plain words, which most are: from text to numbers without looking at each word as an item.

Resolving a query in general costs more than ranking rare words does. Where all ON fields are analysed alike and the
text has no operators, its words are looked up once and the model's frame (text/additive.py) makes the form. The
answer has the same bits as the general way; tests/text/test_plain.py holds them together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import ScoringTask
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.text.additive import KERNEL, AdditiveForm, AdditiveModel, Frame, QueryLists
from hybridkg.text.analysis.standard import StandardAnalyzer
from hybridkg.text.embedded.pairs import Pairs
from hybridkg.text.embedded.postings import SegmentPostings, TermDictionary
from hybridkg.text.embedded.term_sets import TermSets, mask_of
from hybridkg.text.items import ResolvedQuery
from hybridkg.text.resolve import UNORDERED_WINDOW
from hybridkg.text.vocabulary import encoded

MOST_REMEMBERED_WORDS = 100_000
"""Words whose terms an open index remembers, of each analyzer and language."""

MOST_REMEMBERED_SHAPES = 64

END = b"\xff"
"""Behind each term that the kernel looks up; no UTF-8 has it."""

MOST_WORDS = 256
"""A longer text goes the general way, which has its own limits."""

LACKING = -1
"""Number of a term that the index lacks."""

STOPPED = ""
"""The term of a stop word."""


class PlainQuery(NamedTuple):
    """A query in numbers.

    Args:
        form: of its words and pairs.
        lists: their posting lists.
        postings: how many these have.
        words: the number of each word's term; -1 where the index lacks it, and for each pair.
        fields: the index's number of each field of the form.
    """

    form: AdditiveForm
    lists: QueryLists
    postings: int
    words: list[int]
    fields: list[int]


@dataclass(frozen=True)
class _Shape:
    """What queries have in common that differ in their texts only."""

    frame: Frame
    analyzer: StandardAnalyzer
    stemmer: str
    fields: list[int]
    rows: NDArray[np.int64]
    mask: int
    window: int
    """Places of the window in which neighbouring words must stand; 0 for a model that does not look at pairs."""
    terms: dict[str, str]
    """Word -> its term or STOPPED."""


class PlainQueries:
    """Reads plain queries of one segment. Safe to use from many threads.

    Args:
        terms: of the segment.
        lists: of the segment.
        sets: of the segment.
        n_fields: of the index.
        resolve: resolves a query; may raise.
        outline: what a model sees of a resolved query.
        pairs: of the segment.
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
        self._arrays = terms.arrays, (*lists.arrays, *sets.arrays)
        wanted = ("<u8", "<u8", "|u1"), ("<u4", "<u4", "<u4", "<u4", "|u1", "<u4")
        self._fits_kernel = tuple(tuple(array.dtype.str for array in arrays) for arrays in self._arrays) == wanted
        self._shapes: dict[object, _Shape | None] = {}
        self._words: dict[tuple[int, str], dict[str, str]] = {}
        self._lock = threading.Lock()

    def read(self, query: TextQuery) -> PlainQuery | None:
        """The query in numbers; None where it is not plain, or its model has no frame."""
        text = query.text
        if query.all_terms or (query.syntax and not text.replace(" ", "").isalnum()):
            return None
        key = (query.fields, query.model, query.arguments, query.language)
        shape = self._shapes.get(key)
        if shape is None:
            if key in self._shapes:
                return None
            shape = self._shape(query)
            with self._lock:
                if len(self._shapes) >= MOST_REMEMBERED_SHAPES:
                    self._shapes.clear()
                self._shapes[key] = shape
            if shape is None:
                return None
        words = shape.analyzer.words(text)
        if len(words) > MOST_WORDS:
            return None
        terms = self._terms_of(shape, words)
        counts: dict[str, float] = {}
        for term in terms:
            if term:
                counts[term] = counts.get(term, 0) + 1
        pairs = _pairs(terms, self._places(shape, query)) if shape.window else {}
        return self._query(shape, counts, pairs)

    def _terms_of(self, shape: _Shape, words: list[str]) -> list[str]:
        """The term of each word, STOPPED for a stop word."""
        known = shape.terms
        terms: list[str] = []
        for word in words:
            term = known.get(word)
            if term is None:
                if len(known) >= MOST_REMEMBERED_WORDS:
                    known.clear()
                term = known[word] = shape.analyzer.term(word, shape.stemmer)
            terms.append(term)
        return terms

    def _places(self, shape: _Shape, query: TextQuery) -> Sequence[int]:
        """The place of each word, as text/matching.py counts them: each clause begins behind the last word of the one
        before that is not a stop word.
        """
        if not query.syntax or query.text.isascii():
            return range(MOST_WORDS)
        places: list[int] = []
        begin = 0
        for clause in query.text.split():
            own = self._terms_of(shape, shape.analyzer.words(clause))
            places += range(begin, begin + len(own))
            begin += max((i for i, term in enumerate(own) if term), default=0) + 1
        return places

    def _query(self, shape: _Shape, counts: dict[str, float], pairs: dict[tuple[str, str, int], float]) -> PlainQuery:
        kernel = KERNEL.loaded if self._fits_kernel else None
        if kernel is None:
            numbers = [self._terms.number(term) for term in counts]
            rows, cf, df = self._look_up(shape, numbers)
            postings = int(rows[4].sum())
        else:
            n, n_fields = len(counts), len(shape.fields)
            wanted = np.frombuffer(b"".join([encoded(term) + END for term in counts]), np.uint8)
            rows, cf = np.empty((5, n * n_fields), np.int64), np.empty((n, n_fields), np.int64)
            found = np.empty((2, n), np.int64)
            terms, counted = self._arrays
            n, postings = kernel.look_up(wanted, *terms, shape.rows, self._n_fields, *counted, rows, cf, found)
            numbers, df = found.tolist()
            rows = np.ascontiguousarray(rows[:, :n])
        often = list(counts.values())
        if not pairs:
            return PlainQuery(shape.frame.form(often, df, cf), QueryLists(rows), postings, numbers, shape.fields)
        number = dict(zip(counts, numbers, strict=True))
        wanted_pairs = [(number[a], number[b], far) for a, b, far in pairs]
        found_pairs = self._pairs.lists(wanted_pairs, shape.fields, shape.window)
        found_pairs.rows[0] += len(numbers)
        lists = QueryLists(np.concatenate((rows, found_pairs.rows), axis=1), found_pairs.ids, found_pairs.tf)
        form = shape.frame.form([*often, *pairs.values()], df, np.concatenate((cf, found_pairs.cf)))
        words = numbers + [LACKING] * (2 * len(pairs))
        return PlainQuery(form, lists, postings + len(found_pairs.ids), words, shape.fields)

    def _look_up(self, shape: _Shape, numbers: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """The kernel's twin: (lists int64[5, l], cf int64[t, f], df of each term)."""
        lists, rows = self._lists, []
        cf = np.zeros((len(numbers), len(shape.fields)), np.int64)
        df = [0] * len(numbers)
        for t, number in enumerate(numbers):
            if number < 0:
                continue
            df[t] = self._sets.df(number, shape.mask)
            for f, field in enumerate(shape.fields):
                own = number * self._n_fields + field
                cf[t, f] = lists.occurrences(own)
                if lists.size(own):
                    rows.append((t, f, lists.first_block(own), 0, lists.size(own)))
        return np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), 5).T), cf, df

    def _shape(self, query: TextQuery) -> _Shape | None:
        resolved = self._resolve(replace(query, text="", syntax=False))
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
        terms = self._words.setdefault((id(analyzer), stemmer), {})
        return _Shape(frame, analyzer, stemmer, fields, np.array(fields, np.int64), mask_of(fields), window, terms)


def _pairs(terms: Sequence[str], places: Sequence[int]) -> dict[tuple[str, str, int], float]:
    """Neighbouring words and how far the second is behind the first -> how often."""
    kept = [(place, term) for place, term in zip(places, terms, strict=False) if term]
    pairs: dict[tuple[str, str, int], float] = {}
    for (place, first), (following, second) in pairwise(kept):
        pair = first, second, following - place
        pairs[pair] = pairs.get(pair, 0) + 1
    return pairs
