"""Rows of an endpoint become lines of N-Triples, also those with triple terms (RDF 1.2)."""

from __future__ import annotations

import io

import pyoxigraph as ox
import pytest

from hybridkg.errors import EndpointError
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Triple
from hybridkg.store.endpoint.triple_lines import from_rows, from_tsv

URL = "http://e/sparql"
NODE = NamedNode("http://e/a")
INNER = Triple(NODE, NODE, Triple(NODE, NODE, Literal(1)))


def lines(store: ox.Store, *, blank: bool) -> list[bytes]:
    """What both readers make of all triples of a store."""
    found = store.query("SELECT ?s ?p ?o { ?s ?p ?o }")
    tsv = io.BytesIO(found.serialize(format=ox.QueryResultsFormat.TSV))
    of_tsv = list(from_tsv(lambda: tsv.read(7), URL, blank=blank))
    rows = [tuple(row) for row in store.query("SELECT ?s ?p ?o { ?s ?p ?o }")]
    assert sorted(from_rows(iter(rows), URL, blank=blank)) == sorted(of_tsv)
    return of_tsv


def test_triple_terms_are_written_in_full():
    store = ox.Store()
    store.extend(ox.Quad(NODE, NODE, term) for term in (INNER, Literal(7), Literal("<<( x", language="en"), NODE))
    read = [quad.triple for quad in ox.parse(b"\n".join(lines(store, blank=False)), ox.RdfFormat.N_TRIPLES)]
    assert set(read) == {quad.triple for quad in store}


def test_blank_nodes_inside_triple_terms_are_seen():
    store = ox.Store()
    store.add(ox.Quad(NODE, NODE, Triple(NODE, NODE, BlankNode("b"))))
    assert b"<<( <http://e/a> <http://e/a> _:b )>>" in lines(store, blank=True)[0]
    with pytest.raises(EndpointError, match="unexpected blank node"):
        lines(store, blank=False)


@pytest.mark.parametrize("cell", ["<<( <http://e/a> <http://e/a> )>>", "<<( " * 200, "<<( <http://e/a> 1 1 )>>"])
def test_what_only_looks_like_a_triple_term_is_malformed(cell):
    text = io.BytesIO(f"?s\t?p\t?o\n<http://e/a>\t<http://e/a>\t{cell}\n".encode())
    with pytest.raises(EndpointError, match="malformed"):
        list(from_tsv(text.read, URL, blank=True))
