"""Aggregation of ranked rows without the SPARQL engine: counts, and sums of doubles.

Law: every result equals Oxigraph's, to the last digit of every sum (tests/operators/test_aggregates.py); anything else
is left to Oxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isfinite
from typing import Any

from hybridkg.operators.column_groups import ColumnGroups
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import evaluate, true_rows
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, variables, walk
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import XSD_DOUBLE, XSD_STRING, Literal, Term

PLAIN_DOUBLE = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""Doubles that Oxigraph and Python parse alike."""


@dataclass(frozen=True)
class PlainGroups:
    """Aggregation by variables, of counts and of doubles.

    Args:
        keys: the grouping variables.
        aggregates: distinct aggregates, each with the variable that stands for it in the expressions.
        having: conditions over keys and these variables.
        projection: (variable, expression over them), in column order.
    """

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, ast.Aggregate], ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[tuple[str, ast.Expression], ...]

    @classmethod
    def of(
        cls, keys: Sequence[ast.GroupKey], having: Sequence[ast.Expression], projection: Sequence[ast.SelectItem]
    ) -> PlainGroups | None:
        """Aggregation; None if the SPARQL engine is needed."""
        names = [key.expression.name for key in keys if isinstance(key.expression, ast.Var) and key.variable is None]
        if not keys or len(names) < len(keys):
            return None
        read = frozenset[str]().union(*(variables(part) for part in (*keys, *having, *projection)))
        name_of: dict[ast.Aggregate, str] = {}

        def change(node: ast.Syntax) -> ast.Syntax:
            if isinstance(node, ast.Aggregate):
                if node not in name_of:
                    name = f"_aggregate{len(name_of)}"
                    while name in read:
                        name += "_"
                    name_of[node] = name
                return ast.Var(name_of[node])
            return rebuild(node, change)

        conditions: list[Any] = [change(condition) for condition in having]
        columns = [(item.variable.name, change(item.expression or item.variable)) for item in projection]
        bound = frozenset((*names, *name_of.values()))
        parts = [*conditions, *(expression for _, expression in columns)]
        if not all(map(_is_counted, name_of)) or not all(_is_plain(part, bound) for part in parts):
            return None
        aggregates = tuple((name, aggregate) for aggregate, name in name_of.items())
        return cls(tuple(names), aggregates, tuple(conditions), tuple(columns))  # type: ignore[arg-type]

    def rows(
        self, solutions: Solutions, in_order: Callable[[list[Row]], list[Row]], context: ExecutionContext
    ) -> Solutions | None:
        """One row for each group, in the order in which the groups begin; None if a value is no plain double.
        `in_order` sorts the rows of a group into the order of summation.
        """
        columns = {name: at for at, name in enumerate(solutions.variables)}
        how = _of_rows(self.aggregates, columns, solutions.rows)
        if how is None:
            return None
        aggregates, unordered = how
        places = [columns.get(name) for name in self.keys]
        cells = _stored([[None if at is None else row[at] for row in solutions.rows] for at in places])
        groups: dict[tuple[Term | None, ...], list[Row]] = {}
        for key, row in zip(zip(*cells, strict=True), solutions.rows, strict=True):
            if key in groups:
                groups[key].append(row)
            else:
                groups[key] = [row]
        members = [in_order(own) if len(own) > unordered else own for own in groups.values()]
        computed = [list(map(aggregate, members)) for aggregate in aggregates]
        values = zip(*computed, strict=True) if computed else repeat(())
        rows: list[Row] = [(*key, *own) for key, own in zip(groups, values, strict=bool(computed))]
        return self._projected(Solutions((*self.keys, *(name for name, _ in self.aggregates)), rows), context)

    def in_columns(self, solutions: InColumns, context: ExecutionContext, *, keeps_order: bool) -> Solutions | None:
        """Vectorized `rows`; None if the columns do not permit it. The order of summation is that of GroupRows, or that
        of the rows.
        """
        groups = ColumnGroups.of(solutions, self.keys, keeps_order=keeps_order)
        computed = None if groups is None else groups.computed(self.aggregates, written)
        return None if computed is None else self._projected(computed, context)

    def _projected(self, groups: Solutions, context: ExecutionContext) -> Solutions:
        yes, no = (ast.Lit(word, "http://www.w3.org/2001/XMLSchema#boolean") for word in ("true", "false"))
        for condition in self.having:
            values = evaluate(ast.Call("IF", (condition, yes, no)), groups, context)
            groups = groups.take([n for n, keep in enumerate(true_rows(values)) if keep])
        if isinstance(groups, InColumns) and all(isinstance(expression, ast.Var) for _, expression in self.projection):
            held = groups.columns
            return groups.having({name: held[read.name] for name, read in self.projection if isinstance(read, ast.Var)})
        columns = [evaluate(expression, groups, context) for _, expression in self.projection]
        return Solutions(tuple(name for name, _ in self.projection), list(zip(*columns, strict=True)))


