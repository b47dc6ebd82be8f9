"""A text index that is far away is asked for less, and together, and gives the rows of the reference all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules import rewrite
from hybridkg.entities.filters import satisfies
from hybridkg.entities.table import NodeTable
from hybridkg.errors import HybridkgError, UnknownNameError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import Condition, IndexedField, TextQuery, TextQuestion
from hybridkg.operators import context as context_module
from hybridkg.operators import probing
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.known import Known
from hybridkg.planner.choose import choose
from hybridkg.planner.explain import Explanation
from hybridkg.planner.planning import Planning
from hybridkg.query.parser import parse
from hybridkg.snapshot import scratch
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.embedded import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.ranked import Ranked

E = "http://e/"
TEXTS = {"a": "red fish", "b": "red red boat", "c": "blue boat", "d": "green fish boat", "e": "blue blue fish"}
NODES = [ox.BlankNode("x"), *(ox.NamedNode(E + name) for name in TEXTS)]
WORDS = ("red", "fish", "boat", "blue", "red boat", "nothing", "red -fish")


class FarIndex(EmbeddedTextIndex):
    """The embedded index as if it were on a server that stores values of predicates beside the text."""

    scan_limit: int | None = 0
    values: Mapping[tuple[int, str], Sequence[str]] = {}
    held: frozenset[str] = frozenset()

    def start(self, scan_limit: int | None, held: str = "", graph: Sequence[ox.Quad] = (), nodes=None) -> FarIndex:
        self.scan_limit, self.held = scan_limit, frozenset(E + name for name in held)
        self.values = {}
        for quad in graph:
            known = nodes.find(quad.subject) if isinstance(quad.graph_name, ox.DefaultGraph) else None
            if known is not None and not isinstance(quad.object, ox.BlankNode):
                self.values.setdefault((known, quad.predicate.value), []).append(str(quad.object))
        self.asked: list[tuple[str, object]] = []
        self.known: set[TextQuery] = set()
        return self

    def holds(self, condition: Condition) -> bool:
        return condition.predicate in self.held

    def _kept(self, query: TextQuery, ids) -> np.ndarray:
        assert all(self.holds(condition) for condition in query.conditions)
        return np.array(
            [all(satisfies(self.values.get((i, c.predicate), ()), c) for c in query.conditions) for i in ids.tolist()],
            bool,
        )

    def most(self, query: TextQuery) -> int:
        self.prepare([query])
        return len(self._matching(query)[0])

    def prepare(self, queries: Sequence[TextQuery]) -> None:
        """A size that is known is not asked for again."""
        new = [query for query in queries if query not in self.known]
        self.known.update(new)
        if new:
            self.asked.append(("most", new[0]) if len(new) == 1 else ("prepare", tuple(new)))

    def matching(self, query: TextQuery):
        self.asked.append(("matching", query))
        return self._matching(query)

    def _matching(self, query: TextQuery):
        ids, scores = super().matching(replace(query, conditions=()))
        kept = self._kept(query, ids)
        return ids[kept], scores[kept]

    def topk(self, query: TextQuery, k: int, among=None):
        self.asked.append(("topk", query))
        return self._topk(query, k, among)

    def _topk(self, query: TextQuery, k: int, among=None):
        ids, scores = self._matching(query)
        kept = np.ones(len(ids), bool) if among is None else np.isin(ids, among)
        ids, scores = ids[kept], scores[kept]
        order = np.lexsort((self._rank(ids), -scores))[: max(k, 0)]
        return ids[order], scores[order]

    def score(self, query: TextQuery, ids):
        self.asked.append(("score", sorted(ids.tolist())))
        return super().score(query, ids)

    def answers(self, questions: Sequence[TextQuestion]):
        self.asked.append(("answers", tuple(questions)))
        return [self._matching(q.query) if q.k is None else self._topk(q.query, q.k) for q in questions]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.asked]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> tuple[FarIndex, NodeTable]:
    folder = tmp_path_factory.mktemp("kb")
    NodeTable.write(folder, NODES)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label")], len(NODES))
    for node, words in zip(NODES, ("red boat", *TEXTS.values()), strict=True):
        builder.add(nodes.find(node), 0, [(words, "")])
    builder.finish()
    return FarIndex.open(folder / "text", nodes.rank), nodes


def quads(graph) -> list[ox.Quad]:
    """A third of them in the default graph, a third in a named one, and a third in both."""
    named = ox.NamedNode(E + "g")
    found = []
    for i, (s, p, o) in enumerate(sorted(graph, key=str)):
        found += [ox.Quad(s, ox.NamedNode(E + p), o)] if i % 3 != 2 else []
        found += [ox.Quad(s, ox.NamedNode(E + p), o, named)] if i % 3 != 1 else []
    return found


@lru_cache(maxsize=1)
def logical(query: str) -> Plan:
    return rewrite(from_ast(parse(query)))


def rows(query: str, graph: list[ox.Quad], index, nodes, strategy: str) -> list | None:
    root = STRATEGIES.get(strategy).plan(logical(query), Planning(text=Ranked(index)))
    if root is None:
        return None
    found = ExecutionContext(OxigraphStore.memory(graph), Ranked(index), nodes, lambda n, f: [], scratch).run_plan(root)
    names = sorted(found.variables)
    at = [found.variables.index(name) for name in names]
    return [tuple(str(row[i]) for i in at) for row in found.rows]


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
    lambda dataset, words, parts: f'SELECT * {dataset} {{ ?a MATCH "{words}" AS ?s . {" ".join(parts)} }} RANK BY ?s',
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
        ]
    ),
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    graph=graphs.map(quads),
    query=st.one_of(queries, joins, joins),
    scan_limit=st.sampled_from([0, 0, 3, None]),
    held=st.sampled_from(["", "p", ("p", "q", "year")]),
    few=st.sampled_from([0, 1, 2000]),
)
def test_a_far_index_changes_no_row_and_no_order(text, monkeypatch, graph, query, scan_limit, held, few):
    monkeypatch.setattr(probing, "FEW_VALUES", few)
    monkeypatch.setattr(probing, "PROBES_AT_ONCE", 2)
    index, nodes = text
    try:
        parse(query)
        want = rows(query, graph, index.start(None), nodes, "reference")
    except HybridkgError:
        return  # a score name in two places, or a pattern that this version refuses
    index.start(scan_limit, held, graph, nodes)
    for name in STRATEGIES.names():
        got = rows(query, graph, index, nodes, name)
        assert got is None or got == want, name


# --- what is asked ----------------------------------------------------------------------------

GRAPH = [
    *(ox.Quad(node, ox.NamedNode(E + "p"), NODES[1]) for node in NODES[1:]),
    ox.Quad(NODES[1], ox.NamedNode(E + "year"), ox.Literal(2003)),
    ox.Quad(NODES[2], ox.NamedNode(E + "year"), ox.Literal(1999)),
    ox.Quad(NODES[2], ox.NamedNode(E + "q"), NODES[3]),
    ox.Quad(NODES[3], ox.NamedNode(E + "p"), NODES[2], ox.NamedNode(E + "g")),
]


def asked(index: FarIndex, nodes, pattern: str, strategy="bind_join", head="SELECT *", graph=GRAPH) -> list:
    got = rows(f"PREFIX : <{E}> {head} {{ {pattern} }} ORDER BY ?a", graph, index, nodes, strategy)
    calls = list(index.asked)
    assert got == rows(f"PREFIX : <{E}> {head} {{ {pattern} }} ORDER BY ?a", graph, index, nodes, "reference")
    return calls


def test_a_small_fragment_is_read_first_and_only_its_entities_are_scored(text):
    index, nodes = text
    calls = asked(index.start(0), nodes, '?a :q ?b . ?a MATCH "red boat" AS ?s')
    assert [kind for kind, _ in calls] == ["most", "score"]
    assert calls[1][1] == [nodes.find(NODES[2])]


def test_a_fragment_without_rows_asks_for_no_score(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(0), nodes, '?a :none ?b . ?a MATCH "red"')] == ["most"]


def test_a_large_fragment_is_left_and_the_text_is_read_first(text):
    index, nodes = text
    assert [k for k, _ in asked(index.start(0), nodes, '?a :p ?b . ?a MATCH "green"')] == ["most", "matching"]


def test_few_matches_are_read_at_once(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(5), nodes, '?a :q ?b . ?a MATCH "red"')] == ["most", "matching"]


def test_an_index_at_hand_is_asked_as_ever(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(None), nodes, '?a :q ?b . ?a MATCH "red"')] == ["matching"]


def test_the_fragment_is_read_once_whatever_comes_of_it(text, monkeypatch):
    index, nodes = text
    monkeypatch.setattr(probing, "FEW_VALUES", 0)
    for pattern, limit in (('?a :q ?b . ?a MATCH "red"', 0), ('?a :p ?b . ?a MATCH "red"', 0)):
        store = OxigraphStore.memory(GRAPH)
        reads: list[str] = []
        select = store.select
        store.select = lambda sparql, select=select, reads=reads, **_: (reads.append(sparql), select(sparql))[1]
        root = STRATEGIES.get("bind_join").plan(
            rewrite(from_ast(parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}"))), Planning()
        )
        ExecutionContext(store, Ranked(index.start(limit)), nodes, lambda n, f: [], scratch).run_plan(root)
        assert len([sparql for sparql in reads if "VALUES" not in sparql]) == 1


def test_conditions_are_pushed_when_the_index_holds_them(text):
    index, nodes = text
    pattern = '?a :year ?y ; :q :c . FILTER(?y >= 1990 && ?y < 2000) ?a MATCH "red boat" AS ?s'
    calls = asked(index.start(9, ("q", "year"), GRAPH, nodes), nodes, pattern)
    assert [kind for kind, _ in calls] == ["most", "matching"]
    assert set(calls[1][1].conditions) == {
        Condition(E + "year", low=1990.0, high=2000.0),
        Condition(E + "q", f"<{E}c>"),
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
    planning = Planning(None, Ranked(index))
    plan = rewrite(
        from_ast(parse(f'PREFIX : <{E}> SELECT * {{ {pattern} ?a MATCH "red boat" AS ?s }} RANK BY ?s LIMIT 2'))
    )
    choose(plan, planning)
    found = planning.agreed(planning.ranking(plan))
    assert index.kinds() == (["most"] if agreed is None else ["prepare"])
    assert found == (None if agreed is None else ("a", *agreed))


def test_under_a_dataset_clause_nothing_is_pushed(text):
    index, nodes = text
    head = "SELECT * FROM :g"
    calls = asked(index.start(9, "p", GRAPH, nodes), nodes, '?a :p :b . ?a MATCH "red"', head=head)
    assert calls[-1][1].conditions == ()


# --- several legs -----------------------------------------------------------------------------

LEGS = '{ ?a MATCH "red" AS ?s } UNION { ?a MATCH "blue" AS ?s } UNION { ?a MATCH "red" AS ?t }'


def test_the_legs_of_a_plan_are_asked_together_and_each_once(text):
    index, nodes = text
    calls = asked(index.start(0), nodes, LEGS, "reference")
    assert [kind for kind, _ in calls] == ["answers"]
    assert [question.query.text for question in calls[0][1]] == ["red", "blue"]
    assert [kind for kind, _ in asked(index.start(None), nodes, LEGS, "reference")] == ["matching"] * 3


def test_small_legs_that_join_a_fragment_are_asked_together(text):
    index, nodes = text
    pattern = '{ ?a :q ?b . ?a MATCH "red" AS ?s } UNION { ?a :p ?b . ?a MATCH "blue" AS ?s }'
    calls = asked(index.start(5), nodes, pattern)
    assert [kind for kind, _ in calls] == ["prepare", "answers"]
    assert [question.query.text for question in calls[1][1]] == ["red", "blue"]
    calls = asked(index.start(0), nodes, pattern)
    assert next(kind for kind, _ in calls) == "prepare"
    assert "answers" not in [kind for kind, _ in calls]


def test_the_sizes_that_planning_wants_are_asked_for_together(text):
    index, _ = text
    query = 'SELECT * { ?a MATCH "red" AS ?s . ?a MATCH "blue" AS ?t } RANK BY ?s + ?t LIMIT 2'
    choose(rewrite(from_ast(parse(query))), Planning(None, Ranked(index.start(0))))
    assert index.kinds() == ["prepare"]


def test_one_leg_is_asked_alone(text):
    index, nodes = text
    assert [kind for kind, _ in asked(index.start(0), nodes, '?a MATCH "red" AS ?s', "reference")] == ["matching"]
    top = '?a MATCH "red" TOP 2 AS ?s'
    assert [kind for kind, _ in asked(index.start(0), nodes, top, "reference")] == ["topk"]


def test_a_leg_about_each_graph_is_asked_once(text):
    index, nodes = text
    graph = [*GRAPH, *(ox.Quad(NODES[1], ox.NamedNode(E + "p"), NODES[1], ox.NamedNode(f"{E}g{i}")) for i in range(5))]
    pattern = '?a MATCH "boat" AS ?t . GRAPH ?g { ?b MATCH "red" AS ?s OPTIONAL { ?a :p ?b } }'
    assert [kind for kind, _ in asked(index.start(0), nodes, pattern, "reference", graph=graph)] == ["answers"]


def test_texts_of_a_variable_are_asked_in_batches(text, monkeypatch):
    index, nodes = text
    values = " ".join(f'"red w{i}"' for i in range(130))
    calls = asked(index.start(0), nodes, f"VALUES ?l {{ {values} }} ?a MATCH ?l AS ?s", "reference")
    assert [(kind, len(question)) for kind, question in calls] == [("answers", 64), ("answers", 64), ("answers", 2)]
    monkeypatch.setattr(context_module, "MOST_ANSWERED", 6 * len(NODES))
    calls = asked(index.start(0), nodes, 'VALUES ?l { "red" "blue" "boat" } ?a MATCH ?l AS ?s', "reference")
    assert [len(question) for _, question in calls] == [3]
    monkeypatch.setattr(context_module, "MOST_ANSWERED", 0)
    calls = asked(index.start(0), nodes, 'VALUES ?l { "red" "blue" "boat" } ?a MATCH ?l AS ?s', "reference")
    assert [kind for kind, _ in calls] == ["matching"] * 3


def test_a_leg_that_is_wrong_is_an_error_at_its_place_and_the_others_are_not_blamed(text):
    index, nodes = text
    query = 'SELECT * { { ?a MATCH "red" } UNION { ?a MATCH "blue" } UNION { ?a MATCH "red" ON (nosuch) } }'
    with pytest.raises(UnknownNameError, match="no field 'nosuch'") as caught:
        rows(query, GRAPH, index.start(0), nodes, "reference")
    assert caught.value.span is not None
    assert query[caught.value.span.start :].startswith("nosuch")


@pytest.mark.parametrize("strategy", ["reference", "bind_join"])
def test_explain_says_the_same_wherever_the_index_is(text, strategy):
    index, _ = text
    query = parse('SELECT * { ?a MATCH "red" TOP 3 AS ?s . ?b <http://e/p> ?a . ?b MATCH "blue" }')
    plan = choose(rewrite(from_ast(query)), Planning(), strategy)
    near, far = (str(Explanation(plan, Known(index.start(limit)))) for limit in (None, 0))
    assert near == far


def test_explain_shows_the_conditions_that_go_along(text):
    index, nodes = text
    query = parse(f'PREFIX : <{E}> SELECT * {{ ?a :q :b ; :year ?y . ?a MATCH "red" FILTER(?y >= 2018 && ?y < 2022) }}')
    plan = choose(rewrite(from_ast(query)), Planning(), "bind_join")
    shown = str(Explanation(plan, Known(index.start(9, ("q", "year"), GRAPH, nodes)), prefixes=(("", E),)))
    assert "where :q = :b and 2018 <= :year <= 2022" in shown
