"""Serialization of triples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import RdfFormat, serialize

from hybridkg.rdf.terms import Triple

SYNTAXES = {
    "json-ld": RdfFormat.JSON_LD,
    "nt": RdfFormat.N_TRIPLES,
    "rdf-xml": RdfFormat.RDF_XML,
    "turtle": RdfFormat.TURTLE,
}
WITH_PREFIXES = ("rdf-xml", "turtle")


def serialized(triples: Iterable[Triple], syntax: str, prefixes: Mapping[str, str] | None = None) -> str:
    """The triples in a syntax of SYNTAXES, in their order; Turtle and RDF/XML with the given prefixes.

    >>> from hybridkg.rdf.terms import Literal, NamedNode
    >>> serialized([Triple(NamedNode("x:a"), NamedNode("x:p"), Literal("1"))], "nt")
    '<x:a> <x:p> "1" .\\n'
    """
    used = dict(prefixes) if prefixes and syntax in WITH_PREFIXES else None
    text = serialize(triples, format=SYNTAXES[syntax], prefixes=used)
    assert text is not None  # no output is given
    return text.decode()
