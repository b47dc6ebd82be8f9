"""Predicates that may lead from a node to its classes, besides what a profile lists in hk:types."""

from __future__ import annotations

from hybridkg.rdf.terms import RDF_TYPE

TYPING_PREDICATES = (
    RDF_TYPE,
    "http://www.wikidata.org/prop/direct/P31",
    "http://schema.org/additionalType",
    "https://schema.org/additionalType",
    "http://purl.org/dc/terms/type",
    "http://purl.org/dc/elements/1.1/type",
)
"""A suggested profile lists those with links, and a search names one where --type needs it."""
