"""A knowledge base as a search sees it: its queries, the names in its graph, and the statistics of its predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.kb.labels import Labels
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Node, Term
from hybridkg.rdf.well_known import shortened
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

    def labels_of(self, terms: Iterable[Term]) -> dict[Node, str]:
        """The label of each node that has one, by the label predicates of the profile in their order."""
        return Labels(self.snapshot.store, self.label_predicates).of(terms)

    def types_of(self, nodes: Sequence[Node]) -> dict[Node, tuple[str, ...]]:
        """IRIs of the classes of each node that has one, the rarest class first."""
        found: dict[Node, set[str]] = {}
        for node, _, kind in TripleLookups(self.snapshot.store).outgoing(nodes, (RDF_TYPE,)):
            if isinstance(kind, NamedNode):
                found.setdefault(node, set()).add(kind.value)
        counts = self.classes if found else {}
        return {node: tuple(sorted(own, key=lambda iri: (counts.get(iri, 0), iri))) for node, own in found.items()}

    def shortened(self, node: Node) -> str:
        """An IRI as a query would write it, or a blank node with its label."""
        return shortened(node.value, self.prefixes) if isinstance(node, NamedNode) else str(node)

    @cached_property
    def classes(self) -> Mapping[str, int]:
        """Classes with the number of their instances, most frequent first."""
        found = self.statistics
        if found is not None and not found.other_classes.names:
            return found.classes
        return self._schema.classes

    def predicates(self) -> Mapping[str, int]:
        """Properties with the number of their triples."""
        found = self.statistics
        return self._schema.predicates if found is None else {one.iri: one.triples for one in found.predicates}

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
