"""Functions of strings over the bytes of many literals at once, with the values of Oxigraph.

Only what is certain to be Oxigraph's is computed, row by row: lengths in code points, comparisons by code points, and
searches for bytes, of plain literals; changes of case and parts of a text where the text is ASCII, as elsewhere both
depend on the version of Unicode, or on where characters begin. Every other row is left to Oxigraph. No value computed
here is an error, so the logic of SPARQL has two values.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hybridkg.algebra.to_tests import PLAIN_REGEX
from hybridkg.query import ast
from hybridkg.rdf.gather import gathered
from hybridkg.rdf.string_bytes import (
    LEADING_BITS,
    NOT_LEADING,
    Mask,
    compared,
    containing,
    ending_with,
    first_places,
    owners,
    starting_with,
)
from hybridkg.rdf.term_texts import BLANK_KIND, IRI_KIND, STRING_KIND, UNBOUND_KIND, TermTexts, is_language
from hybridkg.rdf.terms import XSD, XSD_STRING

SIMPLE = (None, XSD_STRING.value)
"""Datatypes, in the syntax tree, of plain literals."""

ASCII_END = 0x80
MAX_STEPS = 2**31
"""Maximum magnitude of a number that is computed from lengths."""

INTEGERS = re.compile("[0-9]{1,9}")
NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
"""Numbers that are exact, or nearer to their double than to any integer."""

INTEGER = XSD + "integer"
INEXACT = frozenset((XSD + "decimal", XSD + "double"))
"""Types of numbers that are compared only: they are no place of SUBSTR, and what is computed from them no integer."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
FLIPPED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""Of numbers and of arrays."""


@dataclass(frozen=True, eq=False)
class Strings:
    """A plain literal for each text: data[starts[i]:ends[i]]."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def joined(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The strings one after another: (uint8[bytes], int64[n + 1] offsets)."""
        return gathered(self.data, self.starts, self.ends)

    def list(self) -> list[str]:
        """The strings."""
        data, offsets = self.joined()
        return TermTexts(("",), np.zeros(len(self.starts), np.int64), data, offsets).strings()


Value: TypeAlias = Strings | Mask | NDArray[np.int64] | bytes | int | float
"""Strings, truths or integers of all texts; of a constant a plain literal or a number."""


class _UnknownError(Exception):
    """An expression that is left to Oxigraph."""


