"""ASK, CONSTRUCT and DESCRIBE without ranks: over columns they have the answers of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.output_format import OUTPUT_FORMATS

pytestmark = pytest.mark.quick

DATA = """@prefix : <e:> .
:a :p 1, 2, "x"@en, [ :q [ :r 5, :a ] ; :r 3 ] ; :z :b ; :label "red star" .
:b :p 1 ; :q :a ; :label "red sea" . :c :q "x", _:k ; :label "blue sea" . _:k :r 9, _:k . :d :p :q .
"""
NAMED = '<e:a> <e:named> "1" <e:g> .\n'

QUERIES = [
    "ASK { :a :p 1 }",
    "ASK { :a :p 7 }",
    "ASK { ?s :p ?o . ?s :q ?x FILTER(?o > 0) } ",
    "ASK { :a :named ?x }",
    "ASK { BIND(1 AS ?x) FILTER(?x > 1) }",
    "ASK {}",
    "ASK { VALUES ?s { :a :nothing } ?s :z ?o } VALUES ?o { :b }",
    "ASK { { SELECT ?o (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?o } FILTER(?n > 1) }",
    "CONSTRUCT { ?s :has ?o . ?o :of ?s } { ?s :p ?o }",
    "CONSTRUCT { ?s :has 1, '01'^^<http://www.w3.org/2001/XMLSchema#integer>, :b . :b :is :b } { ?s :p ?o }",
    "CONSTRUCT { ?s ?p ?nothing . ?o ?p ?s . ?s ?o ?s } { ?s ?p ?o }",
    "CONSTRUCT { ?o :count ?n ; :m ?m } { { SELECT ?o (COUNT(*) AS ?n) { ?s :q ?o } GROUP BY ?o } BIND(?n+1 AS ?m) }",
    "CONSTRUCT { } { ?s :p ?o }",
    "CONSTRUCT { ?s :p ?o } { ?s :p ?o } ORDER BY ?s",
    "CONSTRUCT WHERE { ?s :q ?o . ?o :r ?x }",
    "DESCRIBE :a",
    "DESCRIBE :nothing :b :b",
    "DESCRIBE :p",
    "DESCRIBE ?o ?s { ?s :q ?o }",
    "DESCRIBE * { ?s :q ?o }",
    "DESCRIBE :a ?o { ?s :absent ?o }",
    "DESCRIBE ?x { VALUES ?x { :a 1 UNDEF } }",
    "DESCRIBE ?x { :b :q ?y BIND(?y AS ?x) }",
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("forms")
    (folder / "a.ttl").write_text(DATA)
    (folder / "b.nq").write_text(NAMED)
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "a.ttl", folder / "b.nq", index=True)
        yield kb


def ask(kb: KnowledgeBase, query: str, **options: object):
    return kb.query(f"PREFIX : <e:> {query}", **options)


@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_over_columns_is_that_of_the_store(kb: KnowledgeBase, query: str) -> None:
    found, wanted = ask(kb, query, strategy="columns"), ask(kb, query, strategy="oxigraph")
    assert "the store answered" not in str(ask(kb, f"EXPLAIN ANALYZE {query}"))
    assert found.boolean == wanted.boolean
    assert found.columns == wanted.columns
    assert found.is_graph == wanted.is_graph
    assert sorted(map(str, found.cells)) == sorted(map(str, wanted.cells))
    if found.is_graph:
        assert sorted(map(str, found.graph_triples())) == sorted(map(str, wanted.graph_triples()))


def test_each_solution_has_blank_nodes_of_its_own(kb: KnowledgeBase) -> None:
    found = ask(
        kb, "CONSTRUCT { [] :of ?s ; :is _:x . _:x :value ?o } { ?s :p ?o FILTER(isNumeric(?o)) }", strategy="columns"
    )
    nodes = {t.subject for t in found.graph_triples()}
    assert len(found.cells) == 9
    assert len(nodes) == 6
    assert {str(node) for node in nodes} == {f"_:{node.value}" for node in nodes}


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("ASK { ?s :p ?o }", ["AnySolution", "columns: ?s :p ?o"]),
        ("ASK { ?s :p ?o BIND(STR(?o) AS ?t) FILTER(?t > 'a') }", ["Slice offset=0 limit=1", "Filter"]),
        ("CONSTRUCT { ?s :has ?o } { ?s :p ?o }", ["Construct { ?s :has ?o . }", "GraphFragment ?o ?s"]),
        ("DESCRIBE ?s { ?s :p ?o }", ["Describe ?s", "GraphFragment ?o ?s"]),
    ],
)
def test_explain_shows_the_operators_and_both_prices(kb: KnowledgeBase, query: str, operators: list[str]) -> None:
    plan = str(ask(kb, f"EXPLAIN {query}", strategy="columns"))
    assert "\nColumns " in plan
    for operator in operators:
        assert operator in plan
    prices = str(ask(kb, f"EXPLAIN {query}")).splitlines()[0]
    assert "columns" in prices
    assert "oxigraph" in prices


def test_a_limit_of_the_call_cuts_the_triples(kb: KnowledgeBase) -> None:
    query = "CONSTRUCT { ?s :has ?o . ?o :of ?s } { ?s :q ?o }"
    whole, cut = ask(kb, query, strategy="columns"), ask(kb, query, strategy="columns", limit=3)
    assert whole.cells[:3] == cut.cells
    assert "Construct" in str(kb.explain(f"PREFIX : <e:> {query}", strategy="columns", limit=3))


@pytest.mark.parametrize("strategy", ["columns", "oxigraph"])
def test_a_stream_and_every_writer_take_a_graph_in_columns(kb: KnowledgeBase, strategy: str, tmp_path: Path) -> None:
    query = "PREFIX : <e:> CONSTRUCT { ?s :has ?o } { ?s :q ?o FILTER(isIRI(?o)) }"
    held = kb.query(query, strategy=strategy)
    with kb.stream(query, strategy=strategy) as result:
        assert sorted(map(str, result.graph_triples())) == sorted(map(str, held.graph_triples()))
    held.write(tmp_path / "a.nt", "nt")
    assert (tmp_path / "a.nt").read_text() == "<e:b> <e:has> <e:a> .\n"
    for name in ("turtle", "json", "csv", "ndjson"):
        assert name in OUTPUT_FORMATS.names()
        held.write(tmp_path / name, name)


def test_texts_of_one_shape_share_a_plan_and_have_answers_of_their_own(kb: KnowledgeBase) -> None:
    for name, number in (("a", 2), ("b", 1), ("c", 0), ("a", 2), ("zz", 0)):
        found = ask(
            kb, f"CONSTRUCT {{ :{name} :has ?number{name} }} {{ :{name} :p ?number{name} FILTER(?number{name} < 9) }}"
        )
        assert {str(t.subject) for t in found.graph_triples()} == ({f"<e:{name}>"} if number else set())
        assert len(found.cells) == number
        assert bool(ask(kb, f"ASK {{ :{name} :p ?x{name} }}")) == (number > 0)
        wanted = ask(kb, f"DESCRIBE :{name} ", strategy="oxigraph")
        assert set(map(str, ask(kb, f"DESCRIBE :{name}").cells)) == set(map(str, wanted.cells))


@pytest.mark.parametrize("strategy", [None, "columns", "reference"])
def test_forms_over_a_match_have_the_same_operators(kb: KnowledgeBase, strategy: str | None) -> None:
    assert bool(ask(kb, "ASK { ?s MATCH 'red' . ?s :q ?o }", strategy=strategy))
    assert not bool(ask(kb, "ASK { ?s MATCH 'red' . ?s :q 7 }", strategy=strategy))
    best = ask(
        kb, "CONSTRUCT { ?s :fits ?m ; :near ?o } { ?s MATCH 'red sea' AS ?m . ?s :q ?o } RANK BY ?m", strategy=strategy
    )
    assert [str(t.subject) for t in best.graph_triples()] == ["<e:b>"] * 2 + ["<e:c>"] * 3
    found = ask(kb, "DESCRIBE ?s { ?s MATCH 'star' }", strategy=strategy)
    assert set(map(str, found.cells)) == set(map(str, ask(kb, "DESCRIBE :a", strategy="oxigraph").cells))


@pytest.mark.parametrize(("length", "by_store"), [(60, False), (70, True)])
def test_a_long_chain_of_blank_nodes_is_described_by_the_store(tmp_path: Path, length: int, by_store: bool) -> None:
    links = " ".join(f"_:b{n} :next _:b{n + 1} ." for n in range(length))
    (tmp_path / "a.ttl").write_text(f'@prefix : <e:> . :a :next _:b0 ; :label "red" . :z :next _:b3 . {links}')
    with KnowledgeBase.temporary(tmp_path / "a.ttl") as kb:
        explained = str(ask(kb, "EXPLAIN ANALYZE DESCRIBE :z :a", strategy="columns"))
        assert ("the store answered: blank nodes more than 64 steps" in explained) == by_store
        found, wanted = (ask(kb, "DESCRIBE :z :a", strategy=name) for name in ("columns", "oxigraph"))
        assert set(map(str, found.cells)) == set(map(str, wanted.cells))
        ranked, slow = (ask(kb, "DESCRIBE ?x { ?x MATCH 'red' }", strategy=name) for name in (None, "reference"))
        assert ranked.cells == slow.cells
        assert len(ranked.cells) == length + 2


def test_a_ranked_description_is_of_the_best_nodes_first(kb: KnowledgeBase) -> None:
    found = ask(kb, "DESCRIBE ?s { ?s MATCH 'red sea' AS ?m } RANK BY ?m")
    order = list(dict.fromkeys(str(t.subject) for t in found.graph_triples() if str(t.subject).startswith("<")))
    rows = ask(kb, "SELECT ?s { ?s MATCH 'red sea' AS ?m } RANK BY ?m")
    assert order == [str(row[0]) for row in rows.cells]


def test_a_reduced_of_all_variables_and_distinct_solutions_are_counted(kb: KnowledgeBase) -> None:
    for query in (
        "SELECT REDUCED ?s ?o { ?s :p ?o }",
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o {} UNION {} }",
        "SELECT ?s (COUNT(DISTINCT *) AS ?n) (COUNT(*) AS ?m) { ?s :q ?o { ?t :p 1 } UNION { ?t :p 1 } } GROUP BY ?s",
        "SELECT (COUNT(DISTINCT *) AS ?n) { OPTIONAL { ?s :absent ?o } }",
    ):
        found, wanted = ask(kb, query, strategy="columns"), ask(kb, query, strategy="oxigraph")
        assert sorted(map(str, found.cells)) == sorted(map(str, wanted.cells)), query
