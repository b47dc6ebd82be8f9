"""Numbers of which some are unbound, as the scores of an OPTIONAL or of one branch of a UNION."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.columns import Column, NumberColumn, TermColumn
from hybridkg.operators.partition import Keys, Places, partition
from hybridkg.rdf.terms import Literal, Term

T = TypeVar("T")

UNBOUND_BITS = np.int64(0x7FF0_0000_0000_0001)
"""Bits of a signalling NaN, which no arithmetic gives, so that they are the key of unbound cells alone."""


def nullable(numbers: NDArray[np.float64], is_bound: NDArray[np.bool_], literal: Callable[[float], Literal]) -> Column:
    """Column of numbers, unbound where `is_bound` is False."""
    return NumberColumn(numbers, literal) if is_bound.all() else NullableNumbers(numbers, is_bound, literal)


@dataclass(frozen=True, eq=False)
class NullableNumbers:
    """Column of numbers and unbound cells; a term is made only for a cell that is read.

    Args:
        numbers: float64[n]; those of unbound cells have no meaning.
        is_bound: bool[n].
        literal: injective mapping of numbers to literals.

    >>> from hybridkg.rdf.terms import double
    >>> NullableNumbers(np.array([0.5, 0.0]), np.array([True, False]), double).cells()
    [<Literal value=0.5 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#double>>, None]
    """

    numbers: NDArray[np.float64]
    is_bound: NDArray[np.bool_]
    literal: Callable[[float], Literal]

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        return np.where(self.is_bound, self.numbers.view(np.int64), UNBOUND_BITS)

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        return not bool(self.is_bound.all())

    @cached_property
    def _terms(self) -> TermColumn:
        place, first = partition([self.keys], len(self.numbers))
        return TermColumn.of(self.take(first).cells(), place)

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        bound = NumberColumn(self.numbers[self.is_bound], self.literal)
        if not np.isfinite(bound.numbers).all() or (total and not bound.is_plain):
            return self._terms.order(total=total)
        return np.where(self.is_bound, self.numbers, -np.inf)

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return self._filled(NumberColumn(self.numbers[self.is_bound], self.literal).cells(), None)

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        return self._filled(NumberColumn(self.numbers[self.is_bound], self.literal).mapped(make), make(None))

    def _filled(self, values: list[T], absent: T) -> list[T]:
        """The values of the bound cells in their places, and one for all others."""
        bound = iter(values)
        return [next(bound) if is_bound else absent for is_bound in self.is_bound.tolist()]

    def take(self, places: Places) -> Column:
        """As Column has it."""
        return nullable(self.numbers[places], self.is_bound[places], self.literal)

    def each(self) -> tuple[Column, Places]:
        """As Column has it."""
        place, first = partition([self.keys], len(self.numbers))
        return self.take(first), place

    def texts(self) -> None:
        """As Column has it."""


def together(columns: list[Column]) -> Column | None:
    """The cells of several columns, one after the other, as numbers; None where some are other terms."""
    numbers = [one for one in columns if isinstance(one, NumberColumn | NullableNumbers)]
    if not numbers or any(one.literal is not numbers[0].literal for one in numbers):
        return None
    if not all(isinstance(one, NumberColumn | NullableNumbers) or _is_unbound(one) for one in columns):
        return None
    parts = [
        one.numbers if isinstance(one, NumberColumn | NullableNumbers) else np.zeros(len(one.keys)) for one in columns
    ]
    is_bound = [
        np.ones(len(one.numbers), np.bool_) if isinstance(one, NumberColumn)
        else one.is_bound if isinstance(one, NullableNumbers)
        else np.zeros(len(one.keys), np.bool_)
        for one in columns
    ]  # fmt: skip
    return nullable(np.concatenate(parts), np.concatenate(is_bound), numbers[0].literal)


def _is_unbound(column: Column) -> bool:
    """Whether no cell is bound."""
    is_bound = column.is_bound
    return is_bound is not None and not bool(is_bound.any())
