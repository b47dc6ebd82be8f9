"""The tables of a knowledge base, for the guess of the mapping of further ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, cast

from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.kb.snapshot import Snapshot, open_snapshot
from hybridkg.rdf.terms import NamedNode, Node, Term
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.kept_tables import MAX_TABLES
from hybridkg.tables.earlier_tables import NO_TABLES, EarlierTables


def newest(folder: Folder, state: Snapshot | None) -> Snapshot | None:
    """The state of the live generation, which may be newer than an open one; None where an index is damaged."""
    if state is None or state.generation.name == folder.live_name():
        return state
    return open_snapshot(folder)[0]


def known_to_tables(state: Snapshot | None, replace: str | None, replace_rows: bool) -> dict[str, Any]:
    """The arguments `prefixes` and `earlier` of a guess, from the state of a knowledge base; None if it is damaged.

    A load that replaces a graph gets no earlier tables, because it may remove their rows.
    """
    if state is None:
        return {}
    rows = state.generation.manifest.tables if replace is None else ()
    return {"prefixes": state.prefixes.kept, "earlier": loaded_tables(rows, state.store, replaces_rows=replace_rows)}


def loaded_tables(rows: Sequence[RowSubject], store: GraphStore, *, replaces_rows: bool) -> EarlierTables:
    """The tables whose templates a generation keeps, over the graph that has their rows."""
    usable = [row for row in rows[-MAX_TABLES:] if _is_usable(row)]
    if not usable:
        return NO_TABLES
    find, statements = TripleLookups(store).subjects_in, partial(_statements, store)
    return EarlierTables(usable, find, statements, replaces_rows=replaces_rows)


def _is_usable(row: RowSubject) -> bool:
    """Whether the subjects are IRIs: the backup of somebody else may say otherwise."""
    try:
        NamedNode(f"{row.start}x{row.end}")
    except ValueError:
        return False
    return True


def _statements(store: GraphStore, predicate: NamedNode, most: int) -> Iterator[tuple[Node, Term]]:
    rows = store.select(f"SELECT ?s ?o WHERE {{ ?s {predicate} ?o }} LIMIT {most}").rows
    return cast("Iterator[tuple[Node, Term]]", iter(rows))
