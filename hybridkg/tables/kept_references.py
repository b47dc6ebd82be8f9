"""Columns that were references in earlier loads of their table: they stay references, also to rows that are not there.

A reference to a row that is loaded later is valid RDF; a text beside the references of earlier rows would be lost to
every query by the predicate of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hybridkg.interfaces.row_subject import KeptColumn, RowSubject
from hybridkg.tables.earlier_tables import EarlierTables
from hybridkg.tables.foreign_keys import ForeignKeys, KeyedTable, hashes_of_key, is_contained
from hybridkg.tables.triples import values_of

SHOWN = 3
"""Values without a row that a note names."""

MAX_COUNTED = 100_000
"""Different values of a column that are looked up, about 10 MB where they are short; the others are not counted."""


def kept_references(
    tables: Sequence[KeyedTable], found: ForeignKeys, earlier: EarlierTables
) -> Mapping[str, Sequence[str]]:
    """Notes about values that no row has, of the call or of the graph, by the name of the table.

    One more pass over each table that has such columns, and where not all of their values are rows.
    """
    notes = {}
    for one in tables:
        kept = {profile.name: profile.kept for profile in one.profiles if profile.kept is not None}
        links = {
            name: column
            for name, column in kept.items()
            if column.predicate and found.target(one.table.name, name) is None
        }
        if links:
            notes[one.table.name] = _notes(one, links, tables, earlier)
    return notes


def _notes(
    one: KeyedTable, links: Mapping[str, KeptColumn], tables: Sequence[KeyedTable], earlier: EarlierTables
) -> list[str]:
    places = {name: i for i, name in enumerate(one.table.columns)}
    found: dict[str, dict[str, None]] = {name: {} for name in links}
    for batch in one.table.batches():
        for name in links:
            if len(found[name]) < MAX_COUNTED:
                texts = values_of(batch.columns[places[name]], one.profile(name).separator).texts
                found[name].update(dict.fromkeys(texts))
    notes = []
    for name, link in links.items():
        missing = _missing(link, [*found[name]], tables, earlier)
        if missing:
            shown = ", ".join(repr(text if len(text) <= 40 else f"{text[:40]}...") for text in missing[:SHOWN])
            more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
            notes.append(
                f"column {name!r} is a reference, as in earlier loads, and no row <{link.start}...{link.end}> is there "
                f"for {shown}{more}: load the rows of {'these' if len(missing) > 1 else 'this'}, or correct the cells"
            )
    return notes


def _missing(
    link: KeptColumn, values: Sequence[str], tables: Sequence[KeyedTable], earlier: EarlierTables
) -> list[str]:
    """The values that are the identifier of no row, in their order."""
    left = [*values]
    for other in tables:
        if other.key is not None and (other.subject.template[0], other.subject.template[2]) == (link.start, link.end):
            hashes = np.fromiter(map(hash, left), np.int64, len(left))
            left = [left[i] for i in np.flatnonzero(~is_contained(hashes_of_key(other), hashes)).tolist()]
    row = RowSubject("", "", "", link.start, link.end)
    is_missing = earlier.missing([(row, text) for text in left]) if left else []
    return [text for text, is_it in zip(left, is_missing, strict=True) if is_it]
