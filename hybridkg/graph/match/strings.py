"""String tests over the term table: the place of a text in byte order, and the literals that contain or end with it."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

import numpy as np

from hybridkg.graph.columns import TermTable
from hybridkg.graph.match.conditions import Decide, IdTest, Order
from hybridkg.graph.match.ids import IdRanges, Mask
from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.gather import gathered
from hybridkg.rdf.string_bytes import containing, ending_with
from hybridkg.rdf.terms import Literal

FUNCTIONS = ("CONTAINS", "STRSTARTS", "STRENDS")

AFTER = b"\xff"
"""A byte that UTF-8 never uses: `text + AFTER` sorts after every string with the prefix `text`."""

CHUNK = 1 << 24
"""Bytes that are scanned in one step."""


class TermStrings:
    """The segments "string" and "language" of a term table."""

    def __init__(self, table: TermTable):
        self._table = table
        self.plain: tuple[int, int] = table.segments["string"]
        self.tagged: tuple[int, int] = table.segments["language"]

    @cached_property
    def languages(self) -> dict[str, tuple[int, int]]:
        """The ids first..end (exclusive) of each language tag."""
        runs: dict[str, tuple[int, int]] = {}
        at, end = self.tagged
        while at < end:
            language = self._language_of(at)
            low, high = at, end  # low is in the run, high is not
            while high - low > 1:
                middle = (low + high) // 2
                if self._language_of(middle) == language:
                    low = middle
                else:
                    high = middle
            runs[language], at = (at, high), high
        return runs

    def _language_of(self, i: int) -> str:
        term = self._table.terms(np.array([i], np.uint32))[0]
        assert isinstance(term, Literal)
        return term.language or ""

    def language(self, tag: str) -> tuple[int, int]:
        return self.languages.get(tag, (self.tagged[0], self.tagged[0]))

    def _runs(self, argument: Literal) -> list[tuple[int, int]]:
        """The id ranges of the strings that are compatible with an argument (SPARQL 1.1 section 17.4.3.1.2)."""
        if argument.language is not None:
            return [self.language(argument.language)]
        return [self.plain, *self.languages.values()]

    def text(self, i: int) -> bytes:
        return self._table.lexical(i, i + 1)[0].tobytes()

    def place(self, text: bytes, run: tuple[int, int]) -> int:
        return bisect_left(range(run[1]), text, lo=run[0], key=self.text)

    def order(self, constant: Literal) -> Order:
        """The strings of the constant's kind below, equal to, and above it."""
        run = self.plain if constant.language is None else self.language(constant.language)
        text = constant.value.encode()
        at = self.place(text, run)
        after = at + int(at < run[1] and self.text(at) == text)
        return Order(IdRanges.of([(run[0], at)]), IdRanges.of([(at, after)]), IdRanges.of([(after, run[1])]))

    def condition(self, function: str, argument: Literal, decide: Decide) -> IdTest | None:
        """A string function as a test over ids; None for other functions, and for arguments with a base direction.

        `decide` is Oxigraph's verdict on a set of ids of the segment "other".
        """
        if function not in FUNCTIONS or getattr(argument, "direction", None) is not None:
            return None
        runs, text = self._runs(argument), argument.value.encode()
        other = IdRanges.of([self._table.segments["other"]])
        if not text:
            return IdTest(IdRanges.of(runs), other, decide, other)
        if function == "STRSTARTS":
            starting = [(self.place(text, run), self.place(text + AFTER, run)) for run in runs]
            return IdTest(IdRanges.of(starting), other, decide, other)
        last = self._table.segments["other"][0]

        def look(ids: Ids) -> Mask:
            split = int(ids.searchsorted(np.uint32(last)))
            return np.concatenate([self.search(ids[:split], text, function == "STRENDS"), decide(ids[split:])])

        return IdTest(IdRanges(()), IdRanges.of(runs) | other, look, other)

    def search(self, ids: Ids, text: bytes, at_end: bool) -> Mask:
        """bool[len(ids)]: which literals of a set contain a text, or end with it."""
        mask = np.zeros(len(ids), np.bool_)
        start = 0
        while start < len(ids):
            first = int(ids[start])
            data, offsets = self._table.lexical(first, int(ids[-1]) + 1)
            bounds = np.asarray(offsets).astype(np.int64)
            stop = int(ids.searchsorted(np.uint32(first + len(bounds) - 2), side="right"))
            place = (ids[start:stop] - ids[start]).astype(np.int64)
            lengths = bounds[place + 1] - bounds[place]
            many = max(1, int(lengths.cumsum().searchsorted(CHUNK, side="right")))
            place, lengths = place[:many], lengths[:many]
            buffer, gathered_bounds = gathered(np.asarray(data), bounds[place], bounds[place + 1])
            ends = gathered_bounds[1:]
            mask[start : start + many] = (
                ending_with(buffer, ends, lengths, text) if at_end else containing(buffer, ends, text)
            )
            start += many
        return mask
