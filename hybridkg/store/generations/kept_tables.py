"""Subjects of the rows of the tables that the next generation knows: those of the one before, and of its inputs.

Only templates are kept, never rows: whether a row is there is looked up in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybridkg.interfaces.row_subject import RowSubject

MAX_TABLES = 1_000
"""Tables that a knowledge base keeps: of more, the last ones that were loaded."""

MAX_LENGTH = 500
"""Characters of each text about a table that is kept."""


class KeptTables:
    """The tables of a generation under construction, in the order of their loads; the last of one name counts.

    >>> kept = KeptTables([])
    >>> kept.add(RowSubject("brands", "id", "string", "http://e/Brand/"))
    >>> kept.add(RowSubject("brands", "id", "string", "http://e/Maker/"))
    >>> [one.start for one in kept.kept], kept.has_changed
    (['http://e/Maker/'], True)
    """

    def __init__(self, before: Iterable[RowSubject]):
        self._before = tuple(before)
        self._kept = {one.table: one for one in self._before}
        self._marked = dict(self._kept)

    @property
    def kept(self) -> Sequence[RowSubject]:
        """One for each table."""
        return tuple(self._kept.values())

    @property
    def has_changed(self) -> bool:
        """Whether the tables differ from those of the generation before, in whatever order."""
        return {*self._kept.values()} != {*self._before}

    def add(self, row_subject: RowSubject) -> None:
        """Keeps a table that is loaded; leaves out one with a text of more than MAX_LENGTH characters."""
        texts = row_subject.table, row_subject.column, row_subject.start, row_subject.end
        if max(map(len, texts)) > MAX_LENGTH:
            return
        self._kept.pop(row_subject.table, None)
        self._kept[row_subject.table] = row_subject
        while len(self._kept) > MAX_TABLES:
            del self._kept[next(iter(self._kept))]

    def clear(self) -> None:
        """Forgets every table, because the graph of their rows is replaced."""
        self._kept.clear()

    def begin_request(self) -> None:
        """Marks the state to which `undo_request` goes back."""
        self._marked = dict(self._kept)

    def undo_request(self) -> None:
        """Takes back what has been done since `begin_request`."""
        self._kept = dict(self._marked)
