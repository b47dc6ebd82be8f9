"""Answers that were wrong once: each MATCH query against the same query over the relation written as triples."""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase

PREFIX = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
DATA = """
@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "red fish" ; :p :b ; :year 2001 . :b rdfs:label "red boat" ; :p :c ; :bad true .
:c rdfs:label "blue boat" ; :p :a ; :year 1999 . :d rdfs:label "blue fish red" . :e rdfs:label "green" ; :p :d .
:f rdfs:label "red wine" ; :year 2005 . :zz rdfs:label "red zz" ; :p :zz .
:de :text "Häuser"@de . :h rdfs:label "Haus"@de .
:g1 { :a :r :b . :b :r :c . :h :p :a }
"""
RELATIONS = {"red": 0, "fish": 1, "boat": 2, "blue": 3}

CASES = {
    "two unnamed scores, one inside NOT EXISTS": "SELECT ?x { ?x @red@ . FILTER NOT EXISTS { ?x @fish@ } }",
    "two unnamed scores, one inside EXISTS": "SELECT ?x { ?x @red@ . FILTER EXISTS { ?x :p ?y . ?y @boat@ } }",
    "EXISTS inside GRAPH": "SELECT ?x { GRAPH :g1 { ?x :r ?y . ?x @red,s@ FILTER EXISTS { ?x :r ?z } } }",
    "NOT EXISTS inside GRAPH": "SELECT ?x { GRAPH :g1 { ?x :r ?w . ?x @red,s@ FILTER NOT EXISTS { ?w :r ?z } } }",
    "EXISTS under FROM": "SELECT ?x FROM :g1 FROM :rel { ?x @red,s@ FILTER EXISTS { ?x :r ?z } }",
    "a condition of OPTIONAL inside GRAPH": (
        "SELECT ?x ?z { GRAPH :g1 { ?x :r ?y . ?x @red,s@ OPTIONAL { ?y :r ?z FILTER EXISTS { ?x :r ?y } } } }"
    ),
    "EXISTS inside an aggregate": "SELECT (SUM(IF(EXISTS { ?x :p ?z }, 1, 0)) AS ?n) { ?x @red,s@ }",
    "EXISTS in a projected expression": "SELECT ?x (EXISTS { ?x :p ?z } AS ?e) { ?x @red,s@ }",
    "a blank node on both sides of a FILTER": "SELECT ?x { ?x @red@ . _:b :p ?x . FILTER(?x != :zz) _:b :year ?y }",
    "a blank node before the MATCH": "SELECT * { _:b :p ?x . FILTER(true) _:b :year ?y . ?x @red,s@ }",
    "COUNT(DISTINCT *)": "SELECT (COUNT(DISTINCT *) AS ?n) { { ?x @red,s@ } UNION { ?x @red,s@ } }",
    "COUNT(*)": "SELECT (COUNT(*) AS ?n) { { ?x @red,s@ } UNION { ?x @red,s@ } }",
    "IRI() under BASE": "BASE <http://x/> SELECT ?x (IRI('foo') AS ?i) { ?x @blue@ }",
    "VALUES behind GROUP BY": "SELECT ?y (COUNT(*) AS ?n) { ?x :p ?y . ?x @red,s@ } GROUP BY ?y VALUES ?y { :b :c }",
    "ORDER BY EXISTS": "SELECT ?x { ?x @red,s@ } ORDER BY EXISTS { ?x :p ?z } ?x",
}


def plain(query: str) -> str:
    return _replaced(query, lambda word, score, n: f":rel{RELATIONS[word]} ?{score or f'hidden{n}'}")


def hybrid(query: str) -> str:
    return _replaced(query, lambda word, score, n: f'MATCH "{word}" ON (label)' + (f" AS ?{score}" if score else ""))


def _replaced(query: str, write) -> str:
    parts = query.split("@")
    for i in range(1, len(parts), 2):
        word, _, score = parts[i].partition(",")
        parts[i] = write(word, score, i)
    return (
        PREFIX + "".join(parts) if not query.startswith("BASE") else "".join(parts).replace("SELECT", PREFIX + "SELECT")
    )


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("review")
    (folder / "d.trig").write_text(DATA)
    base = KnowledgeBase.create(folder / "kb")
    base.load(folder / "d.trig", index=True)
    return base


