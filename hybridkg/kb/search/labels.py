"""Labels and types of nodes, read by one query for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Term
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

_QUERY = "SELECT ?node ?predicate ?value { ?node ?predicate ?value }"

PREFERRED_LANGUAGES = ("", "en")
"""Languages of labels that come before others."""


def labels_of(nodes: Sequence[Term], base: SearchedBase) -> dict[Term, str]:
    """The label of each node that has one, by the label predicates of the profile in their order."""
    return labels_and_types(nodes, base, with_types=False)[0]


def labels_and_types(
    nodes: Sequence[Term], base: SearchedBase, *, with_types: bool = True
) -> tuple[dict[Term, str], dict[Term, tuple[str, ...]]]:
    """(label of each node that has one, IRIs of its classes, the rarest class first)."""
    predicates = list(base.label_predicates)
    wanted = [*predicates, RDF_TYPE] if with_types else predicates
    iris = [node for node in dict.fromkeys(nodes) if isinstance(node, NamedNode)]
    if not iris:
        return {}, {}
    best: dict[Term, tuple[tuple[int, bool, str, str], str]] = {}
    types: dict[Term, set[str]] = {}
    result = base.query(_QUERY, {"node": iris, "predicate": [NamedNode(iri) for iri in wanted]}, name="labels")
    for node, predicate, value in result.cells:
        if node is None or not isinstance(predicate, NamedNode):
            continue
        if predicate.value == RDF_TYPE and isinstance(value, NamedNode):
            types.setdefault(node, set()).add(value.value)
        elif isinstance(value, Literal) and predicate.value in predicates and value.value.strip():
            tag = (value.language or "").lower()
            is_foreign = tag.partition("-")[0] not in PREFERRED_LANGUAGES
            order = predicates.index(predicate.value), is_foreign, tag, value.value
            if node not in best or order < best[node][0]:
                best[node] = order, " ".join(value.value.split())
    counts = base.classes if types else {}
    ordered = {node: tuple(sorted(own, key=lambda iri: (counts.get(iri, 0), iri))) for node, own in types.items()}
    return {node: label for node, (_, label) in best.items()}, ordered


def name_of(node: Term, labels: dict[Term, str], base: SearchedBase) -> str:
    """The label of a node, or its shortened IRI."""
    if node in labels:
        return labels[node]
    return shortened(node.value, base.prefixes) if isinstance(node, NamedNode) else str(node)


def short_names(iris: Iterable[str], base: SearchedBase) -> tuple[str, ...]:
    """IRIs of classes as a query would write them."""
    return tuple(shortened(iri, base.prefixes) for iri in iris)
