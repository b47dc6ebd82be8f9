"""Solutions held in columns of numbers, of which only the rows that somebody reads become terms.

A query that groups thousands of ranked rows and keeps the ten best groups needs the terms of ten. What an operator
does not do in columns it does with `rows`, which are there for whoever asks, and the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.rdf.batch import Row, Solutions
from hybridkg.rdf.terms import Literal, Term

Places: TypeAlias = NDArray[np.intp]

FEW_CELLS = 32
"""So many ids are looked up, with repeats, as quickly as those that differ are found."""


class Column(Protocol):
    """The cells of one variable: two are the same term where their numbers in the column are."""

    def cells(self) -> list[Term | None]:
        """The cells as terms, None where the variable is unbound."""

    def take(self, places: Places) -> Column:
        """Some of the cells."""


@dataclass(frozen=True, eq=False)
class IdColumn:
    """Terms of the projection, which have the form of the store (rdf.stored).

    Args:
        ids: uint32[n], UNBOUND where the variable is unbound.
        terms: gives the term of each id (GraphIndex.terms).
    """

    ids: Ids
    terms: Callable[[Ids], list[Term | None]]

    def cells(self) -> list[Term | None]:
        """As Column has it; where there are many, each distinct id is looked up once."""
        if len(self.ids) <= FEW_CELLS:
            return self.terms(self.ids)
        distinct, places = np.unique(self.ids, return_inverse=True)
        terms = np.empty(len(distinct), object)
        terms[:] = self.terms(distinct)
        found: list[Term | None] = terms[places].tolist()
        return found

    def take(self, places: Places) -> IdColumn:
        """As Column has it."""
        return replace(self, ids=self.ids[places])


def unbound(size: int) -> IdColumn:
    """A column without values."""
    return IdColumn(np.full(size, UNBOUND), lambda ids: [None] * len(ids))


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers, each bound.

    Args:
        numbers: float64[n].
        literal: how a number is written: what differs is written in different ways.
    """

    numbers: NDArray[np.float64]
    literal: Callable[[float], Literal]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return [self.literal(number) for number in self.numbers.tolist()]

    def take(self, places: Places) -> NumberColumn:
        """As Column has it."""
        return replace(self, numbers=self.numbers[places])

    @property
    def is_plain(self) -> bool:
        """Whether the order of the numbers is that of their terms: no NaN, and 0 not in both of its forms."""
        zeros = self.numbers == 0
        signs = np.signbit(self.numbers[zeros])
        return not np.isnan(self.numbers).any() and (len(signs) == 0 or bool((signs == signs[0]).all()))


Made: TypeAlias = Callable[[Sequence[Column], int], list[Row]]
"""Makes the rows of so many cells of some columns (ExecutionContext.made)."""


class InColumns(Solutions):
    """Solutions whose rows are made when they are first read.

    Args:
        columns: by variable, of `size` cells each.
        size: how many rows there are, also where there is no column.
        made: makes rows.
    """

    def __init__(self, columns: Mapping[str, Column], size: int, made: Made):
        object.__setattr__(self, "variables", tuple(columns))
        self.columns, self._size, self._made = columns, size, made

    @cached_property
    def rows(self) -> list[Row]:
        """As Solutions has them."""
        return self._made(list(self.columns.values()), self._size)

    @property
    def size(self) -> int:
        """As Solutions has it."""
        return self._size

    def in_rows(self) -> Solutions:
        """As Solutions has it."""
        return Solutions(self.variables, self.rows)

    def select(self, names: Sequence[str]) -> InColumns:
        """As Solutions has it."""
        if tuple(names) == self.variables:
            return self
        return self.having({name: self.columns.get(name, unbound(self._size)) for name in names})

    def take(self, places: Sequence[int] | Places) -> InColumns:
        """As Solutions has it."""
        at = np.asarray(places, np.intp)
        return self.having({name: column.take(at) for name, column in self.columns.items()}, len(at))

    def cells(self, name: str) -> list[Term | None]:
        """As Solutions has it."""
        return self.columns[name].cells() if name in self.columns else [None] * self._size

    def having(self, columns: Mapping[str, Column], size: int | None = None) -> InColumns:
        """Other columns, of as many cells where nothing else is said."""
        return InColumns(columns, self._size if size is None else size, self._made)

    def ids(self, name: str) -> IdColumn | None:
        """A column of ids; None where it is none."""
        column = self.columns.get(name)
        return column if isinstance(column, IdColumn) else None

    def numbers(self, name: str) -> NumberColumn | None:
        """A column of numbers; None where it is none."""
        column = self.columns.get(name)
        return column if isinstance(column, NumberColumn) else None
