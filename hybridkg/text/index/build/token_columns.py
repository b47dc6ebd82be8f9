"""Columnar analysis of a batch, with words numbered by a compiled kernel.

It applies to analyzers that split text by `split_words`; each distinct word goes through the analyzer once. The result
is that of `TermNumberer.add`, about ten times as fast; texts that are not plain (other letters than Latin) use that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.text.analysis.standard import StandardAnalyzer
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM, U32
from hybridkg.text.index.build.tokens import TermNumberer

KERNEL = LazyKernel("hybridkg.text.index.build.words_kernel")

MAX_STEMMERS = 8
"""Maximum per batch; each stemmer reads all of its words."""

MAX_LETTERS = 256_000_000
"""Cached bytes of distinct words."""

_UNKNOWN = NO_TERM - 2

_I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """The texts of a batch.

    Args:
        counts: int64[records], values of each record.
        ends, tags: int64[values], end of each text in `text` (UTF-8), and position of its language in `languages`.
    """

    counts: _I64
    ends: _I64
    tags: _I64
    languages: Sequence[str]
    text: NDArray[np.uint8]

    def value(self, i: int) -> str:
        """Text number `i`."""
        begin = int(self.ends[i - 1]) if i else 0
        return self.text[begin : int(self.ends[i])].tobytes().decode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class TokenColumns:
    """A token stream; the arrays of AnalyzedBatch, with the numbers of a TermNumberer."""

    tokens: U32
    records: U32
    slots: U32
    changed: U32
    changed_at: U32
    tags: U32
    languages: tuple[str, ...]


class Words:
    """The distinct words so far, numbered, with their term numbers. One thread at a time."""

    def __init__(self, kernel: ModuleType):
        self._kernel = kernel
        self._secret = np.uint64(int.from_bytes(os.urandom(8), "little") | 1)  # against chosen collisions
        self._table = np.zeros(1 << 16, np.uint64)
        self._codes = np.full(1 << 16, -1, np.int32)
        self._keys = np.zeros(1 << 15, np.uint64)
        self._offsets = np.zeros((1 << 15) + 1, np.int64)
        self._letters = np.zeros(1 << 18, np.uint8)
        self._n = 0
        self._numbers: dict[tuple[str, str], U32] = {}

    @property
    def letters(self) -> int:
        """Bytes of all words."""
        return int(self._offsets[self._n])

    def split(self, texts: Texts) -> tuple[U32, _I64]:
        """(word numbers of all plain texts, number of words of each text, -1 for one that is not plain)."""
        sizes = np.diff(texts.ends, prepend=0)
        scratch = np.empty(int(sizes.max(initial=0)) + 1, np.uint8)
        out = np.empty(int(((sizes + 1) // 2).sum()), np.uint32)
        counts = np.zeros(len(sizes), np.int64)
        done = np.array([self._n, 0], np.int64)
        at = 0
        while True:
            at = self._kernel.split(
                texts.text, texts.ends, at, scratch, self._secret, self._table, self._codes, self._keys,
                self._offsets, self._letters, done, out, counts,
            )  # fmt: skip
            self._n = int(done[0])
            if at == len(sizes):
                return out[: int(done[1])], counts
            self._grow(int(sizes[at]))

    def _grow(self, size: int) -> None:
        """Doubles the arrays, at least for a text of `size` bytes."""
        words = 2 * (self._n + size // 2 + 2)
        if words > len(self._keys):
            self._keys = np.resize(self._keys, words)
            offsets = np.zeros(words + 1, np.int64)
            offsets[: self._n + 1] = self._offsets[: self._n + 1]
            self._offsets = offsets
            self._table = np.zeros(1 << (2 * words).bit_length(), np.uint64)
            self._codes = np.full(len(self._table), -1, np.int32)
            self._kernel.rehash(self._secret, self._keys, self._offsets, self._n, self._table, self._codes)
        if (letters := self.letters + size) > len(self._letters):
            self._letters = np.resize(self._letters, 2 * letters)

    def numbers(self, words: U32, name: str, analyzer: Analyzer, stemmer: str, numbers: dict[str, int]) -> U32:
        """The term numbers of words, or NO_TERM."""
        cached = self._numbers.get((name, stemmer), np.zeros(0, np.uint32))
        if len(cached) < self._n:
            grown = np.full(2 * self._n, _UNKNOWN, np.uint32)
            grown[: len(cached)] = cached
            cached = self._numbers[name, stemmer] = grown
        result = cached[words]
        unknown = sorted_distinct(words[result == _UNKNOWN])
        if len(unknown):
            begins, ends = self._offsets[unknown].tolist(), self._offsets[unknown + np.uint32(1)].tolist()
            letters, term = self._letters.data, analyzer.term
            terms = [term(str(letters[a:b], "utf-8"), stemmer) for a, b in zip(begins, ends, strict=True)]
            cached[unknown] = [numbers.setdefault(one, len(numbers)) if one else NO_TERM for one in terms]
            result = cached[words]
        return result


def supports_columns(analyzer: Analyzer, languages: Sequence[str]) -> bool:
    """Whether a batch can be analysed in columns."""
    return type(analyzer) is StandardAnalyzer and len({analyzer.stemmer(tag) for tag in languages}) <= MAX_STEMMERS


def analyze_columns(texts: Texts, name: str, analyzer: Analyzer, analysis: TermNumberer, words: Words) -> TokenColumns:
    """Analyses a batch whose analyzer, `name`, `supports_columns`; `words` belong to `analysis`."""
    tokens = ValueTokens.of(texts, name, analyzer, analysis, words)
    return _laid_out(texts, tokens)


@dataclass(frozen=True)
class ValueTokens:
    """The tokens of each value of some texts.

    Args:
        plain: bool[values], whether the kernel has split a value.
        per_value: int64[values], the tokens of each.
        numbers: uint32[...], those of the plain values, value by value.
        others: those of the others, by value.
    """

    plain: NDArray[np.bool_]
    per_value: _I64
    numbers: U32
    others: dict[int, U32]

    @classmethod
    def of(cls, texts: Texts, name: str, analyzer: Analyzer, analysis: TermNumberer, words: Words) -> ValueTokens:
        """The tokens of texts; the arguments are those of `analyze_columns`."""
        met, per_value = words.split(texts)
        plain = per_value >= 0
        stemmers = [analyzer.stemmer(tag) for tag in texts.languages]
        numbers = np.empty(len(met), np.uint32)
        spoken = np.repeat(texts.tags[plain], per_value[plain]) if len(set(stemmers)) > 1 else None
        for stemmer in sorted(set(stemmers)):
            chosen: Any = slice(None)
            if spoken is not None:
                chosen = np.isin(spoken, [i for i, one in enumerate(stemmers) if one == stemmer])
            numbers[chosen] = words.numbers(met[chosen], name, analyzer, stemmer, analysis.numbers)
        others = {
            i: np.array(list(analysis.tokens(name, texts.languages[texts.tags[i]], texts.value(i))), np.uint32)
            for i in np.flatnonzero(~plain).tolist()
        }
        for i, tokens in others.items():
            per_value[i] = len(tokens)
        return cls(plain, per_value, numbers, others)

    def chosen(self, codes: _I64) -> ValueTokens:
        """The tokens of values that are chosen by their places, repeats allowed.

        >>> own = ValueTokens(np.array([True, True]), np.array([1, 2]), np.array([7, 8, 9], np.uint32), {})
        >>> own.chosen(np.array([1, 0, 1])).numbers.tolist()
        [8, 9, 7, 8, 9]
        """
        plain, per_value = self.plain[codes], self.per_value[codes]
        own = np.where(self.plain, self.per_value, 0)
        begins, sizes = (np.cumsum(own) - own)[codes[plain]], per_value[plain]
        at = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        others = {i: self.others[int(codes[i])] for i in np.flatnonzero(~plain).tolist()} if self.others else {}
        return ValueTokens(plain, per_value, self.numbers[at], others)


def laid_out_values(texts: Texts, tokens: ValueTokens, counts: _I64, codes: _I64) -> TokenColumns:
    """The token stream of records of values that repeat.

    Args:
        texts: the distinct values.
        tokens: of each.
        counts: int64[records], values of each record.
        codes: int64[sum(counts)], places of the values, record by record.
    """
    return _laid_out(Texts(counts, texts.ends, texts.tags[codes], texts.languages, texts.text), tokens.chosen(codes))


def _laid_out(texts: Texts, values: ValueTokens) -> TokenColumns:
    """Concatenates the values of each record, as `TermNumberer.add` does."""
    plain, per_value, numbers = values.plain, values.per_value, values.numbers
    record = np.repeat(np.arange(len(texts.counts)), texts.counts)
    last = np.cumsum(texts.counts)
    first = last - texts.counts
    words = _ends(per_value)
    marked = words[:-1] > words[first[record]]  # a word of the same record came before
    slots = _ends(per_value + marked)
    tokens = np.empty(int(slots[-1]), np.uint32)
    tokens[slots[:-1][marked]] = NEXT_VALUE
    starts = slots[:-1] + marked
    own = per_value[plain]
    tokens[np.repeat(starts[plain] - (np.cumsum(own) - own), own) + np.arange(len(numbers))] = numbers
    for i, other in values.others.items():
        tokens[starts[i] : starts[i] + len(other)] = other

    per_record = slots[last] - slots[first]
    nonempty = per_record > 0
    no_tag = texts.languages.index("") if "" in texts.languages else -1
    before = np.full(len(texts.tags), no_tag)
    before[1:] = np.where(record[1:] == record[:-1], texts.tags[:-1], no_tag)
    changes = np.flatnonzero((texts.tags != before) & nonempty[record])
    tags = {"": 0}
    final = np.array([tags.setdefault(tag.lower(), len(tags)) for tag in texts.languages], np.int64)
    return TokenColumns(
        tokens=tokens,
        records=np.flatnonzero(nonempty).astype(np.uint32),
        slots=per_record[nonempty].astype(np.uint32),
        changed=(np.cumsum(nonempty) - 1)[record[changes]].astype(np.uint32),
        changed_at=(starts - slots[first[record]])[changes].astype(np.uint32),
        tags=final[texts.tags[changes]].astype(np.uint32) if len(final) else np.zeros(0, np.uint32),
        languages=tuple(tags),
    )


def _ends(counts: _I64) -> _I64:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
