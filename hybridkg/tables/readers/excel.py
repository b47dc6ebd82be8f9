"""Excel workbooks (.xlsx): every sheet with a header, values in place of formulas.

The header is the first row with a cell, or the row that the caller names. A title above it is an error that says so,
because a guess that takes a title for a header loads every row under wrong names.

A workbook is a ZIP archive, so the sizes in its directory are checked first: `zipfile` reads no more than these.
"""

from __future__ import annotations

import re
import shlex
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from hybridkg.errors import LoadError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.table_reader import RowBatch
from hybridkg.rdf.input_file import BLOCK, check_readable
from hybridkg.tables.headers import batched, characters_of, checked_header, rows_of_batch
from hybridkg.tables.readers.cells import Refuse, column_of, no_literal

MAX_UNPACKED = 2 << 30
"""Bytes of an unpacked workbook."""

MAX_SHARED_STRINGS = 256 << 20
"""Bytes of its table of texts, which has to be in memory."""

SHARED_STRINGS = "xl/sharedStrings.xml"

MAX_ROWS = 1_048_576
"""Rows of a sheet, those without a cell included: the limit of Excel."""

MAX_ROW_LENGTH = 16 << 20
"""Bytes of a row in XML, which is in memory as a whole; 16,384 cells, as Excel has, are a tenth of it."""

MAX_TAG_LENGTH = 200
"""Bytes of the end of a block that are read again, because a tag may be divided."""

_ROW_END = re.compile(rb"</(?:\w+:)?row>|<(?:\w+:)?row [^<>]*/>")


HeaderRow: TypeAlias = int | Mapping[str, int] | None
"""The number of the row of the header, as the program shows it: of the only sheet, or of sheets by their names."""


