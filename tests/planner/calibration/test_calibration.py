"""What a knowledge base knows of its graph and of its machine, from indexing to the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import CorruptError
from hybridkg.graph.statistics.catalog import FILE as STATISTICS
from hybridkg.kb.write import calibrate
from hybridkg.planner.calibration.calibrated_costs import FILE, FIXED
from hybridkg.planner.calibration.local_calibration import Measured
from hybridkg.planner.cost_model import FARTHEST, UNITS, CostModel

ROOT = Path(__file__).resolve().parents[3]
FILMS = ROOT / "examples" / "films.ttl"
SPACE = "SELECT ?f { ?f MATCH 'space' AS ?s . ?f a ?class } RANK BY ?s LIMIT 3"
DIRECTOR = "http://example.org/films/director"


@pytest.fixture
def path(tmp_path, monkeypatch, copy_films) -> Path:
    monkeypatch.delenv(FIXED, raising=False)
    return copy_films(tmp_path / "f.kb")


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


def test_the_statistics_of_an_index_are_those_of_its_graph(path):
    kb = KnowledgeBase.open(path)
    found = kb.statistics()
    assert found.triples == len(kb.query("SELECT ?s { ?s ?p ?o }"))
    of_predicate = found.predicate(DIRECTOR)
    assert of_predicate.triples == len(kb.query(f"SELECT ?s {{ ?s <{DIRECTOR}> ?o }}"))
    assert found.star([(DIRECTOR, None)]).estimate == of_predicate.subjects
    assert kb._snapshot.statistics == found


def test_the_same_graph_gives_the_same_statistics(path, tmp_path, copy_films):
    copy_films(tmp_path / "g.kb")
    paths = (path, tmp_path / "g.kb")
    first, second = (KnowledgeBase.open(one)._snapshot.generation.path / STATISTICS for one in paths)
    assert first.read_bytes() == second.read_bytes()


def test_damaged_statistics_are_told_and_no_query_needs_them(path):
    kb = KnowledgeBase.open(path)
    file = kb._snapshot.generation.path / STATISTICS
    file.write_bytes(b"x" * file.stat().st_size)
    with pytest.raises(CorruptError, match=r"statistics\.json"):
        kb.statistics()
    assert kb._snapshot.statistics is None
    assert kb._snapshot.graph is not None
    assert len(kb.query(f"SELECT ?f {{ ?f <{DIRECTOR}> ?d . ?f MATCH 'space' AS ?s }} RANK BY ?s"))
    refused = run("stats", path, "--statistics")
    assert refused.exit_code == 1
    assert "hybridkg index" in refused.stderr


def test_stats_show_statistics_and_costs(path):
    found = json.loads(run("stats", path, "--statistics", "--cost", "--format", "json").stdout)
    assert found["statistics"]["triples"] == found["statistics"]["characteristic_sets"]["others"]["subjects"] + sum(
        triples for _, *pairs in found["statistics"]["characteristic_sets"]["sets"] for _, triples in pairs
    )
    assert [unit["name"] for unit in found["cost"]["unit_costs"]] == list(UNITS)
    assert {unit["origin"] for unit in found["cost"]["unit_costs"]} == {"default"}
    text = run("stats", path, "--statistics").stdout
    assert "characteristic sets: " in text
    assert "director" in text
    text = run("stats", path, "--cost").stdout
    assert "unit costs: nothing has been measured here" in text
    assert "per store question" in text


def test_a_small_graph_is_not_measured_and_a_large_one_is(path, monkeypatch):
    assert not (path / FILE).exists()
    monkeypatch.setattr(calibrate, "MIN_TRIPLES", 10)
    kb = KnowledgeBase.open(path)
    kb.index()
    assert (path / FILE).exists()
    assert kb.cost()["state"] == "measured on this machine"
    origins = {unit["name"]: unit["origin"] for unit in kb.cost()["unit_costs"]}
    assert origins["us_per_text_question"] == origins["us_per_store_question"] == "calibrated"
    assert "calibrated" in run("stats", path, "--cost").stdout
    assert FILE not in {Path(name).name for name in kb._snapshot.generation.manifest.files}
    assert KnowledgeBase.open(path)._snapshot.planning().cost == kb._snapshot.costs.model


def test_who_wants_fixed_costs_has_nothing_measured(path, monkeypatch):
    monkeypatch.setattr(calibrate, "MIN_TRIPLES", 10)
    monkeypatch.setenv(FIXED, "default")
    kb = KnowledgeBase.open(path)
    kb.index()
    assert not (path / FILE).exists()
    assert kb._snapshot.planning().cost == CostModel()


def test_a_read_only_knowledge_base_answers_with_the_defaults(path):
    (path / FILE).mkdir()  # root may write where nobody else may, but not over a folder
    with KnowledgeBase.open(path) as kb:
        kb._snapshot.costs.calibrated(Measured({"us_per_posting": 0.007}, 1, 0.1))
        assert kb._snapshot.costs.model.us_per_posting == 0.007
    with KnowledgeBase.open(path) as kb:
        assert kb.cost()["state"] == "cost.json cannot be read, so the defaults hold"
        assert len(kb.query("SELECT ?s { ?s ?p ?o }"))
    assert [entry.name for entry in path.iterdir() if entry.name.startswith(".cost")] == []


def test_rows_are_the_same_whatever_the_unit_costs(path):
    kb = KnowledgeBase.open(path)
    want, strategies = kb.query(SPACE), set()
    for name in ("us_per_graph_question", "us_per_text_question", "us_per_text_scoring"):
        for factor in (1 / FARTHEST, FARTHEST):
            kb._snapshot.costs.calibrated(Measured({name: getattr(CostModel(), name) * factor}, 1, 0.1))
            found = kb.query(SPACE)
            strategies.add(found.strategy)
            assert list(found) == list(want)
    assert len(strategies) > 1  # the same query for the same values, planned again
