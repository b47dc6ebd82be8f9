"""A remark about tables that were loaded before the table that they refer to, so that their references are texts."""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.rdf.well_known import shortened
from hybridkg.tables.earlier_tables import EarlierTables
from hybridkg.tables.foreign_keys import KeyedTable, ReferredTable, reference_headers
from hybridkg.tables.names import local_name

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
        names = {row.table for row in earlier.rows for subject, _ in found if subject.startswith(row.start)}
        names -= {one.table.name, *told}
        if names and key.has_values([text for _, text in found]):
            told |= names
            tables = ", ".join(map(repr, sorted(names)))
            yield (
                f"{tables} was loaded earlier and has identifiers of these rows as texts, by "
                f"{shortened(predicate, {'ex': namespace})}; to make references of them, load it again with "
                "--replace-rows"
            )
