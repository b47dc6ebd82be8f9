"""A knowledge base as a search sees it: its queries, the names in its graph, and the statistics of its predicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import Literal
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.graph.schema import Schema
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.kb.reading import ReadableKnowledgeBase

MAX_TRIPLES_READ = 300_000
"""Sample of a graph without statistics whose names are read."""


@dataclass(frozen=True)
class SearchedBase:
    """A knowledge base during one search.

    Args:
        kb: answers the queries.
        snapshot: its open generation.
        options: time limit and cancellation of each query.
    """

    kb: ReadableKnowledgeBase
    snapshot: Snapshot
    options: Mapping[str, Any]

    def query(self, text: str, params: Mapping[str, Any] | None = None, *, name: str = "search") -> ResultSet:
        """Runs a query by the facade."""
        return self.kb.query(text, params, name=name, **self.options)

    def count(self, text: str) -> int:
        """The number that a query of one row and one column counts."""
        (number,) = self.query(text, name="count").cells[0]
        return int(number.value) if isinstance(number, Literal) else 0

    @cached_property
    def classes(self) -> Mapping[str, int]:
        """Classes with the number of their instances, most frequent first."""
        found = self.statistics
        if found is not None and not found.other_classes.names:
            return found.classes
        return self._schema.classes

    @cached_property
    def prefixes(self) -> Mapping[str, str]:
        """Kept and well-known prefixes, and prefixes for the other namespaces of the data."""
        found = self.statistics
        if found is not None:
            names = [predicate.iri for predicate in found.predicates] + list(found.classes)
        else:
            names = [*self._schema.predicates, *self._schema.classes]
        known = self.snapshot.prefixes
        return {**known, **own_prefixes(names, known)}

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the graph; None where there are none."""
        return self.snapshot.statistics

    @property
    def label_predicates(self) -> tuple[str, ...]:
        """The predicates that name a node, in order of preference."""
        profile = self.snapshot.profile
        return LABEL_PREDICATES if profile is None else profile.labels

    @cached_property
    def _schema(self) -> Schema:
        from hybridkg.graph.schema import read_schema

        is_small = self.snapshot.quads <= MAX_TRIPLES_READ
        return read_schema(self.snapshot.store, sample=None if is_small else MAX_TRIPLES_READ)
