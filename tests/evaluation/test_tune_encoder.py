"""`hybridkg tune --model encoder`: a made collection in which training lifts the ranking.

A "red dog" is asked for as "rouge chien", so the base knows nothing. A pair of the held-out questions is in no question
that is learned from, but each of its two words is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sampling import sampled

pytest.importorskip("torch", reason="no model packages: torch")
pytest.importorskip("tokenizers", reason="no model packages: tokenizers")

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError, ParameterError, UnknownNameError
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.evaluation.tuning.encoder import EncoderTuning
from hybridkg.evaluation.tuning.recipes import recipe_of
from hybridkg.interfaces.encoder import ENCODERS, ModelChoice
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb.snapshot import snapshot_of

COLOURS = {"red": "rouge", "blue": "bleu", "green": "vert", "white": "blanc", "black": "noir", "grey": "gris"}
ANIMALS = {"dog": "chien", "cat": "chat", "horse": "cheval", "fish": "poisson", "bird": "oiseau", "cow": "vache"}


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    lines = ["@prefix : <http://e/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    topics, qrels = {}, []
    for i, (colour, rouge) in enumerate(COLOURS.items()):
        for j, (animal, chien) in enumerate(ANIMALS.items()):
            name = f"{colour}-{animal}"
            lines.append(f':{name} rdfs:comment "a {colour} {animal}" .')
            topics[f"q{i}{j}"] = f"{rouge} {chien}"
            qrels.append(f"q{i}{j} 0 http://e/{name} 1")
    # The vocabulary of `static` is that of the documents, so the words of the questions are in one of them.
    lines.append(f':words rdfs:comment "{" ".join([*COLOURS.values(), *ANIMALS.values()])}" .')
    held_out = {topic for n, topic in enumerate(topics) if n % 5 == 2}
    for name, chosen in (("held-out", held_out), ("train", set(topics) - held_out)):
        text = "".join(f"{topic}\t{topics[topic]}\n" for topic in topics if topic in chosen)
        (folder / f"{name}.tsv").write_text(text)
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    (folder / "data.ttl").write_text("\n".join(lines))
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "data.ttl", index=True)
    return folder


def run(collection, out, *arguments, code=0):
    files = ["--topics", collection / "train.tsv", "--held-out", collection / "held-out.tsv"]
    given = ["tune", collection / "kb", *files, "--qrels", collection / "qrels.txt", "--model", "encoder"]
    result = CliRunner().invoke(cli, [*map(str, [*given, "--out", out, *arguments])], catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("method", sampled(["dpr", "ance"], "ance"))
def test_training_lifts_the_ranking_of_topics_that_it_has_not_seen(collection, tmp_path, method):
    said = run(collection, tmp_path / "model", "--method", method, "--fixed", "batch=8", "--fixed", "rate=0.1")
    report = json.loads((tmp_path / "model" / "training.json").read_text())
    assert report["mrr"][0] < 0.25
    assert max(report["mrr"]) > 0.8
    assert report["mrr"][report["epoch"]] == max(report["mrr"])
    assert f"--encoder model2vec:{tmp_path}/model" in said
    assert (report["topics"], report["held_out"], report["documents"]) == (29, 7, 37)


def test_the_model_serves_an_index_and_gives_the_measure_that_was_reported(collection, tmp_path):
    said = run(collection, tmp_path / "model", "--fixed", "epochs=8", "--fixed", "batch=8")
    report = json.loads((tmp_path / "model" / "training.json").read_text())
    with KnowledgeBase.create(tmp_path / "kb") as kb:
        kb.load(collection / "data.ttl", index=False)
        kb.index(encoder=said.split("--encoder ")[1])
        ranks = []
        for topic, text in read_topics(collection / "held-out.tsv").texts.items():
            rows = kb.query("SELECT ?e { ?e NEAR $t AS ?s } RANK BY ?s LIMIT 37", {"t": text})
            found = [str(row["e"]) for row in rows]
            (right,) = read_qrels(collection / "qrels.txt").relevant(topic)
            ranks.append(1 / (1 + found.index(right)))
    assert np.mean(ranks) == pytest.approx(report["mrr"][report["epoch"]])


def test_the_library_reads_the_model_and_gives_the_same_vectors(collection, tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="no model packages: sentence_transformers")
    run(collection, tmp_path / "model", "--fixed", "epochs=2", "--fixed", "batch=8")
    texts = ["rouge chien", "an unknown word zzz and a red dog", "cat"]
    kind = ENCODERS.get("model2vec")(ModelChoice(str(tmp_path / "model")))
    (tmp_path / "copy").mkdir()
    ours = kind.train(tmp_path / "copy", lambda: iter([]), 0, SILENT).passages(texts)
    theirs = library.SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(texts)
    assert np.abs(ours - theirs).max() < 1e-5


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(collection, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(collection, tmp_path / name, "--fixed", "epochs=2", "--fixed", "batch=8", "--seed", seed)
    a, b, c = (files_of(tmp_path / name) for name in "abc")
    assert a == b
    assert a.keys() == c.keys()
    assert a != c
    assert not list(tmp_path.glob("*.training"))


class Stopping:
    """A progress that interrupts in the second epoch."""

    def start(self, label, total):
        self.is_second = label.startswith("epoch 2")

    def advance(self, done, items):
        if self.is_second and items:
            raise KeyboardInterrupt

    def done(self, items):
        pass


def tuning(collection, kb, progress=SILENT, **others):
    return EncoderTuning(
        kb, read_topics(collection / "train.tsv"), read_qrels(collection / "qrels.txt"),
        held_out=read_topics(collection / "held-out.tsv"), progress=progress, **others,
    )  # fmt: skip


FIXED = {"epochs": 3.0, "batch": 8.0, "bm25": 1.0}


def test_an_interrupted_training_goes_on_to_the_same_model(collection, tmp_path):
    with KnowledgeBase.open(collection / "kb") as kb:
        tuning(collection, kb).train(tmp_path / "whole", base="static", method="ance", fixed=FIXED)
        with pytest.raises(KeyboardInterrupt):
            tuning(collection, kb, Stopping()).train(tmp_path / "model", base="static", method="ance", fixed=FIXED)
        assert (tmp_path / "model.training").is_dir()
        assert not (tmp_path / "model").exists()
        with pytest.raises(ConfigError, match="other data or settings"):
            tuning(collection, kb).train(tmp_path / "model", base="static", method="dpr", fixed=FIXED)
        tuning(collection, kb).train(tmp_path / "model", base="static", method="ance", fixed=FIXED)
    assert files_of(tmp_path / "model") == files_of(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]


def test_the_command_says_where_it_continues(collection, tmp_path, monkeypatch):
    run(collection, tmp_path / "whole", "--fixed", "epochs=3", "--fixed", "batch=8")
    monkeypatch.setattr("hybridkg.cli.output.TerminalProgress", Stopping)
    said = run(collection, tmp_path / "model", "--fixed", "epochs=3", "--fixed", "batch=8", code=130)
    assert f"the same command continues from {tmp_path}/model.training" in said
    monkeypatch.undo()
    run(collection, tmp_path / "model", "--fixed", "epochs=3", "--fixed", "batch=8")
    assert files_of(tmp_path / "model") == files_of(tmp_path / "whole")


def test_a_training_that_helps_nothing_writes_nothing_and_exits_with_1(collection, tmp_path):
    topics = tmp_path / "train.tsv"
    topics.write_text("".join(f"q{i}{j}\tred dog\n" for i in range(6) for j in range(6)))
    held_out = tmp_path / "held-out.tsv"
    held_out.write_text("h\tblue cat\n")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text((collection / "qrels.txt").read_text() + "h 0 http://e/blue-cat 1\n")
    given = ["tune", collection / "kb", "--topics", topics, "--held-out", held_out, "--qrels", qrels]
    given += ["--model", "encoder", "--fixed", "epochs=1", "--out", tmp_path / "model"]
    result = CliRunner().invoke(cli, [*map(str, given)], catch_exceptions=False)
    assert result.exit_code == 1
    assert "error[M903]: no epoch is better than the untrained model: MRR 1.0000" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held-out.tsv", "qrels.txt", "train.tsv"]


def test_a_model_that_was_trained_is_a_base(collection, tmp_path):
    run(collection, tmp_path / "first", "--fixed", "epochs=1", "--fixed", "batch=8")
    run(collection, tmp_path / "second", "--fixed", "epochs=3", "--fixed", "batch=8", "--base", tmp_path / "first")
    first, second = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("first", "second"))
    assert second["mrr"][0] == pytest.approx(first["mrr"][first["epoch"]])


def test_the_documents_are_the_texts_that_the_index_encodes(collection):
    from hybridkg.kb.write.check_text import rebuilt

    with KnowledgeBase.open(collection / "kb") as kb:
        one = tuning(collection, kb)
        state = snapshot_of(kb)
        with rebuilt(state, SILENT, with_index=False) as source:
            from hybridkg.entities.entity_text import verbalised

            fields = range(len(source.extraction.fields))
            texts = [text for batch in verbalised(source.extraction, fields) for text in batch.texts]
        assert list(one._texts) == texts
        some = tuning(collection, kb, candidates=["http://e/red-dog", "http://e/red-horse", "http://e/nowhere", "x y"])
        assert list(some._texts) == ["red dog\na red dog", "red horse\na red horse"]


def test_without_held_out_topics_every_tenth_is_held_out(collection):
    with KnowledgeBase.open(collection / "kb") as kb:
        topics = Topics({f"q{i}{j}": "x" for i in range(6) for j in range(6)})
        one = EncoderTuning(kb, topics, read_qrels(collection / "qrels.txt"))
        assert (len(one._training), len(one._held_out)) == (33, 3)
        assert set(one._training.texts) | set(one._held_out.texts) == set(topics.texts)


def test_topics_that_cannot_be_learned_from_are_refused(collection):
    qrels = read_qrels(collection / "qrels.txt")
    topics, held_out = read_topics(collection / "train.tsv"), read_topics(collection / "held-out.tsv")
    with KnowledgeBase.open(collection / "kb") as kb:
        with pytest.raises(ParameterError, match="is learned from, and held out"):
            EncoderTuning(kb, topics, qrels, held_out=topics)
        with pytest.raises(ParameterError, match="no topic to learn from has a right document"):
            EncoderTuning(kb, topics, Qrels({"q": {"http://e/x": 1}}), held_out=held_out)
        with pytest.raises(ParameterError, match="no topic that is held out has a right document"):
            EncoderTuning(kb, topics, qrels, held_out=Topics({"other": "x"}))
        some = EncoderTuning(kb, Topics({**topics.texts, "other": "x"}), qrels, held_out=held_out)
        assert some.left_out == 1
        with pytest.raises(ParameterError, match="that is held out") as caught:
            EncoderTuning(kb, Topics(dict([*topics.texts.items()][:1])), qrels)
        assert "--held-out" in caught.value.hint


def test_candidates_that_are_no_entities_are_counted_and_refused_if_all_are(collection):
    qrels, topics = read_qrels(collection / "qrels.txt"), read_topics(collection / "train.tsv")
    ids = [document for own in qrels.grades.values() for document in own]
    with KnowledgeBase.open(collection / "kb") as kb:
        some = EncoderTuning(kb, topics, qrels, candidates=[*ids, "http://e/nothing", ids[0], "http://e/none"])
        assert (some.unknown, len(some._nodes)) == (2, len(ids))
        with pytest.raises(ParameterError, match="no candidate is an entity with text"):
            EncoderTuning(kb, topics, qrels, candidates=["http://e/nothing"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "dpt"], "no method 'dpt'; known: dpr, ance"),
        (["--recipe", "large"], "no recipe 'large'; known: small, paper"),
        (["--fixed", "rat=1"], "no setting 'rat' of a training"),
        (["--fixed", "epochs=0"], "epochs is a whole number from 1 to 10000, not 0.0"),
        (["--fixed", "epochs=1.5"], "epochs is a whole number"),
        (["--fixed", "rate=nan"], "rate is a number from 1e-09 to 10, not nan"),
        (["--fixed", "rate=fast"], "rate is a number from 1e-09 to 10, not 'fast'"),
        (["--base", "model2vec:"], "the base has no model"),
        (["--base", "./nowhere"], "the folder of the model does not exist"),
        (["--folds", "x"], "--folds has no meaning for --model encoder"),
        (["--restarts", "2"], "--restarts has no meaning for --model encoder"),
        (["--query", "x"], "--query has no meaning for --model encoder"),
    ],
)
def test_mistakes_are_told(collection, tmp_path, arguments, message):
    assert message in run(collection, tmp_path / "model", *arguments, code=2)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_replaced(collection, tmp_path):
    (tmp_path / "model").mkdir()
    assert "exists already" in run(collection, tmp_path / "model", code=2)
    assert "no folder" in run(collection, tmp_path / "a" / "model", code=2)


def test_an_option_of_the_encoder_has_no_meaning_for_a_ranking_model(collection, tmp_path):
    given = ["tune", collection / "kb", "--topics", collection / "train.tsv", "--qrels", collection / "qrels.txt"]
    result = CliRunner().invoke(cli, [*map(str, [*given, "--base", "x", "--out", tmp_path / "p.toml"])])
    assert result.exit_code == 2
    assert "--base has no meaning for --model bm25f" in result.output


def test_settings_of_a_recipe_are_replaced_one_by_one():
    own = recipe_of("small", "ance", {"rate": 0.5, "mined": 3.0}, is_static=True)
    assert (own.rate, own.mined, own.epochs) == (0.5, 3, 20)
    with pytest.raises(UnknownNameError, match="did you mean 'epochs'"):
        recipe_of("small", "dpr", {"epoch": 1.0}, is_static=False)


def test_without_torch_the_command_names_what_to_install(collection, tmp_path):
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from hybridkg.__main__ import main\n"
        f"sys.argv = ['hybridkg', 'tune', {str(collection / 'kb')!r}, '--topics', {str(collection / 'train.tsv')!r}, "
        f"'--qrels', {str(collection / 'qrels.txt')!r}, '--model', 'encoder', '--out', {str(tmp_path / 'model')!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "error[R202]: training an encoder needs the package 'torch'\n  hint: pip install \"hybridkg[models]\"\n"
    )
