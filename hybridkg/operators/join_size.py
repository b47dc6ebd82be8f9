"""Expected compatible pairs of the rows of two operators, and the work of joining them.

As in graph/match/compatible.py, the sides are independent, the smaller value set of a variable is contained in the
larger, and a cell that may be unbound agrees with every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from hybridkg.interfaces.meter import Work
from hybridkg.operators.estimation_context import EstimationContext, VariableSize, cells, times

if TYPE_CHECKING:
    from hybridkg.operators.base import PhysicalOperator


LEAST_REMAINING = 0.1
"""Minimum share of the rows that a MINUS is taken to keep: that all are removed is seldom what a query asks for."""


PAIR_CELLS = 4.0
"""Rows of a column that one pair of a join costs: it is made, and a cell of each column is taken. 3.6 million pairs of
three columns take 0.7 s (2-core machine)."""


class JoinSize(NamedTuple):
    """Expected pairs, and the share of the left rows that are in one."""

    pairs: float
    matched: float


def join_size(
    left: PhysicalOperator, right: PhysicalOperator, shared: Sequence[str], estimates: EstimationContext
) -> JoinSize | None:
    """Expected pairs of the rows of two operators by their shared variables; None if the rows of one are unknown.

    Where the values of a variable are unknown, it is an entity: both sides have independent ones.
    """
    rows, others = estimates.rows(left), estimates.rows(right)
    if rows is None or others is None:
        return None
    pairs, matched = rows * others, 1.0
    for name in shared:
        mine, its = estimates.variable_size(left, name), estimates.variable_size(right, name)
        if mine is None or its is None:
            domain = max(1.0, estimates.entities or max(rows, others))
            bound, share = 1.0, min(1.0, (others if its is None else its.values) / domain)
        else:
            domain = max(1.0, mine.domain, its.domain)
            bound, share = (1.0 - mine.unbound) * (1.0 - its.unbound), min(1.0, its.values / domain)
        pairs *= 1.0 - bound + bound / domain
        matched *= 1.0 - bound + bound * share
    return JoinSize(pairs, min(matched, pairs / max(rows, 1.0), 1.0))


def join_work(left: float | None, right: float | None, joined: float | None) -> Work | None:
    """Expected work of a join over columns, by the rows of its sides and its own."""
    return cells(left, right, times(joined, PAIR_CELLS))


def joined_variable(sides: Sequence[VariableSize | None]) -> VariableSize | None:
    """A variable in the join of all sides; None if no side knows it.

    >>> joined_variable([VariableSize(9.0, 10.0, 0.5), VariableSize(4.0, 20.0), None])
    VariableSize(values=4.0, domain=20.0, unbound=0.0)
    """
    known = [size for size in sides if size is not None]
    if not known:
        return None
    values, domain = min(size.values for size in known), max(size.domain for size in known)
    return VariableSize(values, domain, prod(size.unbound for size in known))


def optional_variable(
    left: VariableSize | None, right: VariableSize | None, size: JoinSize | None
) -> VariableSize | None:
    """A variable in a left join; None for a side that lacks it.

    >>> optional_variable(None, VariableSize(4.0, 20.0), JoinSize(15.0, 0.75))
    VariableSize(values=4.0, domain=20.0, unbound=0.25)
    """
    one = right if left is None else left
    if one is None or right is None or size is None:
        return one
    alone = 1.0 - size.matched * (1.0 - right.unbound)
    return one._replace(unbound=alone if left is None else left.unbound * alone)


def optional_rows(rows: float | None, size: JoinSize | None) -> float | None:
    """Expected rows of a left join of `rows` left rows.

    >>> optional_rows(10.0, JoinSize(15.0, 0.5))
    20.0
    """
    return rows if rows is None or size is None else max(rows, size.pairs + rows * (1.0 - size.matched))


def remaining_rows(rows: float | None, size: JoinSize | None) -> float | None:
    """Expected rows of a MINUS of `rows` left rows, at least a tenth of them.

    >>> remaining_rows(10.0, JoinSize(15.0, 0.5))
    5.0
    """
    return rows if rows is None or size is None else rows * max(LEAST_REMAINING, 1.0 - size.matched)


def combinations(rows: PhysicalOperator, names: Sequence[str], estimates: EstimationContext) -> float | None:
    """Expected combinations of the values of some variables among the rows of an operator; None if unknown."""
    known, sizes = estimates.rows(rows), [estimates.variable_size(rows, name) for name in names]
    if known is None or None in sizes:
        return None
    return min(known, prod(max(1.0, size.values) for size in sizes if size is not None))
