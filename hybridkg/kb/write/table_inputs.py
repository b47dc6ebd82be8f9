"""Inputs of a load with their tables made into streams of triples, by a mapping that is given or guessed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.rdf.input_file import check_readable, extensions
from hybridkg.store.loading import Source
from hybridkg.store.rdf_io.formats import FORMATS
from hybridkg.tables.earlier_tables import NO_TABLES, EarlierTables
from hybridkg.tables.guess import guess
from hybridkg.tables.inputs import files_of, has_reader, opened_tables, table_sources
from hybridkg.tables.mapping import TableMapping
from hybridkg.tables.morph_kgc import materialized
from hybridkg.tables.opening import reader_of
from hybridkg.tables.readers.excel import HeaderRow
from hybridkg.tables.rml_reader import read_rml
from hybridkg.tables.yarrrml_reader import BeyondRowsError, read_yarrrml

YARRRML = (".yml", ".yaml", ".yarrrml")
"""Extensions of mappings in YARRRML; all others are RML in Turtle."""


def is_table(value: Any) -> bool:
    """Whether an input is a table. The readers, and the plug-ins, are asked only about files that are not RDF."""
    is_rdf = isinstance(value, str | Path) and extensions(Path(value))[0] in FORMATS
    return not is_rdf and has_reader(value)


def check_replacing(replace: str | None, replace_rows: bool) -> None:
    """Raises LoadError: inputs are to replace a graph and rows of it."""
    if replace is not None and replace_rows:
        raise LoadError(
            "--replace and --replace-rows are two answers to what is removed",
            hint="--replace removes everything else in the graph, and --replace-rows only old values of the rows",
        )


@dataclass(frozen=True)
class TableOptions:
    """How the tables of a load become triples.

    Args:
        mapping: a mapping, or its file; None for a guess.
        id: for the guess, see `guess_mapping`.
        class_: the same.
        prefix: the same.
        prefixes: the same; those that the knowledge base keeps.
        earlier: the same; the tables of the knowledge base.
        header_row: the same; for tables with a mapping, too.
    """

    mapping: str | Path | TableMapping | None = None
    id: str | Mapping[str, str] | None = None
    class_: str | Mapping[str, str] | None = None
    prefix: str | None = None
    prefixes: Mapping[str, str] | None = None
    earlier: EarlierTables = NO_TABLES
    header_row: HeaderRow = None

    @property
    def for_the_guess(self) -> list[str]:
        """Names of the options for the guess that are set."""
        named = {"id": self.id, "class": self.class_, "prefix": self.prefix}
        return [name for name, value in named.items() if value is not None]


@contextmanager
def with_tables(inputs: Sequence[Any], options: TableOptions, progress: Progress = SILENT) -> Iterator[list[Source]]:
    """The inputs, with a stream of triples in place of each table; temporary files live as long as the block.

    Raises:
        LoadError: a table or the mapping is wrong, or an option is for tables and there are none.
        MissingExtraError: the mapping, or a format, needs a package that is not installed.
    """
    tables = [one for one in inputs if is_table(one)]
    others = [one for one in inputs if not is_table(one)]
    chosen = options.for_the_guess
    if chosen and (options.mapping is not None or not tables):
        raise LoadError(
            f"{chosen[0]} is for tables without a mapping, and "
            + ("a mapping is given" if options.mapping is not None else "no input is a table"),
            hint="leave it out, or edit the mapping" if options.mapping is not None else "leave it out",
        )
    mapping = options.mapping
    if mapping is None:
        if not tables:
            if options.header_row is not None:
                raise LoadError("header_row is for Excel workbooks, and no input is one", hint="leave it out")
            yield others
            return
        opened = opened_tables(tables, options.header_row)
        found = guess(
            opened,
            id=options.id,
            class_=options.class_,
            prefix=options.prefix,
            prefixes=options.prefixes,
            earlier=options.earlier,
            progress=progress,
        )
        yield [*others, *table_sources(opened, found)]
        return
    if isinstance(mapping, TableMapping):
        yield [*others, *table_sources(opened_tables(tables, options.header_row), mapping)]
        return
    path = Path(mapping)
    check_readable(path)
    if reader_of(path) is not None:
        raise LoadError(
            f"a mapping is YARRRML ({', '.join(YARRRML)}) or RML (.ttl), and {str(path)!r} is a table by its name",
            hint="give the mapping, and the table as an input: hybridkg load KB TABLE --mapping MAPPING",
        )
    try:
        found = read_yarrrml(path) if path.suffix.lower() in YARRRML else read_rml(path)
    except BeyondRowsError as e:
        why = str(e)
    else:
        opened = opened_tables(tables or files_of(found, path.parent), options.header_row)
        yield [*others, *table_sources(opened, found)]
        return
    if options.header_row is not None:
        raise LoadError(f"{why} is for morph-kgc, which has no header_row", hint="delete the rows above the header")
    if frames := [one for one in tables if not isinstance(one, str | Path)]:
        raise LoadError(
            f"{why} is for morph-kgc, which reads files, and {type(frames[0]).__name__} is none",
            hint="write it to a file first, as a DataFrame by: df.to_csv('table.csv', index=False)",
        )
    for table in tables:
        check_readable(Path(table))
    with tempfile.TemporaryDirectory(prefix="hybridkg-") as folder:
        yield [*others, materialized(path, [Path(table) for table in tables], Path(folder), why)]