@pytest.fixture(scope="module")
def oracle(kb: KnowledgeBase) -> ox.Store:
    """The data, and every relation as triples in every graph, because a MATCH looks at no graph."""
    store = ox.Store()
    store.extend(kb._snapshot.store.quads())
    for word, number in RELATIONS.items():
        for row in kb.query(f'SELECT ?x ?s {{ ?x MATCH "{word}" ON (label) AS ?s }}'):
            for graph in (ox.DefaultGraph(), ox.NamedNode("http://e/g1")):
                predicate = ox.NamedNode(f"http://e/rel{number}")
                store.add(ox.Quad(row.term("x"), predicate, row.term("s"), graph))
    return store


@pytest.mark.parametrize("strategy", [None, "reference"])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_over_the_relation(kb, oracle, name, strategy):
    query = CASES[name]
    found = oracle.query(plain(query))
    names = [v.value for v in found.variables]
    want = Counter(frozenset((n, str(row[n])) for n in names if row[n] is not None) for row in found)
    result = kb.query(hybrid(query), strategy=strategy)
    assert set(result.columns) == set(names)
    got = Counter(frozenset((n, str(row.term(n))) for n in result.columns if row.term(n) is not None) for row in result)
    assert got == want
    assert want, "a case without rows shows nothing"


AFTER_THE_TEXT = [
    "BIND(?s * 2 AS ?d)",
    "OPTIONAL { ?y :p ?z }",
    "MINUS { ?y :bad true }",
    "?y :p ?z .",
    "FILTER(?s > 0.2)",
    "{ ?y :p ?z } UNION { ?y :year ?z }",
]


@pytest.mark.parametrize("after", AFTER_THE_TEXT)
def test_a_text_from_a_variable_is_as_good_as_the_text_itself(kb, after):
    def rows(match: str) -> Counter:
        result = kb.query(PREFIX + f"SELECT ?y ?s ?d ?z {{ {match} {after} }}")
        return Counter(tuple(str(row.term(n)) for n in result.columns) for row in result)

    literal = rows('?y MATCH "red" AS ?s .')
    assert rows('VALUES ?l { "red" } ?y MATCH ?l AS ?s .') == literal
    assert (
        rows(
            '?y MATCH ?l AS ?s . VALUES ?l { "red" }'
            if after.startswith("?y")
            else 'VALUES ?l { "red" } ?y MATCH ?l AS ?s .'
        )
        == literal
    )
    assert literal


def test_the_language_of_a_text_from_a_variable_selects_the_stemmer(kb):
    assert len(kb.query(PREFIX + "SELECT ?y { :de :text ?l . ?y MATCH ?l ON (label) }")) == 1
    assert len(kb.query(PREFIX + 'SELECT ?y { ?y MATCH "Häuser"@de ON (label) }')) == 1


def test_exists_boosts_a_rank(kb):
    query = PREFIX + 'SELECT ?x { ?x MATCH "red" AS ?s } RANK BY IF(EXISTS { ?x :bad true }, ?s + 10, ?s) LIMIT 1'
    assert str(kb.query(query)[0]["x"]) == "http://e/b"


def test_an_exists_about_a_group_is_refused_not_misread(kb):
    from hybridkg.errors import UnsupportedQueryError

    query = PREFIX + 'SELECT ?x { ?x MATCH "red" AS ?s } GROUP BY ?x HAVING(EXISTS { ?x :p ?z })'
    with pytest.raises(UnsupportedQueryError, match="BIND it to a variable"):
        kb.query(query)


def test_a_limit_does_not_change_the_answer_of_an_ask(kb):
    for query in ("ASK { ?x :p ?y }", 'ASK { ?x MATCH "red" }'):
        assert kb.query(PREFIX + query, limit=0).boolean is True


def test_a_snippet_of_a_match_under_minus_stays_unbound(kb):
    query = PREFIX + 'SELECT ?x ?t { ?x MATCH "red" AS ?s MINUS { ?x MATCH "fish" AS ?s SNIPPET ?t } }'
    assert all(row["t"] is None for row in kb.query(query))


def test_each_branch_of_a_union_has_the_snippet_of_its_own_match(kb):
    query = PREFIX + (
        'SELECT ?x ?s ?t { { ?x MATCH "red" ON (label) AS ?s SNIPPET ?t } UNION '
        '{ ?x MATCH "fish" ON (label) AS ?s SNIPPET ?t } }'
    )
    marked = {(str(row["x"]), str(row["t"])) for row in kb.query(query)}
    assert ("http://e/a", "**red** fish") in marked
    assert ("http://e/a", "red **fish**") in marked
