"""MATCH means "join with the table (entity, score)", wherever it stands.

So a hybrid query must give what Oxigraph gives when the table is put into the
graph as triples and the MATCH is a triple pattern. Oxigraph is then the
oracle for joins, OPTIONAL, UNION, MINUS, FILTER, EXISTS, BIND, sub-selects
and aggregates over ranked rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules import RULES, rewrite
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.kb.snapshot import scratch
from hybridkg.operators import probing
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.choose import choose
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.results.build import projected
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.index.text_and_vectors import Ranked

pytestmark = pytest.mark.quick

E = "http://e/"
TEXTS = {
    "a": "red fish",
    "b": "red red boat",
    "c": "blue boat",
    "d": "green fish boat",
    "e": "blue blue fish",
}
NODES = [ox.BlankNode("x"), *(ox.NamedNode(E + name) for name in TEXTS)]
WORDS = ("red", "fish", "boat", "blue", "red boat", "nothing")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> tuple[EmbeddedTextIndex, NodeTable]:
    folder = tmp_path_factory.mktemp("kb")
    assert NodeTable.write(folder, NODES) == len(NODES)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label")], len(NODES))
    for node, words in zip(NODES, ("red boat", *TEXTS.values()), strict=True):
        found = nodes.find(node)
        assert found is not None
        builder.add(found, 0, [(words, "")])
    builder.finish()
    return EmbeddedTextIndex.open(folder / "text", nodes.rank), nodes


@pytest.fixture(scope="module")
def relation(text) -> list[ox.Triple]:
    """The table (entity, score) of each of WORDS, as triples."""
    index, nodes = text
    rows = []
    for number, words in enumerate(WORDS):
        ids, scores = index.score_all(TextQuery(words))
        for node, score in zip(nodes.nodes(ids), scores.tolist(), strict=True):
            rows.append(ox.Triple(node, ox.NamedNode(f"rel:{number}"), ox.Literal(score)))
    return rows


@dataclass(frozen=True)
class Both:
    """A piece of a query twice: with MATCH, and with the table's triples."""

    hybrid: str
    plain: str

    @classmethod
    def same(cls, text: str) -> Both:
        return cls(text, text)

    def __mod__(self, part: Both) -> Both:
        return Both(self.hybrid.replace("%", part.hybrid), self.plain.replace("%", part.plain))


def joined(parts: list[Both]) -> Both:
    return Both("\n".join(p.hybrid for p in parts), "\n".join(p.plain for p in parts))


variables = st.sampled_from(["?a", "?b", "?c"])
things = st.one_of(variables, variables, st.sampled_from([f"<{E}{name}>" for name in "abc"]))
triples = st.builds(lambda s, p, o: Both.same(f"{s} <{E}{p}> {o} ."), things, st.sampled_from("pq"), things)
values = st.builds(lambda v: Both.same(f"?{v} <{E}year> ?y{v} ."), st.sampled_from("abc"))


def match(number: int, variable: str, words: str, name: str) -> Both:
    score = f"?{name}"
    return Both(f'{variable} MATCH "{words}" AS {score} .', f"{variable} <rel:{WORDS.index(words)}> {score} .")


matches = st.builds(match, st.just(0), variables, st.sampled_from(WORDS), st.sampled_from(["s", "t", "u"]))
conditions = st.sampled_from(
    [
        "?s > 0.3",
        "?ya > 2000",
        "BOUND(?s)",
        "!BOUND(?b)",
        "?a != ?b",
        "?s > ?t || ?yb < 2005",
        "COALESCE(?s, 0) < 1",
    ]
)
filters = conditions.map(lambda c: Both.same(f"FILTER({c})"))
binds = st.sampled_from(["BIND(?s * 2 AS ?z)", "BIND(COALESCE(?yb, 1) AS ?z)"]).map(Both.same)
leaf = st.one_of(triples, triples, values, matches)


def wrapped(template: str) -> st.SearchStrategy[Both]:
    return st.lists(leaf, min_size=1, max_size=3).map(lambda parts: Both.same(template) % joined(parts))