@dataclass
class TextFunctions:
    """Values of expressions over one variable, whose terms have these texts.

    Args:
        texts: the terms.
        is_known: bool[n]: of which terms the values computed so far are certain.
    """

    texts: TermTexts
    is_known: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.is_known = np.ones(len(self.texts), np.bool_)

    def value(self, expression: ast.Expression) -> Value | None:
        """Value for each text, right where `is_known`; None for what is left to Oxigraph."""
        try:
            return self._value(expression)
        except _UnknownError:
            return None

    def truth(self, condition: ast.Expression) -> Mask | None:
        """bool[n]: for which texts a condition is true, right where `is_known`; None for what is left to Oxigraph.

        >>> from hybridkg.rdf.terms import Literal
        >>> title = ast.Call("STRLEN", (ast.Var("t"),))
        >>> functions = TextFunctions(TermTexts.of([Literal("né"), Literal("red")]))
        >>> functions.truth(ast.Binary("<", title, ast.Lit("3", XSD + "integer"))).tolist()
        [True, False]
        """
        value = self.value(condition)
        return value if are_truths(value) else None

    def _value(self, expression: ast.Expression) -> Value:
        match expression:
            case ast.Lit(lexical, datatype, None, None) if datatype in SIMPLE:
                return lexical.encode()
            case ast.Lit(lexical, datatype) if datatype == INTEGER and INTEGERS.fullmatch(lexical):
                return int(lexical)
            case ast.Lit(lexical, datatype) if datatype in INEXACT and NUMBER.fullmatch(lexical):
                return float(lexical)
            case ast.Var():
                self.is_known &= self.texts.kinds == STRING_KIND
                return self._texts
            case ast.Call("STR", (ast.Var(),)):
                self.is_known &= self._has_text
                return self._texts
            case ast.Call(str() as name, arguments):
                return self._call(name, arguments)
            case ast.Unary("!", operand):
                return ~self._truth(operand)
            case ast.Binary("&&", left, right):
                return self._truth(left) & self._truth(right)
            case ast.Binary("||", left, right):
                return self._truth(left) | self._truth(right)
            case ast.Binary(
                op, ast.Call("UCASE" | "LCASE" as name, (text,)), ast.Lit(lexical, datatype, None, None)
            ) if op in COMPARISONS and datatype in SIMPLE:
                constant = lexical.encode()  # what comes after so many bytes decides nothing
                cased = self._in_case(self._strings(text), upper=name == "UCASE", first=len(constant))
                return self._compared(op, cased, constant)
            case ast.Binary(op, left, right) if op in COMPARISONS:
                return self._compared(op, self._value(left), self._value(right))
            case ast.Binary(op, left, right) if op in ARITHMETIC:
                return self._computed(op, self._value(left), self._value(right))
            case ast.In(operand, options, negated) if options:
                own = self._value(operand)
                found = np.zeros(len(self.texts), np.bool_)
                for option in options:
                    found |= self._compared("=", own, self._value(option))
                return ~found if negated else found
        raise _UnknownError

    def _truth(self, expression: ast.Expression) -> Mask:
        value = self._value(expression)
        if not are_truths(value):
            raise _UnknownError
        return value

    def _compared(self, op: str, left: Value, right: Value) -> Mask:
        if isinstance(left, bytes | int | float):
            left, right, op = right, left, FLIPPED[op]
        if isinstance(left, Strings) and isinstance(right, bytes):
            return np.asarray(COMPARISONS[op](compared(left.data, left.starts, left.ends, right), 0))
        if _are_integers(left) and isinstance(right, int | float):
            return np.asarray(COMPARISONS[op](left, right))
        raise _UnknownError

    def _computed(self, op: str, left: Value, right: Value) -> NDArray[np.int64]:
        if not (_are_integers(left) or _are_integers(right)):
            raise _UnknownError
        if not all(isinstance(side, int) or _are_integers(side) for side in (left, right)):
            raise _UnknownError
        found: NDArray[np.int64] = ARITHMETIC[op](left, right)
        if len(found) and int(np.abs(found).max()) > MAX_STEPS:
            raise _UnknownError
        return found

    def _call(self, name: str, arguments: tuple[ast.Expression, ...]) -> Value:
        match name, arguments:
            case "REGEX", (text, ast.Lit(pattern, datatype, None, None), *flags) if datatype in SIMPLE and (
                plain := PLAIN_REGEX.fullmatch(pattern)
            ):
                return self._found(text, plain, flags)
            case "STRLEN", (text,):
                return self._lengths(self._strings(text))
            case "UCASE" | "LCASE", (text,):
                return self._in_case(self._strings(text), upper=name == "UCASE")
            case "SUBSTR", (text, *places):
                return self._part(self._strings(text), [self._value(place) for place in places])
            case "STRBEFORE" | "STRAFTER", (text, part):
                separator = self._value(part)
                if isinstance(separator, bytes) and separator:
                    return _divided(self._strings(text), separator, before=name == "STRBEFORE")
            case "CONTAINS" | "STRSTARTS" | "STRENDS", (text, part):
                wanted = self._value(part)
                if isinstance(wanted, bytes):
                    return _searched(name, self._strings(text), wanted)
        raise _UnknownError

    def _strings(self, expression: ast.Expression) -> Strings:
        value = self._value(expression)
        if not isinstance(value, Strings):
            raise _UnknownError
        return value

    def _found(self, text: ast.Expression, plain: re.Match[str], flags: list[ast.Expression]) -> Mask:
        """REGEX with a pattern that is a text, perhaps at one end; with the flag `i`, of ASCII."""
        name = "STRSTARTS" if plain["start"] else "STRENDS" if plain["end"] else "CONTAINS"
        strings, wanted = self._strings(text), plain["text"]
        match flags:
            case []:
                return _searched(name, strings, wanted.encode())
            case [ast.Lit("i", datatype, None, None)] if datatype in SIMPLE and wanted.isascii():
                return _searched(name, self._in_case(strings, upper=False), wanted.lower().encode())
        raise _UnknownError

    def _lengths(self, strings: Strings) -> NDArray[np.int64]:
        """Code points."""
        lengths = strings.ends - strings.starts
        if self._is_ascii:
            return lengths
        data, offsets = strings.joined()
        behind = owners((data & LEADING_BITS) == NOT_LEADING, offsets)
        return lengths - np.bincount(behind, minlength=len(lengths))

    def _in_case(self, strings: Strings, *, upper: bool, first: int | None = None) -> Strings:
        """The strings in upper or lower case; known where they are ASCII, or their `first` bytes are."""
        if first is None or strings.data is not self.texts.data:
            self._need_ascii()
        elif not self._is_ascii:
            other = self.texts.data >= ASCII_END
            owner = owners(other, self.texts.offsets)
            self.is_known[owner[np.flatnonzero(other) < strings.starts[owner] + first]] = False
        data = strings.data.tobytes()
        changed = np.frombuffer(data.upper() if upper else data.lower(), np.uint8)
        return Strings(changed, strings.starts, strings.ends)

    def _part(self, strings: Strings, places: list[Value]) -> Strings:
        """SUBSTR: from a character, counted from 1, on; perhaps of a length."""
        numbers = [place for place in places if isinstance(place, int)]
        if len(numbers) != len(places) or len(numbers) not in (1, 2) or numbers[0] < 1:
            raise _UnknownError
        self._need_ascii()
        starts = np.minimum(strings.starts + (numbers[0] - 1), strings.ends)
        ends = strings.ends if len(numbers) == 1 else np.minimum(starts + numbers[1], strings.ends)
        return Strings(strings.data, starts, ends)

    def _need_ascii(self) -> None:
        if not self._is_ascii:
            self.is_known[owners(self.texts.data >= ASCII_END, self.texts.offsets)] = False

    @cached_property
    def _is_ascii(self) -> bool:
        return not len(self.texts.data) or int(self.texts.data.max()) < ASCII_END

    @cached_property
    def _texts(self) -> Strings:
        return Strings(self.texts.data, self.texts.offsets[:-1], self.texts.offsets[1:])

    @cached_property
    def _has_text(self) -> Mask:
        """Which terms have their text as STR: IRIs, plain literals and those with a language."""
        of_kind = [kind in (IRI_KIND, STRING_KIND) or is_language(tag) for kind, tag in enumerate(self.texts.tags)]
        of_kind[UNBOUND_KIND] = of_kind[BLANK_KIND] = False
        has_text: Mask = np.array(of_kind)[self.texts.kinds]
        return has_text


