"""The RDF forms of the graph of a CONSTRUCT or DESCRIBE; raise UnsupportedQueryError for rows."""

from __future__ import annotations

from typing import TextIO

from hybridkg.rdf.serialize import serialized
from hybridkg.results.result_set import ResultSet


def write_turtle(result: ResultSet, out: TextIO) -> None:
    """Writes Turtle (RDF 1.1) with the prefixes of the query, triples in the result's order."""
    out.write(serialized(result.graph_triples(), "turtle", dict(result._prefixes)))


def write_ntriples(result: ResultSet, out: TextIO) -> None:
    """Writes N-Triples (RDF 1.1), a line for each triple, in the result's order."""
    out.write(serialized(result.graph_triples(), "nt"))
