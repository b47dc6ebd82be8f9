"""A knowledge base as a search sees it: its queries, the names in its graph, and the statistics of its predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.entities.profile.labels import LABEL_PREDICATES, speaking
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.graph.schema import MAX_NAMES
from hybridkg.kb.labels import Labels
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.snapshot import Snapshot, snapshot_of
from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Node, Term
from hybridkg.rdf.well_known import shortened
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.graph.schema import Schema
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.kb.reading import ReadableKnowledgeBase

_CLASSES = (
    "SELECT ?class (COUNT(DISTINCT ?s) AS ?n) {{ ?s {predicate} ?class FILTER(isIRI(?class)) }} "
    f"GROUP BY ?class ORDER BY DESC(?n) ?class LIMIT {MAX_NAMES}"
)

MAX_TRIPLES_READ = 300_000
"""Sample of a graph without statistics whose names are read."""


def shown_prefixes(kb: ReadableKnowledgeBase) -> Mapping[str, str]:
    """The prefixes by which `search` and `node` shorten IRIs; a query has to declare those that are not kept."""
    return SearchedBase(kb, snapshot_of(kb), {}).prefixes


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
        """Runs a query by the facade, without warnings about aggregates: the least of no values has none."""
        return self.kb._answer(text, params, QueryOptions(name=name, **self.options), explains_blanks=False)

    def count(self, text: str) -> int:
        """The number that a query of one row and one column counts."""
        (number,) = self.query(text, name="count").cells[0]
        return int(number.value) if isinstance(number, Literal) else 0

    def labels_of(self, terms: Iterable[Term]) -> dict[Node, str]:
        """The label of each node that has one, by the label predicates of the profile in their order."""
        return Labels(self.snapshot.store, self.label_predicates).of(terms)

    def all_labels_of(self, terms: Iterable[Term]) -> dict[Node, list[str]]:
        """The labels of each node that has one, in every language."""
        return Labels(self.snapshot.store, self.label_predicates).all_of(terms)

    def types_of(self, nodes: Sequence[Node]) -> dict[Node, tuple[str, ...]]:
        """IRIs of the classes of each node that has one, by the predicates of hk:types, the rarest class first."""
        found: dict[Node, set[str]] = {}
        for node, _, kind in TripleLookups(self.snapshot.store).outgoing(nodes, self.type_predicates):
            if isinstance(kind, NamedNode):
                found.setdefault(node, set()).add(kind.value)
        counts = self.classes if found else {}
        return {node: tuple(sorted(own, key=lambda iri: (counts.get(iri, 0), iri))) for node, own in found.items()}

    def shortened(self, node: Node) -> str:
        """An IRI as a query would write it, or a blank node with its label."""
        return shortened(node.value, self.prefixes) if isinstance(node, NamedNode) else str(node)

    def class_names(self, classes: Iterable[str]) -> dict[str, str]:
        """How each class is shown: shortened, or by its label where its IRI ends in a code, such as wd:Q5."""
        shown = {iri: self.shortened(NamedNode(iri)) for iri in classes}
        codes = [NamedNode(iri) for iri in shown if not speaking([NamedNode(iri)])]
        labels = self.labels_of(codes) if codes else {}
        return {iri: labels.get(NamedNode(iri), name) for iri, name in shown.items()}

    @cached_property
    def classes(self) -> Mapping[str, int]:
        """Classes with the number of their instances, by the predicates of hk:types, most frequent first."""
        by_predicate = list(self.classes_by_predicate.values())
        found = {iri: n for classes in by_predicate for iri, n in classes.items()}
        several = [iri for iri in found if sum(iri in classes for classes in by_predicate) > 1]
        path = "|".join(f"<{iri}>" for iri in self.type_predicates)
        for iri in several:  # an instance may have a class twice
            found[iri] = self.count(f"SELECT (COUNT(DISTINCT ?s) AS ?n) {{ ?s {path} <{iri}> }}")
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def classes_by_predicate(self) -> Mapping[str, Mapping[str, int]]:
        """For each predicate of hk:types its classes."""
        return {iri: self.classes_by(iri) for iri in self.type_predicates}

    def classes_by(self, predicate: str) -> Mapping[str, int]:
        """The nodes with an IRI that a predicate leads to, with the number of their instances, most frequent first."""
        found = self.statistics
        if predicate == RDF_TYPE:
            return self._schema.classes if found is None or found.other_classes.names else found.classes
        if found is not None and not found.other_predicates.names and found.predicate(predicate) is None:
            return {}
        answer = self.query(_CLASSES.format(predicate=NamedNode(predicate)), name="classes")
        return {
            iri.value: int(n.value) for iri, n in answer.cells if isinstance(iri, NamedNode) and isinstance(n, Literal)
        }

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

    @property
    def type_predicates(self) -> tuple[str, ...]:
        """The predicates that lead to classes: those of hk:types."""
        profile = self.snapshot.profile
        return (RDF_TYPE,) if profile is None else profile.types

    @cached_property
    def _schema(self) -> Schema:
        from hybridkg.graph.schema import read_schema

        is_small = self.snapshot.quads <= MAX_TRIPLES_READ
        return read_schema(self.snapshot.store, sample=None if is_small else MAX_TRIPLES_READ)
