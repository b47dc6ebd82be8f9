"""Arithmetic, comparisons and conditions of numbers over whole columns, with the values of Oxigraph.

Sums, differences and products of integers are integers, exact below 2^53; a larger one is left to Oxigraph. A double
absorbs every other number (SPARQL 1.1 section 17.3, XPath's promotion rules), so an operation with a double is one
operation of IEEE 754. What is below it and reads no double is evaluated by Oxigraph, once for each distinct value, and
cast to a double by Oxigraph as well. Errors are those of section 17.2: an unbound cell is one, COALESCE skips them, and
`||` and `&&` have three values.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.column_groups import EXACT, INTEGER, whole_numbers
from hybridkg.operators.columns import Column, InColumns, TermColumn
from hybridkg.operators.mixed_numbers import DOUBLE, NO_NUMBER, WHOLE, kinds_of, mixed, whole, written
from hybridkg.operators.text_functions import ARITHMETIC as INTEGER_ARITHMETIC
from hybridkg.operators.text_functions import COMPARISONS
from hybridkg.query import ast
from hybridkg.query.constants import term_of_constant
from hybridkg.query.walk import variables
from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.term_texts import IRI_KIND
from hybridkg.rdf.terms import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, Literal, Term
from hybridkg.storage.distinct import sorted_distinct

Mask: TypeAlias = NDArray[np.bool_]

OTHER, TRUTH = 3, 4
"""Kinds of values beside those of MixedNumbers: a number of another datatype, as the double that promotion makes of it,
and true or false, as 1 or 0."""

ARITHMETIC = {**INTEGER_ARITHMETIC, "/": operator.truediv}

PLAIN_INTEGER = re.compile("-?[0-9]{1,15}")
PLAIN_DOUBLE = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]{1,3}")
PLAIN_DECIMAL = re.compile(r"[+-]?(?=[0-9.]{2,16}$)[0-9]*\.[0-9]+")
"""Decimals of at most 15 digits. Oxigraph promotes one by dividing its digits by a power of ten: both are exact
doubles, so the quotient is the double nearest to the decimal, which is what Python reads. To ask it takes 150 us."""

AsColumn = Callable[[ast.Expression], Column]
"""Column of an expression as Oxigraph evaluates it."""

CAST = ast.Iri(XSD_DOUBLE.value)

_TRUTHS = np.array([Literal(False), Literal(True), None], object)


class _DeclinedError(Exception):
    """An expression has a value of another kind in some row."""


class NumberValues(NamedTuple):
    """The value of an expression in each row.

    Args:
        numbers: float64[rows].
        kinds: uint8[rows]; NO_NUMBER is an error, or unbound.
    """

    numbers: NDArray[np.float64]
    kinds: NDArray[np.uint8]

    @property
    def is_error(self) -> Mask:
        return np.asarray(self.kinds == NO_NUMBER)

    @property
    def is_number(self) -> Mask:
        return np.asarray((self.kinds != NO_NUMBER) & (self.kinds != TRUTH))

    @property
    def is_true(self) -> Mask:
        """Where the effective boolean value is true (section 17.2.2)."""
        return np.asarray(~self.is_error & (self.numbers != 0) & ~np.isnan(self.numbers))


@dataclass(frozen=True)
class NumberExpressions:
    """Evaluation of expressions over some solutions.

    Args:
        solutions: the rows.
        evaluated: evaluates what reads no double.
    """

    solutions: InColumns
    evaluated: AsColumn

    def column(self, expression: ast.Expression) -> Column | None:
        """Value of an expression in each row; None unless all are doubles, integers, truth values or errors, or the
        texts and IRIs between which conditions choose.
        """
        match expression:
            case ast.Call("IF", (_, then, otherwise)) if _is_choice(then) and _is_choice(otherwise):
                return self._choice(expression)
            case ast.Var() | ast.Lit():
                return None
        values = self._of(expression)
        if values is None or (values.kinds == OTHER).any():
            return None
        is_truth = values.kinds == TRUTH
        if not is_truth.any():
            return mixed(values.numbers, values.kinds, written)
        if not (is_truth | values.is_error).all():
            return None
        return TermColumn(_TRUTHS, np.where(is_truth, values.numbers, 2).astype(np.intp))

    def truth(self, condition: ast.Expression) -> Mask | None:
        """bool[rows]: where a condition is true; None where some row needs another kind of value."""
        values = self._of(condition)
        return None if values is None else values.is_true

    def _choice(self, expression: ast.Expression) -> TermColumn | None:
        """The column of `IF(condition, "a", IF(condition, "b", "c"))`."""
        terms: list[Term | None] = [None]
        codes = np.zeros(self.solutions.size, np.intp)
        rest = np.ones(self.solutions.size, np.bool_)
        while isinstance(expression, ast.Call):
            condition, then, otherwise = expression.arguments
            if isinstance(then, ast.Call) or (values := self._of(condition)) is None:
                return None
            codes[rest & values.is_true] = len(terms)
            terms.append(term_of_constant(then))
            rest &= ~values.is_true & ~values.is_error
            expression = otherwise
        codes[rest] = len(terms)
        return TermColumn.of([*terms, term_of_constant(expression)], codes)

    def _of(self, expression: ast.Expression) -> NumberValues | None:
        try:
            with np.errstate(all="ignore"):
                return _Evaluation(self.solutions, self.evaluated, self._reads_doubles(expression)).values(expression)
        except _DeclinedError:
            return None

    def _reads_doubles(self, expression: ast.Syntax) -> bool:
        return any(_has_doubles(self.solutions.columns.get(name)) for name in variables(expression))


@dataclass(frozen=True)
class _Evaluation:
    """Evaluation of one expression.

    Args:
        solutions: the rows.
        evaluated: evaluates a part that reads no double.
        asks: whether it does so: not for a whole expression that reads none.
    """

    solutions: InColumns
    evaluated: AsColumn
    asks: bool

    def values(self, expression: ast.Expression) -> NumberValues:
        """Raises _DeclinedError: a row has a value of another kind."""
        if isinstance(expression, ast.Var):
            return self._variable(expression)
        if not self.asks or self._reads_doubles(expression):
            return self._operation(expression)
        try:
            return self._operation(expression)
        except _DeclinedError:
            return self._asked(expression)

    def _operation(self, expression: ast.Expression) -> NumberValues:
        match expression:
            case ast.Lit(lexical, INTEGER.value) if PLAIN_INTEGER.fullmatch(lexical):
                return self._constant(float(int(lexical)), WHOLE)
            case ast.Lit(lexical, XSD_DOUBLE.value) if PLAIN_DOUBLE.fullmatch(lexical):
                return self._constant(float(lexical), DOUBLE)
            case ast.Lit(lexical, XSD_DECIMAL.value) if PLAIN_DECIMAL.fullmatch(lexical):
                return self._constant(float(lexical) + 0.0, OTHER)  # a decimal is never -0
            case ast.Lit("true" | "false" as lexical, XSD_BOOLEAN.value):
                return self._constant(float(lexical == "true"), TRUTH)
            case ast.Unary("-" | "+" as op, operand):
                return self._signed(op, self.values(operand))
            case ast.Unary("!", operand):
                inner = self.values(operand)
                return self._truth(~inner.is_true, inner.is_error)
            case ast.Binary("&&" | "||" as op, left, right):
                return self._connected(op, self.values(left), self.values(right))
            case ast.Binary("=" | "!=" as op, ast.Var(left), ast.Var(right)) if self._are_nodes(left, right):
                same = self.solutions.columns[left].keys == self.solutions.columns[right].keys
                return self._truth(same if op == "=" else ~same, np.zeros(len(same), np.bool_))
            case ast.Binary(op, ast.Call("STR", (ast.Var(left),)), ast.Call("STR", (ast.Var(right),))) if (
                op in COMPARISONS and self._are_nodes(left, right)
            ):
                return self._compared_by_iri(op, left, right)
            case ast.Binary(op, left, right) if op in ARITHMETIC:
                return self._computed(op, self.values(left), self.values(right))
            case ast.Binary(op, left, right) if op in COMPARISONS:
                return self._compared(op, self.values(left), self.values(right))
            case ast.Call("BOUND", (ast.Var(name),)):
                column = self.solutions.columns.get(name)
                is_bound = None if column is None else column.is_bound
                mask = np.full(self.solutions.size, column is not None) if is_bound is None else is_bound
                return self._truth(mask, np.zeros(len(mask), np.bool_))
            case ast.Call("COALESCE", arguments):
                return self._first([self.values(one) for one in arguments])
            case ast.Call("IF", (condition, then, otherwise)):
                return self._chosen(self.values(condition), self.values(then), self.values(otherwise))
            case ast.Call("ABS" | "CEIL" | "FLOOR" | "ROUND" as name, (argument,)):
                return self._rounded(name, self.values(argument))
        raise _DeclinedError

    # --- values of parts --------------------------------------------------------------------

    def _variable(self, variable: ast.Var) -> NumberValues:
        column = self.solutions.columns.get(variable.name)
        if column is None:
            return self._constant(0.0, NO_NUMBER)
        if (known := kinds_of(column)) is not None:
            return NumberValues(known[0], known[1])
        is_bound = column.is_bound
        places = np.arange(self.solutions.size) if is_bound is None else np.flatnonzero(is_bound)
        first = column.take(places[:1]).cells()
        if first and not _is_number(first[0]):  # otherwise every term would be made
            raise _DeclinedError
        integers = whole_numbers(column.take(places))
        if integers is None and self.asks:
            return self._asked(variable)
        if integers is None:
            raise _DeclinedError
        numbers, kinds = np.zeros(self.solutions.size), np.zeros(self.solutions.size, np.uint8)
        numbers[places], kinds[places] = integers, WHOLE
        return NumberValues(numbers, kinds)

    def _asked(self, expression: ast.Expression) -> NumberValues:
        """Numbers of any datatype as doubles, evaluated by Oxigraph."""
        column = self.evaluated(expression)
        if not _are_numbers(column):
            raise _DeclinedError
        if (integers := whole_numbers(column)) is not None:
            return NumberValues(integers, np.full(len(integers), WHOLE, np.uint8))
        cast = self.evaluated(ast.Call(CAST, (expression,)))
        if not isinstance(cast, TermColumn):
            raise _DeclinedError
        terms = cast.terms.tolist()
        if not all(type(term) is Literal and term.datatype == XSD_DOUBLE for term in terms):
            raise _DeclinedError
        numbers = np.array([float(term.value) for term in terms], np.float64)[cast.codes]
        return NumberValues(numbers, np.full(len(numbers), OTHER, np.uint8))

    def _constant(self, number: float, kind: int) -> NumberValues:
        size = self.solutions.size
        return NumberValues(np.full(size, number), np.full(size, kind, np.uint8))

    def _truth(self, is_true: Mask, is_error: Mask) -> NumberValues:
        return NumberValues(is_true.astype(np.float64), np.where(is_error, np.uint8(NO_NUMBER), np.uint8(TRUTH)))

    def _reads_doubles(self, expression: ast.Syntax) -> bool:
        return any(_has_doubles(self.solutions.columns.get(name)) for name in variables(expression))

    def _are_nodes(self, left: str, right: str) -> bool:
        """Whether two variables are nodes in every row."""
        a, b = self.solutions.ids(left), self.solutions.ids(right)
        if a is None or b is None or not len(a.ids):
            return False
        return int(a.ids.max()) < a.graph.n_nodes and int(b.ids.max()) < b.graph.n_nodes

    # --- operations -------------------------------------------------------------------------

    def _signed(self, op: str, inner: NumberValues) -> NumberValues:
        if (inner.kinds == OTHER).any():
            raise _DeclinedError
        kinds = np.where(inner.kinds == TRUTH, np.uint8(NO_NUMBER), inner.kinds)
        numbers = -inner.numbers if op == "-" else inner.numbers
        return NumberValues(np.where(kinds == WHOLE, numbers + 0.0, numbers), kinds)  # an integer is never -0

    def _computed(self, op: str, left: NumberValues, right: NumberValues) -> NumberValues:
        is_error = ~(left.is_number & right.is_number)
        is_double = (left.kinds == DOUBLE) | (right.kinds == DOUBLE)
        is_whole = (left.kinds == WHOLE) & (right.kinds == WHOLE) & (op != "/")
        if not (is_error | is_double | is_whole).all():
            raise _DeclinedError
        numbers = ARITHMETIC[op](left.numbers, right.numbers)
        numbers = np.where(is_double, numbers, numbers + 0.0)  # an integer is never -0
        exact = is_whole & ~is_error
        if exact.any() and not float(np.abs(numbers[exact]).max()) < EXACT:
            raise _DeclinedError
        kinds = np.where(is_error, np.uint8(NO_NUMBER), np.where(is_double, np.uint8(DOUBLE), np.uint8(WHOLE)))
        return NumberValues(numbers, kinds)

    def _compared(self, op: str, left: NumberValues, right: NumberValues) -> NumberValues:
        is_error = left.is_error | right.is_error
        together = left.is_number & right.is_number
        is_exact = (left.kinds == OTHER) | (right.kinds == OTHER)
        is_exact &= (left.kinds != DOUBLE) & (right.kinds != DOUBLE)
        if not (is_error | (together & ~is_exact)).all():
            raise _DeclinedError  # a truth value is compared, or two decimals
        if op not in ("=", "!="):
            is_error |= np.isnan(left.numbers) | np.isnan(right.numbers)  # Oxigraph gives NaN no place in the order
        return self._truth(COMPARISONS[op](left.numbers, right.numbers), is_error)

    def _compared_by_iri(self, op: str, left: str, right: str) -> NumberValues:
        """`STR(?a) < STR(?b)` of nodes, which takes each pair once: the order of IRIs is that of their texts."""
        a, b = self.solutions.ids(left), self.solutions.ids(right)
        assert a is not None and b is not None  # noqa: PT018
        ids = sorted_distinct(np.concatenate([a.ids, b.ids]))
        keys = a.graph.order_keys(ids, total=True) if a.graph is b.graph else None
        if keys is None or (a.graph.texts(ids).kinds != IRI_KIND).any():
            raise _DeclinedError
        one, other = (keys[ids.searchsorted(column.ids)] for column in (a, b))
        return self._truth(COMPARISONS[op](one, other), np.zeros(len(one), np.bool_))

    def _connected(self, op: str, left: NumberValues, right: NumberValues) -> NumberValues:
        if op == "&&":
            is_false = (~left.is_error & ~left.is_true) | (~right.is_error & ~right.is_true)
            return self._truth(left.is_true & right.is_true, ~is_false & (left.is_error | right.is_error))
        is_true = left.is_true | right.is_true
        return self._truth(is_true, ~is_true & (left.is_error | right.is_error))

    def _first(self, values: list[NumberValues]) -> NumberValues:
        found = self._constant(0.0, NO_NUMBER)
        for one in reversed(values):
            found = NumberValues(
                np.where(one.is_error, found.numbers, one.numbers), np.where(one.is_error, found.kinds, one.kinds)
            )
        return found

    def _chosen(self, condition: NumberValues, then: NumberValues, otherwise: NumberValues) -> NumberValues:
        kinds = np.where(condition.is_true, then.kinds, otherwise.kinds)
        numbers = np.where(condition.is_true, then.numbers, otherwise.numbers)
        return NumberValues(numbers, np.where(condition.is_error, np.uint8(NO_NUMBER), kinds))

    def _rounded(self, name: str, inner: NumberValues) -> NumberValues:
        if (inner.kinds == OTHER).any():
            raise _DeclinedError
        numbers = inner.numbers
        match name:
            case "ABS":
                numbers = np.abs(numbers)
            case "CEIL":
                numbers = np.ceil(numbers)
            case "FLOOR":
                numbers = np.floor(numbers)
            case "ROUND":  # halves go up, and the sign of a zero is that of its argument
                down = np.floor(numbers)
                numbers = np.copysign(down + (numbers - down >= 0.5), numbers)
        return NumberValues(numbers, np.where(inner.kinds == TRUTH, np.uint8(NO_NUMBER), inner.kinds))


def _is_choice(expression: ast.Expression) -> TypeGuard[ast.Iri | ast.Lit | ast.Call]:
    """Whether an expression is a text, an IRI, or an IF between such."""
    match expression:
        case ast.Iri() | ast.Lit(_, None, None):
            return True
        case ast.Call("IF", (_, then, otherwise)):
            return _is_choice(then) and _is_choice(otherwise)
    return False


def _has_doubles(column: Column | None) -> bool:
    """Whether a column has computed doubles."""
    known = None if column is None else kinds_of(column)
    return known is not None and known[2] is not whole


def _is_number(term: object) -> bool:
    return type(term) is Literal and term.datatype.value in NUMERIC


def _are_numbers(column: Column) -> bool:
    if isinstance(column, TermColumn):
        terms = column.terms.tolist()
    else:
        distinct = np.unique(column.keys, return_index=True)[1]
        terms = column.take(distinct).cells()
    return all(map(_is_number, terms))
