"""What another package registers by an entry point is used as what comes with hybridkg."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.config.settings import write_config
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import ConfigError, TextQueryError, UnknownNameError
from hybridkg.evaluation.engine_comparison import compare_engines
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.planner.cost_model import CostModel, default_costs
from hybridkg.store.generations.folder import Folder

DATA = """
@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "red fish" ; rdfs:comment "a fish in the sea" ; :year 1990 .
:b rdfs:label "red red boats" ; rdfs:comment "old man and the sea" ; :year 2000 .
:c rdfs:label "blue" ; :year 2010 .
:d rdfs:comment "the fishes are red" ; :year 2020 .
"""
PREFIX = "PREFIX : <http://e/>"
QUERIES = (
    '?x MATCH "red fish" AS ?s',
    '?x MATCH ALL "red fish" AS ?s',
    '?x MATCH "sea boats absent" USING bm25 AS ?s',
    '?x MATCH "fish" USING lm AS ?s',
    '?x :year ?y . ?x MATCH "red" AS ?s . FILTER(?y > 1995)',
)


@pytest.fixture
def data(tmp_path) -> Path:
    file = tmp_path / "data.ttl"
    file.write_text(DATA)
    return file


def with_engine(folder: Path, more: str = "") -> None:
    toml = folder / "kb.toml"
    toml.write_text(toml.read_text().replace('engine = "embedded"', 'engine = "toy"') + more)


def rows(kb: KnowledgeBase, pattern: str) -> list[tuple[object, ...]]:
    found = kb.query(f"{PREFIX} SELECT ?x ?s {{ {pattern} }} RANK BY ?s")
    return [tuple(row.values()) for row in found.to_python()]


def toy(tmp_path: Path, data: Path, more: str = "") -> KnowledgeBase:
    kb = KnowledgeBase.create(tmp_path / "toy.kb")
    with_engine(tmp_path / "toy.kb", more)
    kb.load(data, index=True)
    return kb


def test_a_text_engine_builds_and_answers(install, tmp_path, data):
    install("toy_text_engine")
    assert TEXT_ENGINES.names() == ["elasticsearch", "embedded", "toy"]
    with toy(tmp_path, data) as kb, KnowledgeBase.temporary(data) as usual:
        assert kb.stats()["text"]["engine"] == "toy"
        assert kb._snapshot.generation.manifest.engines["text"] == "toy"
        for pattern in QUERIES:
            assert rows(kb, pattern) == rows(usual, pattern), pattern
        assert len(rows(kb, QUERIES[0])) == 3
        (row,) = kb.query(f'{PREFIX} SELECT ?t {{ ?x MATCH "boats" SNIPPET ?t }}').to_python()
        assert row["t"] == "red red **boats**"
        with pytest.raises(TextQueryError, match="words only"):
            rows(kb, '?x MATCH "fi*" AS ?s')
    with KnowledgeBase.open(tmp_path / "toy.kb") as again:
        assert len(rows(again, QUERIES[0])) == 3


def test_an_engine_that_does_not_follow_builds_its_index_anew_with_a_commit(install, tmp_path, data):
    install("toy_text_engine")
    with toy(tmp_path, data) as kb:
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        report = kb.update(f'INSERT DATA {{ <http://e/whale> {label} "a whale" }}')
        assert report.rebuilt == "the toy index is not set up to follow a commit"
        assert [str(row[0]) for row in rows(kb, '?x MATCH "whales" AS ?s')] == ["http://e/whale"]


def test_its_own_table_of_settings_is_read_and_written(install, tmp_path, data):
    install("toy_text_engine")
    with toy(tmp_path, data, "\n[toy]\nmost_words = 1\n") as kb:
        assert kb.stats()["text"]["most_words"] == 1
        with pytest.raises(TextQueryError, match="at most 1 words"):
            rows(kb, QUERIES[0])
    config = Folder.open(tmp_path / "toy.kb").config
    assert config.section("toy") == {"most_words": 1}
    assert parse_config(write_config(config), "kb.toml") == config
    with pytest.raises(ConfigError, match=r"setting 'toy.x' must be a text, a number"):
        parse_config("[toy]\nx = []", "kb.toml")
    with pytest.raises(ConfigError, match="the name of a setting cannot be 'a b'"):
        parse_config("[toy]\n'a b' = 1", "kb.toml")


def test_its_costs_are_the_defaults_of_its_knowledge_bases(install, tmp_path, data):
    install("toy_text_engine")
    assert default_costs("toy").us_per_posting == 0.5
    assert default_costs("toy").us_per_text_question == CostModel().us_per_text_question
    with toy(tmp_path, data) as kb:
        assert kb._snapshot.costs.to_json()["engine"] == "toy"


def test_migrate_and_parity_know_it(install, tmp_path, data):
    install("toy_text_engine")
    with KnowledgeBase.create(tmp_path / "kb") as kb:
        kb.load(data, index=True)
        before = [rows(kb, pattern) for pattern in QUERIES]
        texts = {"one": f'{PREFIX} SELECT ?x ?s {{ ?x MATCH "red fish" AS ?s }} RANK BY ?s'}
        report = compare_engines(kb, texts, against="toy")
        assert report.engines == ("embedded", "toy")
        assert report.count("same") == 1
        moved = kb.migrate("toy").text
        assert (moved.source, moved.target) == ("embedded", "toy")
        assert Folder.open(tmp_path / "kb").config.text == "toy"
        assert [rows(kb, pattern) for pattern in QUERIES] == before
        assert compare_engines(kb, texts).engines == ("toy", "embedded")
        kb.migrate("embedded")
        assert [rows(kb, pattern) for pattern in QUERIES] == before
        assert Folder.open(tmp_path / "kb").engines() == []  # nothing is on a server


def test_without_its_package_the_setting_is_refused_with_the_names_there_are(install, tmp_path, data):
    install("toy_text_engine")
    toy(tmp_path, data).close()
    with pytest.raises(ConfigError, match='must be "elasticsearch" or "embedded" or "toy", not \'tay\'') as caught:
        parse_config('[text]\nengine = "tay"', "kb.toml")
    assert caught.value.hint == "did you mean 'toy'?"
    assert caught.value.place == "kb.toml:2"


def test_a_ranking_model_is_used_and_listed(install, data):
    install("toy_ranking_model")
    with KnowledgeBase.temporary(data) as kb:
        found = rows(kb, '?x MATCH "red" USING toymodel(factor=10) AS ?s')
        assert found[0][1] == max(score for _, score in found)
        assert all(score % 10 == 0 for _, score in found)
        assert found == rows(kb, '?x MATCH "red" USING toymodel(factor=10) AS ?s . ?x :year ?y')
        with pytest.raises(UnknownNameError) as caught:
            rows(kb, '?x MATCH "red" USING toymodle AS ?s')
        assert "toymodel" in caught.value.message
        assert caught.value.hint == "did you mean 'toymodel'?"
    assert "toymodel" in RANKING_MODELS.names()


def test_the_toy_model_ranks_on_the_toy_engine(install, tmp_path, data):
    install("toy_text_engine", "toy_ranking_model")
    pattern = '?x MATCH "red fish" USING toymodel AS ?s'
    with toy(tmp_path, data) as kb, KnowledgeBase.temporary(data) as usual:
        assert rows(kb, pattern) == rows(usual, pattern)


PROGRAM = """
import json, sys
from click.testing import CliRunner
from hybridkg.cli import cli

