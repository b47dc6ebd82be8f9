"""The triples of a table by a map, as N-Triples, by blocks of rows and column by column.

tests/tables/row_by_row.py states the same one cell at a time. A triple costs about 0.5 us here, most of it one string:
blanks, escapes and encodings are rare, and are looked for in whole columns first.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import RowBatch, Table, TableColumn, ValueKind
from hybridkg.rdf.datatypes import XSD_DATATYPES
from hybridkg.rdf.terms import XSD, Literal, NamedNode
from hybridkg.registry import did_you_mean
from hybridkg.tables.kinds import DATATYPES, EXAMPLES, first_misfit, lexical
from hybridkg.tables.mapping import ROW_NUMBER, PropertyMap, TableMap, TermMap, iri_safe

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F, 0xFFFE, 0xFFFF)} | str.maketrans(
    {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
)
_ESCAPED_BYTES = bytes(code for code in _ESCAPES if code < 0x80)
"""Characters that canonical N-Triples escapes, as Oxigraph writes them; two noncharacters are not ASCII."""

MAX_TRIPLE_LENGTH = 16 << 20
"""Bytes of a triple with its escapes: the buffer of Oxigraph's parsers."""

_INTEGERS = """
int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger
unsignedInt unsignedLong unsignedShort unsignedByte
"""
_DERIVED_INTEGERS = frozenset(XSD + name for name in _INTEGERS.split())


