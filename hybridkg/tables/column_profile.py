"""Profiles of columns by one pass: the kinds that all values have, separators, blanks, uniqueness.

Memory is bounded: a few counts a column, and 8 bytes a row for each column that may still identify the rows.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

import numpy as np

from hybridkg.interfaces.table_reader import TableColumn, ValueKind
from hybridkg.tables.kinds import RECOGNISED, is_recognised
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
        """Takes texts, and the kinds that their format permits."""
        if permitted:
            self.permitted &= permitted
            self._left = [kind for kind in self._left if kind in self.permitted]
        self._left = [kind for kind in self._left if is_recognised(kind, texts)]

    def copy(self) -> Kinds:
        """An independent copy."""
        other = Kinds()
        other._left, other.permitted = [*self._left], self.permitted
        return other

    @property
    def strictest(self) -> ValueKind:
        """The first kind, in the order of ValueKind, that all texts have."""
        if self.permitted == {ValueKind.JSON}:
            return ValueKind.JSON
        return self._left[0] if self._left else ValueKind.STRING


class ColumnProfile:
    """The findings about one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.filled = self.rows = 0
        self.kinds, self.is_list, self.has_json_and_text = Kinds(), False, False
        self._parts = {separator: _Parts(separator) for separator in SEPARATORS}
        self._hashes: array[int] | None = array("q")
        self._has_references = False

    def see(self, column: TableColumn, rows: int) -> None:
        """Takes the cells of some rows."""
        values = values_of(column)
        texts = values.texts
        self.rows += rows
        self.is_list = self.is_list or column.is_list
        filled = len(texts) if values.rows is None else len(set(values.rows))
        self.filled += filled
        before = self.kinds.copy()
        self.kinds.see(texts, column.kinds if texts else frozenset())
        self.has_json_and_text = self.has_json_and_text or not self.kinds.permitted
        if self._hashes is not None:
            self._see_keys(texts, filled == rows and not column.is_list)
        if not column.is_list and (not column.kinds or ValueKind.JSON not in column.kinds):
            self._see_parts(texts, before)

    def _see_keys(self, texts: Sequence[str], is_filled: bool) -> None:
        if not is_filled or len({*texts}) < len(texts) or max(map(len, texts), default=0) > MAX_KEY_LENGTH:
            self._hashes = None
        else:
            assert self._hashes is not None
            self._hashes.extend(map(hash, texts))

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
    def kind(self) -> ValueKind:
        """The kind of the values."""
        separator = self.separator
        return self._parts[separator].kinds.strictest if separator else self.kinds.strictest

    def is_unique(self) -> bool:
        """Whether each row has a value of its own."""
        if self._hashes is None or not self._hashes or self.kind not in KEY_KINDS or self.separator:
            return False
        found = np.frombuffer(self._hashes, dtype=np.int64)
        return len(np.unique(found)) == len(found)


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
