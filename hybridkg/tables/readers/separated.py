"""CSV and TSV (RFC 4180): UTF-8, plain or compressed, with a header.

A .csv file may be separated by commas, semicolons or tabs: the one with the most columns in the header counts. Where
none of them gives two columns, it may be separated by vertical bars, which elsewhere separate the values of a cell.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import RowBatch, TableColumn
from hybridkg.rdf.input_file import BLOCK, CONVERT, InputFile
from hybridkg.tables.headers import MAX_CELL_LENGTH, MAX_LINE_LENGTH, batched, checked_header, rows_of_batch

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t"
"""Delimiters of a .csv file; of several that give as many columns, the first."""

LAST_DELIMITER = "|"
"""Delimiter of a .csv file that would have one column otherwise."""

MAX_NUL_SHARE = 0.1
"""Share of the bytes that are NUL in a text of UTF-8, by mistake; in UTF-16 it is up to a half."""

MAX_EMPTY_LINES = 100
"""Empty lines before a header."""


class SeparatedReader:
    """Opens files of separated values.

    Args:
        extensions: of the files.
        delimiters: candidates for the delimiter.
        last: the delimiter where the candidates give one column; empty for none.
    """

    def __init__(self, extensions: tuple[str, ...], delimiters: str, last: str = ""):
        self.extensions, self._delimiters, self._last = extensions, delimiters, last

    def open(self, path: Path) -> Sequence[SeparatedTable]:
        """The only table of a file. Raises LoadError: it cannot be read, or has no header."""
        return [SeparatedTable(path, self._delimiters, self._last)]


CSV = SeparatedReader((".csv",), DELIMITERS, LAST_DELIMITER)
TSV = SeparatedReader((".tsv", ".tab"), "\t")


class SeparatedTable:
    """The rows of a file of separated values."""

    part = ""

    def __init__(self, path: Path, delimiters: str, last: str = ""):
        self.path, self.source, self.name = path, str(path), path.name.partition(".")[0]
        self._file: InputFile | None = None
        with InputFile(path) as file:
            self.size: int | None = file.size
            open_row = _OpenRow()
            lines = _lines(file, open_row)
            start = _start(lines, path)
            self._delimiter = _delimiter(start[-1], delimiters, last)
            # A quoted name may hold a line end, so the header is read by the reader of the rows.
            header = next(_rows(self._reader(start, lines), path, open_row), [])
            self.columns = checked_header(header, f"{path}:{len(start)}")

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches. Raises LoadError: a row has another number of cells than the header, or no UTF-8."""
        width = len(self.columns)
        with InputFile(self.path) as file:
            self._file = file
            open_row = _OpenRow()
            lines = _lines(file, open_row)
            rows = _rows(self._reader(_start(lines, self.path), lines), self.path, open_row, self.columns)
            next(rows)
            first = 1
            for read in batched(rows, rows_of_batch(width), _characters):
                batch = read if len(read[0]) == width and {*map(len, read)} == {width} else self._kept(read, first)
                columns: Sequence[Sequence[str]] = [*zip(*batch, strict=True)] or [()] * width
                yield RowBatch(first, len(batch), [TableColumn(cells) for cells in columns])
                first += len(batch)
            self._file = None

    def advanced(self) -> int:
        """Bytes of the file read since the last call."""
        return 0 if self._file is None else self._file.advanced()

    def place(self, row: int) -> str:
        """File and line of a row, found by reading the file again up to it."""
        with InputFile(self.path) as file:
            open_row = _OpenRow()
            lines = _lines(file, open_row)
            reader = self._reader(_start(lines, self.path), lines)
            number, line = -1, 1
            with suppress(csv.Error, LoadError):
                for cells in reader:
                    open_row.size = 0
                    number += bool(cells)
                    if number == row:
                        break
                    line = reader.line_num + 1
            return f"{self.path}:{line}"

    def _reader(self, start: Sequence[str], lines: Iterator[str]) -> Reader:
        if csv.field_size_limit() < MAX_CELL_LENGTH:
            csv.field_size_limit(MAX_CELL_LENGTH)  # one setting for all readers of a process
        return csv.reader(chain(start, lines), delimiter=self._delimiter, strict=True)

    def _kept(self, rows: list[list[str]], first: int) -> list[list[str]]:
        """The rows without empty lines. Raises LoadError: one of them is ragged."""
        kept = [row for row in rows if row]
        width = len(self.columns)
        for i, row in enumerate(kept):
            if len(row) != width:
                number = first + i
                raise LoadError(
                    f"row {number} has {_counted(len(row))}, and the header has {width}",
                    hint="a cell with the delimiter in it is written in double quotes, and each row has every cell",
                    place=self.place(number),
                )
        return kept


