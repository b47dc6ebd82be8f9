"""Aggregation without the SPARQL engine: counts, sums, means, extremes and samples of columns.

Law: every result equals Oxigraph's, to the last digit of every sum (tests/operators/test_aggregates.py); anything else
is left to Oxigraph.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybridkg.operators.column_groups import ColumnGroups, Divide, order_of_sums
from hybridkg.operators.columns import Column, InColumns, columns_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import column_of, evaluate, true_in_columns
from hybridkg.query import ast
from hybridkg.query.walk import has, rebuild, variables
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal, Term

COMPUTED = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE"))
"""Aggregates that are computed here."""


@dataclass(frozen=True)
class PlainGroups:
    """Aggregation that columns can answer.

    Args:
        inputs: columns to add to the rows first: expressions of keys and of arguments, with their variables.
        arguments: those of them that are arguments.
        keys: the grouping variables.
        aggregates: distinct aggregates of variables, each with the variable that stands for it in the expressions.
        having: conditions over keys and these variables.
        projection: (variable, expression over them), in column order.
    """

    inputs: tuple[tuple[str, ast.Expression], ...]
    arguments: frozenset[str]
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, ast.Aggregate], ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[tuple[str, ast.Expression], ...]

    @classmethod
    def of(
        cls, keys: Sequence[ast.GroupKey], having: Sequence[ast.Expression], projection: Sequence[ast.SelectItem]
    ) -> PlainGroups | None:
        """Aggregation; None if the SPARQL engine is needed."""
        read = frozenset[str]().union(*(variables(part) for part in (*keys, *having, *projection)))
        split = _Split(read)
        names = [split.key(key) for key in keys]
        conditions: list[Any] = [split.outer(condition) for condition in having]
        columns = [(item.variable.name, split.outer(item.expression or item.variable)) for item in projection]
        bound = {*names, *split.aggregates.values()}
        if split.is_refused or not all(_is_plain(condition, bound) for condition in conditions):
            return None
        for name, expression in columns:
            if not _is_plain(expression, bound):
                return None
            bound.add(name)
        aggregates = tuple((name, aggregate) for aggregate, name in split.aggregates.items())
        arguments = frozenset(split.arguments)
        return cls(tuple(split.inputs), arguments, tuple(names), aggregates, tuple(conditions), tuple(columns))

    def groups(
        self,
        solutions: Solutions,
        context: ExecutionContext,
        summed_by: Sequence[str] | None,
        counts: Sequence[str] = (),
    ) -> Solutions | None:
        """One row for each group, in the order of the keys; None if the columns do not permit it.

        Doubles are summed in the order that ColumnGroups has for `summed_by`; `counts` as there.
        """
        rows = self.with_inputs(columns_of(solutions, context.made), context)
        if rows is None:
            return None
        if summed_by is not None:  # the inputs have no place in the order
            summed_by = order_of_sums(summed_by, solutions.variables)
        groups = ColumnGroups.of(rows, self.keys, summed_by=summed_by, only_exact=context.declines, counts=counts)
        computed = groups.computed(self.aggregates, divide_in(context))
        return None if computed is None else self.projected(computed, context)

    def with_inputs(self, rows: InColumns, context: ExecutionContext) -> InColumns | None:
        """Rows with the columns of the inputs; None if the columns do not permit it."""
        for name, expression in self.inputs:
            column = column_of(expression, rows, context)
            if name in self.arguments and column.has_unbound:
                return None  # an error in an expression makes even COUNT an error of Oxigraph 0.5.13
            rows = rows.having({**rows.columns, name: column})
        return rows

    def projected(self, groups: InColumns, context: ExecutionContext) -> InColumns:
        """Groups under HAVING, projected."""
        yes, no = (ast.Lit(word, "http://www.w3.org/2001/XMLSchema#boolean") for word in ("true", "false"))
        for condition in self.having:
            keep = true_in_columns(ast.Call("IF", (condition, yes, no)), groups, context)
            groups = groups.take(np.flatnonzero(keep))
        columns: dict[str, Column] = {}
        for name, expression in self.projection:
            known = InColumns({**groups.columns, **columns}, groups.size, context.made)
            columns[name] = column_of(expression, known, context)
        return groups.having(columns)


@dataclass
class _Split:
    """Expressions of an aggregation, taken apart into those of the rows and those of the groups."""

    taken: frozenset[str]
    inputs: list[tuple[str, ast.Expression]] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    aggregates: dict[ast.Aggregate, str] = field(default_factory=dict)
    is_refused: bool = False

    def key(self, key: ast.GroupKey) -> str:
        """Variable of a grouping key."""
        if isinstance(key.expression, ast.Var) and key.variable is None:
            return key.expression.name
        if key.variable is None:
            return self._input(key.expression, "key")
        self._check(key.expression)
        self.inputs.append((key.variable.name, key.expression))
        return key.variable.name

    def outer(self, expression: Any) -> Any:
        """Expression with a variable in place of each aggregate."""
        if isinstance(expression, ast.Aggregate):
            name = self.aggregates.get(expression)
            if name is None:
                name = self.aggregates[expression] = self._fresh(f"_aggregate{len(self.aggregates)}")
                self._take(expression, name)
            return ast.Var(name)
        return rebuild(expression, self.outer)

    def _take(self, aggregate: ast.Aggregate, name: str) -> None:
        argument = aggregate.argument
        if aggregate.name not in COMPUTED or (argument is None and (aggregate.distinct or aggregate.name != "COUNT")):
            self.is_refused = True
        elif argument is not None and not isinstance(argument, ast.Var):
            del self.aggregates[aggregate]
            variable = self._input(argument, "argument")
            self.arguments.append(variable)
            changed = ast.Aggregate(aggregate.name, ast.Var(variable), aggregate.distinct, span=aggregate.span)
            self.aggregates[changed] = name

    def _input(self, expression: Any, purpose: str) -> str:
        self._check(expression)
        name = self._fresh(f"_{purpose}{len(self.inputs)}")
        self.inputs.append((name, expression))
        return name

    def _check(self, expression: Any) -> None:
        self.is_refused |= has(expression, ast.Exists, ast.Aggregate)

    def _fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name


def _is_plain(expression: ast.Syntax, bound: AbstractSet[str]) -> bool:
    """Whether the expression reads only keys, aggregates and earlier columns, and no graph."""
    return variables(expression) <= bound and not has(expression, ast.Exists)


def divide_in(context: ExecutionContext) -> Divide:
    """Division of AVG, by the SPARQL engine."""
    quotient = ast.Binary("/", ast.Var("total"), ast.Var("count"))

    def divide(totals: Sequence[Term], counts: Sequence[int]) -> Sequence[Term | None]:
        # AVG of an empty group is 0 (SPARQL 1.1 section 18.5.1.4).
        rows: list[Row] = [(total, Literal(count or 1)) for total, count in zip(totals, counts, strict=True)]
        values = evaluate(quotient, Solutions(("total", "count"), rows), context)
        return [value if count else Literal(0) for value, count in zip(values, counts, strict=True)]

    return divide
