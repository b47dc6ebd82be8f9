"""Columnar solutions: columns of ids or numbers, whose rows become terms only when they are read.

A query that groups thousands of ranked rows and returns the ten best groups needs the terms of ten. Operators without a
columnar implementation use `rows`, which are equivalent.
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
"""Maximum cells for which making all terms is as fast as finding the distinct ones."""


class Column(Protocol):
    """Cells of one variable."""

    def cells(self) -> list[Term | None]:
        """Cells as terms, None for unbound."""

    def take(self, places: Places) -> Column:
        """Cells at some positions."""


@dataclass(frozen=True, eq=False)
class IdColumn:
    """Terms of the projection in the form of the store (rdf.stored): different ids are different terms for SPARQL.

    Args:
        ids: uint32[n], UNBOUND for unbound.
        terms: term of each id (GraphIndex.terms).
    """

    ids: Ids
    terms: Callable[[Ids], list[Term | None]]

    def cells(self) -> list[Term | None]:
        return _each_once(self.ids, self.terms)

    def take(self, places: Places) -> IdColumn:
        """As Column has it."""
        return replace(self, ids=self.ids[places])


def unbound(size: int) -> IdColumn:
    """Column without values."""
    return IdColumn(np.full(size, UNBOUND), lambda ids: [None] * len(ids))


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Column of numbers, all bound.

    Args:
        numbers: float64[n].
        literal: injective mapping of numbers to literals.
    """

    numbers: NDArray[np.float64]
    literal: Callable[[float], Literal]

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        bits = self.numbers.view(np.int64)  # distinguishes 0 from -0
        return _each_once(bits, lambda distinct: list(map(self.literal, distinct.view(np.float64).tolist())))

    def take(self, places: Places) -> NumberColumn:
        """As Column has it."""
        return replace(self, numbers=self.numbers[places])

    @property
    def is_plain(self) -> bool:
        """Whether the order of the numbers is that of their terms: no NaN, and not both 0 and -0."""
        zeros = self.numbers == 0
        signs = np.signbit(self.numbers[zeros])
        return not np.isnan(self.numbers).any() and (len(signs) == 0 or bool((signs == signs[0]).all()))


def _each_once(values: NDArray[N], make: Callable[[NDArray[N]], list[Term | None]]) -> list[Term | None]:
    """Terms of values, each made once if there are many."""
    if len(values) <= FEW_CELLS:
        return make(values)
    distinct, places = np.unique(values, return_inverse=True)
    terms = np.empty(len(distinct), object)
    terms[:] = make(distinct)
    cells: list[Term | None] = terms[places].tolist()
    return cells


Made: TypeAlias = Callable[[Sequence[Column], int], list[Row]]
"""Makes the rows of some columns of a given length (ExecutionContext.made)."""


class InColumns(Solutions):
    """Solutions whose rows are made on first access.

    Args:
        columns: by variable, of `size` cells each.
        size: number of rows, also without columns.
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
        return self._made(list(self.columns.values()), self._size)

    @property
    def size(self) -> int:
        return self._size

    def in_rows(self) -> Solutions:
        return Solutions(self.variables, self.rows)

    def select(self, names: Sequence[str]) -> InColumns:
        if tuple(names) == self.variables:
            return self
        held, size = self.columns, self._size
        return self.having({name: held[name] if name in held else unbound(size) for name in names})

    def take(self, places: Sequence[int] | Places) -> InColumns:
        at = np.asarray(places, np.intp)
        return self.having({name: column.take(at) for name, column in self.columns.items()}, len(at))

    def cells(self, name: str) -> list[Term | None]:
        return self.columns[name].cells() if name in self.columns else [None] * self._size

    def having(self, columns: Mapping[str, Column], size: int | None = None) -> InColumns:
        """Solutions with other columns, by default of the same length."""
        return InColumns(columns, self._size if size is None else size, self._made)

    def ids(self, name: str) -> IdColumn | None:
        """Column of ids; None for any other."""
        column = self.columns.get(name)
        return column if isinstance(column, IdColumn) else None

    def numbers(self, name: str) -> NumberColumn | None:
        """Column of numbers; None for any other."""
        column = self.columns.get(name)
        return column if isinstance(column, NumberColumn) else None
