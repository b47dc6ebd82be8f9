"""Vectorized rank scores, from arrays of scores, for the selection of rows that the ranking then orders.

Selection and order may differ in the last bit: for an expression other than a single score, a strategy selects a little
more than needed (`SLACK`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from hybridkg.query import ast
from hybridkg.rdf.terms import XSD

if TYPE_CHECKING:
    from hybridkg.interfaces.text_index import Scores

SLACK = 1e-9
"""Maximum relative difference between a rank score computed here and by Oxigraph."""

LEAST = -1.7976931348623157e308
"""Rank score that is NaN or below the range: the minimum, and not -inf, which means that nothing is missing."""

_NUMBERS = frozenset(XSD + name for name in ("integer", "decimal", "double"))

_STRING = XSD + "string"

Lists = Mapping[ast.RankFunction, "Scores"]
"""Precomputed values of the rank functions."""


@dataclass(frozen=True)
class RankValue:
    """Expression of RANK BY over scores and numbers.

    Args:
        expression: as written.
        of: rank scores float64[n], from float64[n] for each score and for each rank function; LEAST for NaN.
        plain: whether it is a single score, so that equal scores are equal rank scores and vice versa.
        rising: whether it is monotonic in every score, so that lists can end early.
        functions: its functions of all surviving scores.
        fuses: whether it is monotonic in the scores that the functions read.
    """

    expression: ast.Expression
    of: Callable[[Mapping[str, Any], Lists], Any]
    plain: bool
    rising: bool
    functions: tuple[ast.RankFunction, ...]
    fuses: bool

    def slack(self, value: float) -> float:
        """Margin by which a rank score must be below `value` to be certainly lower."""
        return 0.0 if self.plain else abs(value) * SLACK


def rank_value(expression: ast.Expression, scores: frozenset[str]) -> RankValue | None:
    """Vectorized expression; None if it has more than scores, numbers, lengths of constant texts, and arithmetic.

    >>> twice = ast.Binary("*", ast.Lit("2", XSD + "integer"), ast.Var("s"))
    >>> value = rank_value(twice, frozenset({"s"}))
    >>> float(value.of({"s": 1.5}, {})), value.rising
    (3.0, True)
    """
    functions: dict[ast.RankFunction, None] = {}
    built = _built(expression, scores, functions)
    if built is None:
        return None
    of, rising, _ = built
    if isinstance(expression, ast.Var):
        return RankValue(expression, of, True, True, (), True)

    def numbers(values: Mapping[str, Any], lists: Lists) -> Any:
        import numpy as np

        with np.errstate(all="ignore"):  # large numbers overflow for Oxigraph as well
            return np.nan_to_num(of(values, lists), nan=LEAST, posinf=inf, neginf=LEAST)

    return RankValue(expression, numbers, False, rising and not functions, tuple(functions), rising)


def least_score(number: ast.Expression) -> float:
    """A score below which a comparison with a number fails for certain; -inf for any other expression.

    >>> least_score(ast.Lit("3", XSD + "integer")) < 3.0, least_score(ast.Lit("3"))
    (True, -inf)
    """
    match number:
        case ast.Lit(lexical, datatype) if datatype in _NUMBERS and (value := _finite(lexical)) is not None:
            return value - abs(value) * SLACK
    return -inf


_Built = tuple[Callable[[Mapping[str, Any], Lists], Any], bool, float | None]
"""Function, whether it is monotonic in every score, and its value if it is a constant."""


def _built(
    expression: ast.Expression, scores: frozenset[str], functions: dict[ast.RankFunction, None]
) -> _Built | None:
    match expression:
        case ast.Var(name) if name in scores:
            return (lambda values, lists: values[name]), True, None
        case ast.Lit(lexical, datatype) if datatype in _NUMBERS:
            number = _finite(lexical)
            return None if number is None else _constant(number)
        case ast.Call("STRLEN", (ast.Lit(text, datatype),)) if datatype in (None, _STRING):
            return _constant(float(len(text)))  # the text of a MATCH or NEAR, mostly
        case ast.RankFunction():
            functions[expression] = None
            return (lambda values, lists: lists[expression]), True, None  # a law of Fusion
        case ast.Unary("+", operand):
            return _built(operand, scores, functions)
        case ast.Unary("-", operand):
            below = _built(operand, scores, functions)
            if below is None:
                return None
            of, _, constant = below
            return (lambda values, lists: -of(values, lists)), constant is not None, _negative(constant)
        case ast.Binary(op, left, right) if op in ("+", "-", "*", "/"):
            a, b = _built(left, scores, functions), _built(right, scores, functions)
            return None if a is None or b is None else _combined(op, a, b)
    return None


def _constant(number: float) -> _Built:
    return (lambda values, lists: number), True, number


def _finite(lexical: str) -> float | None:
    try:
        number = float(lexical)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _negative(number: float | None) -> float | None:
    return None if number is None else -number


def _combined(op: str, a: _Built, b: _Built) -> _Built | None:
    left, left_rises, left_number = a
    right, right_rises, right_number = b
    if left_number is not None and right_number is not None:
        return None  # integers divide into decimals
    match op:
        case "+":
            return (lambda v, f: left(v, f) + right(v, f)), left_rises and right_rises, None
        case "-":
            return (lambda v, f: left(v, f) - right(v, f)), left_rises and right_number is not None, None
        case "*":
            rises = ((left_number or 0.0) > 0 and right_rises) or ((right_number or 0.0) > 0 and left_rises)
            return (lambda v, f: left(v, f) * right(v, f)), rises, None
    if right_number is None or right_number == 0:
        return None  # a division by a score may be an error
    return (lambda v, f: left(v, f) / right(v, f)), left_rises and right_number > 0, None
