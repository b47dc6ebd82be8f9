"""The graph of a CONSTRUCT or DESCRIBE as RDF."""

from __future__ import annotations

from typing import TextIO

from hybridkg.rdf.serialize import serialized
from hybridkg.results.result_set import ResultSet


def write_turtle(result: ResultSet, out: TextIO) -> None:
    """Turtle (RDF 1.1) with the prefixes of the query, triples in the result's order.

    Raises:
        UnsupportedQueryError: the result is no graph.
    """
    out.write(serialized(result.graph_triples(), "turtle", dict(result._prefixes)))


def write_ntriples(result: ResultSet, out: TextIO) -> None:
    """N-Triples (RDF 1.1), one line for each triple, in the result's order.

    Raises:
        UnsupportedQueryError: the result is no graph.
    """
    out.write(serialized(result.graph_triples(), "nt"))
