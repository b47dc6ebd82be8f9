"""Profiles of columns by one pass: the kinds that all values have, separators, blanks, uniqueness.

Memory is bounded: a few counts a column, and 8 bytes a row for each column that identifies the rows, or nearly.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.row_subject import KeptColumn
from hybridkg.interfaces.table_reader import TableColumn, ValueKind
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.tables.kinds import RECOGNISED, first_misfit, is_recognised
from hybridkg.tables.near_kind import NearKind
from hybridkg.tables.triples import values_of

SEPARATORS = (" | ", "|", "; ", ";")
"""Separators of values in a cell; one with spaces counts where its character never stands without them."""

_CHARACTER_REFERENCE = re.compile(r"&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);")
"""A character in HTML, such as `&amp;`, whose semicolon separates nothing."""

MIN_SEPARATED_SHARE = 0.1
"""Share of the filled cells that must have a separator."""

MAX_VALUE_LENGTH = 40
"""Characters that a separated value may have on average: a semicolon between longer ones is punctuation."""

MAX_KEY_LENGTH = 200
"""Characters of a value that identifies a row."""

MAX_FLAWED_SHARE = 0.1
"""Share of the rows that may be blank or duplicates in a column that nearly identifies the rows."""

KEY_KINDS = frozenset({ValueKind.INTEGER, ValueKind.STRING, ValueKind.IRI})


class Kinds:
    """The kinds that all texts seen so far have.

    >>> kinds = Kinds()
    >>> kinds.see(["1", "2.5"])
    >>> kinds.strictest
    <ValueKind.DECIMAL: 'decimal'>
    """

    def __init__(self) -> None:
        self._left = [*RECOGNISED]
        self.permitted = frozenset(ValueKind)

    def see(self, texts: Sequence[str], permitted: frozenset[ValueKind] = frozenset()) -> None:
        """Takes texts, and the kinds that their format permits: a day of a format with dates is a moment, too."""
        if permitted:
            self.permitted &= permitted
            self._left = [kind for kind in self._left if kind in self.permitted]
        is_typed = bool(permitted) and ValueKind.IRI not in permitted
        self._left = [kind for kind in self._left if _has_kind(kind, texts, is_typed=is_typed)]

    def copy(self) -> Kinds:
        """An independent copy."""
        other = Kinds()
        other._left, other.permitted = [*self._left], self.permitted
        return other

    @property
    def left(self) -> list[ValueKind]:
        """The kinds that all texts have, STRING aside."""
        return [*self._left]

    @property
    def strictest(self) -> ValueKind:
        """The first kind, in the order of ValueKind, that all texts have."""
        if self.permitted == {ValueKind.JSON}:
            return ValueKind.JSON
        return self._left[0] if self._left else ValueKind.STRING


def _has_kind(kind: ValueKind, texts: Sequence[str], *, is_typed: bool) -> bool:
    if is_typed and kind is ValueKind.DATETIME:
        return first_misfit(kind, texts) is None
    return is_recognised(kind, texts)


@dataclass(frozen=True)
class KeyFlaw:
    """Why a column does not identify the rows: the first blank row, or the first two rows of one value.

    Args:
        rows: their numbers, from 1: one that is blank, or two that are alike.
        text: the value of the two; empty where it is not known.
        is_rare: whether at most MAX_FLAWED_SHARE of the rows are blank or duplicates, or one is.
    """

    rows: tuple[int, ...]
    text: str
    is_rare: bool

    def __str__(self) -> str:
        if len(self.rows) == 1:
            return f"row {self.rows[0]:,} is blank"
        first, second = self.rows
        value = repr(self.text if len(self.text) <= 40 else f"{self.text[:40]}...") if self.text else "value"
        return f"rows {first:,} and {second:,} have the same {value}"


class ColumnProfile:
    """The findings about one column.

    Args:
        name: of the column.
        kept: how it became triples in earlier loads of the table; None if it was not there.
    """

    def __init__(self, name: str, kept: KeptColumn | None = None) -> None:
        self.name, self.kept = name, kept
        self.misfit: tuple[int, str] | None = None
        """The first row, from 1, with a value that has not the kind that is kept, and that value."""
        self.filled = self.rows = 0
        self.kinds, self.is_list, self.has_json_and_text = Kinds(), False, False
        self._parts = {separator: _Parts(separator) for separator in SEPARATORS}
        self._hashes: array[int] | None = array("q")
        self._blanks = array("q")
        self._flaws = self._values = 0
        self._near: NearKind | None = None
        self._first = ""
        self.first_blank = 0
        """The number of the first row without a value; 0 for none."""
        self._alike: tuple[int, int, str] | None = None
        self._has_references = False

    def see(self, column: TableColumn, rows: int) -> None:
        """Takes the cells of some rows."""
        values = values_of(column)
        texts = values.texts
        before_batch, self.rows = self.rows, self.rows + rows
        self.is_list = self.is_list or column.is_list
        filled = len(texts) if values.rows is None else len(set(values.rows))
        self.filled += filled
        before = self.kinds.copy()
        self.kinds.see(texts, column.kinds if texts else frozenset())
        if self.kept is not None and self.misfit is None:
            self._see_kept(self.kept, texts, column, [before_batch + 1 + i for i in values.rows or range(len(texts))])
        if not column.kinds and not column.is_list and self.kinds.strictest is ValueKind.STRING:
            self._near = self._near or NearKind(before.left, self._values)
            places = range(rows) if values.rows is None else values.rows
            self._near.see(texts, [before_batch + place + 1 for place in places])
        if texts and not self._values:
            self._first = texts[0]
        self._values += len(texts)
        self.has_json_and_text = self.has_json_and_text or not self.kinds.permitted
        if filled < rows and not self.first_blank:
            self.first_blank = before_batch + _missing(values.rows, rows)[0] + 1
        if self._hashes is not None:
            self._see_keys(texts, values.rows, before_batch, rows, column.is_list)
        if not column.is_list and (not column.kinds or ValueKind.JSON not in column.kinds):
            self._see_parts(texts, before)

    def _see_kept(self, kept: KeptColumn, texts: Sequence[str], column: TableColumn, rows: Sequence[int]) -> None:
        """Looks for the first value that has not the kind of earlier loads."""
        if kept.predicate or kept.kind == ValueKind.STRING:
            return
        kind, is_typed = ValueKind(kept.kind), bool(column.kinds) and ValueKind.IRI not in column.kinds
        split = kept.separator and not column.is_list
        cells = [text.split(kept.separator) for text in texts] if split else [[text] for text in texts]
        if not _has_kind(kind, [part for cell in cells for part in cell], is_typed=is_typed):
            wrong = ((i, part) for i, cell in enumerate(cells) for part in cell)
            self.misfit = next((rows[i], one) for i, one in wrong if not _has_kind(kind, [one], is_typed=is_typed))

    def _see_keys(
        self, texts: Sequence[str], places: Sequence[int] | None, before: int, rows: int, is_list: bool
    ) -> None:
        """Takes the values of a batch of rows; columns with many flaws are given up."""
        assert self._hashes is not None
        if is_list or max(map(len, texts), default=0) > MAX_KEY_LENGTH:
            self._hashes = None
            return
        duplicates = len(texts) - len({*texts})
        if duplicates and self._alike is None:
            self._alike = _first_alike(texts, places, before)
        self._flaws += duplicates + rows - len(texts)
        if self._flaws > self._permitted_flaws:
            self._hashes = None
            return
        if len(texts) < rows:
            self._blanks.extend(before + i for i in _missing(places, rows))
        self._hashes.extend(map(hash, texts))

    @property
    def _permitted_flaws(self) -> float:
        return max(1, MAX_FLAWED_SHARE * self.rows)

    def _see_parts(self, texts: Sequence[str], before: Kinds) -> None:
        joined = "\n".join(texts)
        if ";" in joined and not self._has_references:
            self._has_references = _CHARACTER_REFERENCE.search(joined) is not None
        for parts in self._parts.values():
            if parts.separator in joined:
                if not parts.cells:
                    parts.kinds = before.copy()  # of cells without this separator, which are their only part
                parts.see(texts)
            elif parts.cells:
                parts.kinds.see(texts)

    @property
    def separator(self) -> str:
        """The separator of the values of a cell; empty for none."""
        if self.kept is not None and not self.is_list and (self.kept.predicate or self.is_as_kept):
            return self.kept.separator
        return self.own_separator

    @property
    def own_separator(self) -> str:
        """The separator of the values of a cell, whatever it was in earlier loads."""
        if self.is_list or self.kinds.strictest is not ValueKind.STRING:
            return ""
        counted = {separator: parts.found for separator, parts in self._parts.items()}
        for separator, parts in self._parts.items():
            is_whole = counted[separator.strip()] == counted[separator]
            enough = parts.cells >= max(2, MIN_SEPARATED_SHARE * self.filled)
            if self._has_references and ";" in separator:
                continue
            if is_whole and enough and parts.mean_length <= MAX_VALUE_LENGTH:
                return separator
        return ""

    @property
    def first(self) -> str:
        """The first value; empty where all cells are blank."""
        parts = self._first.split(separator) if (separator := self.separator) else [self._first]
        return next((part for part in parts if part and not part.isspace()), "")

    @property
    def is_as_kept(self) -> bool:
        """Whether all values have the kind that the column had in earlier loads."""
        is_value = self.kept is not None and not self.kept.predicate
        return is_value and self.misfit is None and self.kinds.strictest is not ValueKind.JSON

    @property
    def kind(self) -> ValueKind:
        """The kind of the values: that of earlier loads, where all of them have it."""
        return ValueKind(self.kept.kind) if self.kept is not None and self.is_as_kept else self.own_kind

    @property
    def own_kind(self) -> ValueKind:
        """The kind of the values, whatever it was in earlier loads."""
        separator = self.own_separator
        return self._parts[separator].kinds.strictest if separator else self.kinds.strictest

    def why_text(self) -> str:
        """Why this is a column of texts where most values have a stricter kind; empty for no reason."""
        is_text = self.kind is ValueKind.STRING and not self.separator
        return self._near.reason() if is_text and self._near is not None else ""

    def is_unique(self) -> bool:
        """Whether each row has a value of its own."""
        if self._hashes is None or not self._hashes or self._flaws or not self.has_key_kind():
            return False
        found = np.frombuffer(self._hashes, dtype=np.int64)
        return len(sorted_distinct(found)) == len(found)

    def has_values(self, texts: Sequence[str]) -> bool:
        """Whether there are texts, and all of them are values of this column, which is unique."""
        found = np.frombuffer(self._hashes or array("q"), dtype=np.int64)
        wanted = np.fromiter(map(hash, texts), np.int64, len(texts))
        return len(texts) > 0 and bool(np.isin(wanted, found).all())

    def has_key_kind(self) -> bool:
        """Whether the values are of a kind that identifies rows."""
        return self.kind in KEY_KINDS and not self.separator

    def key_flaw(self) -> KeyFlaw | None:
        """Why the column does not identify the rows, as far as a blank or a duplicate is known; None for neither."""
        alike, is_rare = self._alike, self._hashes is not None
        if self._hashes:
            found = np.frombuffer(self._hashes, dtype=np.int64)
            flaws = len(found) - len(sorted_distinct(found)) + len(self._blanks)
            is_rare = flaws <= self._permitted_flaws
            if alike is None and flaws > len(self._blanks):
                rows = np.delete(np.arange(self.rows), np.frombuffer(self._blanks, dtype=np.int64))
                order = np.argsort(found, kind="stable")
                second = np.flatnonzero(found[order][1:] == found[order][:-1]) + 1
                at = second[np.argmin(order[second])]
                alike = int(rows[order[at - 1]]) + 1, int(rows[order[at]]) + 1, ""
        if self.first_blank:
            return KeyFlaw((self.first_blank,), "", is_rare)
        return KeyFlaw(alike[:2], alike[2], is_rare) if alike else None


def _missing(places: Sequence[int] | None, rows: int) -> list[int]:
    """The indices of the blank rows of a batch, ascending."""
    filled = {*range(rows)} if places is None else {*places}
    return [i for i in range(rows) if i not in filled]


def _first_alike(texts: Sequence[str], places: Sequence[int] | None, before: int) -> tuple[int, int, str]:
    """The numbers of the first row whose value is that of an earlier one, after that of the earlier one; the value."""
    seen: dict[str, int] = {}
    for i, text in enumerate(texts):
        row = before + 1 + (i if places is None else places[i])
        if text in seen:
            return seen[text], row, text
        seen[text] = row
    raise AssertionError("no two are alike")


class _Parts:
    """The parts of the cells of a column by one separator."""

    def __init__(self, separator: str) -> None:
        self.separator = separator
        self.cells = self.found = 0
        self.kinds = Kinds()
        self._characters = self._number = 0

    def see(self, texts: Sequence[str]) -> None:
        """Takes cells, some of which have the separator."""
        lists = [text.split(self.separator) for text in texts]
        parts = [part for one in lists for part in one if part]
        separated = [one for one in lists if len(one) > 1]
        self.cells += len(separated)
        self.found += sum(map(len, separated)) - len(separated)
        self._characters += sum(len(part) for one in separated for part in one)
        self._number += sum(map(len, separated))
        self.kinds.see(parts)

    @property
    def mean_length(self) -> float:
        """Characters of a value of a cell with several."""
        return self._characters / max(self._number, 1)
