"""The questions of benchmarks/relational: hybridkg, Oxigraph and the loops over arrays give the same rows."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.hybrid import graph, writing  # noqa: E402
from benchmarks.relational import (  # noqa: E402
    engine_arrays,
    engine_duckdb,
    engine_hybridkg,
    engine_oxigraph,
    phases,
    summary,
    tasks,
    verdicts,
)
from benchmarks.relational.contract import Engine, Places, digest  # noqa: E402
from benchmarks.relational.draw import Draw  # noqa: E402
from benchmarks.relational.groups import AROUND_MATCH, AROUND_RANKS, CYCLES, GROUPS, SMALL_ONES, WHOLE_GRAPH  # noqa: E402
from benchmarks.relational.matches import SHARES, Matches  # noqa: E402
from benchmarks.relational.question import texts  # noqa: E402
from benchmarks.relational.session import Session  # noqa: E402

PAPERS = 300
REPEATS = 1


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("relational")
    own = Places(writing.write(folder / "data", PAPERS), folder / "own")
    engine_hybridkg.load(own)
    return own


@pytest.fixture(scope="module")
def draw(places: Places) -> Draw:
    return Draw(places.data.graph(), Matches.of(places.data.df(), PAPERS))


@pytest.fixture(scope="module")
def asked(draw: Draw) -> list[dict[str, Any]]:
    return texts(GROUPS, draw, REPEATS, 0)


def rows_of(engine: Engine, text: str) -> list[tuple[str, ...]]:
    return engine.plain(engine.ready(text)())


def test_a_name_stands_for_one_question_and_every_language_has_the_plain_ones():
    names = [one.name for group in GROUPS.values() for one in group]
    assert len(set(names)) == len(names)
    assert (len(GROUPS[SMALL_ONES]), len(GROUPS[WHOLE_GRAPH]), len(GROUPS[CYCLES])) == (20, 7, 2)
    assert len(GROUPS[AROUND_RANKS]) == 29
    for group in (SMALL_ONES, WHOLE_GRAPH, CYCLES):
        assert all(one.sparql and one.sql and one.cypher for one in GROUPS[group])


def test_no_fresh_text_comes_twice_and_no_constant_is_left_open(asked: list[dict[str, Any]]):
    for language in ("sparql", "sql", "cypher"):
        found = [text for one in asked for text in one["texts"].get(language, {}).get("fresh", [])]
        assert len(set(found)) == len(found)
        for text in found:
            assert "$" not in text.replace("$'", "")
            assert "~" not in text


def test_a_known_text_has_other_constants_and_the_same_names(asked: list[dict[str, Any]]):
    star = next(one for one in asked if one["name"] == "star")["texts"]["sparql"]
    first, second = star["known"]
    assert first != second
    assert re.sub(r"\d+", "", first) == re.sub(r"\d+", "", second)


def test_the_same_seed_gives_the_same_texts(draw: Draw, asked: list[dict[str, Any]]):
    again = Draw(graph.generate(PAPERS), draw.matches)
    assert json.dumps(texts(GROUPS, again, REPEATS, 0)) == json.dumps(asked)


def test_words_match_about_the_share_that_they_stand_for(places: Places, draw: Draw):
    engine = engine_hybridkg.open(places, 10)
    for share, part in SHARES.items():
        text = f"SELECT (COUNT(?p) AS ?n) {{ ?p MATCH '{draw.matches.texts[share][0]}' }}"
        [(count,)] = rows_of(engine, text)
        assert part * PAPERS * 0.7 <= int(count) <= part * PAPERS * 1.3, share


@pytest.mark.parametrize("group", [SMALL_ONES, WHOLE_GRAPH, CYCLES])
def test_hybridkg_and_oxigraph_agree_on_plain_questions(places: Places, asked: list[dict[str, Any]], group: str):
    ours, other = engine_hybridkg.open(places, 60), engine_oxigraph.open_in_memory(places, 60)
    for one in (one for one in asked if one["group"] == group):
        for text in one["texts"]["sparql"]["fresh"]:
            assert digest(rows_of(ours, text), one["keys"]) == digest(rows_of(other, text), one["keys"]), text


@pytest.mark.parametrize("group", [WHOLE_GRAPH, CYCLES, AROUND_MATCH])
def test_hybridkg_and_the_arrays_agree(places: Places, asked: list[dict[str, Any]], group: str):
    ours, other = engine_hybridkg.open(places, 60), engine_arrays.open(places, 60)
    for one in (one for one in asked if one["group"] == group and "sparql" in one["texts"]):
        own = rows_of(ours, one["texts"]["sparql"]["fresh"][0])
        assert digest(own, one["keys"]) == digest(rows_of(other, one["texts"]["arrays"]["fresh"][0]), one["keys"]), one


def test_every_shape_around_a_rank_has_the_rows_of_the_reference(places: Places, asked: list[dict[str, Any]]):
    from hybridkg import KnowledgeBase

    with KnowledgeBase.open(places.data.engines / "kb") as kb:
        for one in (one for one in asked if one["group"] == AROUND_RANKS):
            text = one["texts"]["sparql"]["fresh"][0]
            found, wanted = kb.query(text), kb.query(text, strategy="reference")
            assert len(found) == len(wanted), one["name"]


def test_a_process_that_asks_tells_time_rows_and_digest(
    places: Places, asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tasks.os, "sched_setaffinity", lambda *_: None)  # this process goes on with other tests
    monkeypatch.setattr(tasks.gc, "freeze", lambda: None)
    few = [one for one in asked if one["name"] in ("star", "papers a year")]
    (tmp_path / "texts.json").write_text(json.dumps(few))
    said: list[dict[str, Any]] = []
    tasks.ask(
        "hybridkg", places, said.append, texts=str(tmp_path / "texts.json"), patience_s=10, repeats=REPEATS, start=0,
        skip=["papers a year"],
    )  # fmt: skip
    modes = [line["mode"] for line in said if "ms" in line]
    assert modes == ["first", "fresh", "again", "known"]
    assert {line["name"] for line in said if "name" in line} == {"star"}
    assert all(line["digest"] and line["rows"] >= 1 for line in said if "ms" in line)
    assert said[-1]["done"]


def test_the_tables_of_matches_are_those_of_every_text_that_duckdb_is_asked(
    places: Places, asked: list[dict[str, Any]], tmp_path: Path
):
    few = [one for one in asked if one["name"].startswith("matches per year")]
    (tmp_path / "texts.json").write_text(json.dumps(few))
    own = Places(places.data, tmp_path)
    tasks.matches("hybridkg", own, lambda _: None, texts=str(tmp_path / "texts.json"))
    texts_asked = [text for one in few for mode in ("fresh", "known") for text in one["texts"]["sql"][mode]]
    assert len(texts_asked) == len(few) * 2 * (REPEATS + 1)
    for text in texts_asked:
        lines = engine_duckdb.matches_file(own, text[1:].partition("'|")[0]).read_text().splitlines()
        assert len(lines) >= 1
        assert all(line.startswith(writing.BASE + "p") and float(line.split(",")[1]) > 0 for line in lines)


def test_an_engine_that_is_ended_in_a_question_goes_on_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    known = [{"name": name, "group": "small", "texts": {"sparql": {}}} for name in ("star", "path")]
    session = Session(tmp_path, tmp_path, "t", (7,), ("hybridkg",), ("small",), tmp_path, 2, 1, 5.0)
    phases.texts_of(session, 7, 0).write_text(json.dumps(known))
    runs: list[dict[str, Any]] = []

    def run(self: Session, task: str, engine: str, papers: int, wait_s: float, **given: Any) -> Any:
        runs.append(given)
        if len(runs) == 1:
            ended = {"name": "path", "repetition": 1, "begins": True}
            return [{"name": "star", "ms": 1.0}, ended], {**ended, "ended": "time"}
        return [{"name": "star", "ms": 2.0}, {"done": True}], None

    monkeypatch.setattr(Session, "run", run)
    found = phases.ask_one(session, "hybridkg", 7, 0)
    assert [given["skip"] for given in runs] == [[], ["path"]]
    assert [given["start"] for given in runs] == [0, 1]
    assert found["left_out"] == {"path": "over 5 s"}
    assert [line["ms"] for line in found["lines"] if "ms" in line] == [1.0, 2.0]


def test_a_losing_cell_is_named():
    lines = {"hybridkg": 2.0, "oxigraph on disk": 1.0}
    table = summary.medians(
        {name: [{"name": "star", "mode": "fresh", "ms": ms}] for name, ms in lines.items()},
    )
    each, median, *_ = verdicts.small(table)
    assert each.met is False
    assert "star 2.00 ms, oxigraph on disk 1.000" in each.figure
    assert "19 of 20 not measured" in each.figure
    assert median.met is False
