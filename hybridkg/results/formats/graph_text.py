"""The RDF forms of the graph of a CONSTRUCT or DESCRIBE; raise UnsupportedQueryError for rows."""

from __future__ import annotations

import re
from typing import TextIO

from hybridkg.errors import UnsupportedQueryError
from hybridkg.rdf.serialize import serialized
from hybridkg.rdf.terms import Literal, Triple
from hybridkg.results.formats.sparql_xml import NO_XML
from hybridkg.results.result_set import ResultSet

XML_NAME = re.compile(r"[^\W\d][\w.\-\N{MIDDLE DOT}]*\Z")
"""A name at the end of a predicate, which is the name of its element."""


def write_turtle(result: ResultSet, out: TextIO) -> None:
    """Writes Turtle (RDF 1.1) with the prefixes of the query, triples in the result's order."""
    out.write(serialized(result.graph_triples(), "turtle", dict(result._prefixes)))


def write_ntriples(result: ResultSet, out: TextIO) -> None:
    """Writes N-Triples (RDF 1.1), a line for each triple, in the result's order."""
    out.write(serialized(result.graph_triples(), "nt"))


def write_json_ld(result: ResultSet, out: TextIO) -> None:
    """Writes JSON-LD 1.1, expanded, with a line end."""
    out.write(serialized(result.graph_triples(), "json-ld").rstrip("\n") + "\n")


def write_rdf_xml(result: ResultSet, out: TextIO) -> None:
    """Writes RDF/XML (RDF 1.1) with the prefixes of the query.

    Raises:
        UnsupportedQueryError: the format cannot write a triple: its predicate does not end in an XML name, or a value
            has a character that XML 1.0 lacks.
    """
    triples = result.graph_triples()
    for triple in triples:
        _check_rdf_xml(triple)
    out.write(serialized(triples, "rdf-xml", dict(result._prefixes)).rstrip("\n") + "\n")


def _check_rdf_xml(triple: Triple) -> None:
    # Oxigraph writes such triples, as documents that other readers of XML refuse.
    if not XML_NAME.search(triple.predicate.value):
        reason = f"<{triple.predicate.value}> does not end in an XML name"
    elif isinstance(triple.object, Triple):
        reason = "a triple is the object of another"
    elif isinstance(triple.object, Literal) and NO_XML.search(triple.object.value):
        reason = f"XML has no form of a control character in a value of <{triple.predicate.value}>"
    else:
        return
    raise UnsupportedQueryError(
        f"RDF/XML cannot write this graph: {reason}", hint="turtle, nt and json-ld can write every graph"
    )
