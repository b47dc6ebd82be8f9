"""GROUP BY over solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.meter import Work
from hybridkg.operators.aggregates import PlainGroups
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.blocks import whole_or_blocks
from hybridkg.operators.column_groups import count_column, order_of_sums
from hybridkg.operators.columns import ColumnsDeclined, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells
from hybridkg.operators.expressions import inline
from hybridkg.operators.groups_on_disk import grouped_on_disk
from hybridkg.operators.join_size import combinations
from hybridkg.operators.multiplicity import repeated
from hybridkg.operators.order_rows import OrderRows, RankRows, is_ordered_above
from hybridkg.operators.partition import Keys, lexical_order
from hybridkg.operators.project import Project, Slice
from hybridkg.operators.snippet import Snippet
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.order import sorted_rows
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal

NOTHING = ast.Group(())
PLACE = "urn:hybridkg:rows"
SOLUTION = "_solution"
"""Numbers the distinct solutions for COUNT(DISTINCT *)."""

MAX_ROWS = 2_000_000
"""Maximum rows of one aggregation by Oxigraph: they are one text; 1.45 million took 40 s and 2.3 GB on the 2-core
machine."""


@dataclass(frozen=True)
class GroupRows(OneChild):
    """One row for each group, with its aggregates, in term order.

    Most aggregates are computed from columns (operators/aggregates.py), everything else by Oxigraph.

    Args:
        ranked: the entity of the first MATCH, the first column by which rows are ordered before doubles are summed;
            empty for the columns of the query alone. Relations have this order, so their rows are seldom sorted.
        counts: columns whose product says for how many rows one stands (algebra.nodes.Group).
    """

    keys: tuple[ast.GroupKey, ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[ast.SelectItem, ...]
    internal: frozenset[str] = frozenset()
    ranked: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    @cached_property
    def query(self) -> ast.SelectQuery:
        """Aggregation as a query over an empty group."""
        query = ast.SelectQuery(self.projection, NOTHING, modifiers=ast.Modifiers(self.keys, self.having))
        return _counting_numbers(query)

    @cached_property
    def _read(self) -> frozenset[str]:
        """Variables of the aggregation."""
        return variables(self.query)

    def _around(self) -> tuple[str, str]:
        """Text of the aggregation before and after its pattern, located by an IRI that occurs nowhere else."""
        name, text = PLACE, write(self.query)
        while name in text:
            name += "-"
        place = ast.Iri(name)
        pattern = ast.Group((ast.Triples((ast.TriplePattern(place, place, place),)),))
        head, _, tail = write(replace(self.query, where=pattern)).partition(write(pattern))
        return head, tail

    def estimate(self, estimates: EstimationContext) -> float | None:
        if not self.keys:
            return 1.0
        names = [key.expression.name for key in self.keys if isinstance(key.expression, ast.Var)]
        rows = estimates.rows(self.child)
        groups = combinations(self.child, names, estimates) if len(names) == len(self.keys) else None
        return float(rows**0.5) if groups is None and rows is not None else groups

    def variable_size(self, name: str, estimates: EstimationContext) -> VariableSize | None:
        if any(isinstance(key.expression, ast.Var) and key.expression.name == name for key in self.keys):
            return super().variable_size(name, estimates)
        rows = estimates.rows(self)
        return None if rows is None else VariableSize(rows, rows)

    def work(self, estimates: EstimationContext) -> Work | None:
        return cells(*[estimates.rows(self.child)] * (len(self.keys) + len(self.projection)))

    @cached_property
    def _plain(self) -> PlainGroups | None:
        return plain_groups(self.keys, self.having, self.projection)

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        keys = [key.expression.name for key in self.keys if isinstance(key.expression, ast.Var)]
        return self.child.restrictable(variable) if variable in keys else ()

    def run(self, context: ExecutionContext) -> Solutions:
        if context.declines:
            return self._in_columns(context)
        solutions = self._numbered(context.run(self.child))
        used = self._read.union(self._summed_by or (), self.counts)
        solutions = solutions.select([name for name in solutions.variables if name in used])
        groups = None
        if self._plain is not None:
            groups = self._plain.groups(solutions, context, self._summed_by, self.counts)
        if groups is None:
            groups = self._by_store(repeated(solutions, self.counts, context), context)
        if is_ordered_above(context):
            return groups
        return _in_term_order(groups)

    def _in_columns(self, context: ExecutionContext) -> Solutions:
        """Groups from columns alone; on disk where the rows do not fit in memory."""
        groups: Solutions | None = None
        if self._plain is not None:
            rows = whole_or_blocks(self.child, context, self._plain.keys)
            if isinstance(rows, InColumns):
                groups = self._plain.groups(self._numbered(rows), context, self._summed_by, self.counts)
            elif SOLUTION in self._read:
                raise ColumnsDeclined("distinct solutions that do not fit in memory")
            else:
                return grouped_on_disk(self._plain, rows, context, self, self.counts)
        if groups is None:
            raise ColumnsDeclined("an aggregate that columns do not compute")
        return groups

    def _by_store(self, solutions: Solutions, context: ExecutionContext) -> Solutions:
        if solutions.size > MAX_ROWS:
            raise QueryLimitError(
                f"an aggregation over {solutions.size:,} ranked rows; at most {MAX_ROWS:,} are grouped",
                hint="add a condition to the pattern, or keep the best of the relation with TOP",
            )
        row_name = "row"
        while row_name in self._read:
            row_name += "_"
        pattern, triples = inline(solutions.variables, self._in_order(solutions), row_name)
        head, tail = self._around()
        stream = context.scratch(triples).select(f"{head}{{\n{pattern}\n}}{tail}")
        return Solutions(stream.variables, context.collect(stream.rows))

    def _in_order(self, solutions: Solutions) -> list[Row]:
        """Rows in an order independent of the strategy, on which a sum of doubles depends.

        Rows that a sub-select has ordered stay in that order, for GROUP_CONCAT.
        """
        if self._summed_by is None:
            return solutions.rows
        names = solutions.variables
        return sorted_rows(solutions.rows, [names.index(name) for name in order_of_sums(self._summed_by, names)])

    @cached_property
    def _summed_by(self) -> tuple[str, ...] | None:
        below = self.child
        while isinstance(below, Project | Slice | Snippet):
            below = below.child
        aggregates = [node for node in walk(self.query) if isinstance(node, ast.Aggregate)]
        if isinstance(below, RankRows | OrderRows) or all(node.name == "COUNT" for node in aggregates):
            return None
        return () if any(node.distinct for node in aggregates) else self.ranked

    def _numbered(self, solutions: Solutions) -> Solutions:
        """Solutions with a number for each distinct one, if COUNT(DISTINCT *) needs it.

        Distinct in the query's own variables; fresh scores do not count.
        """
        if SOLUTION not in self._read:
            return solutions
        own = [i for i, name in enumerate(solutions.variables) if name not in self.internal]
        if isinstance(solutions, InColumns):
            number, _ = solutions.distinct([solutions.variables[i] for i in own])
            return solutions.having({**solutions.columns, SOLUTION: count_column(number)})
        numbers: dict[Row, int] = {}
        rows: list[Row] = [
            (*row, Literal(numbers.setdefault(tuple(row[i] for i in own), len(numbers)))) for row in solutions.rows
        ]
        return Solutions((*solutions.variables, SOLUTION), rows)

    def describe(self) -> str:
        head, tail = self._around()
        return f"GroupRows {' '.join(head.split())} {' '.join(tail.split())}".replace(" WHERE", "").rstrip()


def _in_term_order(groups: Solutions) -> Solutions:
    """Rows by their columns. Most groups differ in the first ones already, and the terms of the others are not read."""
    if groups.size < 2:
        return groups
    if not isinstance(groups, InColumns):
        return Solutions(groups.variables, sorted_rows(groups.rows, range(len(groups.variables))))
    keys: list[Keys] = []
    ordered = groups
    for name in groups.variables:
        keys.append(groups.column(name).order(total=True))
        order = lexical_order(keys)
        ordered = groups.take(order)
        behind, before = order[1:], order[:-1]
        if not np.logical_and.reduce([key[behind] == key[before] for key in keys]).any():
            break
    return ordered


def plain_groups(
    keys: Sequence[ast.GroupKey], having: Sequence[ast.Expression], projection: Sequence[ast.SelectItem]
) -> PlainGroups | None:
    """Aggregation that columns can answer, COUNT(DISTINCT *) included; None if the SPARQL engine is needed."""
    modifiers = ast.Modifiers(tuple(keys), tuple(having))
    query = _counting_numbers(ast.SelectQuery(tuple(projection), NOTHING, modifiers=modifiers))
    return PlainGroups.of(query.modifiers.group_by, query.modifiers.having, query.projection or ())


def _counting_numbers(query: ast.SelectQuery) -> ast.SelectQuery:
    """COUNT(DISTINCT *) as COUNT(DISTINCT ?_solution): each row of the text has a different `?row`."""

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Aggregate) and node.distinct and node.argument is None:
            return replace(node, argument=ast.Var(SOLUTION))
        return rebuild(node, change)

    return rebuild(query, change)
