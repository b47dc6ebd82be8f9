"""Solution tables: the results of graph patterns, before ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias, TypeVar

from hybridkg.rdf.terms import Term

T = TypeVar("T")

Row: TypeAlias = tuple[Term | None, ...]
"""One solution: a term for each variable of its table, None where the variable is unbound."""


@dataclass(frozen=True)
class Solutions:
    """A multiset of solutions with named columns; duplicates count (SPARQL 1.1, section 18)."""

    variables: tuple[str, ...]
    rows: list[Row]

    @property
    def size(self) -> int:
        """Number of rows; `rows` may have to make them first (operators/columns.py)."""
        return len(self.rows)

    def in_rows(self) -> Solutions:
        """The same solutions with materialised rows."""
        return self

    def select(self, names: Sequence[str]) -> Solutions:
        """The named columns, in this order; a missing one is unbound.

        >>> Solutions(("a", "b"), [("cell of a", "cell of b")]).select(["b", "c"]).rows
        [('cell of b', None)]
        """
        columns = tuple(names)
        if columns == self.variables:
            return self
        at = [self.variables.index(name) if name in self.variables else None for name in columns]
        return Solutions(columns, [tuple([None if i is None else row[i] for i in at]) for row in self.rows])

    def take(self, places: Sequence[int]) -> Solutions:
        """The rows at some positions, in this order."""
        return Solutions(self.variables, [self.rows[n] for n in places])

    def part(self, first: int, end: int | None) -> Solutions:
        """The rows first..end (exclusive), all that are left for None."""
        return Solutions(self.variables, self.rows[first:end])

    def cells(self, name: str) -> list[Term | None]:
        """One column; all None if it is missing."""
        if name not in self.variables:
            return [None] * self.size
        at = self.variables.index(name)
        return [row[at] for row in self.rows]

    def mapped(self, name: str, make: Callable[[Term | None], T]) -> list[T]:
        """The value of a function for each cell of a column; it is called at least once for each distinct cell."""
        return list(map(make, self.cells(name)))

    def mapped_rows(self, makes: Sequence[Callable[[Term | None], T]]) -> Iterator[tuple[T, ...]]:
        """Rows of the first columns, with the value of a function, one for each column, in place of each cell.

        >>> list(Solutions(("a", "b"), [(None, None)]).mapped_rows([str]))
        [('None',)]
        """
        size = self.size
        if not (makes and size):
            return repeat((), size)
        columns = [self.mapped(name, make) for name, make in zip(self.variables, makes, strict=False)]
        return zip(*columns, strict=True)


@dataclass(frozen=True)
class SolutionStream:
    """Solutions row by row, for results that must not be held in memory."""

    variables: tuple[str, ...]
    rows: Iterator[Row]

    def collect(self) -> Solutions:
        """Reads the stream to its end."""
        return Solutions(self.variables, list(self.rows))
