"""Solutions held in columns of numbers, of which only the rows that somebody reads become terms.

A query that groups thousands of ranked rows and keeps the ten best groups needs the terms of ten. What an operator
does not do in columns it does with `rows`, which are there for whoever asks, and the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal, Term

N = TypeVar("N", bound=np.generic)
Places: TypeAlias = NDArray[np.intp]

FEW_CELLS = 64
"""So many terms are made, with repeats, as quickly as those that differ are found."""


class Column(Protocol):
    """The cells of one variable."""

    def cells(self) -> list[Term | None]:
        """The cells as terms, None where the variable is unbound."""

    def take(self, places: Places) -> Column:
        """Some of the cells."""


@dataclass(frozen=True, eq=False)
class IdColumn:
    """Terms of the projection, in the form of the store (rdf.stored): those of different ids differ for SPARQL, too.

    Args:
        ids: uint32[n], UNBOUND where the variable is unbound.
        terms: gives the term of each id (GraphIndex.terms).
    """

    ids: Ids
    terms: Callable[[Ids], list[Term | None]]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return _each_once(self.ids, self.terms)

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
        bits = self.numbers.view(np.int64)  # which tell 0 from -0
        return _each_once(bits, lambda distinct: list(map(self.literal, distinct.view(np.float64).tolist())))

    def take(self, places: Places) -> NumberColumn:
        """As Column has it."""
        return replace(self, numbers=self.numbers[places])

    @property
    def is_plain(self) -> bool:
        """Whether the order of the numbers is that of their terms: no NaN, and 0 not in both of its forms."""
        zeros = self.numbers == 0
        signs = np.signbit(self.numbers[zeros])
        return not np.isnan(self.numbers).any() and (len(signs) == 0 or bool((signs == signs[0]).all()))


def _each_once(values: NDArray[N], made: Callable[[NDArray[N]], list[Term | None]]) -> list[Term | None]:
    """The terms of numbers, of which each is made once where there are many."""
    if len(values) <= FEW_CELLS:
        return made(values)
    distinct, places = np.unique(values, return_inverse=True)
    terms = np.empty(len(distinct), object)
    terms[:] = made(distinct)
    found: list[Term | None] = terms[places].tolist()
    return found


Made: TypeAlias = Callable[[Sequence[Column], int], list[Row]]
"""Makes the rows of so many cells of some columns (ExecutionContext.made)."""


class InColumns(Solutions):
    """Solutions whose rows are made when they are first read.

    Args:
        columns: by variable, of `size` cells each.
        size: how many rows there are, also where there is no column.
        made: makes rows.

    >>> scores = NumberColumn(np.array([0.5, 2.0]), Literal)
    >>> InColumns({"s": scores}, 2, lambda columns, size: columns[0].cells()).take([1]).rows
    [<Literal value=2 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#double>>]
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
        held, size = self.columns, self._size
        return self.having({name: held[name] if name in held else unbound(size) for name in names})

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