def _counted(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"


def _characters(row: list[str]) -> int:
    return sum(map(len, row))


class _OpenRow:
    """The bytes read since the last row ended: a row of many lines is in memory as a whole."""

    size = 0

    def add(self, read: int, path: Path) -> None:
        """Takes the bytes of a block. Raises LoadError: the row is too long."""
        self.size += read
        if self.size > MAX_LINE_LENGTH + BLOCK:
            raise LoadError(
                f"a row of more than {MAX_LINE_LENGTH >> 20} MB",
                hint="is a double quote missing, or is it no CSV file?",
                place=str(path),
            )


def _rows(reader: Reader, path: Path, open_row: _OpenRow, columns: Sequence[str] = ()) -> Iterator[list[str]]:
    """The rows from the header on. Raises LoadError: a quote, a cell or a character is wrong."""
    number, line = -1, 1  # of the last row that was read, and of the line behind it
    try:
        for row in dropwhile(lambda row: not row, reader):
            open_row.size = 0
            number += bool(row)
            line = reader.line_num + 1
            yield row
    except csv.Error as e:
        if "unexpected end of data" in str(e):
            raise _not_closed(path, reader.dialect.delimiter, number + 1, line, columns) from e
        raise _malformed(e, reader, path) from e


def _not_closed(path: Path, delimiter: str, row: int, line: int, columns: Sequence[str]) -> LoadError:
    """The error of the last quoted cell, which has no end.

    Args:
        path: of the file.
        delimiter: of the cells.
        row: the number of the row with the cell; 0 for the header.
        line: the number of the line in which the row begins, or of an empty one before it.
        columns: the header.
    """
    with InputFile(path) as file:
        text = "".join(islice(_lines(file, _OpenRow()), line - 1, None))
    cell, opening = _open_quote(text, delimiter)
    name = repr(columns[cell]) if cell < len(columns) else str(cell + 1)
    return LoadError(
        f"{f'row {row:,}' if row else 'the header'}, column {name}: the quoted cell that begins here is not closed at "
        "the end of the file",
        hint='its end is a ", and a double quote inside it is written twice',
        place=f"{path}:{line + _line_ends(text[:opening].encode())}",
    )


def _open_quote(text: str, delimiter: str) -> tuple[int, int]:
    """The number of the cell in its row, from 0, and the place of the quote, of the cell that is not closed.

    >>> _open_quote('a,"b""c",d\\n1,"x,y\\nz', ",")
    (1, 13)
    """
    ends = re.compile(f"{re.escape(delimiter)}|\\r\\n|[\\r\\n]")
    cell = at = 0
    while at < len(text):
        if text[at] == '"':
            closing = _CLOSING.match(text, at + 1)
            if closing is None:
                return cell, at
            at = closing.end()
        end = ends.search(text, at)
        if end is None:
            break
        cell, at = (cell + 1 if end[0] == delimiter else 0), end.end()
    return cell, len(text)


_CLOSING = re.compile(r'(?>(?:[^"]++|"")*)"')
"""The rest of a quoted cell with its end."""


def _malformed(error: csv.Error, reader: Reader, path: Path) -> LoadError:
    text = str(error)
    place = f"{path}:{reader.line_num}"
    if "field limit" in text:
        return LoadError(
            f"a cell of more than {MAX_CELL_LENGTH:,} characters ends here",
            hint="is a double quote missing at its end? in a quoted cell, a double quote is written twice",
            place=place,
        )
    return LoadError(
        f"not valid CSV: {text}", hint='in a quoted cell, a double quote is written twice: "6"" nails"', place=place
    )


def _delimiter(line: str, delimiters: str, last: str) -> str:
    """The delimiter of a header."""
    best = max(delimiters, key=lambda one: (len(_cells(line, one)), -delimiters.index(one)))
    return last if last and len(_cells(line, best)) == 1 < len(_cells(line, last)) else best


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return []


def _start(lines: Iterator[str], path: Path) -> list[str]:
    """The lines up to the first that is not empty. Raises LoadError: there is none, or it is not text."""
    start: list[str] = []
    for line in islice(lines, MAX_EMPTY_LINES):
        start.append(line)
        if line.strip():
            return start
    raise LoadError("no header: the file is empty, or begins with empty lines", place=str(path))


def _lines(file: InputFile, open_row: _OpenRow) -> Iterator[str]:
    """The lines of a file with their ends: LF, CR LF or CR."""
    return chain.from_iterable(io.StringIO(text, newline="") for text in _texts(file, open_row))


def _texts(file: InputFile, open_row: _OpenRow) -> Iterator[str]:
    """The text of a file in pieces that end with a line. Raises LoadError: a NUL, or a row that is too long."""
    rest, line, first = b"", 1, 1  # `first` is the line in which `rest` begins
    while block := file.block():
        open_row.add(len(block), file.path)
        if b"\0" in block:
            before = block[: block.index(b"\0")]
            is_utf16 = block.count(b"\0") > MAX_NUL_SHARE * len(block)
            raise LoadError(
                "a NUL byte: this is no text in UTF-8",
                hint="convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW" if is_utf16 else "remove it",
                place=f"{file.path}:{line + _line_ends(before)}",
            )
        line += _line_ends(block)
        # A CR at the end of a block may be half of a CR LF.
        end = (block.rfind(b"\n") + 1) or (block.rfind(b"\r", 0, len(block) - 1) + 1)
        if end:
            yield _decoded(rest + block[:end], file.path, first)
            rest, first = block[end:], line - _line_ends(block[end:])
        else:
            rest += block
    if rest:
        yield _decoded(rest, file.path, first)


def _decoded(text: bytes, path: Path, line: int) -> str:
    """A text that begins with a line of this number. Raises LoadError: it is no UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError as e:
        place = f"{path}:{line + _line_ends(text[: e.start])}"
        raise LoadError(f"invalid UTF-8: byte 0x{text[e.start]:02X}", hint=CONVERT, place=place) from e


def _line_ends(block: bytes) -> int:
    """The ends of lines: LF, CR LF or CR."""
    return block.count(b"\n") or block.count(b"\r")
