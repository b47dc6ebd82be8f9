"""Columns of doubles, integers and unbound cells, as of `COALESCE(?score, 0)` or of the scores of an OPTIONAL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.columns import Column, NumberColumn, TermColumn
from hybridkg.operators.partition import Keys, Places, partition
from hybridkg.rdf.terms import Literal, Term, double

T = TypeVar("T")

NO_NUMBER, WHOLE, DOUBLE = 0, 1, 2
"""Kinds of cells: unbound, xsd:integer, xsd:double."""

UNBOUND_BITS = np.int64(0x7FF0_0000_0000_0001)
"""Bits of a signalling NaN, which no arithmetic gives, so that they are the key of unbound cells alone."""


def written(number: float) -> Literal:
    """Literal of a computed double as Oxigraph writes it: without exponent, and without a point if integral.

    >>> [written(number).value for number in (12.0, 0.1, 1e21, -2.5e-7)]
    ['12', '0.1', '1000000000000000000000', '-0.00000025']
    """
    return Literal(float(number))  # Oxigraph's own digits: where two shortest forms are as near, Python takes the other


def whole(number: float) -> Literal:
    """Literal of an integer."""
    return Literal(int(number))


def mixed(numbers: NDArray[np.float64], kinds: NDArray[np.uint8], literal: Callable[[float], Literal]) -> Column:
    """Column of numbers of some kinds; `literal`, `double` or `written`, makes the doubles."""
    if (kinds == DOUBLE).all():
        return NumberColumn(numbers, literal)
    if (kinds == WHOLE).all():
        return NumberColumn(numbers + 0.0, whole)  # no -0
    return MixedNumbers(np.where(kinds == WHOLE, numbers + 0.0, numbers), kinds, literal)


@dataclass(frozen=True, eq=False)
class MixedNumbers:
    """Column of numbers of different kinds; a term is made only for a cell that is read.

    Args:
        numbers: float64[n]; integers are below 2^53, and the numbers of unbound cells have no meaning.
        kinds: uint8[n], of NO_NUMBER, WHOLE and DOUBLE.
        literal: injective mapping of doubles to literals.

    >>> column = MixedNumbers(np.array([0.5, 7.0, 0.0]), np.array([DOUBLE, WHOLE, NO_NUMBER], np.uint8), double)
    >>> [term and term.value for term in column.cells()]
    ['0.5', '7', None]
    """

    numbers: NDArray[np.float64]
    kinds: NDArray[np.uint8]
    literal: Callable[[float], Literal]

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        keys = np.where(self.kinds == NO_NUMBER, UNBOUND_BITS, self.numbers.view(np.int64))
        return partition([keys, self.kinds], len(keys))[0] if (self.kinds == WHOLE).any() else keys

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """As Column has it."""
        is_bound = self.kinds != NO_NUMBER
        return None if is_bound.all() else is_bound

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        return self.is_bound is not None

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        is_bound, is_whole = self.kinds != NO_NUMBER, self.kinds == WHOLE
        bound = NumberColumn(self.numbers[is_bound], self.literal)
        values = np.where(is_bound, self.numbers, -np.inf)
        if not np.isfinite(bound.numbers).all():
            return self._terms.order(total=total)
        if total and (not bound.is_plain or np.isin(values[is_whole], values[self.kinds == DOUBLE]).any()):
            return self._terms.order(total=True)
        return values

    @cached_property
    def _terms(self) -> TermColumn:
        place, first = partition([self.keys], len(self.numbers))
        return TermColumn.of(self.take(first).cells(), place)

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return self._each_kind(NumberColumn.cells, None)

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        return self._each_kind(lambda column: column.mapped(make), make(None))

    def _each_kind(self, values_of: Callable[[NumberColumn], list[T]], absent: T) -> list[T]:
        """The values of the cells of each kind in their places, and one for all unbound cells."""
        found = [absent] * len(self.kinds)
        for kind, literal in ((WHOLE, whole), (DOUBLE, self.literal)):
            places = np.flatnonzero(self.kinds == kind)
            values = values_of(NumberColumn(self.numbers[places], literal))
            for place, value in zip(places.tolist(), values, strict=True):
                found[place] = value
        return found

    def take(self, places: Places) -> Column:
        """As Column has it."""
        return mixed(self.numbers[places], self.kinds[places], self.literal)

    def each(self) -> tuple[Column, Places]:
        """As Column has it."""
        place, first = partition([self.keys], len(self.numbers))
        return self.take(first), place

    def texts(self) -> None:
        """As Column has it."""


def together(columns: Sequence[Column]) -> Column | None:
    """The cells of several columns, one after the other, as numbers; None where some are other terms."""
    parts = [kinds_of(column) for column in columns]
    known = [part for part in parts if part is not None]
    literals = {literal for _, _, literal in known if literal is not whole}
    if len(known) < len(parts) or len(literals) > 1 or not any(kinds.any() for _, kinds, _ in known):
        return None
    numbers, kinds = (np.concatenate([part[at] for part in known]) for at in (0, 1))
    return mixed(numbers, kinds, literals.pop() if literals else double)


Kinds = tuple[NDArray[np.float64], NDArray[np.uint8], Callable[[float], Literal]]
"""(numbers, kinds, literal) of cells, as MixedNumbers has them; `whole` where no cell is a double."""


def kinds_of(column: Column) -> Kinds | None:
    """The numbers of a column whose cells are numbers of known kinds or unbound; None for other columns."""
    if isinstance(column, MixedNumbers):
        return column.numbers, column.kinds, column.literal
    if isinstance(column, NumberColumn):
        if column.literal not in (double, written, whole):
            return None
        kind = WHOLE if column.literal is whole else DOUBLE
        return column.numbers, np.full(len(column.numbers), kind, np.uint8), column.literal
    is_bound = column.is_bound
    if is_bound is None or is_bound.any():
        return None
    return np.zeros(len(is_bound)), np.zeros(len(is_bound), np.uint8), whole