class ExcelTable:
    """The rows of one sheet below its header; rows without any cell are skipped.

    Args:
        path: of the workbook.
        part: name of the sheet.
        header: the number of its row in the sheet, from 1, and its cells.
        name: of the table.
        is_only: whether no other sheet has cells.
    """

    size: int | None = None

    def __init__(self, path: Path, part: str, header: tuple[int, Sequence[Any]], name: str, is_only: bool):
        self.path, self.source, self.name, self.sheet = path, str(path), name, part
        self.part, (self._header_row, cells) = "" if is_only else part, header
        self.columns = checked_header(cells, f"{path}, sheet {part}")

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches. Raises LoadError: a cell holds an error, or a formula that was never computed."""
        width, first = len(self.columns), 1
        with closing(_rows(self.path, self.sheet)) as read:
            for batch in batched(read, rows_of_batch(width), lambda row: characters_of(row[1])):
                rows = [(number, cells) for number, cells in batch if number > self._header_row]
                values = [self._checked(number, cells) for number, cells in rows]
                columns = [*zip(*values, strict=True)] or [()] * width
                named = zip(self.columns, columns, strict=True)
                yield RowBatch(
                    first, len(values), [column_of(cells, self._refusal(name, first)) for name, cells in named]
                )
                first += len(values)

    def _checked(self, number: int, cells: Sequence[Any]) -> list[Any]:
        """The values of a row, as many as the header has names. Raises LoadError: there are more."""
        width = len(self.columns)
        if any(value is not None for value in cells[width:]):
            raise LoadError(
                f"a cell stands right of the header, which has {width} names",
                hint="name its column, or delete the cell; if the header is in another row: --header-row N",
                place=f"{self.path}, sheet {self.sheet}, row {number}",
            )
        return [*cells[:width], *[None] * (width - len(cells))]

    def advanced(self) -> int:
        """0: the position in the file is not known."""
        return 0

    def place(self, row: int) -> str:
        """The place of a row: its number in the sheet, where no row before it is empty."""
        return f"{self.path}, sheet {self.sheet}, row {self._header_row + row}"

    def _refusal(self, name: str, first: int) -> Refuse:
        return lambda row, value: no_literal(value, name, first + row, self.place(first + row))


class ExcelReader:
    """Opens workbooks."""

    extensions = (".xlsx", ".xlsm")

    def open(self, path: Path, header_row: HeaderRow = None) -> Sequence[ExcelTable]:
        """The sheets of a workbook that have cells.

        Args:
            path: of the workbook.
            header_row: the row of the header, in each sheet that it is for.

        Raises:
            LoadError: it is no workbook, too large, or empty, or a header has a title above it, or no cell.
        """
        filled = _filled_sheets(path)
        names = _names(path, [sheet for sheet, _ in filled])
        headers = [
            _header(path, sheet, rows, name, _chosen(header_row, name, sheet), len(names) == 1)
            for name, (sheet, rows) in zip(names, filled, strict=True)
        ]
        return [
            ExcelTable(path, sheet, header, name, len(names) == 1)
            for name, (sheet, _), header in zip(names, filled, headers, strict=True)
        ]

    def names(self, path: Path) -> list[tuple[str, str]]:
        """(table, sheet) of each sheet that has cells. Raises LoadError: it is no workbook, too large, or empty."""
        sheets = [sheet for sheet, _ in _filled_sheets(path)]
        return [*zip(_names(path, sheets), sheets, strict=True)]


EXCEL = ExcelReader()


def _filled_sheets(path: Path) -> list[tuple[str, list[tuple[int, list[Any]]]]]:
    """The names of the sheets that have cells, and their first two rows. Raises LoadError: there is none."""
    check_readable(path)
    _check_archive(path)
    filled = [(sheet, rows) for sheet in _sheets(path) if (rows := _first_rows(path, sheet, 2))]
    if not filled:
        raise LoadError("no cell in this workbook", place=str(path))
    return filled


def _names(path: Path, sheets: Sequence[str]) -> Sequence[str]:
    """The names of the tables: a workbook of one sheet is called after its file."""
    return [path.name.partition(".")[0]] if len(sheets) == 1 else sheets


def _chosen(header_row: HeaderRow, name: str, sheet: str) -> int | None:
    """The row of the header that is chosen for a sheet, by the name of its table or its own."""
    if header_row is None or isinstance(header_row, int):
        return header_row
    return header_row.get(name, header_row.get(sheet))


def _header(
    path: Path, sheet: str, first: Sequence[tuple[int, list[Any]]], name: str, chosen: int | None, is_only: bool
) -> tuple[int, list[Any]]:
    """The number and the cells of the row of the header; `first` are the first two rows with cells.

    Raises:
        LoadError: the chosen row has no cell, or the first row looks like a title.
    """
    place = f"{path}, sheet {sheet}"
    if chosen is not None:
        with closing(_rows(path, sheet)) as rows:
            found = next((row for row in rows if row[0] >= chosen), None)
        if found is None or found[0] != chosen:
            raise LoadError(f"row {chosen} has no cell, so it is no header", place=place)
        return found
    if len(first) == 2 and _filled(first[0][1]) == 1 < _filled(first[1][1]):
        (title, cells), (number, _) = first
        text = next(str(value) for value in cells if value is not None)
        option = number if is_only else shlex.quote(f"{name}={number}")
        raise LoadError(
            f"row {title} has one cell, {text[:60]!r}, and row {number} has {_filled(first[1][1])}: this is a title, "
            "and no header",
            hint=f"name the row of the header: --header-row {option}; or delete what is above it",
            place=place,
        )
    return first[0]


def _filled(cells: Sequence[Any]) -> int:
    return sum(value is not None for value in cells)


def _first_rows(path: Path, sheet: str, count: int) -> list[tuple[int, list[Any]]]:
    with closing(_rows(path, sheet)) as rows:
        return [*islice(rows, count)]


def _check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            _check_sizes(path, sizes)
            for name in sizes:
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    _check_rows(path, archive, name)
    except (zipfile.BadZipFile, OSError, NotImplementedError, zlib.error, EOFError, RuntimeError) as e:
        raise LoadError("not an Excel workbook (.xlsx): it is no ZIP archive, or damaged", place=str(path)) from e


def _check_sizes(path: Path, sizes: Mapping[str, int]) -> None:
    if sum(sizes.values()) > MAX_UNPACKED or sizes.get(SHARED_STRINGS, 0) > MAX_SHARED_STRINGS:
        raise LoadError(
            f"a workbook of {sum(sizes.values()):,} bytes unpacked; at most {MAX_UNPACKED:,} are read, and "
            f"{MAX_SHARED_STRINGS:,} of texts",
            hint="save its sheets as CSV",
            place=str(path),
        )


def _check_rows(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Raises LoadError: a row is too long for memory. Reads the sheet once, in a fraction of the time of a parser."""
    open_row, rest = 0, b""
    with archive.open(name) as sheet:
        while block := sheet.read(BLOCK):
            ends = [match.end() for match in _ROW_END.finditer(rest + block)]
            open_row = len(rest) + len(block) - ends[-1] if ends else open_row + len(block)
            rest = block[-MAX_TAG_LENGTH:]
            if open_row > MAX_ROW_LENGTH:
                raise LoadError(
                    f"a row of more than {MAX_ROW_LENGTH >> 20} MB in {name}",
                    hint="save its sheets as CSV",
                    place=str(path),
                )


