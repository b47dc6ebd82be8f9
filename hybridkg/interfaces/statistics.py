"""The statistics protocol of a graph, and its figures.

They describe the contents of the projection (graph_index.py): each triple once, without triple terms as objects. All
estimates are intervals, whose width shows a planner how reliable they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hybridkg.interfaces.graph_index import Cardinality, Pattern
from hybridkg.rdf.terms import Term

Leg = tuple[str, Term | None]
"""A predicate of a star, and its object if that is a constant."""


@dataclass(frozen=True, slots=True)
class Degrees:
    """The degrees of one direction: nearest-rank quantiles over the keys, all 0 without keys."""

    p50: int
    p90: int
    p99: int
    most: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """A histogram bucket: the triples whose value is in low..high, both included; buckets are disjoint.

    Args:
        low: the minimum of its values; a date counts as seconds since 1970.
        high: the maximum.
        triples: at least 1.
        values: distinct literals among the objects, at least 1.
    """

    low: float
    high: float
    triples: int
    values: int


@dataclass(frozen=True)
class PredicateStatistics:
    """The statistics of one predicate.

    Args:
        iri: the predicate.
        triples: their number.
        subjects: distinct ones.
        objects: distinct ones.
        kinds: triples by the kind of their object: `node`, or a segment of literals (`string`, `number` ...).
        outward: triples per subject.
        inward: triples per object.
        histograms: by segment (`number`, `date` ...), the buckets of its values, ascending.
        frequent: (object in N-Triples, triples) of the most frequent objects that occur more than once, most frequent
            first; None for a term that is too long to be stored.
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
    """Statistics of a graph. Safe to use from many threads; requests take microseconds."""

    @property
    def triples(self) -> int: ...

    @property
    def subjects(self) -> int:
        """Distinct subjects."""

    def predicate(self, iri: str) -> PredicateStatistics | None:
        """The statistics of a predicate; None for one that is too rare to be listed, or does not occur."""

    def triples_of(self, iri: str) -> Cardinality:
        """The triples of a predicate."""

    def instances(self, class_iri: str) -> Cardinality:
        """Subjects that have a class as a type."""

    def having(self, iri: str, value: Term) -> Cardinality:
        """The triples of a predicate with a given object."""

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
        """The triples of a predicate with a value of a segment (`number`, or dates in seconds since 1970) in a range.

        None is no bound; `open_low` and `open_high` exclude the bound itself.
        """

    def values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """The distinct values of a variable in the solutions of a pattern; None without an estimate."""

    def rows(self, pattern: Pattern) -> float | None:
        """The solutions of a pattern; None without an estimate."""

    def least_read(self, pattern: Pattern) -> float | None:
        """Estimated minimum of the triples that an engine reads to find the solutions; None without an estimate."""

    def star(self, legs: Sequence[Leg]) -> Cardinality:
        """The distinct subjects with all of these predicates and constant objects."""

    def star_rows(self, legs: Sequence[Leg]) -> Cardinality:
        """The solutions of a star with a variable of its own for each object that is not a constant."""
