"""Subjects of the rows of the tables that the next generation knows: those of the one before, and of its inputs.

Only templates are kept, never rows: whether a row is there is looked up in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from operator import attrgetter

from hybridkg.interfaces.row_subject import KeptColumn, RowSubject, last_of_names

MAX_TABLES = 1_000
"""Templates of tables that a knowledge base keeps: of more, the last ones that were loaded."""

MAX_COLUMNS = 1_000
"""Columns of a table that are kept, the first ones by name."""

MAX_ALL_COLUMNS = 20_000
"""Columns of all tables that are kept: about 2 MB of the manifest."""

MAX_LENGTH = 500
"""Characters of each text about a table that is kept."""


class KeptTables:
    """The templates of a generation under construction, in the order of their last loads.

    A table that was loaded with another class has several: later tables refer to the rows of the last one, and values
    of the earlier ones may be left in the graph. Where two loads differ in the kind of the identifiers, it is open.

    >>> kept = KeptTables([])
    >>> kept.add(RowSubject("brands", "id", "integer", "http://e/Brand/"))
    >>> kept.add(RowSubject("brands", "id", "integer", "http://e/Maker/"))
    >>> kept.add(RowSubject("brands", "id", "string", "http://e/Brand/"))
    >>> [(one.start, one.kind) for one in kept.kept], kept.has_changed
    ([('http://e/Maker/', 'integer'), ('http://e/Brand/', '')], True)
    """

    def __init__(self, before: Iterable[RowSubject]):
        self._before = tuple(before)
        self._kept = {_template(one): one for one in self._before}
        self._marked = dict(self._kept)

    @property
    def kept(self) -> Sequence[RowSubject]:
        """One for each template of a table; the last one of a name is that of its last load."""
        return tuple(self._kept.values())

    def _forget_columns(self) -> None:
        """Forgets the columns of the tables that were loaded first, until MAX_ALL_COLUMNS are left."""
        left = MAX_ALL_COLUMNS
        for key, one in reversed(self._kept.items()):
            left -= len(one.columns)
            if left < 0 and one.columns:
                self._kept[key] = replace(one, columns=())

    @property
    def has_changed(self) -> bool:
        """Whether the tables differ from those of the generation before, in whatever order."""
        return any({*of(self.kept)} != {*of(self._before)} for of in (iter, last_of_names))

    def add(self, row_subject: RowSubject) -> None:
        """Keeps a table that is loaded; leaves out one with a text of more than MAX_LENGTH characters."""
        texts = row_subject.table, row_subject.column, row_subject.start, row_subject.end
        if max(map(len, texts)) > MAX_LENGTH:
            return
        columns = self._columns(row_subject)
        before = self._kept.pop(_template(row_subject), row_subject)
        kind = row_subject.kind if before.kind == row_subject.kind else ""
        self._kept[_template(row_subject)] = replace(row_subject, kind=kind, columns=columns)
        while len(self._kept) > MAX_TABLES:
            del self._kept[next(iter(self._kept))]
        self._forget_columns()

    def _columns(self, row_subject: RowSubject) -> tuple[KeptColumn, ...]:
        """The columns of a table after a load: those of the load, and of earlier ones the others."""
        before = [one for one in self._kept.values() if (one.start, one.end) == (row_subject.start, row_subject.end)]
        found = {column.name: column for one in [*before, row_subject] for column in one.columns}
        short = [column for column in found.values() if max(map(len, astuple(column))) <= MAX_LENGTH]
        return tuple(sorted(short, key=attrgetter("name")))[:MAX_COLUMNS]

    def has_subjects_of(self, row_subject: RowSubject) -> bool:
        """Whether some table has these subjects, from whatever column."""
        return any((one.start, one.end) == (row_subject.start, row_subject.end) for one in self._kept.values())

    def clear(self) -> None:
        """Forgets every table, because the graph of their rows is replaced."""
        self._kept.clear()

    def begin_request(self) -> None:
        """Marks the state to which `undo_request` goes back."""
        self._marked = dict(self._kept)

    def undo_request(self) -> None:
        """Takes back what has been done since `begin_request`."""
        self._kept = dict(self._marked)


def _template(row_subject: RowSubject) -> tuple[str, str, str, str]:
    return row_subject.table, row_subject.column, row_subject.start, row_subject.end