def _opened(path: Path, *, values: bool) -> Any:
    with needs_extra("tables", "an Excel workbook"):
        import openpyxl
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=values)
    except Exception as e:  # openpyxl passes on whatever its XML and ZIP readers raise
        raise _unreadable(path, e) from e
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # some programs write wrong ones, and what is beyond them would be left out
    return book


def _sheets(path: Path) -> list[str]:
    with closing(_opened(path, values=True)) as book:
        return [sheet.title for sheet in book.worksheets]


def _rows(path: Path, sheet: str) -> Generator[tuple[int, list[Any]], None, None]:
    """(number in the sheet, from 1, values) of the rows with a cell.

    Formulas are read beside values, because a formula that no program has computed has no value, and would be a blank.
    """
    with (
        closing(_opened(path, values=True)) as values,
        closing(_opened(path, values=False)) as formulas,
        closing(values[sheet].iter_rows()) as rows,  # a row reader that is left open keeps its file open
        closing(formulas[sheet].iter_rows()) as rows_of_formulas,
    ):
        number = 0
        try:
            for i, (cells, sources) in enumerate(zip(rows, rows_of_formulas, strict=True)):
                if i >= MAX_ROWS:
                    raise LoadError(f"more than {MAX_ROWS:,} rows in sheet {sheet!r}", place=str(path))
                number = i + 1
                row = [_value(cell, source, path, sheet) for cell, source in zip(cells, sources, strict=True)]
                if any(value is not None for value in row):
                    yield number, row
        except LoadError:
            raise
        except Exception as e:
            raise _unreadable(path, e, f", sheet {sheet}, row {number + 1}") from e


def _value(cell: Any, source: Any, path: Path, sheet: str) -> Any:
    value = cell.value
    if value is None:
        if isinstance(source.value, str) and source.data_type == "f":
            raise LoadError(
                f"cell {source.coordinate} has a formula, {source.value!r}, and no value",
                hint="open the workbook in a spreadsheet program, which computes it, and save it",
                place=f"{path}, sheet {sheet}",
            )
        return None
    if cell.data_type == "e":
        raise LoadError(f"cell {cell.coordinate} has the error {value}", place=f"{path}, sheet {sheet}")
    if isinstance(value, datetime) and ("h" not in str(cell.number_format).lower() or value.time() == time.min):
        return value.date()  # a midnight among other moments becomes one again
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _unreadable(path: Path, error: Exception, where: str = "") -> LoadError:
    reason = str(error).partition("; use sys.")[0]  # advice of Python that is for programmers
    return LoadError(f"not a readable Excel workbook: {type(error).__name__}: {reason}", place=f"{path}{where}")
