"""String tests over the term table: the place of a text in byte order, and the literals that contain or end with it."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, cached_property
from itertools import chain

import numpy as np

from hybridkg.graph.columns import TermTable
from hybridkg.graph.match.conditions import Decide, IdTest, Order
from hybridkg.graph.match.ids import IdRanges, Mask
from hybridkg.interfaces.graph_index import Ids
from hybridkg.rdf.string_bytes import containing, ending_with
from hybridkg.rdf.terms import Literal

FUNCTIONS = ("CONTAINS", "STRSTARTS", "STRENDS")

AFTER = b"\xff"
"""A byte that UTF-8 never uses: `text + AFTER` sorts after every string with the prefix `text`."""

ASCII_END = 0x80

MAX_CASED = 64
"""Characters by which the case of strings is compared one at a time; Oxigraph compares those that agree in more."""

CHUNK = 1 << 24
"""Bytes that are scanned in one step."""


@cache
def _signs(wanted: int, upper: bool) -> tuple[str, ...]:
    """How the upper or lower case of each character of ASCII compares with a byte: "<", "=" or ">"."""
    every = bytes(range(ASCII_END))
    return tuple(
        "<" if own < wanted else ">" if own > wanted else "=" for own in (every.upper() if upper else every.lower())
    )


class TermStrings:
    """The segments "string" and "language" of each part of a term table."""

    def __init__(self, table: TermTable):
        self._table = table
        self._plain, self._tagged, self._other = (
            [part.segments[name] for part in table.parts] for name in ("string", "language", "other")
        )

    @cached_property
    def languages(self) -> dict[str, list[tuple[int, int]]]:
        """The ids first..end (exclusive) of each language tag, in each part that has it."""
        runs: dict[str, list[tuple[int, int]]] = {}
        for begin, end in self._tagged:
            at = begin
            while at < end:
                language = self._language_of(at)
                low, high = at, end  # low is in the run, high is not
                while high - low > 1:
                    middle = (low + high) // 2
                    if self._language_of(middle) == language:
                        low = middle
                    else:
                        high = middle
                runs.setdefault(language, []).append((at, high))
                at = high
        return runs

    def _language_of(self, i: int) -> str:
        term = self._table.terms(np.array([i], np.uint32))[0]
        assert isinstance(term, Literal)
        return term.language or ""

    def language(self, tag: str) -> list[tuple[int, int]]:
        return self.languages.get(tag, [])

    def _runs(self, argument: Literal) -> list[tuple[int, int]]:
        """The id ranges of the strings that are compatible with an argument (SPARQL 1.1 section 17.4.3.1.2)."""
        if argument.language is not None:
            return self.language(argument.language)
        return [*self._plain, *chain.from_iterable(self.languages.values())]

    def text(self, i: int) -> bytes:
        return self._table.lexical(i, i + 1)[0].tobytes()

    def place(self, text: bytes, run: tuple[int, int]) -> int:
        return bisect_left(range(run[1]), text, lo=run[0], key=self.text)

    def order(self, constant: Literal) -> Order:
        """The strings of the constant's kind below, equal to, and above it."""
        text = constant.value.encode()
        below, equal, above = list[tuple[int, int]](), list[tuple[int, int]](), list[tuple[int, int]]()
        for run in self._plain if constant.language is None else self.language(constant.language):
            at = self.place(text, run)
            after = at + int(at < run[1] and self.text(at) == text)
            below.append((run[0], at))
            equal.append((at, after))
            above.append((after, run[1]))
        return Order(IdRanges.of(below), IdRanges.of(equal), IdRanges.of(above))

    def cased(self, upper: bool, op: str, constant: Literal, decide: Decide) -> IdTest:
        """The strings whose upper or lower case compares so with a constant of ASCII.

        Strings of one prefix are one run, so a few binary searches find the runs of those whose case is below, equal
        to, or above the constant. `decide` is Oxigraph's verdict on a set of ids: those with a character outside ASCII
        before that is known, those that agree in MAX_CASED characters, strings with a language, and those of the
        segment "other".
        """
        wanted = constant.value.encode()
        found: dict[str, list[tuple[int, int]]] = {"<": [], "=": [], ">": [], "": []}
        for run in self._plain:
            self._compare_case(wanted, b"", run, upper, found)
        order = Order(*(IdRanges.of(found[sign]) for sign in "<=>"))
        doubt = IdRanges.of([*found[""], *self._tagged, *self._other])
        return IdTest(order.true(op), doubt, decide, doubt, of_strings=True)

    def _compare_case(
        self, wanted: bytes, prefix: bytes, run: tuple[int, int], upper: bool, found: dict[str, list[tuple[int, int]]]
    ) -> None:
        """Adds the parts of a run of strings to those below, equal to or above `wanted`, or that are not ASCII.

        The case of the prefix that all have is the beginning of `wanted`.
        """
        at, end = run
        is_whole = len(prefix) == len(wanted)
        if len(prefix) == MAX_CASED and not is_whole:
            found[""].append(run)
            return
        if at < end and self.text(at) == prefix:
            found["=" if is_whole else "<"].append((at, at + 1))
            at += 1
        if is_whole:
            found[">"].append((at, end))
            return
        signs = _signs(wanted[len(prefix)], upper)
        first = 0
        while at < end and first < ASCII_END:
            last = first + 1
            while last < ASCII_END and signs[last] == signs[first] != "=":
                last += 1
            after = self.place(prefix + bytes([last]), (at, end))
            if signs[first] == "=":
                self._compare_case(wanted, prefix + bytes([first]), (at, after), upper, found)
            else:
                found[signs[first]].append((at, after))
            at, first = after, last
        found[""].append((at, end))

    def condition(self, function: str, argument: Literal, decide: Decide) -> IdTest | None:
        """A string function as a test over ids; None for other functions, and for arguments with a base direction.

        `decide` is Oxigraph's verdict on a set of ids of the segment "other".
        """
        if function not in FUNCTIONS or getattr(argument, "direction", None) is not None:
            return None
        runs, text = self._runs(argument), argument.value.encode()
        other = IdRanges.of(self._other)
        if not text:
            return IdTest(IdRanges.of(runs), other, decide, other)
        if function == "STRSTARTS":
            starting = [(self.place(text, run), self.place(text + AFTER, run)) for run in runs]
            return IdTest(IdRanges.of(starting), other, decide, other)

        def look(ids: Ids) -> Mask:
            mask = other.holds(ids)
            is_string = ~mask
            if not is_string.all():
                mask[mask] = decide(ids[mask])
            mask[is_string] = self.search(ids[is_string], text, function == "STRENDS")
            return mask

        return IdTest(IdRanges(()), IdRanges.of(runs) | other, look, other)

    def search(self, ids: Ids, text: bytes, at_end: bool) -> Mask:
        """bool[len(ids)]: which literals of a set contain a text, or end with it."""
        mask = np.zeros(len(ids), np.bool_)
        start = 0
        while start < len(ids):
            buffer, bounds = self._table.forms(ids[start:], CHUNK)
            ends, lengths = bounds[1:], bounds[1:] - bounds[:-1]
            mask[start : start + len(ends)] = (
                ending_with(buffer, ends, lengths, text) if at_end else containing(buffer, ends, text)
            )
            start += len(ends)
        return mask