def in_each_graph(template: str, seen: str = "*") -> st.SearchStrategy[Both]:
    """GRAPH ?g by its definition (SPARQL 1.1 section 18.6). Oxigraph lets a sub-select see all graphs at once, and
    ?g be a variable of both sides of MINUS; what has no MATCH inside it answers, as it does. To what is in NOT EXISTS
    it shows variables from outside the group, too, unless a sub-select says which are `seen`.
    """
    each = (
        f"{{ SELECT {seen} {{ GRAPH <{E}{name}> {{ {template} }} BIND(<{E}{name}> AS ?g) }} }}" for name in ("g1", "g2")
    )
    whole = Both(f"GRAPH ?g {{ {template} }}", f"{{ {' UNION '.join(each)} }}")

    def filled(parts: list[Both]) -> Both:
        inside = joined(parts)
        return (whole if "MATCH" in inside.hybrid else Both.same(whole.hybrid)) % inside

    return st.lists(leaf, min_size=1, max_size=3).map(filled)


elements = st.one_of(
    leaf,
    leaf,
    filters,
    wrapped("OPTIONAL { % }"),
    st.builds(
        lambda parts, f: Both.same("OPTIONAL { % }") % joined([*parts, f]),
        st.lists(leaf, min_size=1, max_size=2),
        filters,
    ),
    wrapped("MINUS { % }"),
    wrapped("{ % }"),
    wrapped("GRAPH <http://e/g1> { % }"),
    in_each_graph("%"),
    in_each_graph("% FILTER(?s > 0.1)"),
    in_each_graph("OPTIONAL { % }"),
    in_each_graph("?a <http://e/p> ?b MINUS { % }"),
    in_each_graph("{ SELECT ?a ?s { % } }"),
    in_each_graph("{ SELECT ?a (MAX(?s) AS ?t) { % } GROUP BY ?a }"),
    in_each_graph("?a <http://e/q> ?c FILTER NOT EXISTS { % }", "?a ?c ?g"),
    in_each_graph("{ % } UNION { ?a <http://e/q> ?c }"),
    wrapped("FILTER EXISTS { % }"),
    wrapped("FILTER NOT EXISTS { % }"),
    st.builds(
        lambda x, y: Both(f"{{ {x.hybrid} }} UNION {{ {y.hybrid} }}", f"{{ {x.plain} }} UNION {{ {y.plain} }}"),
        st.lists(leaf, min_size=1, max_size=2).map(joined),
        st.lists(leaf, min_size=1, max_size=2).map(joined),
    ),
    st.lists(leaf, min_size=1, max_size=2).map(lambda parts: Both.same("{ SELECT ?a ?s { % } }") % joined(parts)),
)
patterns = st.builds(
    lambda parts, bind, last: joined([*parts, *([bind] if bind else []), *last]),
    st.lists(elements, min_size=1, max_size=4),
    st.none() | binds,
    st.lists(leaf, max_size=1),
)
heads = st.sampled_from(
    [
        "SELECT ?a ?b ?c ?s ?t ?u ?z { % }",
        "SELECT DISTINCT ?a ?b { % }",
        "SELECT * { % }",
        "SELECT ?a (COUNT(?s) AS ?n) (MAX(?s) AS ?m) { % } GROUP BY ?a HAVING(COUNT(*) > 0)",
        "SELECT (?s + 1 AS ?more) ?b { % }",
        "ASK { % }",
        "CONSTRUCT { ?a <http://e/found> ?s . ?b ?c ?a . ?s <http://e/is> ?a } { % }",
        "DESCRIBE ?a ?b <http://e/d> { % }",
        "DESCRIBE * { % }",
    ]
)
queries = st.builds(lambda head, body: Both.same(head) % body, heads, patterns)
nodes_st = st.sampled_from(NODES)
graphs = st.frozensets(
    st.one_of(
        st.tuples(nodes_st, st.sampled_from("pq"), nodes_st),
        st.tuples(nodes_st, st.just("year"), st.sampled_from([1999, 2003, 2010])),
    ),
    max_size=14,
)


