"""Tables among the inputs of a load: opening them, guessing their mapping, and matching them with a mapping."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.table_reader import Table
from hybridkg.rdf.input_file import extensions
from hybridkg.registry import did_you_mean
from hybridkg.tables.earlier_tables import NO_TABLES, EarlierTables
from hybridkg.tables.guess import Choice, guess
from hybridkg.tables.mapping import TableMapping
from hybridkg.tables.opening import WORKBOOKS, open_tables, reader_of
from hybridkg.tables.readers.excel import EXCEL, HeaderRow
from hybridkg.tables.readers.frame import FrameTable, is_frame
from hybridkg.tables.readers.records import RecordsTable, is_named_tables, is_records
from hybridkg.tables.table_source import TableSource


def has_reader(value: Any) -> bool:
    """Whether an input is a table: a DataFrame, dicts, or a file with the extension of a table format.

    >>> has_reader("films.csv"), has_reader("films.ttl"), has_reader([{"id": 1}])
    (True, False, True)
    """
    if isinstance(value, str | Path):
        return reader_of(Path(value)) is not None
    return is_frame(value) or is_records(value)


def opened_tables(values: Sequence[Any], header_row: HeaderRow = None) -> list[Table]:
    """The tables of some inputs.

    Args:
        values: the inputs.
        header_row: the number of the row of the header in a sheet of Excel; with several sheets, a dict by their names.

    Raises:
        LoadError: an input is no table, or `header_row` names no sheet.
    """
    tables: list[Table] = []
    _check_header_row(header_row, values)
    unnamed = sum(not isinstance(value, str | Path) and not is_named_tables(value) for value in values)
    number = 0
    for value in values:
        if isinstance(value, str | Path):
            tables += open_tables(Path(value), header_row)
        elif is_named_tables(value):
            tables += [_in_memory(one, str(name)) for name, one in value.items()]
        elif has_reader(value):
            number += 1
            tables.append(_in_memory(value, "table" if unnamed == 1 else f"table{number}"))
        else:
            raise LoadError(
                f"{type(value).__name__!r} is no table",
                hint="give files of tables, DataFrames, dicts or lists of dicts as rows, or a dict of named tables",
            )
    return tables


def _check_header_row(header_row: HeaderRow, values: Sequence[Any]) -> None:
    """Raises LoadError: the row of a header is given for a table that is no sheet, or for one of several.

    The names are checked before any header is read, because a title above the header of another sheet is an error too.
    """
    if header_row is None:
        return
    paths = [Path(value) for value in values if isinstance(value, str | Path)]
    found = [one for path in paths if extensions(path)[0] in WORKBOOKS for one in EXCEL.names(path)]
    sheets = [sheet for _, sheet in found]
    if not found:
        raise LoadError("header_row is for Excel workbooks, and no input is one", hint="leave it out")
    if isinstance(header_row, int):
        if len(sheets) > 1:
            raise LoadError(
                f"header_row {header_row} is for one sheet, and there are {len(sheets)}: {', '.join(sheets)}",
                hint=f"say for which: --header-row {shlex.quote(f'{found[0][0]}={header_row}')}; in Python a dict: "
                f"{{{found[0][0]!r}: {header_row}}}",
            )
        return
    for name in header_row:
        of_name = [table for table, sheet in found if name in (table, sheet)]
        if not of_name:
            raise LoadError(
                f"header_row is given for a sheet {name!r}; the sheets: {', '.join(sheets)}",
                hint=did_you_mean(name, [*sheets, *(table for table, _ in found)]),
            )
        if len(of_name) > 1 and name not in of_name:
            raise LoadError(
                f"header_row is given for a sheet {name!r}, and {len(of_name)} workbooks have one",
                hint=f"name the workbook: --header-row {shlex.quote(f'{of_name[0]}={header_row[name]}')}",
            )


def _in_memory(value: Any, name: str) -> Table:
    return FrameTable(value, name) if is_frame(value) else RecordsTable(value, name)


def guess_mapping(
    *tables: Any,
    id: Choice = None,
    class_: Choice = None,
    prefix: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    header_row: HeaderRow = None,
    earlier: EarlierTables = NO_TABLES,
    progress: Progress = SILENT,
) -> TableMapping:
    """The mapping that a load of tables without a mapping uses.

    `print` shows it, `save` writes it to a file, and `kb.load(..., mapping=...)` takes it.

    Args:
        tables: files, DataFrames, rows as dicts, or dicts of named tables that are loaded together.
        id: the column that identifies the rows; default: one called `id` or after its table, else the first whose
            values differ, else the number of the row. With several tables, a dict by their names.
        class_: class of the rows, a name or an IRI, also with a prefix; default: the name of the table, in the
            singular. With several tables, a dict by their names.
        prefix: namespace of everything that gets a name, which ends in `/`, `#` or `:`; default: `http://example.org/`.
        prefixes: namespaces for `class_`, such as `kb.prefixes`; `ex` and the well-known ones need none.
        header_row: the number of the row of the header in a sheet of Excel, where rows stand above it. With several
            sheets, a dict by their names.
        earlier: tables that were loaded earlier, to whose rows columns may refer; `kb.guess_mapping` knows them.
        progress: receives the bytes read.

    Raises:
        LoadError: a table is malformed, or a choice names nothing.
    """
    return guess(
        opened_tables(tables, header_row),
        id=id,
        class_=class_,
        prefix=prefix,
        prefixes=prefixes,
        earlier=earlier,
        progress=progress,
    )


def table_sources(tables: Sequence[Table], mapping: TableMapping) -> list[TableSource]:
    """The tables with their maps, in the order of the mapping.

    Raises:
        LoadError: a table has no map, a map has no table, or they do not fit.
    """
    maps, prefixes = mapping.tables, dict(mapping.prefixes)
    if len({(one.source, one.part) for one in maps}) == 1 and len(tables) == 1:
        return [TableSource(tables[0], one, prefixes) for one in maps]  # whatever the file is called this month
    known: dict[tuple[str, str], Table] = {}
    for table in tables:
        other = known.setdefault(_address(table.source, table.part), table)
        if other is not table:
            raise LoadError(
                f"a mapping finds files by their names, and {other.source!r} and {table.source!r} have the same",
                hint="load them one after the other, or rename one",
            )
    sources, used = [], set()
    for one in maps:
        address = _address(one.source, one.part)
        if address not in known:
            raise LoadError(
                f"the mapping names {_shown(one.source, one.part)}, which is not among the inputs",
                hint=did_you_mean(one.source, [name for name, _ in known]) or "give it, or take it out of the mapping",
            )
        used.add(address)
        sources.append(TableSource(known[address], one, prefixes))
    for address, table in known.items():
        if address not in used:
            raise LoadError(
                f"the mapping does not name {_shown(table.source, table.part)}",
                hint="add it to the mapping, or load it by itself",
            )
    return sources


def files_of(mapping: TableMapping, folder: Path) -> list[Path]:
    """The files that a mapping names, those with a relative name in a folder."""
    return [folder / name for name in dict.fromkeys(one.source for one in mapping.tables)]


def _address(source: str, part: str) -> tuple[str, str]:
    return re.split(r"[\\/]", source)[-1], part


def _shown(source: str, part: str) -> str:
    return f"{source!r}, table {part!r}," if part else repr(source)