done = [CliRunner().invoke(cli, command, catch_exceptions=False) for command in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""


def commands(environment: dict[str, str], *given: list[object]) -> list[tuple[int, str, str]]:
    """(exit code, output, errors) of commands, all in one process that finds the packages of an environment."""
    texts = json.dumps([[str(word) for word in command] for command in given])
    program = [sys.executable, "-c", PROGRAM, texts]
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return [tuple(one) for one in json.loads(ran.stdout)]


def test_an_output_format_is_used_and_listed(environment, data):
    query = f'{PREFIX} SELECT ?x {{ ?x MATCH "red" AS ?s }} RANK BY ?s LIMIT 2'
    asked = ["query", data, query, "--format"]
    found, shown, wrong = commands(
        environment("toy_output_format"), [*asked, "toy"], ["query", "--help"], [*asked, "tay"]
    )
    assert found[0] == 0, found[2]
    assert found[1].startswith("2 rows\nhttp://e/")
    assert "toy" in shown[1]
    assert wrong[0] == 2
    assert "'toy'" in wrong[2]


def test_the_command_line_migrates_to_the_toy_engine(environment, tmp_path, data):
    kb = tmp_path / "films.kb"
    loaded, moved, shown = commands(
        environment("toy_text_engine"),
        ["load", kb, data, "--index"],
        ["migrate", kb, "--to", "toy"],
        ["migrate", "--help"],
    )
    assert loaded[0] == 0, loaded[2]
    assert moved[0] == 0, moved[2]
    assert "embedded -> toy" in moved[2]
    assert "toy" in shown[1]


def test_a_built_in_name_is_never_taken_over(install, tmp_path, monkeypatch):
    package = tmp_path / "thief"
    (package / "thief.dist-info").mkdir(parents=True)
    (package / "thief.py").write_text("def write(result, out): out.write('mine')\n")
    (package / "thief.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: thief\nVersion: 1.0\n")
    (package / "thief.dist-info" / "entry_points.txt").write_text("[hybridkg.output_formats]\ncsv = thief:write\n")
    monkeypatch.syspath_prepend(package)
    install()
    assert OUTPUT_FORMATS.get("csv").__module__ == "hybridkg.results.formats.separated"


def test_a_table_format_is_loaded_and_listed(environment, tmp_path):
    file = tmp_path / "films.toy"
    file.write_text("id=f1|title=red fish\nid=f2|title=blue\n")
    kb = tmp_path / "films.kb"
    query = 'SELECT ?x { ?x MATCH "fish" AS ?s } RANK BY ?s'
    done, found, unknown = commands(
        environment("toy_table_reader"),
        ["load", kb, file, "--index"],
        ["query", kb, query, "--format", "csv"],
        ["load", kb, tmp_path / "films.tyo"],
    )
    assert done[0] == 0, done[2]
    assert "films.toy, 2 rows: each row is <http://example.org/Film/{id}>" in done[2]
    assert found[1].split() == ["x", "http://example.org/Film/f1"]
    assert ".toy" in unknown[2]
