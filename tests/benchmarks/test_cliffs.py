"""The random queries of benchmarks/cliffs: made from their number alone, valid, and with parts that can be timed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sampling import examples

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.cliffs.__main__ import summed  # noqa: E402
from benchmarks.cliffs.grammar import generated  # noqa: E402
from benchmarks.cliffs.measure import CELL_MS, TEXT_MS, TIMES, Clock, measured  # noqa: E402
from benchmarks.cliffs.schema import Schema, of_papers  # noqa: E402
from benchmarks.hybrid import writing  # noqa: E402
from benchmarks.relational import engine_hybridkg  # noqa: E402
from benchmarks.relational.contract import Places  # noqa: E402
from benchmarks.relational.matches import Matches  # noqa: E402

PAPERS = 300
QUERIES = 120
FEATURES = {
    "MATCH", "several MATCH", "LIMIT", "no LIMIT", "OPTIONAL", "UNION", "MINUS", "EXISTS", "NOT EXISTS", "VALUES",
    "BIND", "GROUP BY", "HAVING", "COUNT of all", "DISTINCT", "RANK BY", "ORDER BY value", "ORDER BY aggregate",
    "sub-select", "sub-select with LIMIT", "aggregate in a sub-select", "FILTER by number", "FILTER by string",
    "FILTER by score", "constant",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> writing.Data:
    folder = tmp_path_factory.mktemp("cliffs")
    found = writing.write(folder / "data", PAPERS)
    engine_hybridkg.load(Places(found, folder))
    return found


@pytest.fixture(scope="module")
def schema(data: writing.Data) -> Schema:
    return of_papers(data.graph(), Matches.of(data.df(), PAPERS))


@pytest.fixture(scope="module")
def clock(data: writing.Data) -> Iterator[Clock]:
    found = Clock(data.engines / "kb", 2.0)
    yield found
    found.close()


def test_a_number_gives_the_same_query_again_and_another_wording_only_other_names(schema: Schema):
    one, other = generated(schema, 7, ranked=True), generated(schema, 7, ranked=True, wording=1)
    assert one == generated(schema, 7, ranked=True)
    assert one.text != other.text
    assert one.text.replace("_7_0", "") == other.text.replace("_7_1", "")


def test_many_numbers_have_every_feature_of_the_grammar(schema: Schema):
    found = {feature for number in range(1000) for feature in generated(schema, number, ranked=True).shape}
    assert FEATURES - found == set()


def test_a_query_without_ranks_has_none(schema: Schema):
    for number in range(50):
        made = generated(schema, number, ranked=False)
        assert made.matches == ()
        assert "MATCH" not in made.text
        assert "RANK" not in made.text


def test_queries_are_answered_and_hardly_any_is_refused(schema: Schema, clock: Clock):
    count = examples(QUERIES // 2, QUERIES)
    answers = [clock.query(generated(schema, number, ranked=number % 4 > 0).text) for number in range(count)]
    refused = [answer["failed"] for answer in answers if "failed" in answer]
    assert all(reason.startswith("UnsupportedQueryError") for reason in refused)
    assert len(refused) < count / 20
    assert sum(answer.get("rows", 0) > 0 for answer in answers) > count / 3


def test_the_parts_are_the_relations_the_patterns_and_the_rows(schema: Schema, clock: Clock):
    made = next(made for n in range(100) if len((made := generated(schema, n, ranked=True)).matches) > 1)
    parts = clock.parts(schema, made, 50)
    assert parts.pop("text") == TEXT_MS
    assert parts.pop("rows out") == 50 * CELL_MS
    assert set(parts) == {*(f"MATCH {words!r}" for words in made.matches), *made.patterns}
    assert all(ms > 0 for ms in parts.values())


def test_a_cliff_is_listed_with_its_text_its_parts_and_its_plan(
    schema: Schema, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clock, "query", lambda text, strategy=None: {"ms": 5000.0, "rows": 1, "cells": 1})
    monkeypatch.setattr(clock, "plan", lambda text: "a plan")
    line = measured(clock, schema, 7, True, False)
    assert line["ratio"] > TIMES
    assert line["text"] == generated(schema, 7, ranked=True).text
    assert line["plan"] == "a plan"
    found = summed([line, {"number": 8, "shape": ["LIMIT"], "ms": 1.0, "sum_ms": 1.0, "ratio": 1.0}])
    assert [one["number"] for one in found["cliffs"]] == [7]
    assert found["ratio"]["max"] == line["ratio"]
    assert found["timed"] == 2
