"""The check that rows of a table can take the place of earlier ones: their subjects are made in the same way."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hybridkg.errors import LoadError
from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.tables.mapping import ROW_NUMBER
from hybridkg.tables.table_source import TableSource

LEFT_OUT = "or load the table without --replace-rows, which adds entities"


def check_row_identity(table: TableSource, kept: Sequence[RowSubject]) -> None:
    """Checks a table whose rows are to replace earlier ones.

    Args:
        table: with its map.
        kept: the templates of the tables that were loaded, in the order of their loads.

    Raises:
        LoadError: its rows have numbers for identifiers, or other subjects than in its earlier loads, so that they
            would be new entities and the earlier ones would stay.
    """
    if table.map.rows == 0:
        return  # nothing is replaced, and no column tells rows apart
    new, subject = table.row_subject, table.map.subject
    before = [one for one in kept if one.table == table.map.name or (new and _subjects(one) == _subjects(new))][::-1]
    former = next((one for one in before if one.column in table.columns), None)
    if ROW_NUMBER in subject.columns and ROW_NUMBER not in table.columns:
        raise LoadError(
            "--replace-rows needs a column that identifies the rows, and these have their numbers alone, which another "
            "row has after an insertion",
            hint=f"--id {shlex.quote(former.column) if former else 'COLUMN'}, {LEFT_OUT}",
            place=table.name,
        )
    same = [one for one in before if new is not None and _subjects(one) == _subjects(new)]
    if not before or any(new is not None and one.column == new.column for one in same):
        return
    if same and former is None:
        return  # the column has another name now
    one = before[0] if former is None else former
    if same or new is None:
        hint = f"--id {shlex.quote(one.column)}"
    else:
        hint = "give the --id, --class and --prefix, or the mapping, of that load"
    shown = "".join(f"{{{part}}}" if i % 2 else part for i, part in enumerate(subject.template))
    raise LoadError(
        f"each row was <{one.start}{{{one.column}}}{one.end}> in an earlier load, and is <{shown}> now, so it would "
        "replace nothing",
        hint=f"{hint}, {LEFT_OUT}",
        place=table.name,
    )


def _subjects(one: RowSubject) -> tuple[str, str]:
    return one.start, one.end
