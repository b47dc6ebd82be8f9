"""A table with its map as an input of a load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from hybridkg.interfaces.row_subject import KeptColumn, RowSubject
from hybridkg.interfaces.statement_source import StatementSource
from hybridkg.interfaces.table_reader import Table, ValueKind
from hybridkg.rdf.terms import NamedNode, Term
from hybridkg.tables.kinds import DATATYPES
from hybridkg.tables.mapping import ROW_NUMBER, TableMap
from hybridkg.tables.triples import TripleWriter, first_rows

MIN_CELL_BYTES = 4
"""Bytes of a cell, at least on average, by which rows are estimated that nobody has counted."""


class TableSource(StatementSource):
    """The triples of a table.

    Args:
        table: read anew at each call of `lines`.
        table_map: its map.
        prefixes: those of the mapping.

    Raises:
        LoadError: the map does not fit the table.
    """

    def __init__(self, table: Table, table_map: TableMap, prefixes: Mapping[str, str]):
        self._table, self.map, self.prefixes = table, table_map, prefixes
        self._writer = TripleWriter(table, table_map)
        self._predicates = {name for one in table_map.properties if one.target.columns for name in one.predicates}
        self._former: dict[str, list[str]] = {}
        for predicate, start in table_map.former:
            self._former.setdefault(predicate, []).append(start)
        self.row_subject = row_subject(table_map)
        self.name, self.size = f"{table.source}, {table.part}" if table.part else table.source, table.size

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns of the table."""
        return self._table.columns

    def lines(self) -> Iterator[tuple[bytes, int]]:
        """The triples of each batch of rows. Raises LoadError: a cell is wrong; names file, row and column."""
        yield from self._writer.lines()

    def advanced(self) -> int:
        """Bytes of the file read since the last call."""
        return self._table.advanced()

    def expected_statements(self) -> int | None:
        """Triples of a row, times the rows; a cell of several values counts as one."""
        rows = self.map.rows
        if rows is None and self._table.size is not None:
            rows = self._table.size // (MIN_CELL_BYTES * max(len(self._table.columns), 1))
        return None if rows is None else rows * sum(len(one.predicates) for one in self.map.properties)

    def subjects(self, rows: int | None = None) -> Iterator[str]:
        """The IRIs of the first rows, or of all. Raises LoadError: a row has none."""
        for batch in self._table.batches():
            terms = self._writer.subjects(batch if rows is None else first_rows(batch, rows))
            yield from (term[1:-1] for term in terms)
            if rows is not None and not (rows := rows - len(terms)):
                return

    def is_own(self, predicate: str, value: Term) -> bool:
        """Whether a triple of a row, now or in an earlier load, may come from a column; constants are the map's own."""
        if predicate in self._predicates:
            return True
        starts = self._former.get(predicate, ())
        return "" in starts or (isinstance(value, NamedNode) and value.value.startswith(tuple(starts)))

    def examples(self, rows: int) -> list[str]:
        """The triples of the first rows, one a line, row by row."""
        for batch in self._table.batches():
            lines = self._writer.of_rows(first_rows(batch, rows))
            order = {subject: i for i, subject in enumerate(dict.fromkeys(map(_subject, lines)))}
            return sorted(lines, key=lambda line: order[_subject(line)])
        return []


def row_subject(table_map: TableMap) -> RowSubject | None:
    """The subjects of a table; None where they do not depend on one column, or are its values as they are.

    >>> from hybridkg.interfaces.table_reader import ValueKind
    >>> from hybridkg.tables.mapping import TermMap
    >>> subject = TermMap(("http://e/Brand/", "id", ""), ValueKind.IRI)
    >>> row_subject(TableMap("brands", "brands.csv", "", subject, ()))
    RowSubject(table='brands', column='id', kind='', start='http://e/Brand/', end='', columns=())
    """
    subject = table_map.subject
    if len(subject.template) != 3 or subject.is_reference or subject.columns[0] == ROW_NUMBER:
        return None
    start, column, end = subject.template
    literals = [one.target for one in table_map.properties if one.target.columns == (column,)]
    kinds = [str(one.kind) for one in literals if one.is_reference and not one.separator]
    columns = tuple(sorted(_kept_columns(table_map), key=attrgetter("name")))
    return RowSubject(table_map.name, column, kinds[0] if kinds else "", start, end, columns)


def _kept_columns(table_map: TableMap) -> Iterator[KeptColumn]:
    """The columns with a kind that a guess knows, or with references."""
    seen: set[str] = set()
    for one in table_map.properties:
        term = one.target
        if len(term.columns) != 1 or term.kind is ValueKind.JSON or ROW_NUMBER in term.columns:
            continue
        (name,) = term.columns
        is_known = term.is_reference and term.datatype == DATATYPES.get(term.kind, "")
        is_link = term.kind is ValueKind.IRI and not term.is_reference
        if name not in seen and (is_known or is_link):
            seen.add(name)
            link = (one.predicates[0], term.template[0], term.template[2]) if is_link else ()
            yield KeptColumn(name, str(term.kind), term.separator, *link)


def _subject(line: str) -> str:
    return line.partition(" ")[0]
