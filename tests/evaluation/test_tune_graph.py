"""`hybridkg tune --model graph`: networks from judged topics, inside folds, and what they do in a query."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.run import read_run
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.evaluation.tuning.graph import GraphOptions, GraphTuning

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="no model packages: torch")

QUERY = "SELECT ?x ?s { ?x MATCH $text AS ?s } RANK BY ?s"
WORDS = ("fish", "ship", "sea", "sun", "moon", "tree")


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """For each word five things whose comment says it ever more often; the relevant one says it once, and is the one
    that all others are linked with.
    """
    folder = tmp_path_factory.mktemp("graph")
    lines = ["@prefix : <http://e/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for word in WORDS:
        comments = [" ".join([word] * i) for i in range(1, 6)]
        lines += [f':{word}{i} rdfs:label "thing {i}" ; rdfs:comment "{c} and more" .' for i, c in enumerate(comments)]
        lines += [f":{word}0 :next :{word}{i} ." for i in range(1, 5)]
    (folder / "data.ttl").write_text("\n".join(lines))
    ids = [f"q{n}" for n in range(len(WORDS))]
    (folder / "topics.tsv").write_text("".join(f"{q}\t{word}\n" for q, word in zip(ids, WORDS, strict=True)))
    (folder / "held.tsv").write_text("q5\ttree\n")
    (folder / "qrels.txt").write_text("".join(f"{q} 0 http://e/{w}0 2\n" for q, w in zip(ids, WORDS, strict=True)))
    folds = {str(f): {"training": [t for t in ids if t not in ids[f::3]], "testing": ids[f::3]} for f in range(3)}
    (folder / "folds.json").write_text(json.dumps(folds))
    (folder / "rows.hq").write_text(QUERY)
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "data.ttl", index=True)
    (folder / "kb" / "models").mkdir()
    return folder


def run(collection, *arguments, code=0):
    files = [collection / "kb", "--topics", collection / "topics.tsv", "--qrels", collection / "qrels.txt"]
    given = ["tune", *map(str, files), "--model", "graph", "--query", str(collection / "rows.hq")]
    result = CliRunner().invoke(cli, [*given, *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_networks_of_folds_rank_what_they_have_not_seen_and_rerank_gives_the_same(collection, tmp_path):
    out = tmp_path / "tuned"
    run(collection, "--folds", collection / "folds.json", "--top", 5, "--fixed", "epochs=60", "--fixed", "rate=0.02",
        "--fixed", "dropout=0", "--out", out)  # fmt: skip
    report = json.loads((out / "report.json").read_text())
    assert report["mean"]["before"] < 0.5
    assert report["mean"]["after"] == pytest.approx(1.0)
    tested = read_run(out / "test.run")
    (collection / "kb" / "models" / "g.safetensors").write_bytes((out / "graph-1.safetensors").read_bytes())
    with KnowledgeBase.open(collection / "kb") as kb:
        reranked = QUERY.replace("?s {", "?s ?r {") + " RERANK TOP 5 USING graph(@g.safetensors) AS ?r"
        for topic, word in (("q1", "ship"), ("q4", "moon")):
            found = [row["x"] for row in kb.query(reranked, {"text": word})]
            assert [str(x) for x in found] == list(tested.documents(topic))
            assert str(found[0]) == f"http://e/{word}0"


def test_the_same_seed_gives_the_same_bytes_and_a_held_out_topic_is_not_learned_from(collection, tmp_path):
    given = ["--held-out", collection / "held.tsv", "--top", 5, "--nodes", "question", "--fixed", "epochs=3"]
    given += ["--fixed", "rate=0.05", "--loss", "cross-entropy"]
    for name in ("a", "b"):
        result = run(collection, *given, "--out", tmp_path / f"{name}.safetensors")
        assert " 5 " in result.stdout, "five of six topics"
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    run(collection, *given, "--seed", 1, "--out", tmp_path / "c.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() != (tmp_path / "c.safetensors").read_bytes()


def test_the_file_of_held_out_topics_is_not_written_over(collection):
    held = collection / "held.tsv"
    before = held.read_text()
    result = run(collection, "--held-out", held, "--out", held, code=2)
    assert "would be written over" in result.output
    assert held.read_text() == before


def test_a_checkpoint_of_another_choice_of_the_epoch_is_refused_and_the_same_one_goes_on(collection, tmp_path):
    """Held-out topics and the measure choose the epoch, so values of others would be compared with their own."""
    held = tmp_path / "other.tsv"
    held.write_text("q4\tmoon\n")
    topics = read_topics(collection / "topics.tsv")
    learned_from = Topics({topic: text for topic, text in topics.texts.items() if topic not in ("q4", "q5")})
    qrels, options = read_qrels(collection / "qrels.txt"), GraphOptions(epochs=3)
    work = tmp_path / "work"
    with KnowledgeBase.open(collection / "kb") as kb:

        def tuning(held_out, measure="ndcg@10"):
            chosen = Topics({held_out: topics.texts[held_out]})
            return GraphTuning(kb, learned_from, qrels, QUERY, options, held_out=chosen, top=5, measure=measure)

        with pytest.raises(KeyboardInterrupt):
            tuning("q5").run(progress=Interrupting(), checkpoints=work)
        for other in (tuning("q4"), tuning("q5", "mrr")):
            with pytest.raises(ConfigError, match="other data or settings"):
                other.run(checkpoints=work)
        (whole,), (resumed,) = tuning("q5").run(), tuning("q5").run(checkpoints=work)
        assert resumed.values == whole.values
    assert not work.exists()


def test_the_base_is_the_score_that_ranks_the_rows_of_all_topics(collection):
    """The first topic has no word of a label, so the score of comments alone ranks its rows as well."""
    query = (
        "SELECT ?x ?a ?b { ?x MATCH $text ON (description) AS ?a . OPTIONAL { ?x MATCH $text ON (label) AS ?b } } "
        "RANK BY ?a + COALESCE(?b, 0) AS ?total"
    )
    topics = Topics({"q0": "fish", "q1": "ship 3"})
    with KnowledgeBase.open(collection / "kb") as kb:
        tuning = GraphTuning(kb, topics, read_qrels(collection / "qrels.txt"), query, GraphOptions(epochs=1), top=5)
        assert "a" in tuning.rows["q0"].ranked_by
        assert tuning.settings.base == "total"


class Interrupting:
    """Stops at the second step."""

    def __init__(self):
        self.steps = 0

    def start(self, label, total):
        pass

    def done(self, items):
        pass

    def advance(self, done, items):
        self.steps += items
        if self.steps == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learner", "linear"], "no learner 'linear' of a graph network"),
        (["--edges", "grahp"], "no source of edges 'grahp'"),
        (["--edges", "graph,graph"], "named twice"),
        (["--inputs", "vector"], "has none"),
        (["--loss", "hinge"], "no loss 'hinge'"),
        (["--nodes", "words"], "no nodes 'words'"),
        (["--fixed", "hidden=2.5"], "whole number"),
        (["--fixed", "epochs=inf"], "whole number"),
        (["--fixed", "hidden=nan"], "whole number"),
        (["--fixed", "dropout=1"], "from 0 to 0.99"),
        (["--fixed", "depth=3"], "known: hidden"),
        (["--fixed", "weight=often"], "rare or count or none"),
        (["--top", "2000"], "at most 1,000 rows"),
        (["--jobs", "2"], "no meaning for --model graph"),
        (["--held-out", "{topics}"], "no topic is left to learn from"),
        (["--held-out", "{unjudged}"], "no topic that is held out has a judgement"),
        (["--held-out", "{held}", "--topics", "{held}"], "no topic is left to learn from"),
        (["--topics", "{held}"], "no topic that is held out to choose the epoch"),
    ],
)
def test_mistakes_say_what_would_be_right(collection, tmp_path, arguments, message):
    (tmp_path / "unjudged.tsv").write_text("zz\tfish\n")
    files = {
        "topics": collection / "topics.tsv",
        "held": collection / "held.tsv",
        "unjudged": tmp_path / "unjudged.tsv",
    }
    given = [argument.format(**files) for argument in arguments]
    result = run(collection, *given, "--out", tmp_path / "m.safetensors", code=1 if "vector" in arguments else 2)
    assert message in result.output
    assert not (tmp_path / "m.safetensors").exists()
