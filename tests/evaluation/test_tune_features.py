"""`hybridkg tune --model features`: weights from judged topics, inside folds, and what they do in a query."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ParameterError, UnsupportedQueryError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import read_run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.features import FeatureTuning
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.ranking.rerankers import feature_model

QUERY = "SELECT ?x ?s { ?x MATCH $text AS ?s } RANK BY ?s"
WORDS = ("fish", "ship", "sea", "sun", "moon", "tree")


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """For each word five things whose comment says it ever more often; the relevant one is `of` a class and says it
    once, so bm25f puts it last, and the graph tells.
    """
    folder = tmp_path_factory.mktemp("features")
    lines = ["@prefix : <http://e/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    qrels, topics = [], []
    for n, word in enumerate(WORDS):
        comments = [" ".join([word] * i) for i in range(1, 6)]
        lines += [f':{word}{i} rdfs:label "thing {i}" ; rdfs:comment "{c} and more" .' for i, c in enumerate(comments)]
        lines += [f":{word}0 :next :{word}{i} ." for i in range(1, 5)]
        topics.append(f"q{n}\t{word}")
        qrels += [f"q{n} 0 http://e/{word}0 2", f"q{n} 0 http://e/{word}3 0"]
    (folder / "data.ttl").write_text("\n".join(lines))
    (folder / "topics.tsv").write_text("\n".join(topics) + "\n")
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    ids = [f"q{n}" for n in range(len(WORDS))]
    folds = {str(f): {"training": [t for t in ids if t not in ids[f::3]], "testing": ids[f::3]} for f in range(3)}
    (folder / "folds.json").write_text(json.dumps(folds))
    (folder / "rows.hq").write_text(QUERY)
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "data.ttl", index=True)
    (folder / "kb" / "models").mkdir()
    return folder


def run(collection, *arguments, query="rows.hq", code=0):
    files = [collection / "kb", "--topics", collection / "topics.tsv", "--qrels", collection / "qrels.txt"]
    given = ["tune", *map(str, files), "--model", "features", *map(str, arguments)]
    given += ["--query", str(collection / query)] if query else []
    result = CliRunner().invoke(cli, given, catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_weights_of_a_fold_rank_what_it_has_not_seen_and_rerank_gives_the_same(collection, tmp_path):
    result = run(collection, "--folds", collection / "folds.json", "--top", 5, "--out", tmp_path / "tuned")
    report = json.loads((tmp_path / "tuned" / "report.json").read_text())
    assert report["mean"]["before"] < 0.5
    assert report["mean"]["after"] == pytest.approx(1.0)
    assert "1.0000" in result.stdout
    tested = read_run(tmp_path / "tuned" / "test.run")
    values = evaluate(read_qrels(collection / "qrels.txt"), tested, [parse_measure("ndcg@10")])
    assert mean(values["ndcg@10"]) == pytest.approx(report["mean"]["after"])
    with KnowledgeBase.open(collection / "kb") as kb:
        for training in report["trainings"]:
            assert set(training["training"]).isdisjoint(training["testing"])
            name = f"features-{training['name']}.json"
            (collection / "kb" / "models" / name).write_text((tmp_path / "tuned" / name).read_text())
            for topic in training["testing"]:
                words = {"text": WORDS[int(topic[1:])]}
                rows = kb.query(f"{QUERY} RERANK TOP 5 USING features(@{name})", words)
                assert [str(row["x"]) for row in rows] == tested.documents(topic)


def test_one_training_is_one_file_and_says_what_it_was_measured_on(collection, tmp_path):
    result = run(collection, "--top", 5, "--out", tmp_path / "w.json", "--run", tmp_path / "w.run")
    model = feature_model.read(tmp_path / "w.json")
    assert feature_model.parse(feature_model.to_json(model), "x") == model
    assert model.weights
    assert "topics that the model was learned from" in result.stderr
    assert len(read_run(tmp_path / "w.run")) == len(WORDS)


def test_the_same_twice_gives_the_same_bytes(collection, tmp_path):
    for name in ("a.json", "b.json"):
        run(collection, "--top", 5, "--out", tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_no_test_topic_has_a_say_in_its_weights(collection):
    """To turn the judgements of the test topics around changes nothing but what is measured."""
    topics = Topics({f"q{n}": word for n, word in enumerate(WORDS)})
    grades = {f"q{n}": {f"http://e/{word}0": 2, f"http://e/{word}4": 0} for n, word in enumerate(WORDS)}
    turned = {**grades, "q5": {"http://e/tree0": 0, "http://e/tree4": 2}}
    fold = Fold("f", ("q0", "q1", "q2", "q3", "q4"), ("q5",))
    with KnowledgeBase.open(collection / "kb") as kb:
        outcomes = [FeatureTuning(kb, topics, Qrels(own), QUERY, top=5).run([fold])[0] for own in (grades, turned)]
    assert outcomes[0].model == outcomes[1].model
    assert outcomes[0].choice == outcomes[1].choice
    assert outcomes[0].after != outcomes[1].after


def test_boosted_trees_in_folds_and_in_a_query(collection, tmp_path, monkeypatch):
    """As few rows as here make no leaf but where one is enough."""
    monkeypatch.setattr("hybridkg.evaluation.tuning.learners.boosted.MIN_ROWS", 1)
    given = ("--learner", "boosted", "--folds", collection / "folds.json", "--top", 5, "--out", tmp_path / "tuned")
    result = run(collection, *given)
    assert "trees" in result.stdout
    assert "cost" not in result.stdout
    report = json.loads((tmp_path / "tuned" / "report.json").read_text())
    assert report["mean"]["after"] == pytest.approx(1.0)
    tested = read_run(tmp_path / "tuned" / "test.run")
    with KnowledgeBase.open(collection / "kb") as kb:
        for training in report["trainings"]:
            assert isinstance(training["trees"], list)
            name = f"features-{training['name']}.json"
            (collection / "kb" / "models" / f"b-{name}").write_text((tmp_path / "tuned" / name).read_text())
            for topic in training["testing"]:
                words = {"text": WORDS[int(topic[1:])]}
                rows = kb.query(f"{QUERY} RERANK TOP 5 USING features(@b-{name})", words)
                assert [str(row["x"]) for row in rows] == tested.documents(topic)


def test_trees_that_too_few_rows_do_not_give_are_told(collection, tmp_path):
    result = run(collection, "--learner", "boosted", "--top", 5, "--out", tmp_path / "w.json")
    assert "features learned nothing and leaves every order unchanged: too few rows" in result.stderr
    with KnowledgeBase.open(collection / "kb") as kb:
        (collection / "kb" / "models" / "none.json").write_text((tmp_path / "w.json").read_text())
        rows = kb.query(f"{QUERY} RERANK TOP 5 USING features(@none.json)", {"text": "fish"})
        assert [str(row["x"]) for row in rows] == [str(row["x"]) for row in kb.query(QUERY, {"text": "fish"})]


def test_rows_behind_the_first_keep_their_places(collection):
    topics = Topics({"q0": "fish"})
    with KnowledgeBase.open(collection / "kb") as kb:
        tuning = FeatureTuning(kb, topics, Qrels({"q0": {"http://e/fish2": 1}}), QUERY, top=3)
    rows = tuning.rows["q0"]
    assert len(rows.documents) == 5
    assert len(rows.grades) == 3
    turned = rows.ranked(-rows.features[:, tuning.names.index("earlier")])
    assert [document for document, _ in turned] == [
        *(document for document, _ in rows.documents[2::-1]),
        *(document for document, _ in rows.documents[3:]),
    ]
    assert [d for d, _ in rows.ranked(np.zeros(3))] == [d for d, _ in rows.documents]
    (outcome,) = tuning.run()  # one topic: there is nobody else to choose a cost by
    assert outcome.after["q0"] >= outcome.before["q0"]
    assert tuning.only(["earlier"]).rows["q0"].features.shape == (3, 1)


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("SELECT ?x { ?x MATCH $words AS ?s } RANK BY ?s", UnsupportedQueryError, r"\$text"),
        ("SELECT ?x { ?x MATCH $text AS ?s }", UnsupportedQueryError, "query that ranks"),
        (f"{QUERY} RERANK TOP 2 USING llm(model='m')", UnsupportedQueryError, "has a RERANK already"),
    ],
)
def test_the_query_must_be_one_whose_rows_can_be_reranked(collection, query, error, message):
    with KnowledgeBase.open(collection / "kb") as kb, pytest.raises(error, match=message):
        FeatureTuning(kb, Topics({"q0": "fish"}), Qrels({"q0": {"http://e/fish0": 1}}), query)


def test_judgements_of_another_knowledge_base_are_told(collection):
    with KnowledgeBase.open(collection / "kb") as kb, pytest.raises(ParameterError, match="judged relevant"):
        FeatureTuning(kb, Topics({"q0": "fish"}), Qrels({"q0": {"http://other/1": 1}}), QUERY)


def test_options_that_do_not_belong_together(collection, tmp_path):
    assert "needs the query" in run(collection, "--out", tmp_path / "w.json", query="", code=2).stderr
    for option, value in (("--on", "label"), ("--seed", "0"), ("--jobs", "1"), ("--restarts", "2")):
        said = run(collection, option, value, "--out", tmp_path / "w.json", code=2).stderr
        assert f"{option} has no meaning for --model features" in said
    said = run(collection, "--learner", "bosted", "--out", tmp_path / "w.json", code=2).stderr
    assert "no learner 'bosted'; known: boosted, linear" in said
    assert "did you mean 'boosted'?" in said
    other = run(collection, "--model", "bm25f", "--out", tmp_path / "w.json", code=2)
    assert "--query has no meaning for --model bm25f" in other.stderr
    missing = run(collection, "--out", tmp_path / "w.json", query="none.hq", code=2)
    assert "cannot read the query file" in missing.stderr


def test_features_of_the_question_are_read_if_asked_for(collection):
    topics, qrels = Topics({"q0": "fish"}), Qrels({"q0": {"http://e/fish0": 1}})
    with KnowledgeBase.open(collection / "kb") as kb:
        names = [set(FeatureTuning(kb, topics, qrels, QUERY, with_question=one).names) for one in (True, False)]
    assert names[0] - names[1] == {"constraints", "paths 1", "paths 2", "paths 3"}


def test_unknown_nodes_are_refused_with_the_known_ones(collection, tmp_path):
    result = run(collection, "--nodes", "questions", "--out", tmp_path / "w.json", code=2)
    assert "no nodes 'questions'; known: documents, question" in result.output
    assert "did you mean 'question'?" in result.output
