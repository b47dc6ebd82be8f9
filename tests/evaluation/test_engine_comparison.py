"""The same queries on two text engines: what is told, and that nothing is left."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.cli import cli
from hybridkg.errors import (
    IndexMissingError,
    QuerySyntaxError,
    StorageError,
    TextQueryError,
    UnknownNameError,
    UserError,
)
from hybridkg.evaluation.engine_comparison import (
    ParityReport,
    QueryParity,
    compare_engines,
    relative_difference,
    with_model,
)
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.kb import KnowledgeBase
from hybridkg.query.parser import parse
from hybridkg.query.write import write
from hybridkg.text.index.engine import EmbeddedTextEngine

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
QUERIES = {
    "best": 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s LIMIT 5',
    "sum": 'SELECT ?film { ?film MATCH "space war" AS ?s } RANK BY 2 * ?s AS ?t',
    "any": 'SELECT ?film { ?film MATCH "space" }',
    "ask": 'ASK { ?film MATCH "space" }',
    "explain": 'EXPLAIN SELECT ?film { ?film MATCH "space" AS ?s } RANK BY ?s',
    "construct": 'CONSTRUCT { ?film a ?film } WHERE { ?film MATCH "space" }',
    "nothing": 'SELECT ?film { ?film MATCH "qqqq" AS ?s } RANK BY ?s',
}


class Changed:
    """An index that answers as another, after a change."""

    def __init__(self, index, change):
        self._index, self._change = index, change

    def __getattr__(self, name):
        return getattr(self._index, name)

    def score_all(self, query):
        return self._change(query, *self._index.score_all(query))

    def matches(self, query):
        return self.score_all(query)[0]

    def topk(self, query, k):
        ids, scores = self._change(query, *self._index.topk(query, k))
        return ids[:k], scores[:k]

    def score(self, query, ids):
        own = dict(zip(*(part.tolist() for part in self.score_all(query)), strict=True))
        return np.array([own.get(one, np.nan) for one in ids.tolist()])

    def batch(self, questions):
        return [self.score_all(q.query) if q.k is None else self.topk(q.query, q.k) for q in questions]


@pytest.fixture
def second(monkeypatch):
    """A second engine, `second`: second.change is what it does to (query, ids, scores)."""
    state = types.SimpleNamespace(change=lambda query, ids, scores: (ids, scores), discarded=[], open=None)

    class SecondEngine(EmbeddedTextEngine):
        def open(self, folder, rank=None, *, fresh=True):
            state.folder = folder
            return Changed(super().open(folder, rank), lambda *found: state.change(*found))  # noqa: PLW0108 - set later

        def build(self, folder, source, progress):
            self._built = folder
            return super().build(folder, source, progress)

        def discard(self):
            state.discarded.append(self._built)

    module = types.ModuleType("second_engine_of_the_test")
    module.Engine = SecondEngine
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(TEXT_ENGINES._builtin, "second", f"{module.__name__}:Engine")
    return state


@pytest.fixture
def kb(tmp_path, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        yield kb


@pytest.fixture(autouse=True)
def _temporary_folders_of_our_own(tmp_path, monkeypatch):
    """Others compare engines at the same time."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def left_behind():
    return sorted(Path(tempfile.gettempdir()).glob("hybridkg-parity-*"))


def of(report, name):
    return next(query for query in report.queries if query.name == name)


# --- laws ------------------------------------------------------------------------------


def test_an_engine_that_answers_alike_is_the_same_in_every_query(kb, second):
    before = kb._snapshot.generation.name
    report = compare_engines(kb, QUERIES, against="second")
    assert report.engines == ("embedded", "second")
    assert [query.name for query in report.queries] == list(QUERIES)
    assert {query.verdict for query in report.queries} == {"same"}
    assert report.largest_difference == 0
    assert kb._snapshot.generation.name == before


def test_nothing_is_left_of_the_second_index(kb, second):
    before = left_behind()
    compare_engines(kb, QUERIES, against="second")
    assert left_behind() == before
    assert second.discarded == [second.folder]
    assert not second.folder.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, StorageError("the disk is full")])