def _is_counted(aggregate: ast.Aggregate) -> bool:
    """Whether the aggregate is COUNT of a variable or of rows, or a numeric aggregate of a variable."""
    if aggregate.name == "COUNT":
        return isinstance(aggregate.argument, ast.Var) or (aggregate.argument is None and not aggregate.distinct)
    return aggregate.name in OF_VALUES and isinstance(aggregate.argument, ast.Var) and not aggregate.distinct


def _is_plain(expression: ast.Syntax, bound: frozenset[str]) -> bool:
    """Whether the expression reads only keys and aggregates, and no graph."""
    return variables(expression) <= bound and not any(isinstance(node, ast.Exists) for node in walk(expression))


OfGroup = Callable[[Sequence[Row]], Term]
"""Computes an aggregate from the rows of a group."""


def _of_rows(
    aggregates: Sequence[tuple[str, ast.Aggregate]], columns: dict[str, int], rows: Sequence[Row]
) -> tuple[list[OfGroup], int] | None:
    """Functions of the aggregates, and the maximum rows of a group whose result does not depend on their order: two, as
    a + b = b + a, but one if 0 may be -0, of which MIN and MAX take the first. None if an argument is no plain double.
    """
    functions: list[OfGroup] = []
    values: dict[int, dict[int, float]] = {}
    literals: dict[float, Literal] = {}
    for _, aggregate in aggregates:
        if aggregate.argument is None:
            functions.append(lambda members: Literal(len(members)))
            continue
        assert isinstance(aggregate.argument, ast.Var)
        at = columns.get(aggregate.argument.name)
        if aggregate.name == "COUNT":
            functions.append(_count(at, aggregate.distinct, rows))
            continue
        if at is None:
            return None
        if at not in values:
            numbers = _doubles(rows, at)
            if numbers is None:
                return None
            values[at] = numbers
        functions.append(_number(aggregate.name, at, values[at], literals))
    return functions, 1 if any(0.0 in own.values() for own in values.values()) else 2


def _count(at: int | None, distinct: bool, rows: Sequence[Row]) -> OfGroup:
    if at is None:
        return lambda members: Literal(0)
    if not distinct:
        if all(row[at] is not None for row in rows):
            return lambda members: Literal(len(members))
        return lambda members: Literal(sum(row[at] is not None for row in members))
    (cells,) = _stored([[row[at] for row in rows]])
    stored = {id(row): cell for row, cell in zip(rows, cells, strict=True)}
    return lambda members: Literal(len({stored[id(row)] for row in members} - {None}))


def _doubles(rows: Sequence[Row], at: int) -> dict[int, float] | None:
    """Numbers by the identity of their cells; None if one is no finite double."""
    numbers: dict[int, float] = {}
    for row in rows:
        cell = row[at]
        if id(cell) not in numbers:
            if type(cell) is not Literal or cell.datatype != XSD_DOUBLE or not PLAIN_DOUBLE.fullmatch(cell.value):
                return None
            number = float(cell.value)
            if not isfinite(number):
                return None
            numbers[id(cell)] = number
    return numbers


def _number(name: str, at: int, numbers: dict[int, float], literals: dict[float, Literal]) -> OfGroup:
    """SUM, AVG, MIN or MAX of the cells in a column; `literals` caches the literals of numbers."""

    def of(members: Sequence[Row]) -> Term:
        number = of_values([numbers[id(row[at])] for row in members])
        if not number:
            return written(number)  # 0 and -0 are the same key
        literal = literals.get(number)
        if literal is None:
            literal = literals[number] = written(number)
        return literal

    of_values = OF_VALUES[name]
    return of


def _sum(values: Sequence[float]) -> float:
    """Sum from left to right, from 0; `sum` of Python 3.12 is more exact than Oxigraph."""
    total = 0.0
    for value in values:
        total += value
    return total


OF_VALUES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "SUM": _sum,
    "AVG": lambda values: _sum(values) / len(values),
    "MIN": min,
    "MAX": max,
}


def written(number: float) -> Literal:
    """Literal of a computed double as Oxigraph writes it: without exponent, and without a point if integral.

    >>> [written(number).value for number in (12.0, 0.1, 1e21, -2.5e-7)]
    ['12', '0.1', '1000000000000000000000', '-0.00000025']
    """
    return Literal(float(number))  # Oxigraph's own digits: where two shortest forms are as near, Python takes the other


def _stored(columns: list[list[Term | None]]) -> list[list[Term | None]]:
    """Columns with each literal normalized as the SPARQL engine does, for which 01 and 1 are the same number."""
    typed = {
        id(cell): cell
        for column in columns
        for cell in column
        if type(cell) is Literal and cell.datatype != XSD_STRING and cell.language is None
    }
    if not typed:
        return columns
    stored = dict(zip(typed, all_as_stored(list(typed.values())), strict=True))
    return [[stored.get(id(cell), cell) for cell in column] for column in columns]