_PLAIN_KINDS = frozenset(DATATYPES) - {ValueKind.JSON}
"""Kinds whose permitted forms have no character to escape."""


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of some rows: texts, and the row of each within its batch; None for one of each row, in order."""

    texts: Sequence[str]
    rows: Sequence[int] | None = None


class TripleWriter:
    """Writes the triples of the rows of a table.

    Args:
        table: gives the rows.
        table_map: of this table.

    Raises:
        LoadError: the map names a column that the table does not have, or has a constant that is no IRI or no language.
    """

    def __init__(self, table: Table, table_map: TableMap):
        check_constants(table_map)
        self._table, self._map = table, table_map
        self._places = {name: i for i, name in enumerate(table.columns)}
        for term in table_map.term_maps():
            for name in term.columns:
                if name != ROW_NUMBER and name not in self._places:
                    known = [*table.columns]
                    raise LoadError(
                        f"the mapping names a column {name!r}, which {table.source!r} does not have; its columns: "
                        f"{', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
                        hint=did_you_mean(name, known),
                    )

    def lines(self) -> Iterator[tuple[bytes, int]]:
        """(N-Triples, number of triples) of each batch of rows. Raises LoadError: a cell is wrong; names its place."""
        for batch in self._table.batches():
            lines = self._lines(batch)
            text = self._encoded(lines, batch)
            if len(text) > MAX_TRIPLE_LENGTH and any(len(line.encode()) > MAX_TRIPLE_LENGTH for line in lines):
                raise self._too_long(batch)
            yield text, len(lines)

    def of_rows(self, batch: RowBatch) -> list[str]:
        """The triples of some rows, a line each without its end. Raises LoadError: a cell is wrong."""
        lines = self._lines(batch)
        self._encoded(lines, batch)
        return [line.rstrip("\n") for line in lines]

    def _encoded(self, lines: Sequence[str], batch: RowBatch) -> bytes:
        """The bytes of some lines. Raises LoadError: half a character is in them."""
        try:
            return "".join(lines).encode()
        except UnicodeEncodeError as e:
            raise self._lone_surrogate(batch) from e

    def _lines(self, batch: RowBatch) -> list[str]:
        subjects = self.subjects(batch)
        lines: list[str] = []
        for one in self._map.properties:
            objects = self._objects(one, batch)
            of_rows = subjects if objects.rows is None else [subjects[row] for row in objects.rows]
            for predicate in one.predicates:
                before, after = _around(predicate, one.target)
                lines += [f"{s}{before}{o}{after}" for s, o in zip(of_rows, objects.texts, strict=True)]
        return lines

    def subjects(self, batch: RowBatch) -> Sequence[str]:
        """The subject of each row, in angle brackets. Raises LoadError: a row has none, or several."""
        term = self._map.subject
        values = self._values(term, batch)
        if values.rows is not None:
            counts = Counter(values.rows)
            row = next((i for i in range(batch.rows) if counts[i] != 1), None)
            if row is not None:
                names = ", ".join(map(repr, term.columns))
                raise self._error(
                    batch,
                    row,
                    f"{'several values' if counts[row] else 'no value'} in column {names}, which identifies the rows",
                    "each row needs one, or choose another column with --id",
                )
        return [f"<{text}>" for text in values.texts]

    def _objects(self, one: PropertyMap, batch: RowBatch) -> _Values:
        term = one.target
        values = self._values(term, batch)
        if term.kind is ValueKind.IRI:
            return values
        texts = lexical(term.kind, values.texts)
        if term.kind not in _PLAIN_KINDS and _needs_escapes("".join(texts)):
            texts = [text.translate(_ESCAPES) for text in texts]
        return _Values(texts, values.rows)

    def _values(self, term: TermMap, batch: RowBatch) -> _Values:
        """The values of a term map in the rows that have them, checked."""
        columns = term.columns
        if not columns:
            return _Values([term.template[0]] * batch.rows)
        try:
            values = self._of_one(term, batch) if len(columns) == 1 else self._of_several(term, batch)
        except UnicodeEncodeError as e:  # a part of an IRI is encoded by itself
            raise self._lone_surrogate(batch) from e
        self._check(term, values, batch)
        return values

    def _of_one(self, term: TermMap, batch: RowBatch) -> _Values:
        """The values of a template of one column."""
        values = self._cells(term.columns[0], batch, term.separator)
        if term.is_reference:
            return values
        before, after = term.template[0], term.template[2]
        texts = values.texts
        if term.kind is ValueKind.IRI and _bytes("".join(texts)).translate(None, _UNRESERVED):
            texts = [iri_safe(text) for text in texts]
        return _Values([f"{before}{text}{after}" for text in texts], values.rows)

    def _of_several(self, term: TermMap, batch: RowBatch) -> _Values:
        """The values of a template of several columns: one for each combination of their values in a row."""
        found = [_by_row(self._cells(name, batch, term.separator), batch.rows) for name in term.columns]
        texts: list[str] = []
        rows: list[int] = []
        for i in range(batch.rows):
            for parts in product(*(cells[i] for cells in found)):
                pieces = [*term.template]
                pieces[1::2] = map(iri_safe, parts) if term.kind is ValueKind.IRI else parts
                texts.append("".join(pieces))
                rows.append(i)
        return _Values(texts, rows)

    def _cells(self, name: str, batch: RowBatch, separator: str) -> _Values:
        """The values in a column that are not blank."""
        if name == ROW_NUMBER and name not in self._places:
            return _Values([str(number) for number in range(batch.first, batch.first + batch.rows)])
        return values_of(batch.columns[self._places[name]], separator)

    def _check(self, term: TermMap, values: _Values, batch: RowBatch) -> None:
        """Raises LoadError: a value has a NUL, or a text that its datatype does not permit."""
        kind = term.kind
        if kind is ValueKind.IRI and ":" in term.template[0]:
            return  # the constants have been checked, and the columns are percent-encoded
        if term.datatype in _DERIVED_INTEGERS:
            kind = ValueKind.INTEGER
        texts, names = values.texts, ", ".join(map(repr, term.columns))
        if kind not in _PLAIN_KINDS and "\0" in "".join(texts):
            wrong = next(i for i, text in enumerate(texts) if "\0" in text)
            raise self._error(batch, _row(values, wrong), f"column {names} has a NUL character", "remove it")
        bad = first_misfit(kind, texts)
        if bad is not None:
            wanted = "an absolute IRI" if kind is ValueKind.IRI else f"of the datatype {kind}"
            raise self._error(
                batch,
                _row(values, bad),
                f"column {names}: {_shown(texts[bad])} is not {wanted}, such as {EXAMPLES[kind]}",
                "correct the cell, or map the column to a string",
            )

    def _error(self, batch: RowBatch, row: int, message: str, hint: str) -> LoadError:
        number = batch.first + row
        return LoadError(f"row {number}, {message}", hint=hint, place=self._table.place(number))

    def _lone_surrogate(self, batch: RowBatch) -> LoadError:
        for name, column in zip(self._table.columns, batch.columns, strict=True):
            for i, cell in enumerate(column.cells):
                try:
                    "".join(cell).encode()
                except UnicodeEncodeError:
                    return self._error(
                        batch, i, f"column {name!r} has half a character (a lone surrogate)", "write the text anew"
                    )
        return LoadError("a character that is no Unicode", place=self._table.source)

    def _too_long(self, batch: RowBatch) -> LoadError:
        """The error of the longest cell."""
        lengths = [
            (sum(map(len, cell)), name, i)
            for name, column in zip(self._table.columns, batch.columns, strict=True)
            for i, cell in enumerate(column.cells)
        ]
        length, name, row = max(lengths)
        return self._error(
            batch,
            row,
            f"column {name!r} has {length:,} characters, which make a triple of more than {MAX_TRIPLE_LENGTH:,} bytes",
            "divide the text, or give it as a document: --text",
        )


def check_constants(table_map: TableMap) -> None:
    """Raises LoadError: a constant of a map is no term, so its text could end the term and begin another triple."""
    iris = [predicate for one in table_map.properties for predicate in one.predicates]
    for term in table_map.term_maps():
        if term.datatype:
            iris.append(term.datatype)
            name = term.datatype.removeprefix(XSD)
            if name != term.datatype and name not in XSD_DATATYPES:
                near = difflib.get_close_matches(name, XSD_DATATYPES, 1)
                raise LoadError(
                    f"wrong mapping: {_shown(f'xsd:{name}')} is no datatype of XML Schema, in {table_map.name!r}",
                    hint=f"did you mean xsd:{near[0]}?"
                    if near
                    else "the usual ones are xsd:integer, xsd:decimal, "
                    "xsd:double, xsd:boolean, xsd:date, xsd:dateTime and xsd:string",
                )
        if term.kind is ValueKind.IRI and not term.is_reference:
            iris.append("".join("x" if i % 2 else part for i, part in enumerate(term.template)))
        if term.language:
            try:
                Literal("", language=term.language)
            except ValueError as e:
                raise LoadError(f"wrong mapping: {_shown(term.language)} is no language tag: {e}") from e
    for iri in dict.fromkeys(iris):
        try:
            NamedNode(iri)
        except ValueError as e:
            raise LoadError(f"wrong mapping: {_shown(iri)} is no IRI: {e}") from e


def first_rows(batch: RowBatch, rows: int) -> RowBatch:
    """The first rows of a batch."""
    columns = [TableColumn(column.cells[:rows], column.kinds, column.is_list) for column in batch.columns]
    return RowBatch(batch.first, min(rows, batch.rows), columns)


def values_of(column: TableColumn, separator: str = "") -> _Values:
    """The values of a column that are not blank: not empty, and not of spaces alone.

    >>> values_of(TableColumn(["a|b", " ", "c"]), "|")
    _Values(texts=['a', 'b', 'c'], rows=[0, 0, 2])
    """
    cells = column.cells
    if column.is_list or separator:
        found = [
            (i, one)
            for i, cell in enumerate(cells)
            for one in (cell.split(separator) if isinstance(cell, str) else cell)
            if one and not one.isspace()
        ]
        return _Values([one for _, one in found], [i for i, _ in found])
    texts: Sequence[str] = cells  # type: ignore[assignment]
    if all(texts) and not any(map(str.isspace, texts)):
        return _Values(texts)
    rows = [i for i, text in enumerate(texts) if text and not text.isspace()]
    return _Values([texts[i] for i in rows], rows)


def _needs_escapes(text: str) -> bool:
    raw = _bytes(text)
    return len(raw.translate(None, _ESCAPED_BYTES)) < len(raw) or "\ufffe" in text or "\uffff" in text


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")  # half characters get their error with the whole line


def _by_row(values: _Values, rows: int) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(rows)]
    for row, text in zip(range(rows) if values.rows is None else values.rows, values.texts, strict=True):
        found[row].append(text)
    return found


def _row(values: _Values, index: int) -> int:
    return index if values.rows is None else values.rows[index]


def _around(predicate: str, term: TermMap) -> tuple[str, str]:
    """The text between a subject and an object, and the text behind the object."""
    if term.kind is ValueKind.IRI:
        return f" <{predicate}> <", "> .\n"
    suffix = f"@{term.language}" if term.language else f"^^<{term.datatype}>" if term.datatype else ""
    return f' <{predicate}> "', f'"{suffix} .\n'


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
