"""The warning that a table, whose rows were to replace earlier ones, has replaced nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridkg.errors import NewRowsWarning
from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.tables.same_rows import class_option, similar_table
from hybridkg.tables.table_source import TableSource


def new_rows(table: TableSource, kept: Sequence[RowSubject]) -> Iterator[NewRowsWarning]:
    """A warning about a table of which the graph had no row, where other tables were loaded earlier.

    Args:
        table: none of whose rows was in the graph.
        kept: the templates of the tables that were loaded before.
    """
    new = table.row_subject
    if new is None or not kept or any(one.start == new.start for one in kept):
        return
    other = similar_table(new, kept)
    option = "" if other is None else class_option(new.table, other)
    hint = "without an earlier load of this table, --replace-rows only adds"
    if other is not None and option:
        hint = (
            f"if these are rows of {other.table!r}: load the file again with --replace-rows {option}, and remove the "
            "new entities by hybridkg update"
        )
    yield NewRowsWarning(
        f"{table.name}: the rows have replaced nothing, because no row <{new.start}{{{new.column}}}{new.end}> was "
        "there: all of them are new entities",
        hint=hint,
    )
