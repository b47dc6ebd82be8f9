"""Columns that a table of the projection lacks are unbound."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase

E = "http://e/"


@pytest.mark.parametrize("strategy", [None, "filter_first", "reference"])
def test_several_columns_that_nothing_binds(tmp_path, strategy):
    label = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
    triples = [ox.Triple(ox.NamedNode(E + x), label, ox.Literal("red")) for x in "ab"]
    triples += [ox.Triple(ox.NamedNode(E + "i"), ox.NamedNode(E + "p"), ox.NamedNode(E + x)) for x in "ab"]
    ox.serialize(triples, str(tmp_path / "d.nt"), format=ox.RdfFormat.N_TRIPLES)
    lacking = "{ SELECT ?b ?c ?d { :i :p ?x } }"
    query = f"PREFIX : <{E}> SELECT ?a ?b ?c {{ {lacking} ?a MATCH 'red' ON (label) AS ?s }} RANK BY ?s LIMIT 9"
    with KnowledgeBase.temporary(tmp_path / "d.nt") as kb:
        rows = [(str(row["a"]), row["b"], row["c"]) for row in kb.query(query, strategy=strategy)]
    assert rows == [(E + x, None, None) for x in "aabb"]