def test_nothing_is_left_after_an_error_or_an_interruption(kb, second, error):
    def fail(query, ids, scores):
        raise error

    before, second.change = left_behind(), fail
    with pytest.raises(error if isinstance(error, type) else type(error)):
        compare_engines(kb, QUERIES, against="second")
    assert left_behind() == before
    assert second.discarded == [second.folder]


@given(st.floats(), st.floats())
@settings(max_examples=examples(120, 200), deadline=None)
def test_a_relative_difference_is_symmetric_and_zero_only_for_equal_numbers(a, b):
    found = relative_difference(a, b)
    assert found == relative_difference(b, a)
    assert 0 <= found <= 2 or found == math.inf
    assert (found == 0) == (a == b or (math.isnan(a) and math.isnan(b)))
    assert relative_difference(a, a) == 0


# --- what differs ----------------------------------------------------------------------


def test_other_scores_in_the_same_order_are_the_same_rows_with_a_difference(kb, second):
    second.change = lambda query, ids, scores: (ids, scores * 1.5)
    report = compare_engines(kb, {"best": QUERIES["best"], "sum": QUERIES["sum"]}, against="second")
    assert [query.verdict for query in report.queries] == ["same", "same"]
    assert report.largest_difference == pytest.approx(1 / 3)


def test_another_order_differs_where_the_query_asks_for_one(kb, second):
    second.change = lambda query, ids, scores: (ids, -scores)
    report = compare_engines(
        kb, {"all": QUERIES["best"].replace("LIMIT 5", ""), "any": QUERIES["any"]}, against="second"
    )
    ranked, unranked = report.queries
    assert (ranked.verdict, ranked.overlap, ranked.same_order) == ("different", 1, False)
    assert (unranked.verdict, unranked.same_order) == ("same", None)


def test_missing_rows_lower_the_overlap(kb, second):
    def drop(query, ids, scores):
        return (ids[1:], scores[1:]) if len(ids) > 1 else (ids, scores)

    second.change = drop
    (found,) = compare_engines(kb, {"any": QUERIES["any"]}, against="second").queries
    assert found.rows[1] == found.rows[0] - 1
    assert found.overlap == pytest.approx(found.rows[1] / found.rows[0])
    assert found.verdict == "different"


def test_a_query_that_one_engine_refuses_differs_and_one_that_both_refuse_does_not(kb, second):
    def refuse(query, ids, scores):
        if '"' in query.text:
            raise TextQueryError("no phrases here")
        return ids, scores

    second.change = refuse
    queries = {
        "phrase": "SELECT ?film { ?film MATCH '\"space station\"' AS ?s } RANK BY ?s",
        "no field": "SELECT ?film { ?film MATCH 'space' ON (titel) AS ?s } RANK BY ?s",
    }
    report = compare_engines(kb, queries, against="second")
    assert of(report, "phrase").verdict == "different"
    assert of(report, "phrase").refusals == ("", "T701: no phrases here")
    assert of(report, "no field").verdict == "refused"
    assert "no field 'titel'" in of(report, "no field").refusals[0]
    assert report.to_json()["refused"] == 1


# --- the model -------------------------------------------------------------------------


def test_the_model_replaces_that_of_every_match():
    query = parse(
        'SELECT ?x { ?x MATCH "a" USING bm25f(k1=1) AS ?s { ?x MATCH "b" } '
        'UNION { SELECT ?x { ?x MATCH "c" USING bm25 } } } RANK BY ?s'
    )
    text = write(with_model(query, "bm25"))
    assert text.count("USING bm25") == 3
    assert "bm25f" not in text
    assert with_model(query, None) is query


def test_a_match_that_has_the_model_keeps_its_arguments():
    query = parse('SELECT ?x { ?x MATCH "a" USING bm25f(k1=1) }')
    assert with_model(query, "bm25f") == query


