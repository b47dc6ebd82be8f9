"""Solution tables: what a graph pattern answers with, before anything is ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.rdf.terms import Term

Row: TypeAlias = tuple[Term | None, ...]
"""One solution: a term for each variable of its table, None where the variable is unbound."""


@dataclass(frozen=True)
class Solutions:
    """A multiset of solutions with named columns; duplicates count, as in SPARQL 1.1 section 18."""

    variables: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True)
class SolutionStream:
    """The same, row by row, for answers that must not be held in memory."""

    variables: tuple[str, ...]
    rows: Iterator[Row]

    def collect(self) -> Solutions:
        """Reads the stream to its end."""
        return Solutions(self.variables, list(self.rows))
