"""The subjects of the rows of a loaded table, by which later tables refer to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """How a column of a loaded table became triples, so that later loads of the table do the same.

    Args:
        name: of the column.
        kind: of its values, a ValueKind.
        separator: between the values of a cell; empty for one value.
        predicate: IRI, for a column of references; empty for one of values.
        start: of a reference: the text of the IRI before the value, which is percent-encoded.
        end: the text after it.
    """

    name: str
    kind: str
    separator: str = ""
    predicate: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class RowSubject:
    """The template of the subjects of a table.

    Args:
        table: name of the table, such as `brands`.
        column: the column that identifies its rows.
        kind: of the values in this column, a ValueKind; empty if the mapping does not tell, or loads differ.
        start: the text of each subject before the value, which is percent-encoded.
        end: the text after it, most often empty.
        columns: how the columns became triples, in the order of their names.
    """

    table: str
    column: str
    kind: str
    start: str
    end: str = ""
    columns: tuple[KeptColumn, ...] = ()

    @property
    def prefix(self) -> str:
        """A name for the namespace of the rows, after their class; empty where they have none of their own.

        >>> RowSubject("film_reviews", "id", "", "http://e/FilmReview/").prefix
        'filmReview'
        """
        found = re.search(r"[/#:]([A-Za-z]\w*)[/#:]$", self.start, re.ASCII)
        return "" if found is None or self.end else found[1][0].lower() + found[1][1:]


def last_of_names(rows: Sequence[RowSubject]) -> tuple[RowSubject, ...]:
    """The last one of each table, in the order of some loads.

    >>> a, b, c = (RowSubject(name, "id", "", start) for name, start in (("t", "e:a"), ("u", "e:b"), ("t", "e:c")))
    >>> [one.start for one in last_of_names([a, b, c])]
    ['e:b', 'e:c']
    """
    last: dict[str, RowSubject] = {}
    for one in reversed(rows):
        last.setdefault(one.table, one)
    return tuple(last.values())[::-1]