def are_truths(value: object) -> TypeGuard[Mask]:
    """Whether a value of TextFunctions is a truth for each text."""
    return isinstance(value, np.ndarray) and value.dtype == np.bool_


def _are_integers(value: object) -> TypeGuard[NDArray[np.int64]]:
    return isinstance(value, np.ndarray) and value.dtype == np.int64


def _divided(strings: Strings, separator: bytes, *, before: bool) -> Strings:
    """What is before or after the first separator of each string; nothing where there is none."""
    data, offsets = strings.joined()
    place = first_places(data, offsets[1:], separator) - offsets[:-1]  # below 0 for none
    has_one, place = place >= 0, strings.starts + place
    if before:
        return Strings(strings.data, strings.starts, np.where(has_one, place, strings.starts))
    return Strings(strings.data, np.where(has_one, place + len(separator), strings.ends), strings.ends)


def _searched(name: str, strings: Strings, text: bytes) -> Mask:
    lengths: NDArray[np.int64] = strings.ends - strings.starts
    if not text:
        return np.ones(len(lengths), np.bool_)
    if name == "STRSTARTS":
        return starting_with(strings.data, strings.starts, lengths, text)
    if name == "STRENDS":
        return ending_with(strings.data, strings.ends, lengths, text)
    data, offsets = strings.joined()
    return containing(data, offsets[1:], text)
