"""What the engine asks of the statistics of a graph, and the figures that they consist of.

They describe what the projection holds (graph_index.py): each triple once, triple terms as objects left out. All
estimates are intervals with a best guess, so that a planner knows when not to rely on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hybridkg.interfaces.graph_index import Cardinality, Pattern
from hybridkg.rdf.terms import Term

Leg = tuple[str, Term | None]
"""A predicate of a star, and its object where that is a constant."""


@dataclass(frozen=True, slots=True)
class Degrees:
    """How many neighbours a key of one direction has: nearest-rank quantiles over the keys, all 0 without keys."""

    p50: int
    p90: int
    p99: int
    most: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """The triples whose value is in low..high, both included; no value is in two buckets.

    Args:
        low: the least value that occurs; a date counts as seconds since 1970.
        high: the greatest one.
        triples: at least 1.
        values: distinct literals among the objects, at least 1.
    """

    low: float
    high: float
    triples: int
    values: int


@dataclass(frozen=True)
class PredicateStatistics:
    """The triples of one predicate.

    Args:
        iri: the predicate.
        triples: how many.
        subjects: distinct ones.
        objects: distinct ones.
        kinds: triples by the kind of their object: `node`, or a segment of literals (`string`, `number` ...).
        outward: triples of a subject.
        inward: triples of an object.
        histograms: by segment (`number`, `date` ...), the buckets of its values, ascending.
        frequent: (object as N-Triples writes it, triples) of the most frequent objects that occur more than once,
            most frequent first. None where a term is too long to be kept.
    """

    iri: str
    triples: int
    subjects: int
    objects: int
    kinds: Mapping[str, int]
    outward: Degrees
    inward: Degrees
    histograms: Mapping[str, tuple[Bucket, ...]]
    frequent: tuple[tuple[str | None, int], ...]

    @property
    def nodes(self) -> int:
        """Triples whose object is a node."""
        return self.kinds.get("node", 0)

    @property
    def literals(self) -> int:
        """Triples whose object is a literal."""
        return self.triples - self.nodes


class GraphStatistics(Protocol):
    """Figures of a graph. Safe to use from many threads; answers take microseconds."""

    @property
    def triples(self) -> int:
        """How many there are."""

    @property
    def subjects(self) -> int:
        """Distinct ones."""

    def predicate(self, iri: str) -> PredicateStatistics | None:
        """What is known of a predicate; None for one that is too rare to be listed, or does not occur."""

    def triples_of(self, iri: str) -> Cardinality:
        """How many triples a predicate has."""

    def instances(self, class_iri: str) -> Cardinality:
        """How many subjects state that they are of a class."""

    def having(self, iri: str, value: Term) -> Cardinality:
        """How many triples of a predicate have an object."""

    def in_range(
        self,
        iri: str,
        segment: str,
        low: float | None = None,
        high: float | None = None,
        *,
        open_low: bool = False,
        open_high: bool = False,
    ) -> Cardinality:
        """How many triples of a predicate have a value of a segment in a range.

        Args:
            iri: the predicate.
            segment: `number`, or one of dates, whose values are seconds since 1970.
            low: the least value; None for no bound.
            high: the greatest value; None for no bound.
            open_low: `low` itself is outside.
            open_high: `high` itself is outside.
        """

    def values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """How many distinct values a variable has in the solutions of a pattern; None where nothing is known."""

    def rows(self, pattern: Pattern) -> float | None:
        """About how many solutions a pattern has; None where nothing is known."""

    def least_read(self, pattern: Pattern) -> float | None:
        """About how many triples an engine reads at least to find them; None where nothing is known."""

    def star(self, legs: Sequence[Leg]) -> Cardinality:
        """How many distinct subjects have all of these predicates, with these objects."""

    def star_rows(self, legs: Sequence[Leg]) -> Cardinality:
        """How many solutions the star has with a variable of its own for each object that is not a constant."""
