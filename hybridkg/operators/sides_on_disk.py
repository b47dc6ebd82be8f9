"""Join of two sides that do not fit in memory: a Grace hash join.

Source: Kitsuregawa, Tanaka and Moto-oka, "Application of hash to data base machine and its architecture" (1983).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.columns import Column, ColumnsDeclined, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.partitions_on_disk import Disk, RowsOnDisk
from hybridkg.rdf.terms import double

SIDE = " side"
"""Column of the side of each row, 0 or 1; no variable has this name."""


def sides_on_disk(
    left: Iterator[InColumns], right: Iterator[InColumns], context: ExecutionContext, operator: PhysicalOperator
) -> Iterator[tuple[InColumns, InColumns]]:
    """The rows of both sides in partitions by the shared variables: rows of different partitions are not compatible.

    Args:
        left: blocks of one side, at least one, which may be empty.
        right: those of the other.
        context: of the run.
        operator: shows in EXPLAIN ANALYZE what was written.

    Raises:
        ColumnsDeclined: a shared variable is unbound in some row, as such a row agrees with anything.
        QueryLimitError: the rows with the same values of the shared variables do not fit in memory.
    """
    heads = next(left), next(right)
    shared = [name for name in heads[0].variables if name in heads[1].columns]
    with Disk() as disk:
        rows = RowsOnDisk(disk, context, disk.file())
        for side, blocks in enumerate((chain(heads[:1], left), chain(heads[1:], right))):
            for block in blocks:
                if any(block.column(name).has_unbound for name in shared):
                    raise ColumnsDeclined("a join of unbound variables that does not fit in memory")
                rows.append(_padded(block, side, heads))
        for part in rows.partitions(rows.of_cells(shared), context.rows_at_once(len(rows.empty.variables))):
            sides = part.numbers(SIDE)
            assert sides is not None
            mine, its = (
                part.take(np.flatnonzero(sides.numbers == side)).select(head.variables)
                for side, head in enumerate(heads)
            )
            yield mine, its
        disk.record(context, operator)


def _padded(block: InColumns, side: int, heads: tuple[InColumns, InColumns]) -> InColumns:
    """Rows of a side with the columns of both. Cells that the side lacks are never read: they repeat some of the other
    one, so that a column has one kind.
    """
    nowhere = np.zeros(block.size, np.intp)
    columns: dict[str, Column] = {SIDE: NumberColumn(np.full(block.size, float(side)), double)}
    for head in heads:
        for name, column in head.columns.items():
            has_any = name not in block.columns and head.size > 0
            columns[name] = column.take(nowhere) if has_any else block.column(name)
    return block.having(columns)