GRAPHS = (ox.NamedNode(E + "g1"), ox.NamedNode(E + "g2"))


def quads_of(triples: list[ox.Triple], rows: list[ox.Triple] = []) -> list[ox.Quad]:  # noqa: B006 - never changed
    """The triples, every second of them in g1 and every third in g2 as well; the table's rows in every graph."""
    quads = [ox.Quad(*triple) for triple in (*triples, *rows)]
    for every, name in zip((2, 3), GRAPHS, strict=True):
        quads += [ox.Quad(*triple, name) for i, triple in enumerate(triples) if i % every == 0]
        # A graph is there only with something in it, with or without the table.
        quads += [ox.Quad(name, name, name, name), *(ox.Quad(*row, name) for row in rows)]
    return quads


def store_of(graph: frozenset[tuple[ox.NamedNode, str, object]]) -> list[ox.Triple]:
    return [
        ox.Triple(s, ox.NamedNode(E + p), o if not isinstance(o, int) else ox.Literal(o))
        for s, p, o in sorted(graph, key=str)
    ]


def answer(query: str, graph: list[ox.Triple], index: EmbeddedTextIndex, nodes: NodeTable, rules=True) -> Counter:
    parsed = parse(query)
    check(parsed)
    logical = from_ast(parsed)
    plan = choose(rewrite(logical) if rules else logical, PlannerContext(None, Ranked(index)), "reference")
    context = ExecutionContext(
        OxigraphStore.memory(quads_of(graph)),
        Ranked(index),
        nodes,
        lambda node, fields: [],
        scratch,
        price=CostModel().price,
    )
    solutions = context.run(plan.root)
    shown = projected(logical)
    if query.startswith(("CONSTRUCT", "DESCRIBE")):
        assert solutions.variables == shown == ("subject", "predicate", "object")
        return Counter(tuple(map(str, row)) for row in solutions.rows)
    if query.startswith("ASK"):
        return Counter({bool(solutions.rows): 1})
    at = [solutions.variables.index(name) for name in shown]
    return Counter(
        frozenset((name, str(row[i])) for name, i in zip(shown, at, strict=True) if row[i] is not None)
        for row in solutions.rows
    )


def oracle(query: str, graph: list[ox.Triple], rows: list[ox.Triple]) -> Counter:
    store = ox.Store()
    store.bulk_extend(quads_of(graph, rows))
    found = store.query(query)
    if isinstance(found, ox.QueryBoolean):
        return Counter({bool(found): 1})
    if isinstance(found, ox.QueryTriples):
        return Counter({tuple(map(str, triple)) for triple in found if not triple.predicate.value.startswith("rel:")})
    names = [v.value for v in found.variables]
    return Counter(frozenset((name, str(row[name])) for name in names if row[name] is not None) for row in found)


def usable(query: Both) -> bool:
    """Two MATCHes with one score name, or BIND of a name in use, are errors of the query, not of the engine."""
    try:
        check(parse(query.hybrid))
    except QueryCheckError:
        return False
    return "MATCH" in query.hybrid


@settings(max_examples=examples(12, 600), deadline=None)
@given(graphs, queries.filter(usable))
def test_a_hybrid_query_answers_as_if_the_relation_were_in_the_graph(text, relation, graph, query):
    index, nodes = text
    triples_of_graph = store_of(graph)
    want = oracle(query.plain, triples_of_graph, relation)
    try:
        got = answer(query.hybrid, triples_of_graph, index, nodes)
    except UnsupportedQueryError:
        return
    assert got == want, f"{query.hybrid}\n{query.plain}"


@settings(max_examples=examples(6, 300), deadline=None)
@given(graphs, queries.filter(usable))
def test_the_rewrite_rules_change_no_rows(text, graph, query):
    index, nodes = text
    assert len(RULES) > 0
    triples_of_graph = store_of(graph)
    try:
        plain = answer(query.hybrid, triples_of_graph, index, nodes, rules=False)
        rewritten = answer(query.hybrid, triples_of_graph, index, nodes)
    except UnsupportedQueryError:
        return
    assert rewritten == plain


