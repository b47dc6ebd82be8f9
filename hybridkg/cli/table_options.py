"""Options of `hybridkg load` for tables, and what the command shows of their mapping before it loads anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hybridkg.cli.echo import echo
from hybridkg.cli.options import PATH
from hybridkg.errors import LoadError

if TYPE_CHECKING:
    from hybridkg.interfaces.progress import Progress
    from hybridkg.kb import KnowledgeBase
    from hybridkg.kb.write.table_inputs import TableOptions

TABLE_OPTIONS = (
    click.option("--mapping", metavar="FILE", type=PATH, help="How tables become triples, in YARRRML or RML."),
    click.option(
        "--id",
        "ids",
        metavar="[TABLE=]COLUMN",
        multiple=True,
        help="Column that identifies the rows of a table; default: one called id, or the first of unique values.",
    ),
    click.option(
        "--class", "classes", metavar="[TABLE=]NAME", multiple=True, help="Class of the rows; default: after the file."
    ),
    click.option("--prefix", metavar="IRI", help="Namespace of what tables name.  [default: http://example.org/]"),
    click.option(
        "--header-row",
        "header_rows",
        metavar="[SHEET=]N",
        multiple=True,
        help="Row of the header in a sheet of Excel; default: the first one with a cell.",
    ),
    click.option("--save-mapping", metavar="FILE", type=PATH, help="Write the guessed mapping in YARRRML, to edit it."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Show the mapping of tables and some triples, with --replace what would change, and load nothing.",
    ),
)


@dataclass(frozen=True)
class TableArguments:
    """The values of these options, and those of `--replace` and `--replace-rows`."""

    mapping: Path | None
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    prefix: str | None
    header_rows: tuple[str, ...]
    save_mapping: Path | None
    dry_run: bool
    replace: str | None
    replace_rows: bool


def table_options(command: Any) -> Any:
    """Adds the options to a command, which gets them as its keyword arguments."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


def shown_mapping(
    files: Sequence[Path], given: TableArguments, base: KnowledgeBase | None, progress: Progress
) -> TableOptions:
    """The options of a load into a knowledge base, None for a new one; their mapping is guessed, shown and saved.

    Raises:
        LoadError: a table is malformed, or an option is for tables and there are none.
    """
    from hybridkg.kb.write.table_inputs import TableOptions, is_table
    from hybridkg.tables.inputs import guess_mapping
    from hybridkg.tables.mapping import check_no_file

    id_, class_, header_row = _choice(given.ids), _choice(given.classes), _rows(given.header_rows)
    tables = [file for file in files if is_table(file)]
    if given.mapping is not None or not tables:
        if given.save_mapping is not None:
            raise LoadError(
                "--save-mapping writes a guess, and "
                + ("a mapping is given" if given.mapping is not None else "no file is a table"),
                hint="leave it out",
            )
        return TableOptions(given.mapping, id_, class_, given.prefix, header_row=header_row)
    if given.save_mapping is not None:
        check_no_file(given.save_mapping)
    chosen: dict[str, Any] = {"id": id_, "class_": class_, "prefix": given.prefix, "header_row": header_row}
    if base is None:
        mapping = guess_mapping(*tables, progress=progress, **chosen)
    else:
        how: dict[str, Any] = {"replace": given.replace, "replace_rows": given.replace_rows, "progress": progress}
        mapping = base.guess_mapping(*tables, **how, **chosen)
    echo(str(mapping), err=True)
    if given.save_mapping is not None:
        mapping.save(given.save_mapping)
        echo(f"mapping written to {given.save_mapping}", err=True)
    return TableOptions(mapping, header_row=header_row)


def print_examples(files: Sequence[Path], options: TableOptions) -> None:
    """Prints the mapping that was read from a file, and triples of the first rows.

    Raises:
        LoadError: no file is a table, or the mapping is for morph-kgc, which tells triples only as a whole.
    """
    from hybridkg.kb.write.table_inputs import with_tables
    from hybridkg.tables.mapping import TableMapping
    from hybridkg.tables.table_source import TableSource

    with with_tables(files, options) as inputs:
        sources = [one for one in inputs if isinstance(one, TableSource)]
        if not sources:
            raise LoadError(
                "--dry-run shows the triples of tables, and here are none that this program maps itself",
                hint="leave it out: a load that fails adds nothing",
            )
        if not isinstance(options.mapping, TableMapping):
            echo(str(TableMapping(tuple(source.map for source in sources))), err=True)
        for source in sources:
            for line in source.examples(EXAMPLE_ROWS):
                echo(line)


EXAMPLE_ROWS = 3
"""Rows of each table whose triples are shown."""


def _rows(values: tuple[str, ...]) -> int | dict[str, int] | None:
    """The number of a row, or numbers by the names of sheets."""
    chosen = _choice(values)
    numbers = [chosen] if isinstance(chosen, str) else [*(chosen or {}).values()]
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and int(number) > 0):
            raise LoadError(f"{number!r} is no number of a row", hint="such as --header-row 3 or --header-row Sheet1=3")
    if isinstance(chosen, str):
        return int(chosen)
    return {name: int(number) for name, number in chosen.items()} if chosen else None


def _choice(values: tuple[str, ...]) -> str | dict[str, str] | None:
    """One value for the only table, or a value for each table by its name."""
    if len(values) == 1 and "=" not in values[0]:
        return values[0]
    chosen: dict[str, str] = {}
    for value in values:
        table, equals, name = value.partition("=")
        if not equals or table in chosen:
            raise LoadError(
                f"{value!r}: with several tables it is TABLE=NAME, once a table", hint="such as --id films=imdb_id"
            )
        chosen[table] = name
    return chosen or None
