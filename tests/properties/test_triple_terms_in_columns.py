"""Queries that make triple terms, or whose graph has some, have Oxigraph's rows where columns answer them (law f)."""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest
from generated_triple_terms import E, Reified
from test_columns_equal_oxigraph import outcome

pytestmark = pytest.mark.quick

PATTERNS = (
    "?x :m ?y .",
    "?x :m ?y . ?y :n ?z .",
    "?r :n ?y . OPTIONAL { ?y :m ?x }",
    "?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> ?t0 .",
    "?x :n* ?y .",
    "?x ?p ?y .",
    "?x :m ?y ~ ?r .",
    "?x :n+ ?y FILTER(?y != :a) .",
    "VALUES (?x ?y) { (:a :b) (:b 1) (:a <<( :a :p 1 )>>) } ?x :m ?z .",
    '?x :m ?y FILTER(?y = "x"@en--ltr || ?y = 1) .',
    "?x :m ?y MINUS { ?x :n ?y } .",
)
"""Of `:m` and `:n` the projection holds every triple."""

MADE = (
    "BIND(<<( ?x :p ?y )>> AS ?t)",
    "BIND(TRIPLE(?x, :q, ?y) AS ?t) FILTER(isTRIPLE(?t) && OBJECT(?t) = ?y)",
    "BIND(TRIPLE(?y, :q, ?x) AS ?t)",
    "BIND(IF(isIRI(?y), <<( ?x :p <<( :a :p ?y )>> )>>, ?y) AS ?t) FILTER(?t != :a)",
    'BIND(STRLANGDIR("x", "en", "ltr") AS ?t) FILTER(!hasLANGDIR(?y) || ?t = ?y)',
    "",
)
HEADS = (
    "SELECT *",
    "SELECT DISTINCT ?t",
    "SELECT ?t (COUNT(*) AS ?n)",
    "SELECT (COUNT(DISTINCT ?t) AS ?n) (SAMPLE(1) AS ?m)",
    "SELECT (MIN(?t) AS ?least) (MAX(?t) AS ?most)",
    "SELECT ?x ?y (SUBJECT(?t) AS ?s) (OBJECT(?t) AS ?o)",
    "CONSTRUCT { ?x :made <<( ?x :p ?y )>> , ?t }",
    "CONSTRUCT { [] :made ?t . ?x :made <<( ?x :p <<( ?y :p ?x )>> )>> }",
    "CONSTRUCT { ?x :p ?y {| :by ?t |} }",
    "ASK",
)


def case(seed: int) -> tuple[list, str]:
    drawn = Reified(seed)
    graph = [quad.triple for quad in drawn.data()]
    graph += [ox.Triple(drawn.node(), ox.NamedNode(E + drawn.choose("m", "n")), drawn.plain()) for _ in range(8)]
    head = drawn.choose(*HEADS)
    group = " GROUP BY ?t" if "?t (COUNT" in head else ""
    order = (
        drawn.choose("", "", " ORDER BY ?t", " ORDER BY DESC(?t) ?y LIMIT 3") if "SELECT" in head and not group else ""
    )
    if "COUNT(D" in head or "MIN" in head:
        order = ""
    return graph, f"PREFIX : <{E}> {head} WHERE {{ {drawn.choose(*PATTERNS)} {drawn.choose(*MADE)} }}{group}{order}"


def test_queries_over_triple_terms_have_the_rows_of_oxigraph():
    outcomes = Counter(outcome(*case(seed)) for seed in range(200))
    assert outcomes["answered"] > 60
    assert outcomes["no query"] < 20
