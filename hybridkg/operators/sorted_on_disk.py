"""DISTINCT and ORDER BY of rows that do not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_join import concatenated, stacked
from hybridkg.operators.columns import Column, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.partition import Keys
from hybridkg.operators.partitions_on_disk import Disk, RowsOnDisk, SplitBy
from hybridkg.rdf.terms import double
from hybridkg.storage.distinct import sorted_distinct

ROW = " row"
"""Column of the number of each row; no variable has this name."""


def distinct_on_disk(
    blocks: Iterator[InColumns],
    columns: Sequence[str],
    hidden: Sequence[str],
    context: ExecutionContext,
    operator: PhysicalOperator,
) -> InColumns:
    """The first row of equal columns, in the order of the rows.

    Args:
        blocks: the rows.
        columns: variables that are compared.
        hidden: further variables of the rows.
        context: of the run.
        operator: shows in EXPLAIN ANALYZE what was written.

    Raises:
        QueryLimitError: terms that the query has made do not fit in memory.
    """
    with Disk() as disk:
        rows, first_rows, found = (RowsOnDisk(disk, context, file) for file in (disk.file(), disk.file(), None))
        for block in _numbered(blocks):
            rows.append(_firsts(block.select((*columns, *hidden, ROW)), columns))
        limit = context.rows_at_once(len(columns) + len(hidden) + 1)
        for part in rows.partitions(rows.of_cells(columns), limit):
            first_rows.append(_firsts(part, columns))
        for part in first_rows.partitions([_numbers], limit):
            found.append(part.take(np.argsort(_numbers(part))).select((*columns, *hidden)))
        disk.record(context, operator)
        return found.mapped()


def sorted_on_disk(
    blocks: Iterator[InColumns],
    keys: Sequence[tuple[str, bool]],
    context: ExecutionContext,
    operator: PhysicalOperator,
) -> InColumns:
    """All rows in the order of (variable, descending) keys; rows with equal keys stay in their order.

    Raises:
        ColumnsDeclined: SPARQL does not order two terms.
        QueryLimitError: the distinct values of a key, or terms that the query has made, do not fit in memory.
    """
    with Disk() as disk:
        rows, found = RowsOnDisk(disk, context, disk.file()), RowsOnDisk(disk, context)
        for block in _numbered(blocks):
            rows.append(block)
        by = [_ranks(rows, name, context, down=down) for name, down in keys]
        names = [name for name in rows.empty.variables if name != ROW]
        for part in rows.partitions([*by, _numbers], context.rows_at_once(len(names) + 1)):
            order = np.lexsort([numbers(part) for numbers in (_numbers, *reversed(by))])
            found.append(part.take(order).select(names))
        disk.record(context, operator)
        return found.mapped()


def first_of_blocks(
    blocks: Iterator[InColumns], names: Sequence[str], first: Callable[[InColumns], InColumns]
) -> InColumns:
    """The rows that `first` chooses of all blocks, which it also chooses of those that it has chosen of each.

    Raises:
        ColumnsDeclined: SPARQL does not order two terms of a variable of `names`, perhaps in different blocks.
    """
    best: InColumns | None = None
    last: dict[str, list[Column]] = {name: [] for name in names}
    for block in blocks:
        own = first(block)
        best = own if best is None else first(stacked([best, own]))
        for name, columns in last.items() if block.size else ():
            # Literals come last, and those of a block are comparable, so one stands for all.
            column = block.column(name)
            columns.append(column.take(np.array([column.order(total=False).argmax()])))
    for columns in last.values():
        if columns:
            concatenated(columns).order(total=False)
    assert best is not None
    return best


def _numbered(blocks: Iterator[InColumns]) -> Iterator[InColumns]:
    """Rows with their numbers."""
    before = 0
    for block in blocks:
        numbers = np.arange(before, before + block.size, dtype=np.float64)
        yield block.having({**block.columns, ROW: NumberColumn(numbers, double)})
        before += block.size


def _numbers(rows: InColumns) -> Keys:
    numbers = rows.numbers(ROW)
    assert numbers is not None
    return numbers.numbers


def _firsts(rows: InColumns, columns: Sequence[str]) -> InColumns:
    """The first of the rows with equal columns."""
    return rows.take(np.sort(rows.distinct(columns)[1]))


def _ranks(rows: RowsOnDisk, name: str, context: ExecutionContext, *, down: bool) -> SplitBy:
    """Ranks of the cells of a column among those of all rows."""
    pool = rows.empty.column(name)
    for block in rows.blocks():
        pool = concatenated([pool, block.column(name).each()[0]]).each()[0]
        context.hold(len(pool.keys), 1)
    scale = sorted_distinct(pool.order(total=False))

    def ranks(block: InColumns) -> Keys:
        distinct, place = block.column(name).each()
        order = concatenated([pool, distinct]).order(total=False)[len(pool.keys) :]
        rank = scale.searchsorted(order)[place]
        return len(scale) - rank if down else rank

    return ranks
