"""`hybridkg tune` as a user meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hybridkg.cli import cli
from hybridkg.config.model_parameters import read_model_parameters
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.run import read_run
from hybridkg.kb import KnowledgeBase

DATA = """
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "red fish" ; rdfs:comment "a fish of the sea" .
:b rdfs:label "fish" ; rdfs:comment "red red red fish, the red one" .
:c rdfs:label "ship" ; rdfs:comment "it sails the sea; a fish swims" .
:d rdfs:label "sea ship" ; rdfs:comment "old" .
:e rdfs:label "old fish ship" ; rdfs:comment "ship ship ship sea sea" .
"""
TOPICS = "x-1\tred fish\nx-2\tsea ship\ny-1\told fish\ny-2\tfish sea\nz-9\tnobody judged\n"
QRELS = "".join(
    f"{topic} 0 http://e/{entity} {grade}\n"
    for topic, grades in {"x-1": "b2 a1", "x-2": "e2 c1", "y-1": "d1 e1", "y-2": "c2"}.items()
    for entity, grade in grades.split()
)
FOLDS = {
    "0": {"training": ["x-1", "y-1"], "testing": ["x-2", "y-2"]},
    "1": {"training": ["x-2", "y-2"], "testing": ["x-1", "y-1"]},
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    (folder / "data.ttl").write_text(DATA)
    (folder / "topics.tsv").write_text(TOPICS)
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "folds.json").write_text(json.dumps(FOLDS))
    KnowledgeBase.create(folder / "kb").load(folder / "data.ttl", index=True)
    return folder


def run(collection: Path, *arguments: object, width: int = 80) -> Result:
    files = [collection / "kb", "--topics", collection / "topics.tsv", "--qrels", collection / "qrels.txt"]
    given = ["tune", *map(str, files), "--restarts", "2", *map(str, arguments)]
    result = CliRunner().invoke(cli, given, catch_exceptions=False, env={"COLUMNS": str(width)})
    assert "Traceback" not in result.output
    return result


def test_one_model_is_one_file_of_parameters(collection, tmp_path):
    result = run(collection, "--out", tmp_path / "params.toml", "--run", tmp_path / "out.run")
    assert result.exit_code == 0, result.output
    parameters = read_model_parameters(tmp_path / "params.toml")
    assert parameters.model == "bm25f"
    assert all(set(own) == {"weight", "b"} for own in parameters.fields.values())
    row = result.stdout.splitlines()[2].split()
    values = evaluate(read_qrels(collection / "qrels.txt"), read_run(tmp_path / "out.run"), [parse_measure("ndcg@10")])[
        "ndcg@10"
    ]
    assert row[0] == "bm25f"
    assert float(row[3]) == pytest.approx(mean(values), abs=1e-4)
    assert "note: 1 topic left out: not judged" in result.stderr
    assert "note: the run ranks the topics that the parameters were learned from" in result.stderr


def test_the_written_parameters_rank_in_a_query_as_in_the_run(collection, tmp_path):
    run(collection, "--out", tmp_path / "params.toml", "--run", tmp_path / "out.run", "--model", "mlm")
    kb = tmp_path / "kb"
    shutil.copytree(collection / "kb", kb)
    (kb / "models").mkdir()
    shutil.copy(tmp_path / "params.toml", kb / "models")
    rows = KnowledgeBase.open(kb).query(
        'SELECT ?e { ?e MATCH "sea ship" USING mlm(@params.toml) AS ?s } RANK BY ?s LIMIT 10'
    )
    assert [str(row["e"]) for row in rows] == read_run(tmp_path / "out.run").documents("x-2")


def test_folds_and_categories_make_a_folder_with_a_model_each_and_a_run(collection, tmp_path):
    out = tmp_path / "tuned"
    result = run(collection, "--out", out, "--folds", collection / "folds.json", "--by", "prefix", "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == [
        *(f"params-{name}.toml" for name in ("x-0", "x-1", "y-0", "y-1")), "report.json", "test.run", "trained.json",
    ]  # fmt: skip
    assert max(map(len, result.stdout.splitlines())) <= 80
    report = json.loads((out / "report.json").read_text())
    values = evaluate(read_qrels(collection / "qrels.txt"), read_run(out / "test.run"), [parse_measure("ndcg@10")])
    assert report["test"]["tuned"] == pytest.approx(mean(values["ndcg@10"]), abs=1e-12)
    assert [t["name"] for t in report["trainings"]] == ["x-0", "x-1", "y-0", "y-1"]
    again = run(collection, "--out", out, "--folds", collection / "folds.json", "--by", "prefix")
    assert again.stdout.count("kept") == 4


def test_other_links_are_learned_from_anew(collection, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["--folds", collection / "folds.json", "--model", "elr", "--fixed", "links=@links.tsv", "--out", "t"]
    kept = []
    for link in ("a", "a", "b"):
        texts = [line.split("\t")[1] for line in TOPICS.splitlines()]
        Path("links.tsv").write_text("".join(f"{text}\thttp://e/{link}\n" for text in texts))
        kept.append(run(collection, *arguments).stdout.count("kept"))
    assert kept == [0, 2, 0]


def test_a_chosen_word_is_tested_as_it_ranks(collection, tmp_path):
    choice = "links=<http://e/d>|<http://e/c> <http://e/b>"
    arguments = ["--folds", collection / "folds.json", "--model", "elr", "--choose", choice, "--out", tmp_path / "t"]
    assert run(collection, *arguments).exit_code == 0
    report = json.loads((tmp_path / "t" / "report.json").read_text())
    assert "<http://e/c> <http://e/b>" in [training["arguments"]["links"] for training in report["trainings"]]
    values = evaluate(
        read_qrels(collection / "qrels.txt"), read_run(tmp_path / "t" / "test.run"), [parse_measure("ndcg@10")]
    )
    assert report["test"]["tuned"] == pytest.approx(mean(values["ndcg@10"]), abs=1e-12)


@pytest.mark.parametrize("width", [20, 50])
def test_a_narrow_terminal_gets_a_block_for_each_model(collection, tmp_path, width):
    result = run(collection, "--out", tmp_path / "t", "--folds", collection / "folds.json", width=width)
    lines = result.stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["0", "1", "all"]
    assert lines[1].split() == ["topics", "2", "+", "2"]
    assert sum("test, default" in line for line in lines) == 3


def test_the_same_command_writes_the_same_bytes(collection, tmp_path):
    for name, jobs in (("one", 1), ("two", 2)):
        run(collection, "--out", tmp_path / name, "--folds", collection / "folds.json", "--jobs", jobs)
    for name in ("params-0.toml", "params-1.toml", "test.run"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "{here}"], "is a folder; one model is one file"),
        (["--out", "{here}/none/p.toml"], "no folder"),
        (["--out", "{here}/file", "--by", "prefix"], "is a file; --folds and --by write into a folder"),
        (["--out", "{here}/p", "--fixed", "form"], "'form' is not NAME=VALUE"),
        (["--out", "{here}/p", "--fixed", "k1=1", "--fixed", "k1=2"], "--fixed gives 'k1' twice"),
        (["--out", "{here}/p", "--fixed", "k1=nan"], "argument 'k1' of model 'bm25f' is nan"),
        (["--out", "{here}/p", "--model", "bm25g"], "no model 'bm25g' to tune; known: bm25, bm25f"),
        (["--out", "{here}/p", "--model", "grph", "--held-out", "x"], "did you mean 'graph'?"),
        (["--out", "{here}/p", "--on", "labl"], "no text field 'labl'"),
        (["--out", "{here}/p", "--on", "label@en"], "--on takes no language: 'label@en'"),
        (["--out", "{here}/p", "--fixed", "form=galago", "--choose", "form=lucene|galago"], "both give 'form'"),
        (["--out", "{topics}"], "is read by this command"),
        (["--out", "{here}/p", "--run", "{here}/../{here.name}/file", "--by", "{here}/file"], "is read by this"),
        (["--out", "{here}/p", "--measure", "ndcg"], ""),
        (["--out", "{here}/p", "--folds", "{here}/file"], "not a file of folds"),
        (["--out", "{here}/broken", "--by", "prefix"], "not a file of finished trainings"),
        (["--out", "{here}/p", "--restarts", "0"], "0 is not in the range"),
    ],
)
def test_mistakes_are_told(collection, tmp_path, arguments, message):
    (tmp_path / "file").write_text("no json")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "trained.json").write_text("[1, 2]")
    before = (collection / "topics.tsv").read_bytes()
    result = run(collection, *(a.format(here=tmp_path, topics=collection / "topics.tsv") for a in arguments))
    assert (collection / "topics.tsv").read_bytes() == before
    assert result.exit_code == (2 if message else 0), result.output
    assert message in result.output
