"""The RDF forms of the graph of a CONSTRUCT or DESCRIBE; raise UnsupportedQueryError for rows."""

from __future__ import annotations

from typing import TextIO
from xml.parsers.expat import ExpatError, ParserCreate

from hybridkg.errors import UnsupportedQueryError
from hybridkg.rdf.serialize import serialized
from hybridkg.results.result_set import ResultSet


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
        UnsupportedQueryError: the format cannot write a triple: its predicate does not end in an XML name or is a word
            of RDF/XML, or a value has a character that XML 1.0 lacks.
    """
    # Oxigraph writes some triples as documents that other readers of XML refuse.
    prefixes = {name: iri for name, iri in result._prefixes if not name.lower().startswith("xml")}
    try:
        text = serialized(result.graph_triples(), "rdf-xml", prefixes)
        ParserCreate(namespace_separator=" ").Parse(text, True)
    except (OSError, ValueError, ExpatError) as e:
        raise UnsupportedQueryError(
            "RDF/XML cannot write this graph: it needs predicates that end in an XML name and are no words of its own "
            f"syntax, and values without control characters ({e})",
            hint="turtle, nt and json-ld can write every graph",
        ) from None
    out.write(text.rstrip("\n") + "\n")
