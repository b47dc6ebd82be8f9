"""EXISTS with MINUS or OPTIONAL: over columns with the rows of Oxigraph, and left to Oxigraph elsewhere."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import UnsupportedQueryError

DATA = """@prefix : <http://e/> .
:p1 :a 1 ; :b 2 ; :d 2 . :p2 :a 3 ; :d 9 . :p3 :a 1 ; :b 1 . :q :c :p1, :p2, :p3 ; :a 1 ; :b 1 . :r :b 7 ."""

BEFORE = (
    "?q :c ?p",
    "?q :c ?p OPTIONAL { ?p :d ?d }",
    "?q :c ?p { SELECT ?p (COUNT(?o) AS ?n) { ?p ?r ?o } GROUP BY ?p }",
)
OVER_COLUMNS = (
    "?p :a ?x MINUS { ?p :b ?y }",
    "?p :a ?x MINUS { ?p :b ?x }",
    "?p :a ?x MINUS { ?z :b ?x }",
    "?p :a ?x { ?m :a ?x MINUS { ?m :b 7 } }",
    "{ ?p :a ?x } UNION { ?p :b ?x MINUS { ?p :d ?x } }",
    "?p :a ?x MINUS { ?p :b ?x MINUS { ?w :b ?x } }",
    "?p :a ?x OPTIONAL { ?p :b ?y }",
    "?p :a ?x OPTIONAL { ?p :b ?x }",
    "?p :a ?x OPTIONAL { ?p :b ?y FILTER(?y > 1) } ?m :b ?y",
    "?p :a ?x { SELECT DISTINCT ?p { ?p :b ?y } }",
    "?p :a ?x { SELECT ?p ?x { ?p :a ?x ; :b ?y MINUS { ?p :b ?x } } }",
    "?p :a ?x { SELECT ?p (COUNT(?y) AS ?k) { ?p :b ?y } GROUP BY ?p HAVING(COUNT(?y) > 0) }",
    "?p :a ?x { SELECT ?x { ?m :a ?x MINUS { ?w :b 7 } } }",
)
LEFT_TO_OXIGRAPH = (
    "?p :a ?x MINUS { ?z :b ?y }",
    "?p :a ?x { ?m :a ?x MINUS { ?n :b 7 } }",
    "?z :a ?x MINUS { ?p :b ?x }",
    "?p :a ?x OPTIONAL { ?m :a ?x MINUS { ?n :b 7 } }",
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decorrelation")
    (folder / "data.ttl").write_text(DATA)
    with KnowledgeBase.create(folder / "kb") as made:
        made.load(folder / "data.ttl", index=True)
        yield made


def query(before: str, inside: str) -> str:
    return f"PREFIX : <http://e/> SELECT * {{ {before} FILTER EXISTS {{ {inside} }} }}"


@pytest.mark.parametrize("inside", OVER_COLUMNS)
@pytest.mark.parametrize("before", BEFORE)
def test_an_exists_has_the_rows_of_oxigraph_over_columns(kb, before, inside):
    over_columns, in_store = (
        Counter(kb.query(query(before, inside), strategy=name).rows()) for name in ("columns", "oxigraph")
    )
    assert over_columns == in_store


@pytest.mark.parametrize("inside", LEFT_TO_OXIGRAPH)
@pytest.mark.parametrize("before", BEFORE)
def test_a_minus_whose_sides_share_nothing_but_the_row_is_left_to_oxigraph(kb, before, inside):
    with pytest.raises(UnsupportedQueryError):
        kb.query(query(before, inside), strategy="columns")


@pytest.mark.parametrize(
    "inside",
    [
        "?p :a ?x { SELECT ?x { ?p :b ?x } }",
        "?p :a ?x { SELECT ?p ?x { ?p :b ?x } LIMIT 1 }",
        "?p :a ?x { SELECT ?p (COUNT(?n) AS ?k) { ?p :b ?n } GROUP BY ?p }",
        "?p :a ?x { SELECT (COUNT(?p) AS ?k) { ?p :b ?y } }",
        "?p :a ?x { SELECT ?p ?d { ?p :b ?y OPTIONAL { ?p :d ?d } } }",
        "?p :a ?x OPTIONAL { ?m :d ?d }",
        "?p :a ?x OPTIONAL { ?p :d ?d } ?m :b ?d",
        "?p :a ?x MINUS { ?p :b ?d }",
    ],
)
@pytest.mark.parametrize("before", BEFORE)
def test_a_variable_that_the_row_may_bind_as_well_makes_no_difference_to_the_rows(kb, before, inside):
    in_store = Counter(kb.query(query(before, inside), strategy="oxigraph").rows())
    assert Counter(kb.query(query(before, inside)).rows()) == in_store
    with suppress(UnsupportedQueryError):
        assert Counter(kb.query(query(before, inside), strategy="columns").rows()) == in_store
