"""The subjects of the rows of a loaded table, by which later tables refer to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowSubject:
    """The template of the subjects of a table.

    Args:
        table: name of the table, such as `brands`.
        column: the column that identifies its rows.
        kind: of the values in this column, a ValueKind; empty if the mapping does not tell.
        start: the text of each subject before the value, which is percent-encoded.
        end: the text after it, most often empty.
    """

    table: str
    column: str
    kind: str
    start: str
    end: str = ""
