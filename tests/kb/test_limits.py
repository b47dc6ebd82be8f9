"""A query ends when its time is over, when it holds too much, and when somebody says so."""

from __future__ import annotations

import _weakrefset
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from math import inf
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import OverloadedError, ParameterError, QueryLimitError, QueryStoppedError, UserError
from hybridkg.interfaces.meter import Meter
from hybridkg.kb import brief_run, cancellation, query_run
from hybridkg.kb.cancellation import MAX_ORPHANS, StoppableThread, read_duration
from hybridkg.kb.snapshot import Snapshot
from hybridkg.operators.columns import ColumnsDeclined
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.planner.cost_model import CostModel
from hybridkg.store.oxigraph import OxigraphStore

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
SPACE = "SELECT ?f ?s { ?f MATCH 'space' AS ?s } RANK BY ?s"

BROAD = "the of in and"

T = TypeVar("T")

LONG = {
    "one row that takes long in the store": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g a ?h }",
    "a product in the store": "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?a MATCH 'space' AS ?s }",
    "a product in Python": f"SELECT * {{ {' '.join(f'?{name} MATCH {BROAD!r} .' for name in 'abcdef')} "
    f"FILTER(CONCAT({', '.join(f'STR(?{name})' for name in 'abcdef')}) = 'x') }}",
    "a sum over a product": "SELECT (SUM(?y) AS ?n) { ?x <http://example.org/films/year> ?y . ?a ?b ?c . ?d ?e ?f "
    ". ?g a ?i }",
}
"""Each takes seconds at least, or more memory than it may."""

GENRE = "<http://example.org/films/genre>"

ONLY_THE_STORE_ENDS = {"one row that takes long in the store", "a sum over a product"}
"""They have no row before the last one, so Oxigraph goes on with them."""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


@pytest.fixture(autouse=True)
def _nothing_is_counted_twice(monkeypatch):
    """What one test has left behind in the store does not count for the next."""
    monkeypatch.setattr(cancellation, "_orphans", [])


