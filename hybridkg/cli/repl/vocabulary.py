"""Names in the data for completion and `.schema`: predicates, classes, fields, namespaces.

They are read once a session, by one GROUP BY query each, from at most 2,000,000 triples (1.5 s on 2 cores), which have
every predicate that is worth completing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybridkg.rdf.namespaces import own_prefixes
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode
from hybridkg.rdf.well_known import WELL_KNOWN

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

MAX_TRIPLES = 2_000_000
"""Triples that are counted."""

MAX_NAMES = 1_000
"""Most frequent predicates, and classes, that are offered."""

Counts = tuple[tuple[str, int], ...]

_COUNT = (
    "SELECT ?name (COUNT(*) AS ?n) {{ {{ SELECT ?name {{ {pattern} }} LIMIT {triples} }} }} "
    "GROUP BY ?name ORDER BY DESC(?n) ?name LIMIT {names}"
)


@dataclass(frozen=True)
class CompletionVocabulary:
    """Names in the data, most frequent first.

    Args:
        predicates: (IRI, triples).
        classes: (IRI, instances).
        fields: (name, weight, b, entities, tokens, mean length in tokens) of the text index.
        prefixes: prefixes for namespaces of the data that no kept and no well-known prefix covers.
        cut: whether the graph has more triples, or names.
    """

    predicates: Counts = ()
    classes: Counts = ()
    fields: tuple[Mapping[str, Any], ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()
    cut: bool = False


NOTHING = CompletionVocabulary()
"""The vocabulary before the data has been read."""


def read_vocabulary(kb: KnowledgeBase) -> CompletionVocabulary:
    """Reads the names of a knowledge base, named graphs included."""
    stats = kb.stats()
    predicates = _counts(kb, "?s ?name ?o")
    classes = _counts(kb, f"?s <{RDF_TYPE}> ?name")
    if not predicates:
        predicates = _counts(kb, "GRAPH ?g { ?s ?name ?o }")
        classes = _counts(kb, f"GRAPH ?g {{ ?s <{RDF_TYPE}> ?name }}")
    cut = stats["triples"] > MAX_TRIPLES or MAX_NAMES in (len(predicates), len(classes))
    names = [iri for iri, _ in (*predicates, *classes)]
    prefixes = tuple(own_prefixes(names, {**WELL_KNOWN, **kb.prefixes}).items())
    return CompletionVocabulary(predicates, classes, tuple(stats["fields"]), prefixes, cut)


def _counts(kb: KnowledgeBase, pattern: str) -> Counts:
    result = kb.query(_COUNT.format(pattern=pattern, triples=MAX_TRIPLES, names=MAX_NAMES), name="vocabulary")
    counted = ((row.term("name"), row.term("n")) for row in result)
    return tuple(
        (name.value, int(n.value)) for name, n in counted if isinstance(name, NamedNode) and isinstance(n, Literal)
    )