def ordered_answer(logical: Plan, store: OxigraphStore, index, nodes, strategy: str) -> list | None:
    root = STRATEGIES.get(strategy).plan(logical, PlannerContext(None, Ranked(index)))
    if root is None:
        return None
    solutions = ExecutionContext(
        store, Ranked(index), nodes, lambda node, fields: [], scratch, price=CostModel().price
    ).run(root)
    names = sorted(solutions.variables)
    at = [solutions.variables.index(name) for name in names]
    return [tuple(str(row[i]) for i in at) for row in solutions.rows]


ranked_heads = st.sampled_from(
    [
        "SELECT ?a ?b ?s { % } RANK BY ?s",
        "SELECT ?a ?b { % } RANK BY ?s + ?t LIMIT 3",
        "SELECT DISTINCT ?b { % } RANK BY ?s LIMIT 2",
        "SELECT ?a ?s ?t { % } ORDER BY DESC(?s) ?t LIMIT 4 OFFSET 1",
        "SELECT ?b (SUM(?s) AS ?n) { % } GROUP BY ?b RANK BY ?n",
    ]
)
ranked_queries = st.builds(
    lambda head, body, first: Both.same(head) % joined([first, body]),
    ranked_heads,
    patterns,
    st.builds(match, st.just(0), variables, st.sampled_from(WORDS), st.just("s")),
)


@pytest.mark.parametrize("few", [0, 1, 2000])
@settings(max_examples=examples(6, 400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs, query=ranked_queries.filter(usable))
def test_every_strategy_gives_the_rows_of_the_reference_in_its_order(text, monkeypatch, few, graph, query):
    monkeypatch.setattr(probing, "FEW_VALUES", few)
    monkeypatch.setattr(probing, "PROBES_AT_ONCE", 2)
    index, nodes = text
    store = OxigraphStore.memory(quads_of(store_of(graph)))
    try:
        logical = rewrite(from_ast(parse(query.hybrid)))
        want = ordered_answer(logical, store, index, nodes, "reference")
        for name in STRATEGIES.names():
            got = ordered_answer(logical, store, index, nodes, name)
            assert got is None or got == want, name
    except UnsupportedQueryError:
        return


@settings(max_examples=examples(60, 100), deadline=None)
@given(
    variable=st.sampled_from(["?a", "?b"]),
    words=st.sampled_from(WORDS),
    limit=st.integers(0, 7),
    offset=st.integers(0, 3),
)
def test_a_ranking_without_a_graph_pattern_is_the_index_top_k(text, variable, words, limit, offset):
    index, nodes = text
    query = f'SELECT {variable} ?s {{ {variable} MATCH "{words}" AS ?s }} RANK BY ?s LIMIT {limit} OFFSET {offset}'
    logical, store = rewrite(from_ast(parse(query))), OxigraphStore.memory(quads_of([]))
    want = ordered_answer(logical, store, index, nodes, "reference")
    assert ordered_answer(logical, store, index, nodes, "text_topk") == want


@settings(max_examples=examples(12, 300), deadline=None)
@given(graphs, ranked_queries.filter(usable))
def test_rows_are_best_first_and_ties_are_in_term_order(text, graph, query):
    if "RANK BY ?s" not in query.hybrid or "+ ?t" in query.hybrid or "GROUP" in query.hybrid:
        return
    index, nodes = text
    logical = rewrite(from_ast(parse(query.hybrid)))
    try:
        plan = choose(logical, PlannerContext(None, Ranked(index)), "reference")
    except UnsupportedQueryError:
        return
    solutions = ExecutionContext(
        scratch(store_of(graph)), Ranked(index), nodes, lambda n, f: [], scratch, price=CostModel().price
    ).run(plan.root)
    at = solutions.variables.index("s")
    scores = [float(row[at].value) if row[at] is not None else float("-inf") for row in solutions.rows]
    assert scores == sorted(scores, reverse=True)
