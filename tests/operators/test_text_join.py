"""A text index that is far away is asked for less, and gives the rows of the reference all the same."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from far_index import GRAPH, NODES, E, FarGraph, asked, built, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition
from hybridkg.kb.snapshot import scratch
from hybridkg.operators import probing
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.topk.rank_first import RankFirst
from hybridkg.planner.choose import choose
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.vector.index.text_and_vectors import Ranked

WORDS = ("red", "fish", "boat", "blue", "red boat", "nothing", "red -fish")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory):
    return built(tmp_path_factory.mktemp("kb"))


def quads(graph) -> list[ox.Quad]:
    """A third of them in the default graph, a third in a named one, and a third in both."""
    named = ox.NamedNode(E + "g")
    found = []
    for i, (s, p, o) in enumerate(sorted(graph, key=str)):
        found += [ox.Quad(s, ox.NamedNode(E + p), o)] if i % 3 != 2 else []
        found += [ox.Quad(s, ox.NamedNode(E + p), o, named)] if i % 3 != 1 else []
    return found


nodes_st = st.sampled_from(NODES)
graphs = st.lists(
    st.one_of(
        st.tuples(nodes_st, st.just("p"), nodes_st),
        st.tuples(nodes_st, st.sampled_from("pq"), nodes_st),
        st.tuples(nodes_st, st.just("year"), st.sampled_from([ox.Literal(1999), ox.Literal(2003), ox.Literal("x")])),
    ),
    min_size=12,
    max_size=30,
).map(frozenset)
leaf = st.one_of(
    st.builds(
        lambda v, p, o: f"?{v} <{E}{p}> {o} .",
        st.sampled_from("ab"),
        st.sampled_from("pq"),
        st.sampled_from(["?a", "?b", "?c", f"<{E}a>", f"<{E}b>"]),
    ),
    st.builds(lambda v, o: f"?{v} <{E}year> {o} .", st.sampled_from("ab"), st.sampled_from(["?y", "1999", "01999"])),
    st.builds(
        lambda v, w, s: f'?{v} MATCH "{w}" AS ?{s} .',
        st.sampled_from("ab"),
        st.sampled_from(WORDS),
        st.sampled_from("tuv"),
    ),
    st.sampled_from(["FILTER(?y >= 2000)", "FILTER(?y < 2003 && ?y > 1990)", "FILTER(?y = 2003.0)"]),
)
inner = st.lists(leaf, min_size=1, max_size=2).map(" ".join)
elements = st.one_of(
    leaf,
    leaf,
    st.builds(
        lambda w, part: w % part,
        st.sampled_from(
            [
                "OPTIONAL { %s }",
                "MINUS { %s }",
                "{ %s } UNION { ?a ?some ?thing }",
                f"{{ %s }} UNION {{ ?a <{E}q> <{E}a> }}",
                f"VALUES ?c {{ <{E}a> <{E}b> }} %s",
                f"GRAPH <{E}g> {{ %s }}",
                "GRAPH ?g { %s OPTIONAL { ?a ?some ?thing } }",
                "{ %s }",
                "{ SELECT ?a { %s } }",
            ]
        ),
        inner,
    ),
)
queries = st.builds(
    lambda head, dataset, words, parts: head % (dataset, f'?a MATCH "{words}" AS ?s . ' + " ".join(parts)),
    st.sampled_from(
        [
            "SELECT ?a ?b ?s %s { %s } RANK BY ?s",
            "SELECT ?a ?s ?t %s { %s } ORDER BY DESC(?s) ?t LIMIT 4",
            "SELECT DISTINCT ?a %s { %s } RANK BY ?s LIMIT 3",
        ]
    ),
    st.sampled_from(["", "", f"FROM <{E}g>"]),
    st.sampled_from(WORDS),
    st.lists(elements, min_size=1, max_size=4),
)


joins = st.builds(
    lambda dataset, words, parts, k: (
        f'SELECT * {dataset} {{ ?a MATCH "{words}" AS ?s . {" ".join(parts)} }} RANK BY ?s {k}'
    ),
    st.sampled_from(["", "", f"FROM <{E}g>"]),
    st.sampled_from(["red", "fish", "boat", "blue", "red boat"]),
    st.sampled_from(
        [
            *((f"?a <{E}{p}> ?b .",) for p in ("p", "p", "q")),
            *((f"?c <{E}p> ?a .", f"OPTIONAL {{ ?a <{E}q> ?o }}") for _ in "ab"),
            (f"?a <{E}p> ?b .", f"?a <{E}year> ?y .", "FILTER(?y >= 2000)"),
            (f"?a <{E}year> ?y .", "FILTER(1999.5 > ?y)"),
            (f"?a <{E}year> 01999 .",),
            (f"?a <{E}p> <{E}a> .", f"?a <{E}p> ?b ."),
            (f"{{ ?a <{E}p> <{E}a> }} UNION {{ ?a <{E}q> <{E}b> ; <{E}year> 1999 }}",),
            (f"?a <{E}p> ?c . VALUES ?c {{ <{E}a> <{E}b> }}",),
        ]
    ),
    st.sampled_from(["", "LIMIT 1", "LIMIT 2"]),
)


@settings(max_examples=examples(9, 500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    graph=graphs.map(quads),
    query=st.one_of(queries, joins, joins),
    max_scan=st.sampled_from([0, 0, 3, None]),
    held=st.sampled_from(["", "p", ("p", "q", "year")]),
    few=st.sampled_from([0, 1, 2000]),
    kind=st.sampled_from([OxigraphStore, FarGraph]),
)
def test_a_far_index_changes_no_row_and_no_order(text, monkeypatch, graph, query, max_scan, held, few, kind):
    monkeypatch.setattr(probing, "FEW_VALUES", few)
    monkeypatch.setattr(probing, "PROBES_AT_ONCE", 2)
    index, nodes = text
    try:
        parse(query)
        want = rows(query, graph, index.start(None), nodes, "reference")
    except HybridkgError:
        return  # a score name in two places, or a pattern that this version refuses
    index.start(max_scan, held, graph, nodes)
    for name in STRATEGIES.names():
        got = rows(query, graph, index, nodes, name, kind)
        assert got is None or got == want, name


# --- what is asked ----------------------------------------------------------------------------


def test_a_small_fragment_is_read_first_and_only_its_entities_are_scored(text):
    index, nodes = text
    calls = asked(index.start(0), nodes, '?a :q ?b . ?a MATCH "red boat" AS ?s')
    assert [kind for kind, _ in calls] == ["match_count_bound", "score"]
    assert calls[1][1] == [nodes.find(NODES[2])]


def test_a_fragment_without_rows_asks_for_no_score(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(0), nodes, '?a :none ?b . ?a MATCH "red"')] == ["match_count_bound"]


def test_a_large_fragment_is_left_and_the_text_is_read_first(text):
    index, nodes = text
    assert [k for k, _ in asked(index.start(0), nodes, '?a :p ?b . ?a MATCH "green"')] == [
        "match_count_bound",
        "score_all",
    ]


def test_few_matches_are_read_at_once(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(5), nodes, '?a :q ?b . ?a MATCH "red"')] == [
        "match_count_bound",
        "score_all",
    ]


def test_an_index_at_hand_is_asked_as_ever(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(None), nodes, '?a :q ?b . ?a MATCH "red"')] == ["score_all"]


def test_the_fragment_is_read_once_whatever_comes_of_it(text, monkeypatch):
    index, nodes = text
    monkeypatch.setattr(probing, "FEW_VALUES", 0)
    for pattern, limit in (('?a :q ?b . ?a MATCH "red"', 0), ('?a :p ?b . ?a MATCH "red"', 0)):
        store = OxigraphStore.memory(GRAPH)
        reads: list[str] = []
        select = store.select
        store.select = lambda sparql, select=select, reads=reads, **_: (reads.append(sparql), select(sparql))[1]
        root = STRATEGIES.get("bind_join").plan(
            rewrite(from_ast(parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}"))), PlannerContext()
        )
        ExecutionContext(
            store, Ranked(index.start(limit)), nodes, lambda n, f: [], scratch, price=CostModel().price
        ).run_plan(root)
        assert len([sparql for sparql in reads if "VALUES" not in sparql]) == 1


def test_conditions_are_pushed_when_the_index_holds_them(text):
    index, nodes = text
    pattern = '?a :year ?y ; :q :c . FILTER(?y >= 1990 && ?y < 2000) ?a MATCH "red boat" AS ?s'
    calls = asked(index.start(9, ("q", "year"), GRAPH, nodes), nodes, pattern)
    assert [kind for kind, _ in calls] == ["match_count_bound", "score_all"]
    assert set(calls[1][1].conditions) == {
        PushdownCondition(E + "year", low=1990.0, high=2000.0),
        PushdownCondition(E + "q", f"<{E}c>"),
    }
    assert asked(index.start(9), nodes, pattern)[1][1].conditions == ()


@pytest.mark.parametrize(
    ("pattern", "agreed"),
    [
        ("?a :q :c .", (3.0, True)),
        ("?a :q :c ; :year 1995 .", (1.0, True)),
        ("?a :q :c ; :p ?b .", (3.0, False)),
        ("?a :year ?y FILTER(?y < 2000) .", (2.0, False)),
        ("?a :p ?b .", None),
        ("{ ?a :q :c } UNION { ?a :year 1995 }", (3.0, True)),
        ("{ ?a :year 1995 } UNION { ?a :year 1999 }", (2.0, True)),
        ("?a :year ?y . VALUES ?y { 1995 1999 }", (2.0, False)),
    ],
)
def test_how_many_agree_with_conditions_is_counted_with_the_other_sizes(text, pattern, agreed):
    index, nodes = text
    graph = [
        ox.Quad(node, ox.NamedNode(E + name), value)
        for node, year in ((NODES[1], 1995), (NODES[2], 1999), (NODES[3], 2005))
        for name, value in (("q", ox.NamedNode(E + "c")), ("year", ox.Literal(year)))
    ]
    index.start(0, ("q", "year"), graph, nodes)
    planning = PlannerContext(None, Ranked(index))
    plan = rewrite(
        from_ast(parse(f'PREFIX : <{E}> SELECT * {{ {pattern} ?a MATCH "red boat" AS ?s }} RANK BY ?s LIMIT 2'))
    )
    choose(plan, planning)
    found = planning.pushdown_count(planning.ranking(plan))
    assert index.kinds() == (["match_count_bound"] if agreed is None else ["prefetch_counts"])
    assert found == (None if agreed is None else ("a", *agreed))


def test_under_a_dataset_clause_nothing_is_pushed(text):
    index, nodes = text
    head = "SELECT * FROM :g"
    calls = asked(index.start(9, "p", GRAPH, nodes), nodes, '?a :p :b . ?a MATCH "red"', head=head)
    assert calls[-1][1].conditions == ()


@pytest.mark.parametrize(
    ("pattern", "pushed"),
    [
        ("?a :q :c .", (PushdownCondition(E + "q", f"<{E}c>"),)),
        (
            "{ ?a :q :c } UNION { ?a :q :d }",
            (AnyCondition(tuple((PushdownCondition(E + "q", f"<{E}{x}>"),) for x in "cd")),),
        ),
        ("?a :p :b .", ()),
    ],
)
def test_the_best_are_read_of_those_that_the_conditions_leave(text, pattern, pushed):
    index, nodes = text
    graph = [ox.Quad(node, ox.NamedNode(E + "q"), ox.NamedNode(E + "c")) for node in NODES[1:4]]
    query = f'PREFIX : <{E}> SELECT ?a ?s {{ {pattern} ?a MATCH "red boat" AS ?s }} RANK BY ?s LIMIT 1'
    index.start(0, "q", graph, nodes)
    found = rows(query, graph, index, nodes, "rank_first")
    assert [query.conditions for kind, query in index.asked if kind == "topk"] == [pushed]
    assert found == rows(query, graph, index.start(None), nodes, "reference")
    index.start(0, "q", graph, nodes)
    plan = choose(rewrite(from_ast(parse(query))), PlannerContext(None, Ranked(index)), "rank_first")
    ranking = next(operator for operator in plan.root.walk() if isinstance(operator, RankFirst))
    assert ranking.details(EstimationContext(text=Ranked(index))).startswith("where ") == bool(pushed)
