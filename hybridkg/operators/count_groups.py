"""GROUP BY of a graph pattern whose aggregates only count: solutions are counted, not listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hybridkg.algebra.certain import certain
from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.graph_index import Ids, PreparedPattern
from hybridkg.interfaces.meter import ADJACENCY, COLUMN_CELLS, GRAPH_QUESTIONS, Work
from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.blocks import in_parts
from hybridkg.operators.column_groups import count_column
from hybridkg.operators.columns import Column, ColumnsDeclined, IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, work_of
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.groups_on_disk import grouped_on_disk
from hybridkg.operators.partition import Places, partition
from hybridkg.operators.partitions_on_disk import Disk, RowsOnDisk
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Solutions


@dataclass(frozen=True)
class CountGroups(PhysicalOperator):
    """Rows of GroupRows(fragment), from the counts of the projection (PreparedPattern.counts)."""

    fragment: GraphFragment
    groups: PlainGroups

    @staticmethod
    def applies(fragment: GraphFragment, groups: PlainGroups | None) -> bool:
        """Whether every aggregate counts solutions, or distinct values of a variable that each solution binds."""
        if groups is None or groups.inputs or not set(groups.keys) <= set(fragment.columns):
            return False
        sure = certain(fragment.group)
        return all(
            aggregate.name == "COUNT" and (aggregate.argument is None or _name(aggregate) in sure)
            for _, aggregate in groups.aggregates
        )

    def estimate(self, estimates: EstimationContext) -> float | None:
        if not self.groups.keys:
            return 1.0
        sizes = [estimates.size(self.fragment.pattern, name) for name in self.groups.keys]
        rows = estimates.rows(self.fragment)
        if rows is None or None in sizes:
            return None
        return min(rows, float(np.prod([size for size in sizes if size is not None])))

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        rows = estimates.rows(self)
        if name in self.groups.keys:
            return estimates.variable_size(self.fragment, name)
        return None if rows is None else VariableSize(rows, rows)

    def work(self, estimates: EstimationContext) -> Work | None:
        prepared = estimates.prepared(self.fragment.pattern)
        if prepared is None:
            return None
        entries = sum(prepared.counts_work(keys) for keys in self.counted)
        return work_of({GRAPH_QUESTIONS: len(self.counted), ADJACENCY: entries, COLUMN_CELLS: estimates.rows(self)})

    @property
    def counted(self) -> list[tuple[str, ...]]:
        """Variables of each request for counts."""
        keys, names = self.groups.keys, [_name(one) for _, one in self.groups.aggregates if one.distinct]
        return [keys, *((*keys, name) for name in dict.fromkeys(names) if name not in keys)]

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return (self,) if variable in self.groups.keys and variable in certain(self.fragment.group) else ()

    def run(self, context: ExecutionContext) -> Solutions:
        prepared = self.fragment.prepared(context)
        if prepared is None or context.graph is None:
            raise ColumnsDeclined("the projection does not hold all of the pattern")
        bound = context.bounds.get(id(self), {})
        groups = context.unless(lambda: self._groups(prepared, bound, context), QueryLimitError)
        return groups if isinstance(groups, InColumns) else self._on_disk(prepared, context)

    def _on_disk(self, prepared: PreparedPattern, context: ExecutionContext) -> InColumns:
        """Groups by ranges of the ids of a key that every solution binds; without one, the rows are grouped."""
        keys = self.groups.keys
        names = [name for name in dict.fromkeys(keys) if name in certain(self.fragment.group)]
        if not names:
            return grouped_on_disk(self.groups, self.fragment.blocks(context, keys), context, self)
        most = min(prepared.size().estimate, float(np.prod([prepared.size(name).estimate for name in keys])))
        parts = most / context.rows_at_once(len(keys) + len(self.groups.aggregates))
        with Disk() as disk:
            found = RowsOnDisk(disk, context)
            for groups in in_parts(
                lambda bound: self._groups(prepared, bound, context), prepared, names, parts, context
            ):
                disk.partitions += 1
                found.append(groups)
            disk.record(context, self)
            return found.mapped()

    def _groups(self, prepared: PreparedPattern, bound: Mapping[str, Ids], context: ExecutionContext) -> InColumns:
        """Groups of the solutions in which some keys have the given ids."""
        assert context.graph is not None
        keys = tuple(dict.fromkeys(self.groups.keys))
        context.meter.add(GRAPH_QUESTIONS, len(self.counted))
        width = len(keys) + len(self.groups.aggregates)
        table = prepared.counts(keys, context.meter, bound, context.rows_at_once(width))
        context.hold(len(table.counts), width)
        columns: dict[str, Column] = {name: IdColumn(table.column(name), context.graph) for name in keys}
        for name, aggregate in self.groups.aggregates:
            counts: Places = table.counts
            if aggregate.distinct and _name(aggregate) in keys:
                counts = np.ones(len(counts), np.intp)
            elif aggregate.distinct and not prepared.has_distinct_rows((*keys, _name(aggregate))):
                counts = _distinct(prepared, keys, _name(aggregate), bound, context)
            columns[name] = count_column(counts)
        return self.groups.projected(InColumns(columns, len(table.counts), context.made), context)

    def asks(self, estimates: EstimationContext) -> str:
        return self.fragment.asks(estimates)

    def describe(self) -> str:
        shown = ", ".join(" ".join(write(aggregate).split()) for _, aggregate in self.groups.aggregates)
        keys = " ".join(f"?{name}" for name in self.groups.keys)
        return " ".join(part for part in ("CountGroups", shown, keys and f"by {keys}") if part)

    def details(self, estimates: EstimationContext) -> str:
        return self.fragment.details(estimates)


def _name(aggregate: ast.Aggregate) -> str:
    return aggregate.argument.name if isinstance(aggregate.argument, ast.Var) else ""


def _distinct(
    prepared: PreparedPattern, keys: tuple[str, ...], name: str, bound: Mapping[str, Ids], context: ExecutionContext
) -> Places:
    """Number of distinct values of a variable in each group, in the order of the groups."""
    if not keys:
        return np.array([len(prepared.candidates(name, context.meter))])
    pairs = prepared.counts((*keys, name), context.meter, bound, context.rows_at_once(len(keys) + 2))
    context.hold(len(pairs.counts), len(keys) + 2)
    group, first = partition([pairs.column(key) for key in keys], len(pairs.counts))
    return np.bincount(group, minlength=len(first))