@pytest.fixture
def answer_of_the_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until the event is set, Oxigraph does not return from a query that only it can end."""

    def ask(store: OxigraphStore, sparql: str, bound: object) -> object:
        if "COUNT" in sparql or "SUM" in sparql:
            answer.wait(600)
        return ask_store(store, sparql, bound)

    answer, ask_store = threading.Event(), OxigraphStore._ask_store
    monkeypatch.setattr(OxigraphStore, "_ask_store", ask)
    yield answer
    answer.set()


def strategy_of(name: str) -> str | None:
    """Columns would count without listing."""
    return "oxigraph" if name in ONLY_THE_STORE_ENDS else None


def left_behind(name: str) -> int:
    """The number of threads that a query of LONG leaves behind when it is stopped."""
    return int(name in ONLY_THE_STORE_ENDS)


@pytest.mark.usefixtures("late_at_work", "answer_of_the_store")
@pytest.mark.parametrize("name", LONG)
def test_a_query_over_its_time_ends_and_says_what_it_was_at(films, name):
    with pytest.raises(QueryStoppedError, match=r"taken longer than 900 s") as caught:
        films.query(LONG[name], timeout=900, strategy=strategy_of(name))
    assert cancellation.count_orphans() >= left_behind(name)
    assert caught.value.doing
    assert f"at work: {caught.value.doing}" in caught.value.render()
    assert isinstance(caught.value, QueryLimitError)
    assert len(films.query(SPACE)) == 4


@pytest.mark.usefixtures("answer_of_the_store")
@pytest.mark.parametrize("name", LONG)
def test_an_event_ends_a_query(films, runs, name):
    def press() -> None:
        while not runs.is_at_work():
            time.sleep(0.001)
        cancel.set()

    cancel = threading.Event()
    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(QueryStoppedError, match="the query was cancelled"):
        films.query(LONG[name], cancel=cancel, strategy=strategy_of(name))
    assert cancellation.count_orphans() >= left_behind(name)
    assert len(films.query(SPACE, cancel=threading.Event())) == 4


@pytest.mark.usefixtures("late_at_work")
@pytest.mark.parametrize("end", ["", " LIMIT 5"])
def test_a_stopped_query_of_columns_names_the_pattern(films, end):
    with pytest.raises(QueryStoppedError) as caught:
        films.query(f"SELECT ?a ?f {{ ?a {GENRE} ?c . ?f {GENRE} ?c }}{end}", timeout=900, strategy="columns")
    assert caught.value.doing == f"GraphFragment {{ ?a {GENRE} ?c . ?f {GENRE} ?c }}"


@pytest.mark.usefixtures("late_at_work")
def test_explain_analyze_keeps_the_limits_too(films):
    with pytest.raises(QueryStoppedError):
        films.query("EXPLAIN ANALYZE " + LONG["a product in the store"], timeout=900)
    with pytest.raises(QueryStoppedError):
        films.explain(LONG["a product in the store"], analyze=True, timeout=900)

    with pytest.raises(QueryLimitError, match="more than 9 rows"):
        films.explain("SELECT * { ?a a ?c . ?f MATCH 'space' }", analyze=True, max_rows=9)


WORKS_AT_ROWS = {"why": lambda row: row.why(), "facts": lambda row: row.facts(), "triples": lambda row: row.triples()}


WORKS_AND_PLACES = list(product(WORKS_AT_ROWS, ("argument", "kb.toml")))


@pytest.mark.parametrize(("work", "where"), sampled(WORKS_AND_PLACES, WORKS_AND_PLACES[0], WORKS_AND_PLACES[-1]))
def test_explanations_of_a_row_have_the_time_of_the_query(films, copy_films, tmp_path, monkeypatch, clock, work, where):
    query = "SELECT ?f ?s { ?f MATCH 'space' AS ?s . ?f <http://example.org/films/year> ?y } RANK BY ?s"
    if where == "argument":
        row = films.query(query, timeout=900)[0]
    else:
        kb = KnowledgeBase.open(copy_films(tmp_path / "f.kb"))
        with (tmp_path / "f.kb" / "kb.toml").open("a") as file:
            file.write("\n[limits]\ntimeout = 900\n")
        row = kb.query(query)[0]
    stop, select = threading.Event(), OxigraphStore.select

    def slow(*args: object, **options: object) -> object:
        clock.ahead = lambda: 1000.0
        stop.wait(600)
        return select(*args, **options)

    monkeypatch.setattr(OxigraphStore, "select", slow)
    try:
        with pytest.raises(QueryStoppedError, match=r"taken longer than 900 s") as caught:
            WORKS_AT_ROWS[work](row)
    finally:
        stop.set()
    assert "at work: the explanation of a row" in caught.value.render()
    assert caught.value.source.name == "query"


@pytest.mark.parametrize("work", WORKS_AT_ROWS.values(), ids=WORKS_AT_ROWS)
def test_the_time_of_an_explanation_begins_with_it(films, clock, work):
    query = SPACE.replace("}", ". ?f <http://example.org/films/year> ?y }")
    row, want = films.query(query, timeout=900)[0], work(films.query(query)[0])
    clock.ahead = lambda: 1000.0
    assert str(work(row)) == str(want)


def test_explanations_of_a_row_end_with_the_event_of_the_query(films):
    cancel = threading.Event()
    row = films.query(SPACE, cancel=cancel)[0]
    assert row.why().hits
    cancel.set()
    with pytest.raises(QueryStoppedError, match="cancelled"):
        row.why()


def test_explanations_of_a_row_have_the_rows_of_the_query(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "hub.kb")
    (tmp_path / "hub.nt").write_text(
        "".join(f"<e:hub> <e:p> <e:n{i}> .\n<e:n{i}> <e:q> <e:t> .\n" for i in range(50))
        + '<e:hub> <http://www.w3.org/2000/01/rdf-schema#label> "a hub" .\n'
    )
    kb.load(tmp_path / "hub.nt", index=True)
    query = "SELECT * { ?h MATCH 'hub' AS ?s VALUES ?t { <e:t> } ?h !<e:none>+ ?t } RANK BY ?s LIMIT 1"
    for max_rows in (None, 60):
        (row,) = kb.query(query, max_rows=max_rows)
        assert len(row.facts()) == len(row.why().triples) == 2
    (row,) = kb.query(query, max_rows=40)
    for work in WORKS_AT_ROWS.values():
        with pytest.raises(QueryLimitError, match="more than 40 rows"):
            work(row)


def test_a_query_within_its_limits_is_the_same_query(films):
    plain = films.query(SPACE)
    limited = films.query(SPACE, timeout=60, max_rows=1000, max_megabytes=10, cancel=threading.Event())
    assert (limited.cells, limited.columns, limited.strategy) == (plain.cells, plain.columns, plain.strategy)
    assert limited[0].facts() == plain[0].facts()
    assert str(limited[0].why()) == str(plain[0].why())


def test_an_error_of_a_limited_query_is_the_same_error(films):
    for query in ("SELECT ?x { ?x MATCH QUERY '\"a' AS ?s }", "SELECT ?x { ?x MATCH 'a' ON (nofield) }", "SELECT ?x {"):
        with pytest.raises(HybridkgError) as plain:
            films.query(query)
        with pytest.raises(HybridkgError) as limited:
            films.query(query, timeout=60)
        assert limited.value.render() == plain.value.render()


def test_rows_and_memory_of_an_intermediate_result_are_limited(films):
    query = "SELECT * { ?a a ?c . ?d a ?f . ?g MATCH 'space' }"
    types = len(films.query("SELECT * { ?a a ?c }"))
    assert len(films.query(query)) == types * types * 4
    with pytest.raises(QueryLimitError, match="more than 900 rows"):
        films.query(query, max_rows=900)
    with pytest.raises(QueryLimitError, match=r"takes more than 0\.5 MB") as caught:
        films.query(query, max_megabytes=0.5)
    assert "raise the limit on memory" in caught.value.hint


@pytest.mark.parametrize("where", ["?f MATCH 'space'", "?f MATCH 'space' AS ?s", "?f MATCH 'space' . ?f MATCH 'a'"])
def test_rows_of_a_text_relation_are_limited(films, where):
    query = f"SELECT ?f {{ {where} }}"
    rows = len(films.query(f"SELECT ?f {{ {where.split(' . ')[0]} }}", max_rows=4))
    assert rows == 4
    with pytest.raises(QueryLimitError, match="more than 3 rows"):
        films.query(query, max_rows=3)
    assert len(films.query(f"{SPACE} LIMIT 2", max_rows=3)) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("timeout", -1), ("timeout", "10s"), ("timeout", float("nan")), ("timeout", float("inf")), ("timeout", True),
     ("max_rows", 0), ("max_rows", "many"), ("max_megabytes", -1)],
)  # fmt: skip
def test_a_limit_that_is_none_is_an_error(films, name, value):
    with pytest.raises(UserError, match=name):
        films.query(SPACE, **{name: value})


@pytest.mark.usefixtures("late_at_work")
def test_the_settings_have_limits_for_all_queries(tmp_path, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path / "f.kb"))
    file = tmp_path / "f.kb" / "kb.toml"
    file.write_text(file.read_text() + "\n[limits]\ntimeout = 900\nmax_rows = 2000\n")
    with pytest.raises(QueryStoppedError):
        kb.query(LONG["one row that takes long in the store"])
    with pytest.raises(QueryLimitError, match="more than 2,000 rows"):
        kb.query("SELECT * { ?a ?b ?c . ?d ?e ?f }", timeout=0)
    assert len(kb.query("SELECT * { ?a ?b ?c . ?d ?e ?f }", max_rows=20_000, timeout=0)) == 128 * 128
    kb.index()
    assert "timeout = 900" in file.read_text()


def test_an_error_may_be_dropped_in_another_thread_than_that_of_the_query(films):
    errors: list[QueryLimitError] = []
    try:
        films.query("SELECT * { ?a ?b ?c . ?d ?e ?f }", max_rows=2_100)
    except QueryLimitError as e:
        errors.append(e)
    thread = threading.Thread(target=errors.clear)  # an answer of Oxigraph may not be freed there
    thread.start()
    thread.join()


def test_many_threads_stop_and_answer_beside_each_other(films):
    want = films.query(SPACE).cells

    def ask(n: int) -> bool:
        if n % 3 == 0:
            with pytest.raises(QueryStoppedError):
                films.query(LONG["a product in Python"], timeout=0.2)
        return films.query(SPACE, timeout=900).cells == want

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(12)))


def stoppable(work: Callable[[Meter], T], timeout: float) -> T:
    """The value of some work that is told to stop when its time is over."""
    with StoppableThread(timeout=timeout) as run:
        return run(work, run.meter)


@pytest.mark.usefixtures("patience")
def test_the_steps_of_a_query_share_one_thread_and_its_time(clock):
    def endless(meter: Meter) -> None:
        while True:
            time.sleep(0.001)
            meter.check()

    with StoppableThread(timeout=900) as run:
        clock.ahead = lambda: 400.0
        assert run(threading.current_thread) is run(threading.current_thread) is run._thread
        clock.ahead = lambda: 1000.0
        with pytest.raises(QueryStoppedError, match="longer than 900 s"):
            run(endless, run.meter)
    assert cancellation.count_orphans() == 0


def test_an_error_of_a_step_leaves_the_thread_for_the_next_one():
    with StoppableThread(timeout=900) as run:
        with pytest.raises(ZeroDivisionError):
            run(divmod, 1, 0)
        assert run(divmod, 7, 2) == (3, 1)
        thread = run._thread
    thread.join(60)
    assert not thread.is_alive()


def test_only_so_much_is_left_behind():
    stop = threading.Event()
    try:
        for _ in range(MAX_ORPHANS):
            with pytest.raises(QueryStoppedError):
                stoppable(lambda meter: stop.wait(600), timeout=0.01)
        assert cancellation.count_orphans() == MAX_ORPHANS
        with pytest.raises(
            OverloadedError, match=f"{MAX_ORPHANS} queries that were stopped are still at work"
        ) as raised:
            stoppable(lambda meter: 1, timeout=0.1)
        assert raised.value.exit_code == 1  # no mistake of the user
        with ThreadPoolExecutor(1) as pool:  # a query with time waits until one of them ends
            waiting = pool.submit(stoppable, lambda meter: 1, timeout=900)
            stop.set()
            assert waiting.result() == 1
    finally:
        stop.set()
    for _ in range(200):
        if not cancellation.count_orphans():
            break
        time.sleep(0.01)
    assert stoppable(lambda meter: 1, timeout=900) == 1


BRIEF = {
    "a look-up": "PREFIX f: <http://example.org/films/> SELECT ?y { ?x f:year ?y } ORDER BY ?y LIMIT 3",
    "a ranking": "SELECT ?x { ?x MATCH 'space' AS ?s } RANK BY ?s LIMIT 3",
}


@pytest.mark.parametrize("name", BRIEF)
def test_a_brief_query_with_a_time_limit_runs_in_the_thread_of_its_caller(films, monkeypatch, name):
    want = films.query(BRIEF[name]).to_python()
    monkeypatch.setattr(StoppableThread, "_start", lambda run: pytest.fail("a thread"))
    assert films.query(BRIEF[name], timeout=900, cancel=threading.Event()).to_python() == want


@pytest.mark.usefixtures("late_at_work")
@pytest.mark.parametrize("name", BRIEF)
def test_a_brief_query_keeps_its_time_limit(films, name):
    with pytest.raises(QueryStoppedError, match=r"taken longer than 900 s") as caught:
        films.query(BRIEF[name], timeout=900)
    assert caught.value.doing
    assert films.query(BRIEF[name], timeout=2000)


@pytest.mark.parametrize("work", ["pairs of a join", "an expression of every row"])
def test_a_query_that_is_not_brief_after_all_begins_again_in_a_thread(films, monkeypatch, work):
    text = {
        "pairs of a join": "SELECT ?x ?y { { SELECT ?x ?n { ?x a ?t } LIMIT 9 } { SELECT ?y { ?y a ?t } LIMIT 9 } }",
        "an expression of every row": "SELECT ?x (REPLACE(STR(?x), 'a', 'b') AS ?n) { ?x a ?t }",
    }[work]
    want, started = films.query(text).to_python(), list[StoppableThread]()
    start = StoppableThread._start
    monkeypatch.setattr(brief_run, "LIMIT_US", 1.0)
    monkeypatch.setattr(StoppableThread, "_start", lambda run: (started.append(run), start(run)))
    result = films.query(text, timeout=900, strategy="columns")
    assert (result.to_python(), len(started)) == (want, 1)


@pytest.mark.parametrize("is_cheap", [True, False])
def test_a_query_that_reads_many_entries_begins_again_as_its_price_decides(films, monkeypatch, is_cheap):
    """Once: the next one of its kind has a price."""
    text = f"SELECT ?x ?cheap{is_cheap} {{ ?x a ?t ; <http://example.org/films/year> ?cheap{is_cheap} }}"
    want, started, limits = films.query(text).to_python(), list[StoppableThread](), list[float]()
    start, briefly = StoppableThread._start, query_run.briefly
    monkeypatch.setattr(StoppableThread, "_start", lambda run: (started.append(run), start(run)))
    monkeypatch.setattr(
        query_run, "briefly", lambda work, context, most: (limits.append(most), briefly(work, context, most))[1]
    )
    monkeypatch.setattr(brief_run, "MAX_BRIEF_ENTRIES", 3)
    monkeypatch.setattr(brief_run, "MAX_BRIEF_US", 20_000.0 if is_cheap else 0.0)
    for _ in range(2):
        assert films.query(text, timeout=900, strategy="columns").to_python() == want
    assert limits == ([3, inf, inf] if is_cheap else [3])
    assert len(started) == (0 if is_cheap else 2)


@pytest.mark.parametrize("most", [brief_run.MAX_BRIEF_ENTRIES, 3])
def test_a_plan_that_is_taken_without_a_price_has_the_rows_of_the_store(films, monkeypatch, most):
    monkeypatch.setattr(Snapshot, "cost", property(lambda _: CostModel(us_per_graph_question=30.0)))
    monkeypatch.setattr(brief_run, "MAX_BRIEF_ENTRIES", most)
    for number, pattern in enumerate(("?film a ?t ; f:year ?y", "?film f:director ?t OPTIONAL { ?film f:year ?y }")):
        text = f"PREFIX f: <http://example.org/films/> SELECT ?film ?y ?t{number} {{ {pattern} }} ORDER BY ?film ?t ?y"
        text = text.replace("?t ", f"?t{number} ")
        assert films.explain(text).plan.compared is None
        want = films.query(text, strategy="oxigraph").to_python()
        assert len(want) > 3
        for options in ({}, {"timeout": 900}, {"cancel": threading.Event()}):
            found = films.query(text, **options)
            assert (found.strategy, found.to_python()) == ("columns", want)


def test_a_query_that_needs_the_store_after_all_begins_again_in_a_thread(films, monkeypatch):
    def needs(*_: object) -> None:
        raise ColumnsDeclined("a test")

    started: list[StoppableThread] = []
    want = films.query(BRIEF["a look-up"]).to_python()
    start = StoppableThread._start
    monkeypatch.setattr(StoppableThread, "_start", lambda run: (started.append(run), start(run)))
    monkeypatch.setattr(GraphFragment, "run", needs)
    result = films.query(BRIEF["a look-up"], timeout=900)
    assert (result.to_python(), len(started)) == (want, 1)
    assert result.strategy == "columns"


@pytest.mark.usefixtures("patience")
def test_work_that_looks_at_its_meter_is_not_left_behind():
    def work(meter: Meter) -> None:
        while True:
            time.sleep(0.001)
            meter.check()

    with pytest.raises(QueryStoppedError, match=r"longer than 0\.05 s"):
        stoppable(work, timeout=0.05)
    assert cancellation.count_orphans() == 0


def test_an_interruption_at_any_call_of_a_waiting_thread_stops_the_step():
    def endless(meter: Meter) -> None:
        while True:
            time.sleep(0.001)
            meter.check()

    def wait(run: StoppableThread, at: int) -> None:
        def interrupt(frame: FrameType, event: str, _: object) -> None:
            if frame.f_code.co_filename == _weakrefset.__file__:
                return  # a callback of the garbage collector, where Python ignores exceptions
            calls.append(event)
            if calls.count("call") == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

        calls: list[str] = []
        sys.setprofile(interrupt)
        try:  # `suppress` would count calls of its own
            run(endless, run.meter)
        except KeyboardInterrupt:
            return

    for at in range(1, 20):
        with StoppableThread() as run:
            run(int)
            waiting = threading.Thread(target=wait, args=(run, at), daemon=True)
            waiting.start()
            waiting.join(60)
            assert not waiting.is_alive(), f"interrupted at call {at}, the thread still waits"
        run._thread.join(60)
        assert not run._thread.is_alive(), f"interrupted at call {at}, the step goes on"


@settings(max_examples=examples(30, 50), deadline=None)
@given(st.text("0123456789.ms -e", max_size=8))
def test_every_duration_is_seconds_or_an_error(text):
    with suppress(ParameterError):
        assert read_duration(text) >= 0


@pytest.mark.usefixtures("late_at_work")
def test_the_command_line_takes_a_time_and_a_number_of_rows(films):
    kb = str(films._folder.path)
    late = CliRunner().invoke(cli, ["query", kb, LONG["a product in Python"], "--timeout", "900s"])
    assert late.exit_code == 2
    assert late.stderr.startswith("error[Q103]: the query has taken longer than 900 s\n  at work: ")
    many = CliRunner().invoke(cli, ["query", kb, "SELECT * { ?a ?b ?c . ?d ?e ?f }", "--max-rows", "50"])
    assert many.exit_code == 2
    assert "more than 50 rows" in many.stderr
    assert CliRunner().invoke(cli, ["query", kb, SPACE, "--timeout", "soon"]).exit_code == 2
    assert CliRunner().invoke(cli, ["query", kb, SPACE, "--timeout", "0"]).exit_code == 0
    told = CliRunner().invoke(
        cli, ["repl", kb], input=f".timeout 100ms\n{LONG['a product in Python']}\n\n.timeout none\n"
    )
    assert "timeout: 0.1 s" in told.stderr
    assert "taken longer than 0.1 s" in told.stderr
    assert "timeout: none" in told.stderr
