"""Published figures beside those of other data or models, and systems that cannot be run here."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from hybridkg.cli import cli
from hybridkg.errors import ConfigError, QuerySyntaxError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.kb import KnowledgeBase

FILMS = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "red fish" . :b rdfs:label "blue fish" . :c rdfs:label "old man" ."""

WORDS = "query = 'SELECT ?e { ?e MATCH $text AS ?s } RANK BY ?s'\n"
NEAR = "query = 'SELECT ?e { ?e NEAR $text AS ?s } RANK BY ?s'\n"
MRR = "expected = { mrr = 0.75 }\n"
OTHER = "0" * 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    (folder / "films.ttl").write_text(FILMS)
    for name, encoder in (("kb", None), ("lsa", "lsa")):
        with KnowledgeBase.create(folder / name) as kb:
            kb.load(folder / "films.ttl", index=True, encoder=encoder)
    (folder / "topics.tsv").write_text("q1\tred fish\nq2\tsea\n")
    (folder / "qrels.txt").write_text("q1 0 http://e/b 1\nq2 0 http://e/c 1\n")
    (folder / "candidates.txt").write_text("http://e/a\nhttp://e/b\nhttp://e/c\n")
    return folder


def experiment(folder, systems, published=""):
    path = folder / "x.toml"
    path.write_text(
        "kb = 'kb'\ntopics = 'topics.tsv'\nqrels = 'qrels.txt'\nmeasures = ['mrr']\ncandidates = 'candidates.txt'\n"
        f"{published}\n{systems}"
    )
    return path


def hashes(folder):
    about = Experiment.read(experiment(folder, f"[systems.words]\n{WORDS}")).run().surroundings
    return about["topics"]["sha256"], about["qrels"]["sha256"]


def verdicts(folder, systems, published):
    outcome = Experiment.read(experiment(folder, systems, published)).run()
    return {one.system: one.verdict for one in outcome.verdicts()}


@pytest.mark.parametrize(
    ("topics", "qrels", "candidates", "verdict"),
    [
        ("", "", "", "comparable: off"),
        ("", "", "candidates = 3", "comparable: off"),
        (OTHER, "", "", "other data"),
        ("", OTHER, "", "other data"),
        ("", "", "candidates = 4", "other data"),
    ],
)
def test_only_figures_of_the_same_data_are_comparable(folder, topics, qrels, candidates, verdict):
    own = hashes(folder)
    published = f"[published.test]\ntopics = '{topics or own[0]}'\nqrels = '{qrels or own[1]}'\n{candidates}\n"
    assert verdicts(folder, f"[systems.words]\n{WORDS}{MRR}", published) == {"words": verdict}


def test_only_figures_of_the_same_model_are_comparable(folder):
    topics, qrels = hashes(folder)
    published = f"[published.test]\ntopics = '{topics}'\nqrels = '{qrels}'\n"
    published += f"[published.tenth]\ntopics = '{OTHER}'\nqrels = '{qrels}'\n"
    systems = "".join(
        f"[systems.{name}]\nkb = 'lsa'\n{NEAR}{MRR}tolerance = 1\n{more}\n"
        for name, more in (
            ("lsa", "model = 'lsa/1'"),
            ("ada", "model = 'text-embedding-ada-002'"),
            ("tenth", "model = 'ada'\npublished = 'tenth'"),
        )
    )
    assert verdicts(folder, systems, published) == {
        "lsa": "comparable: OK",
        "ada": "other model",
        "tenth": "other data, other model",
    }


def test_what_cannot_be_run_is_left_out_and_told(folder):
    systems = (
        f"[systems.words]\n{WORDS}seconds = 1.4\n[systems.near]\noptional = true\n{NEAR}{MRR}"
        f"[systems.elsewhere]\noptional = true\nkb = 'nowhere'\n{WORDS}"
        "[systems.rerank]\noptional = true\nquery = '''SELECT ?e { ?e MATCH $text AS ?s } RANK BY ?s RERANK TOP 2 "
        f"USING llm(model='')'''\n[systems.DPR]\nmissing = 'not implemented'\n{MRR}seconds = 2\n"
    )
    path = experiment(folder, systems)
    outcome = Experiment.read(path).run(folder / "out")
    assert list(outcome.runs) == ["words"]
    assert list(outcome.skipped) == ["near", "elsewhere", "rerank", "DPR"]
    assert [(one.system, one.found, one.verdict) for one in outcome.verdicts()] == [
        ("near", None, "not run"),
        ("DPR", None, "not run"),
    ]
    write_report(outcome, folder / "out")
    report, figures = (
        (folder / "out" / "report.md").read_text(),
        json.loads((folder / "out" / "report.json").read_text()),
    )
    assert "| DPR | mrr | 0.7500 |  |  | 0.01 | not run |" in report
    assert "DPR was not run: not implemented" in report
    assert "rerank was not run: llm needs a model" in report
    assert "| 1,400 |" in report
    assert "| DPR |  |  |  |  |  | 2,000 |" in report
    assert figures["not_run"]["elsewhere"].startswith("no knowledge base")
    ran = CliRunner().invoke(cli, ["run", str(path), "--out", str(folder / "out")])
    assert ran.exit_code == 0, ran.output
    assert "note: near was not run: " in ran.stderr
    assert "DPR      mrr          0.7500" in ran.stdout


@pytest.mark.parametrize(
    ("systems", "error", "message"),
    [
        (f"[systems.near]\n{NEAR}", Exception, "vectors"),
        (f"[systems.a]\noptional = true\n{WORDS.replace('RANK', 'RUNK')}", QuerySyntaxError, "RUNK"),
        ("[systems.a]\nmissing = 'not here'", ConfigError, "no system can be run; a: not here"),
        (f"baseline = 'a'\n[systems.a]\nmissing = 'not here'\n[systems.b]\n{WORDS}", ConfigError, "the baseline 'a'"),
        ("[systems.a]\nmissing = ' '", ConfigError, "the reason in words"),
        (f"[systems.a]\n{WORDS}published = 'tset'", ConfigError, "no published data 'tset'; known: none"),
        (f"published = {{ a = {{ topics = '1', qrels = '2' }} }}\n[systems.a]\n{WORDS}", ConfigError, "a SHA-256"),
        (f"published = {{ a = {{ topic = '1' }} }}\n[systems.a]\n{WORDS}", ConfigError, "did you mean 'topics'?"),
    ],
)
def test_mistakes_are_errors_also_in_optional_systems(folder, systems, error, message):
    with pytest.raises(error) as e:
        Experiment.read(experiment(folder, systems)).run()
    assert message in str(e.value)
