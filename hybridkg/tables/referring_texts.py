"""A remark about tables that were loaded before the table that they refer to, so that their references are texts."""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.rdf.well_known import shortened
from hybridkg.tables.earlier_tables import EarlierTables
from hybridkg.tables.foreign_keys import KeyedTable, ReferredTable, reference_headers
from hybridkg.tables.names import class_name, local_name
from hybridkg.tables.same_rows import class_option

FEW = 100
"""Triples of a predicate that are looked at."""


def referring_texts(one: KeyedTable, namespace: str, earlier: EarlierTables) -> Iterator[str]:
    """A note for each earlier table whose first values, by a predicate that is named after this one, are rows of it.

    Only predicates that are exactly one of the usual names are read: a few lookups for each table of a load.
    """
    if one.key is None or not earlier.rows or not (key := one.profile(one.key)).is_unique():
        return
    referred = ReferredTable(one.table.name, one.key, one.subject, key.kind)
    told: set[str] = set()
    for header in sorted(reference_headers(referred)):
        predicate = namespace + local_name(header)
        found = [*earlier.literals(predicate, FEW)]
        names = {row.table for row in earlier.templates for subject, _ in found if subject.startswith(row.start)}
        names -= {one.table.name, *told}
        if names and key.has_values([text for _, text in found]):
            told |= names
            tables = ", ".join(map(repr, sorted(names)))
            rows = [
                row
                for row in earlier.templates
                if row.table in names and any(subject.startswith(row.start) for subject, _ in found)
            ]
            yield (
                f"{tables} was loaded earlier and has identifiers of these rows as texts, by "
                f"{shortened(predicate, {'ex': namespace})}; to make references of them, load it again with "
                + " and with ".join(dict.fromkeys(_options(row, namespace) for row in rows))
            )


def _options(row: RowSubject, namespace: str) -> str:
    """The options of a load that replaces some rows: their class, too, where a guess would give another."""
    is_guessed = row.start == f"{namespace}{class_name(row.table)}/"
    return "--replace-rows" if is_guessed else f"--replace-rows {class_option(row.table, row)}".strip()
