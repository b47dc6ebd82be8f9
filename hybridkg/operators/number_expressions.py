"""Arithmetic and comparisons of numbers over whole columns, with the values of Oxigraph.

Sums, differences and products of integers are integers, exact below 2^53; a larger one is left to Oxigraph. A double
absorbs every other number (SPARQL 1.1 section 17.3, XPath's promotion rules), so an operation with a double is one
operation of IEEE 754. What is below it and reads no double is evaluated by Oxigraph, once for each distinct value, and
cast to a double by Oxigraph as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.column_groups import EXACT, INTEGER, whole, whole_numbers, written
from hybridkg.operators.columns import Column, InColumns, NumberColumn, TermColumn
from hybridkg.query import ast
from hybridkg.query.walk import variables
from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.terms import XSD_DOUBLE, Literal, double

Numbers = NDArray[np.float64]

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal
}  # fmt: skip

PLAIN_INTEGER = re.compile("-?[0-9]{1,15}")

AsColumn = Callable[[ast.Expression], Column]
"""Column of an expression as Oxigraph evaluates it."""

CAST = ast.Iri(XSD_DOUBLE.value)


@dataclass(frozen=True)
class NumberExpressions:
    """Evaluation of expressions over some solutions.

    Args:
        solutions: the rows.
        evaluated: evaluates what reads no double.
    """

    solutions: InColumns
    evaluated: AsColumn

    def column(self, expression: ast.Expression) -> NumberColumn | None:
        """Value of an arithmetic expression in each row; None unless it is a double in every one, or an integer."""
        if not isinstance(expression, ast.Binary | ast.Unary):
            return None
        if not self._reads_doubles(expression):
            integers = self._integers(expression)
            return None if integers is None else NumberColumn(integers + 0.0, whole)  # no -0
        numbers = self._numbers(expression)
        return None if numbers is None else NumberColumn(numbers, written)

    def truth(self, condition: ast.Expression) -> NDArray[np.bool_] | None:
        """bool[rows]: where comparisons are true; None unless both sides are numbers in every row, one a double, or
        both are nodes.
        """
        if isinstance(condition, ast.Binary) and condition.op == "&&":
            one, other = self.truth(condition.left), self.truth(condition.right)
            return None if one is None or other is None else one & other
        if not isinstance(condition, ast.Binary) or condition.op not in COMPARISONS:
            return None
        if condition.op in ("=", "!=") and (same := self._same_nodes(condition.left, condition.right)) is not None:
            return same if condition.op == "=" else ~same
        if not self._reads_doubles(condition):
            return None
        left, right = self._numbers(condition.left), self._numbers(condition.right)
        if left is None or right is None:
            return None
        return np.asarray(COMPARISONS[condition.op](left, right))

    def _same_nodes(self, left: ast.Expression, right: ast.Expression) -> NDArray[np.bool_] | None:
        """bool[rows]: where two variables are the same node; None unless both are nodes in every row."""
        if not isinstance(left, ast.Var) or not isinstance(right, ast.Var):
            return None
        a, b = self.solutions.ids(left.name), self.solutions.ids(right.name)
        if a is None or b is None or not len(a.ids):
            return None
        if int(a.ids.max()) >= a.graph.n_nodes or int(b.ids.max()) >= b.graph.n_nodes:
            return None
        return np.asarray(a.ids == b.ids)

    def _reads_doubles(self, expression: ast.Syntax) -> bool:
        return any(_doubles_of(self.solutions.columns.get(name)) is not None for name in variables(expression))

    def _numbers(self, expression: ast.Expression) -> Numbers | None:
        """float64[rows]; None if a row may have no number."""
        match expression:
            case ast.Var(name) if (numbers := _doubles_of(self.solutions.columns.get(name))) is not None:
                return numbers
            case _ if not self._reads_doubles(expression):
                return self._cast(expression)
            case ast.Unary("-", operand):
                inner = self._numbers(operand)
                return None if inner is None else -inner
            case ast.Binary(op, left, right) if op in ARITHMETIC:
                a, b = self._numbers(left), self._numbers(right)
                if a is None or b is None:
                    return None
                with np.errstate(all="ignore"):
                    return np.asarray(ARITHMETIC[op](a, b))
        return None

    def _integers(self, expression: ast.Expression) -> Numbers | None:
        """float64[rows] of integers; None if a row may have another value, or a large one."""
        match expression:
            case ast.Var(name) if name in self.solutions.columns:
                return whole_numbers(self.solutions.columns[name])
            case ast.Lit(lexical, INTEGER.value) if PLAIN_INTEGER.fullmatch(lexical):
                return np.full(self.solutions.size, float(lexical))
            case ast.Unary("-", operand):
                inner = self._integers(operand)
                return None if inner is None else -inner
            case ast.Binary("+" | "-" | "*" as op, left, right):
                a, b = self._integers(left), self._integers(right)
                if a is None or b is None:
                    return None
                values = np.asarray(ARITHMETIC[op](a, b))
                return values if float(np.abs(values).max(initial=0.0)) < EXACT else None
        return None

    def _cast(self, expression: ast.Expression) -> Numbers | None:
        """Numbers of any datatype as doubles."""
        values = self.evaluated(expression)
        if not _are_numbers(values):
            return None
        cast = self.evaluated(ast.Call(CAST, (expression,)))
        if not isinstance(cast, TermColumn):
            return None
        terms = cast.terms.tolist()
        if not all(type(term) is Literal and term.datatype == XSD_DOUBLE for term in terms):
            return None
        return np.array([float(term.value) for term in terms], np.float64)[cast.codes]


def _doubles_of(column: Column | None) -> Numbers | None:
    """Numbers of a column of doubles."""
    if isinstance(column, NumberColumn) and column.literal in (double, written):
        return column.numbers
    return None


def _are_numbers(column: Column) -> bool:
    if isinstance(column, TermColumn):
        terms = column.terms.tolist()
    else:
        distinct = np.unique(column.keys, return_index=True)[1]
        terms = column.take(distinct).cells()
    return all(type(term) is Literal and term.datatype.value in NUMERIC for term in terms)
