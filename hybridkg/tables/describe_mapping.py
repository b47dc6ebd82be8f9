"""A mapping for a reader at a terminal: one line a column."""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.rdf.well_known import WELL_KNOWN, shortened
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TableMap, TableMapping, TermMap


def described(mapping: TableMapping) -> str:
    """The lines of each table: its rows, then column, predicates and values."""
    prefixes = {**WELL_KNOWN, **dict(mapping.prefixes)}
    lines = [f"prefix {name}: <{namespace}>" for name, namespace in mapping.prefixes]
    for table in mapping.tables:
        lines += _table(table, prefixes)
    return "\n".join(lines)


def _table(table: TableMap, prefixes: dict[str, str]) -> Iterator[str]:
    classes = [shortened("".join(one.target.template), prefixes) for one in table.properties if _is_class(one)]
    part = f", {table.part}" if table.part else ""
    rows = "" if table.rows is None else f", {table.rows:,} rows" if table.rows != 1 else ", 1 row"
    yield f"{table.source}{part}{rows}: each row is <{_template(table.subject)}>" + (
        f", of class {', '.join(classes)}" if classes else ""
    )
    cells = [
        (
            ", ".join(map(_shown, one.target.columns)) or "(constant)",
            ", ".join(shortened(predicate, prefixes) for predicate in one.predicates),
            _value(one.target, prefixes),
        )
        for one in table.properties
        if not _is_class(one)
    ]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(2)]
    for column, predicate, value in cells:
        yield f"  {column:{widths[0]}}  {predicate:{widths[1]}}  {value}".rstrip()
    yield from (f"  note: {note}" for note in table.notes)


def _shown(column: str) -> str:
    """A header on one line."""
    return column if column.isprintable() else repr(column)


def _is_class(one: PropertyMap) -> bool:
    return one.predicates == (RDF_TYPE,) and not one.target.columns


def _template(term: TermMap) -> str:
    return "".join(f"{{{_shown(part)}}}" if i % 2 else part for i, part in enumerate(term.template))


def _value(term: TermMap, prefixes: dict[str, str]) -> str:
    if term.kind is ValueKind.IRI:
        value = "IRI" if term.is_reference else f"<{_template(term)}>"
    elif term.language:
        value = f"text @{term.language}"
    elif term.datatype:
        value = shortened(term.datatype, prefixes)
    else:
        value = "text" if term.is_reference else f"text {_template(term)!r}"
    return f"{value}, several separated by {term.separator!r}" if term.separator else value
