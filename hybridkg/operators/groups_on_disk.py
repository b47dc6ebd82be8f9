"""GROUP BY of rows that do not fit in memory: partial groups of each block, then groups of partitions on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybridkg.operators.aggregates import PlainGroups, divide_in
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_groups import ColumnGroups, mean
from hybridkg.operators.columns import ColumnsDeclined, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.partitions_on_disk import Disk, RowsOnDisk
from hybridkg.query import ast

NamedAggregates = tuple[tuple[str, ast.Aggregate], ...]


@dataclass(frozen=True)
class _Steps:
    """Aggregation in two steps.

    Args:
        partial: aggregates of each block.
        merging: aggregates of the partial results of a group.
        means: for each AVG, the columns of its sum and its count.
    """

    partial: NamedAggregates
    merging: NamedAggregates
    means: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, aggregates: NamedAggregates) -> _Steps | None:
        """Steps; None if an aggregate needs all rows of a group together, as those of distinct values do."""
        partial: list[tuple[str, ast.Aggregate]] = []
        means: list[tuple[str, str, str]] = []
        for name, aggregate in aggregates:
            if aggregate.distinct:
                return None
            if aggregate.name == "AVG":
                means.append((name, f"{name} sum", f"{name} count"))
                partial.append((f"{name} sum", ast.Aggregate("SUM", aggregate.argument)))
                partial.append((f"{name} count", ast.Aggregate("COUNT", aggregate.argument)))
            else:
                partial.append((name, aggregate))
        merging = [
            (name, ast.Aggregate("SUM" if one.name == "COUNT" else one.name, ast.Var(name))) for name, one in partial
        ]
        return cls(tuple(partial), tuple(merging), tuple(means))

    def merged(self, rows: InColumns, keys: Sequence[str], context: ExecutionContext) -> InColumns:
        """Groups of partial results."""
        groups = _computed(rows, keys, self.merging, context)
        columns = dict(groups.columns)
        for name, total, count in self.means:
            columns[name] = mean(groups.column(total), groups.column(count), divide_in(context))
        return groups.having(columns)


def _computed(
    rows: InColumns,
    keys: Sequence[str],
    aggregates: NamedAggregates,
    context: ExecutionContext,
    counts: Sequence[str] = (),
) -> InColumns:
    groups = ColumnGroups.of(rows, keys, summed_by=(), only_exact=True, counts=counts)
    computed = groups.computed(aggregates, divide_in(context))
    if computed is None:
        raise ColumnsDeclined("an aggregate that columns do not compute")
    return computed


def grouped_on_disk(
    groups: PlainGroups,
    blocks: Iterator[InColumns],
    context: ExecutionContext,
    operator: PhysicalOperator,
    counts: Sequence[str] = (),
) -> InColumns:
    """One row for each group, as `PlainGroups.groups` returns them, in the order of keys that are ids.

    Args:
        groups: the aggregation.
        blocks: its rows.
        context: of the run.
        operator: shows in EXPLAIN ANALYZE what was written.
        counts: columns whose product says for how many rows one stands.

    Raises:
        ColumnsDeclined: an aggregate is not certain to be that of the SPARQL engine.
        QueryLimitError: a group, of which no partial results exist, does not fit in memory.
    """
    steps, keys = _Steps.of(groups.aggregates), tuple(dict.fromkeys(groups.keys))
    arguments = [one.argument.name for _, one in groups.aggregates if isinstance(one.argument, ast.Var)]
    with Disk() as disk:
        rows, found = RowsOnDisk(disk, context, disk.file()), RowsOnDisk(disk, context)
        for block in blocks:
            part = groups.with_inputs(block, context)
            if part is None:
                raise ColumnsDeclined("an aggregate that columns do not compute")
            part = part.select(tuple(dict.fromkeys((*keys, *arguments, *counts))))
            if steps is not None:
                part = _computed(part, keys, steps.partial, context, counts)
            rows.append(part if block.size else part.take([]))
        limit = context.rows_at_once(len(rows.empty.variables))
        for part in rows.partitions(rows.of_cells(keys), limit):
            done = (
                _computed(part, keys, groups.aggregates, context, counts)
                if steps is None
                else steps.merged(part, keys, context)
            )
            found.append(groups.projected(done, context))
        disk.record(context, operator)
        return found.mapped()
