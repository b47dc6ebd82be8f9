"""The stricter kind that most values of a column of texts have, and the first value that has it not."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.kinds import is_recognised

MIN_SHARE = 0.5
"""Share of the values, up to the end of each batch of rows, that have the kind."""

_PLURALS = {
    ValueKind.INTEGER: "integers",
    ValueKind.DECIMAL: "decimals",
    ValueKind.DOUBLE: "numbers",
    ValueKind.BOOLEAN: "booleans",
    ValueKind.DATE: "dates",
    ValueKind.DATETIME: "dates with times",
}


_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DOUBLE)
"""In the order of _PLURALS; each includes those before it."""


_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,15}|\d{1,3}(?:[., '\u2019\u00a0\u202f]\d{3}){1,5}),\d{1,15}", re.ASCII)
"""A decimal with a comma, or an integer whose thousands have one."""


@dataclass
class _Count:
    """Values of a kind, and the first that is not of it."""

    fits: int
    row: int = 0
    text: str = ""


class NearKind:
    """Counts values by kind, as long as enough of them have one.

    Args:
        kinds: that all values before the first batch have.
        values: their number.

    >>> near = NearKind(ValueKind, 0)
    >>> near.see(["1", "NA", "2"], [1, 2, 3])
    >>> near.reason()
    "row 2 has 'NA' (2 of 3 values are integers)"
    """

    def __init__(self, kinds: Collection[ValueKind], values: int):
        self._values = values
        self._commas: _Count | None = _Count(values if ValueKind.DECIMAL in kinds else 0)
        self._counts = {kind: _Count(values) for kind in _PLURALS if kind in kinds}

    def see(self, texts: Sequence[str], rows: Sequence[int]) -> None:
        """Takes values, and the number of the row of each."""
        self._values += len(texts)
        no_numbers = everything = [*zip(texts, rows, strict=True)]
        for kind, count in [*self._counts.items()]:
            # An integer is a decimal, and a decimal a double, so only the others are looked at again.
            misfits = [
                one for one in (no_numbers if kind in _NUMBERS else everything) if not is_recognised(kind, [one[0]])
            ]
            if kind in _NUMBERS:
                no_numbers = misfits
            count.fits += len(texts) - len(misfits)
            if misfits and not count.row:
                count.text, count.row = misfits[0]
            if count.fits < MIN_SHARE * self._values:
                del self._counts[kind]

        self._see_commas(texts, rows)

    def _see_commas(self, texts: Sequence[str], rows: Sequence[int]) -> None:
        """Counts the numbers, those with commas included."""
        if self._commas is None:
            return
        found = [bool(_WITH_COMMA.fullmatch(text)) for text in texts]
        self._commas.fits += sum(
            is_it or is_recognised(ValueKind.DECIMAL, [text]) for is_it, text in zip(found, texts, strict=True)
        )
        if not self._commas.row and True in found:
            first = found.index(True)
            self._commas.row, self._commas.text = rows[first], texts[first]
        if self._commas.fits < MIN_SHARE * self._values:
            self._commas = None

    def reason(self) -> str:
        """Why the column is text: its first value that is not of the kind that most have; empty for none."""
        if (commas := self._commas) is not None and commas.row:
            return (
                f"row {commas.row:,} has {commas.text!r}, a number with a comma ({commas.fits:,} of {self._values:,} "
                "values are numbers); write them with a point, as in 1.50, and without separators of thousands"
            )
        counts = [(count.fits, kind) for kind, count in self._counts.items() if count.row and count.fits]
        if not counts:
            return ""
        most, kind = max(counts, key=lambda one: one[0])  # of several, the strictest
        count = self._counts[kind]
        shown = repr(count.text if len(count.text) <= 40 else f"{count.text[:40]}...")
        return f"row {count.row:,} has {shown} ({most:,} of {self._values:,} values are {_PLURALS[kind]})"
