"""A prepared query is the query: the same plan, the same rows, the same errors, whatever the values."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import ParameterError, QuerySyntaxError, SourceName
from hybridkg.interfaces.graph_index import BoundPattern
from hybridkg.interfaces.parameter import Parameter
from hybridkg.kb.clock_cache import OFFERED, ClockCache
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.kb.shared_text import query_text
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.choose import choose, with_limit
from hybridkg.query.checks.check import check
from hybridkg.query.checks.check_values import check_values
from hybridkg.query.parameters.bind import bind
from hybridkg.query.parser import parse

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
F = rdflib.Namespace("http://example.org/films/")
PREFIX = f"PREFIX f: <{F}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "

ELEMENTS = (
    "?x f:director $a .",
    "?x $p ?z .",
    "$a ?p ?x .",
    "?x a f:Film ; f:year ?y .",
    "?x f:director/rdfs:label $b .",
    "FILTER(?y > $b)",
    "FILTER(?y IN ($b, 1979, $c))",
    "FILTER(BOUND($b) || ?y = 1979)",
    "FILTER EXISTS { ?x f:director $a }",
    "FILTER NOT EXISTS { ?x f:year $b }",
    "OPTIONAL { ?x f:year ?w FILTER(?w != $b) }",
    "MINUS { ?x f:year $b }",
    "?x MATCH $t AS ?s .",
    "?x MATCH QUERY $t AS ?s .",
    "?x MATCH $t ON (label^2) TOP 3 AS ?s SNIPPET ?n .",
    '?x MATCH "mars" AS ?u SNIPPET ?m .',
    "?x MATCH $c USING bm25(k1=$k) AS ?s .",
    "{ ?x f:director $a } UNION { ?x MATCH $t AS ?s }",
    "{ ?x MATCH $t SNIPPET ?n } UNION { ?x MATCH $c SNIPPET ?n }",
    "{ SELECT ?x WHERE { ?x f:director $a ; f:year ?v } }",
    "{ SELECT ?x $b WHERE { ?x MATCH $t AS ?q } RANK BY ?q LIMIT 2 }",
    "BIND($b AS ?c2)",
    "BIND(?y + $b AS ?d)",
    "VALUES ?y { 1979 1982 }",
    "GRAPH $a { ?x f:year ?y }",
    "GRAPH ?g { ?x f:director $a . ?x MATCH $t AS ?s }",
)
HEADS = (
    "SELECT *",
    "SELECT ?x",
    "SELECT DISTINCT ?x $a",
    "SELECT ?x (STR($b) AS ?str)",
    "SELECT (COUNT(*) AS ?count)",
    "ASK",
    "CONSTRUCT { ?x f:seen $b }",
    "DESCRIBE ?x $a",
)
TAILS = (
    "",
    "LIMIT 3",
    "RANK BY ?s",
    "RANK BY ?s + $b AS ?r LIMIT 2",
    "RANK BY ?s + IF(EXISTS { ?x f:director $a }, 1, IF(EXISTS { ?x f:director f:Scott }, 2, 0))",
    "RANK BY rrf(?s, ?u)",
    "ORDER BY $b LIMIT 4 OFFSET 1",
    "GROUP BY $b",
    "GROUP BY ?x HAVING (COUNT(*) > $k)",
)
NAMES = ("a", "b", "c", "t", "p", "k", "x", "y", "?a", "$b", "s", "zzz")
VALUES: tuple[Any, ...] = (
    F.Scott,
    F.director,
    F.Alien,
    "space",
    'mars "crew',
    "-x*~",
    "été \N{SNOWMAN}",
    "",
    1979,
    1.5,
    True,
    rdflib.Literal("ship", lang="en"),
    rdflib.Literal("1979", datatype=rdflib.XSD.integer),
    rdflib.Literal("1979"),
    None,
    rdflib.BNode("b"),
    "\ud800",
)
VALUE = st.sampled_from(VALUES)
PARAMETERS = st.dictionaries(st.sampled_from(NAMES), VALUE | st.lists(VALUE, max_size=3), max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> str:
    elements = draw(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4, unique=True))
    return f"{PREFIX}{draw(st.sampled_from(HEADS))} {{ {' '.join(elements)} }} {draw(st.sampled_from(TAILS))}"


def whole(value: Any) -> Any:
    """Everything in a tree: also spans and what takes no part in equality; a parameter is told from a constant."""
    if isinstance(value, tuple):
        return tuple(whole(item) for item in value)
    if isinstance(value, Parameter):
        return "parameter"
    if is_dataclass(value):
        return (type(value), *(whole(getattr(value, one.name)) for one in fields(value)))
    return value


def outcome(work: Any) -> Any:
    try:
        return work()
    except HybridkgError as e:
        return type(e), e.render()


def slowly(text: str, parameters: Any) -> Any:
    def work() -> Any:
        try:
            query = parse(text)
            check(query)
            query = bind(query, parameters)
            check_values(query)
            return whole(query), whole(rewrite(from_ast(query)))
        except HybridkgError as e:
            raise e.at(SourceName("query", text)) from None

    return outcome(work)


def prepared(known: ParsedQuery, parameters: Any) -> Any:
    def work() -> Any:
        try:
            request = known.request(parameters)
            return whole(request.query), whole(request.logical)
        except HybridkgError as e:
            raise e.at(SourceName("query", known.text)) from None

    return outcome(work)


@settings(max_examples=examples(12, 500), deadline=None)
@given(texts(), st.lists(PARAMETERS, min_size=1, max_size=4))
def test_a_text_that_is_read_once_has_the_plans_and_errors_of_one_that_is_read_each_time(text, rounds):
    try:
        known = ParsedQuery(text)
    except HybridkgError:
        return
    for parameters in [*rounds, *rounds]:
        assert prepared(known, parameters) == slowly(text, parameters)


@settings(max_examples=examples(15, 500), deadline=None)
@given(texts(), st.data())
def test_other_values_of_the_same_kinds_need_no_other_plan(text, data):
    try:
        known = ParsedQuery(text)
    except HybridkgError:
        return
    kinds = {"a": [F.Scott, F.Lang, F.Alien], "b": [1979, 3, 0.5], "t": ["space", "mars crew", "1979"],
             "c": ["ship", "words"], "p": [F.director, F.year], "k": [0.5, 1.25]}  # fmt: skip
    names = data.draw(st.sets(st.sampled_from(sorted(kinds))))
    for _ in range(3):
        parameters = {name: data.draw(st.sampled_from(kinds[name])) for name in sorted(names)}
        assert prepared(known, parameters) == slowly(text, parameters)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


@settings(max_examples=examples(15, 120), deadline=None)
@given(texts(), st.lists(PARAMETERS, min_size=1, max_size=3))
def test_the_rows_the_warnings_and_the_errors_are_those_of_a_knowledge_base_that_remembers_nothing(films, text, rounds):
    def answer(kb: KnowledgeBase, query: Any, parameters: Any) -> Any:
        def work() -> Any:
            result = kb.query(query, parameters)
            about = result.requested, result.strategy, result.shortfall, [w.render() for w in result.warnings]
            first = [(row.facts(), row.scores) for row in result[:2]]
            return result.columns, result.cells, result.boolean, about, first

        return outcome(work)

    for parameters in [*rounds, *rounds]:
        try:
            fresh = ParsedQuery(text)
            fresh.request = fresh._planned  # type: ignore[method-assign, assignment]
            fresh.request = lambda params, folder, services, fresh=fresh: fresh._planned(params, folder)
        except HybridkgError:
            return
        assert answer(films, text, parameters) == answer(films, fresh, parameters)


def operators(value: Any) -> Any:
    """Everything in a tree of operators, with the types; of a function only that it is one."""
    if isinstance(value, tuple):
        return tuple(operators(item) for item in value)
    if isinstance(value, GraphFragment):
        pattern = value.pattern.whole if isinstance(value.pattern, BoundPattern) else value.pattern
        value = type(value)(value.bound_group, value.columns, value.dataset, pattern)
    if isinstance(value, StoreQuery):
        value = type(value)(value.form, value.declined)
    if isinstance(value, Parameter):
        return "parameter"
    if is_dataclass(value):
        return (type(value), *(operators(getattr(value, one.name)) for one in fields(value)))
    return "function" if callable(value) else (type(value), value)


RANKED = (
    "?x MATCH $t AS ?s .",
    "?x MATCH $c AS ?u . ?x MATCH $t AS ?s .",
    "?x MATCH $t AS ?s . ?y MATCH $c AS ?u . ?x f:director/^f:director ?y .",
    "?x MATCH $t AS ?s . ?x f:director $a .",
    "?x MATCH $t ON (label^2) AS ?s . FILTER EXISTS { ?x f:director $a . ?x MATCH $c AS ?v }",
)


def test_a_parameter_in_an_exists_is_estimated_by_its_value(films):
    text = PREFIX + "SELECT * { FILTER EXISTS { ?x f:director $a } BIND($b AS ?c2) }"
    request = ParsedQuery(text).request({"a": F.Scott})
    by_template = films._current_session()._chosen(request, 5, None)
    by_values = choose(with_limit(request.logical, 5), films._snapshot.planning(), None)
    assert by_template.strategy == by_values.strategy
    assert (by_template.cost, by_template.rejected) == (by_values.cost, by_values.rejected)


@st.composite
def ranked(draw: st.DrawFn) -> str:
    elements = draw(st.lists(st.sampled_from(ELEMENTS[:22]), max_size=3, unique=True))
    tail = draw(st.sampled_from(["?s", "?s LIMIT 2", "?s + 2 * ?u LIMIT 3", "rrf(?s, ?u)", "?s + $b LIMIT 1"]))
    head = draw(st.sampled_from(["SELECT *", "SELECT DISTINCT ?x"]))
    return f"{PREFIX}{head} {{ {draw(st.sampled_from(RANKED))} {' '.join(elements)} }} RANK BY {tail}"


@settings(max_examples=examples(30, 240), deadline=None)
@given(ranked() | texts(), st.data())
def test_a_plan_from_a_template_is_the_plan_of_the_values(films, text, data):
    try:
        known = ParsedQuery(text)
    except HybridkgError:
        return
    kinds = {"a": [F.Scott, F.Lang, F.Alien], "b": [1979, 3, 0.5], "t": ["space", "mars crew", "1979"],
             "c": ["ship", "words"], "p": [F.director, F.year], "k": [0.5, 1.25]}  # fmt: skip
    state, names = films._current_session(), sorted(data.draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1)))
    strategy = data.draw(st.sampled_from([None, None, "rank_first", "filter_first", "rank_join", "reference"]))

    def planned(request: Any, template: bool) -> Any:
        if not template:
            plan = choose(with_limit(request.logical, 5), films._snapshot.planning(), strategy)
        else:
            plan = state._chosen(request, 5, strategy)
        return plan.strategy, plan.cost, plan.rejected, whole(plan.logical), operators(plan.root)

    for _ in range(3):
        parameters = {name: data.draw(st.sampled_from(kinds[name])) for name in names}
        try:
            request = known.request(parameters)
        except HybridkgError:
            return
        assert outcome(lambda: planned(request, True)) == outcome(lambda: planned(request, False))  # noqa: B023


def test_plans_for_other_values_share_their_template(films):
    text = f"{PREFIX}SELECT ?x {{ ?x MATCH $t AS ?s . ?x f:director $a }} RANK BY ?s LIMIT 3"
    known, state = ParsedQuery(text), films._current_session()
    first = state._chosen(known.request({"t": "space", "a": F.Scott}), None, None)
    (template,) = [
        one for (made, *_), ((_, one), _) in state._templates._items.items() if made.written is known.written
    ]
    roots = dict(template.roots)
    again = state._chosen(known.request({"t": "mars", "a": F.Lang}), None, None)
    assert type(again.root) is type(first.root)
    assert roots
    assert all(template.roots[name] is root for name, root in roots.items())
    assert "parameter" not in repr(operators(again.root))


def test_a_template_keeps_nothing_of_values_that_decide_on_operators(films):
    known = ParsedQuery(f"{PREFIX}SELECT ?x {{ ?x rdfs:label ?l FILTER(STRSTARTS(?l, $t)) }}")
    state, sizes = films._current_session(), set[int]()
    for text in ("A", "B", "C", "D"):
        state._chosen(known.request({"t": text}), None, None)
        (one,) = [one for (made, *_), ((_, one), _) in state._templates._items.items() if made.written is known.written]
        sizes.add(len(one.memo))
    assert len(sizes) == 1


def test_no_parameter_is_left_where_values_have_been_put():
    known = ParsedQuery(
        f"{PREFIX} SELECT ?x {{ ?x f:director $a . ?x MATCH $t AS ?s . VALUES ?y {{ 1 2 }} }} RANK BY ?s"
    )
    request = known.request({"t": "space", "a": F.Scott})
    assert request.template.is_cached
    for tree in (whole(request.query), whole(request.logical), whole(request.matches)):
        assert "parameter" not in repr(tree)
    assert "parameter" in repr(whole(request.template.logical))
    assert known.request({"t": "mars", "a": F.Lang}).template is request.template
    assert known.request({"t": "mars"}).template is not request.template


def test_an_error_of_values_points_at_the_place_and_the_next_values_work(films):
    query = films.prepare(f"{PREFIX}SELECT ?x {{ ?x $p ?d . ?x MATCH $words AS ?s }} RANK BY ?s")
    assert query.parameters == ("p", "words")
    assert len(query.query({"p": F.director, "words": "space"})) == 4
    for _ in range(2):
        with pytest.raises(ParameterError) as caught:
            query.query({"p": "no IRI", "words": "space"})
        assert "a literal parameter stands where a triple has its subject or predicate" in caught.value.render()
        assert "query:1:" in caught.value.render()
    assert len(query.query({"p": F.director, "words": "mars"})) > 0


def test_what_cannot_be_parsed_cannot_be_prepared_and_says_where(films):
    for _ in range(2):
        with pytest.raises(QuerySyntaxError) as caught:
            films.prepare("SELECT * { ?x ! }", name="mine.hq")
        assert "mine.hq:1:17" in caught.value.render()


def test_a_score_that_a_parameter_demands_is_that_of_its_value(films):
    text = 'SELECT ?film ?s { ?film MATCH "space crew" AS ?s FILTER(?s >= $least) } RANK BY ?s LIMIT 5'
    prepared, scores = films.prepare(text), [row["s"] for row in films.query(text, {"least": 0}).to_python()]
    assert len(scores) > 2
    for least in (100, scores[1], -1, scores[0], 100.5, "no number"):
        found = [row["s"] for row in prepared.query({"least": least}).to_python()]
        assert found == [score for score in scores if not isinstance(least, str) and score >= least]


def test_text_of_a_parameter_stays_plain_words(films):
    query = films.prepare("SELECT ?x ?s { ?x MATCH $words AS ?s } RANK BY ?s")
    plain = query.query({"words": "space crew"}).to_python()
    assert query.query({"words": '-space "crew +'}).to_python() == plain


def test_a_prepared_query_follows_its_knowledge_base(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    query = kb.prepare("SELECT ?s { ?s ?p ?o }")
    assert len(query.query()) == 0
    KnowledgeBase.open(tmp_path / "f.kb").load(FILMS, index=False)
    assert len(query.query()) == 0
    kb.refresh()
    assert len(query.query()) == 128
    assert str(query.explain()).startswith("strategy: ")


def test_a_plan_that_is_remembered_keeps_no_old_state_in_use(tmp_path, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path / "f.kb"))
    query = kb.prepare("SELECT ?x { ?x MATCH $words AS ?s } RANK BY ?s")
    result = query.query({"words": "space"})
    state = weakref.ref(kb._snapshot)
    kb.refresh()
    del result
    assert state() is None
    query.query({"words": "space"})
    state = weakref.ref(kb._snapshot)
    kb.close()
    assert state() is None


def test_many_threads_ask_one_prepared_query(films):
    query = films.prepare("SELECT ?x ?s { ?x MATCH $words AS ?s } RANK BY ?s")
    words = ["space", "mars", "ship", "samurai", "robot"]
    want = {word: query.query({"words": word}).to_python() for word in words}
    start = threading.Barrier(4)

    def ask(n: int) -> bool:
        start.wait()
        return all(query.query({"words": w}).to_python() == want[w] for _ in range(20) for w in words[n:] + words[:n])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))


def test_warnings_of_a_remembered_query_are_its_own(films):
    text = f"{PREFIX}SELECT ?x {{ ?x f:nothing ?y . ?x MATCH 'space' AS ?s }}"
    first, second = films.query(text, name="one").warnings, films.query(text, name="two").warnings
    assert [w.code for w in first] == [w.code for w in second] == ["W107", "W103"]
    assert "one:1:" in first[0].render()
    assert "two:1:" in second[0].render()


def test_a_changed_file_of_settings_counts_at_once(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    query = kb.prepare("SELECT * { SERVICE SILENT <http://127.0.0.1:1/> { ?s ?p ?o } }")
    with pytest.raises(HybridkgError, match="switched off"):
        query.query()
    file = tmp_path / "f.kb" / "kb.toml"
    file.write_text(file.read_text().replace('"refuse"', '"allow"'))
    query.query()


def test_texts_are_remembered_up_to_a_number_and_a_length():
    recent: ClockCache[int, str] = ClockCache(2)
    for n in range(5):
        recent.put(n, str(n))
        recent.get(3)
    assert [recent.get(n) for n in range(5)] == [None, None, None, "3", "4"]
    recent.put(5, "5")  # all others have been used: the oldest goes
    assert [recent.get(n) for n in range(3, 6)] == [None, "4", "5"]
    recent.put(4, "four")
    assert [recent.get(n) for n in range(3, 6)] == [None, "four", "5"]

    repeated: ClockCache[int, int] = ClockCache(2)
    for _ in range(2):
        repeated.put_repeated(7, 7)
    for n in range(10_000):  # a key that does not repeat takes no place of one that does
        repeated.put_repeated(n + 10, n)
    assert repeated.get(7) == 7
    assert len(repeated._items) == 1
    assert len(repeated._offered) <= OFFERED * 2
    long = "SELECT * { ?s ?p ?o } #" + "x" * 20_000
    assert query_text(long) is not query_text(long)
    for _ in range(2):  # a text whose shape is known is kept once it repeats
        query_text("SELECT * { ?s ?p ?o }")
    assert query_text("SELECT * { ?s ?p ?o }") is query_text("SELECT * { ?s ?p ?o }")
