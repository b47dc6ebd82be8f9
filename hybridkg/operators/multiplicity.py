"""Rows that stand for several equal ones: the numbers of solutions of counted fragments (algebra.nodes.Fragment)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal

MAX_SOLUTIONS = 2.0**53
"""Numbers of solutions below this are exact in float64."""


def multiplicity(number: float) -> Literal:
    """Literal of a cell of a counted fragment: how many equal solutions a row stands for. An unbound cell means 1.

    >>> multiplicity(3.0).value
    '3'
    """
    return Literal(int(number))


def multiplicities(solutions: Solutions, counts: Sequence[str]) -> NDArray[np.float64] | None:
    """float64[rows]: for how many equal rows each row stands, the product of some columns; None for one each.

    Raises:
        QueryLimitError: more rows than a float64 counts exactly.
    """
    times: NDArray[np.float64] | None = None
    for name in set(counts).intersection(solutions.variables):
        if isinstance(solutions, InColumns) and (column := solutions.numbers(name)) is not None:
            own = column.numbers
        else:
            cells = solutions.cells(name)
            own = np.array([float(cell.value) if isinstance(cell, Literal) else 1.0 for cell in cells], np.float64)
        times = own if times is None else times * own
    if times is not None and float(times.sum()) >= MAX_SOLUTIONS:
        raise QueryLimitError(
            "the pattern has more than 2^53 solutions", hint="join its parts by a common variable, or add a condition"
        )
    return times


def repeated(
    solutions: Solutions, counts: Sequence[str], context: ExecutionContext, first: int | None = None
) -> Solutions:
    """Each row as many times as it stands for, without the columns that say so; with `first`, at least that many."""
    times, names = multiplicities(solutions, counts), [name for name in solutions.variables if name not in counts]
    solutions = solutions.select(names)
    if times is None:
        return solutions
    if first is not None:
        many = int(np.cumsum(times).searchsorted(first)) + 1
        solutions, times = solutions.part(0, many), np.minimum(times[:many], max(1, first))
    context.hold(int(times.sum()), len(names))
    places = np.arange(solutions.size).repeat(times.astype(np.int64))
    return solutions.take(places) if isinstance(solutions, InColumns) else solutions.take(places.tolist())