def test_weights_that_the_model_refuses_are_told_as_unsupported(kb, second):
    query = 'SELECT ?film { ?film MATCH "space" ON (label^2) AS ?s } RANK BY ?s'
    report = compare_engines(kb, {"weighted": query}, against="second", model="bm25")
    assert report.queries[0].verdict == "refused"
    assert report.queries[0].refusals[0].startswith("T701: ")


# --- mistakes --------------------------------------------------------------------------


def test_a_text_that_is_no_query_stops_before_anything_is_built(kb, second):
    with pytest.raises(QuerySyntaxError, match=r"broken\.hq"):
        compare_engines(kb, {**QUERIES, "broken.hq": "SELECT {"}, against="second")
    assert second.discarded == []


def test_an_index_that_is_behind_or_missing_is_refused(tmp_path, second):
    with KnowledgeBase.create(tmp_path / "films.kb") as kb:
        kb.load(FILMS, index=False)
        with pytest.raises(IndexMissingError, match="no text index") as missing:
            compare_engines(kb, QUERIES, against="second")
        assert "hybridkg index" in missing.value.hint
        kb.index()
        (tmp_path / "more.ttl").write_text('<http://e/x> <http://www.w3.org/2000/01/rdf-schema#label> "space" .')
        kb.load(tmp_path / "more.ttl", index=False)
        with pytest.raises(IndexMissingError, match="older than the graph"):
            compare_engines(kb, QUERIES, against="second")


def test_wrong_names_are_told_with_those_that_are_right(kb, second):
    with pytest.raises(UnknownNameError, match="no text engine 'thrid'"):
        compare_engines(kb, QUERIES, against="thrid")
    with pytest.raises(UnknownNameError, match="no ranking model 'bm52'"):
        compare_engines(kb, QUERIES, against="second", model="bm52")
    with pytest.raises(UserError, match="of 'embedded' itself"):
        compare_engines(kb, QUERIES, against="embedded")


# --- the command -----------------------------------------------------------------------


@pytest.fixture
def command(kb, second, tmp_path):
    folder = tmp_path / "queries"
    folder.mkdir()
    for name, text in QUERIES.items():
        (folder / f"{name}.hq").write_text(text)
    (folder / "readme.txt").write_text("no query")

    def run(*arguments):
        line = ["parity", str(tmp_path / "films.kb"), "--queries", str(folder), "--against", "second", *arguments]
        return CliRunner().invoke(cli, line, catch_exceptions=False)

    run.folder = folder
    return run


def test_the_command_prints_a_table_and_a_summary(command):
    result = command()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["query", "embedded", "second", "overlap", "order", "difference"]
    rows = [line for line in lines if ".hq" in line]
    assert [row.split()[0] for row in rows] == sorted(f"{name}.hq" for name in QUERIES)
    assert lines[-1] == ("7 queries: 7 have the same rows in the same order; no number differs")


def test_the_command_fails_where_answers_differ(command, second):
    second.change = lambda query, ids, scores: (ids[:0], scores[:0])
    result = command()
    assert result.exit_code == 1
    assert "differ" in result.stdout.splitlines()[-1]
    found = json.loads(command("--format", "json").stdout)
    assert found["engines"] == ["embedded", "second"]
    assert found["different"] > 0
    assert {one["name"] for one in found["queries"]} == {f"{name}.hq" for name in QUERIES}


def test_the_command_says_why_a_query_is_refused(command):
    (command.folder / "best.hq").write_text('SELECT ?x { ?x MATCH "a" ON (titel) AS ?s } RANK BY ?s')
    result = command()
    assert result.exit_code == 0
    assert "best.hq: refused by both: R201: no field 'titel'" in result.stdout


def test_the_command_needs_queries(command, tmp_path):
    for file in command.folder.iterdir():
        file.unlink()
    result = command()
    assert result.exit_code == 2
    assert "no query file, *.hq" in result.stderr


def test_an_infinite_difference_is_told_in_json():
    report = ParityReport(("a", "b"), (QueryParity("q", (1, 1), 1.0, True, math.inf),))
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["queries"][0]["difference"] == "inf"
    assert replace(report.queries[0], overlap=0.999).verdict == "different"
