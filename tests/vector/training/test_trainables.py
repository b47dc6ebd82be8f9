"""What is trained: a transformer and a static table, and the folders of both."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_models import needs_packages, tiny

pytest.importorskip("torch", reason="no model packages: torch")

from hybridkg.errors import ConfigError, EncoderError
from hybridkg.interfaces.encoder import ENCODERS, ModelChoice
from hybridkg.interfaces.progress import SILENT
from hybridkg.vector.encoders.model_folder import ModelFolder, find_model
from hybridkg.vector.encoders.static_folder import StaticTable, read_static, write_static

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_packages]

DOCUMENTS = ["the car has an engine", "cats live in houses", "dogs and people", "four wheels", "animals of people"]
QUESTIONS = ["automobile", "cats", "dogs", "wheels"]


def vectors(kind, model, folder):
    folder.mkdir()
    encoder = ENCODERS.get(kind)(ModelChoice(str(model))).train(folder, lambda: iter([DOCUMENTS]), 5, SILENT)
    return encoder.queries(QUESTIONS), encoder.passages(DOCUMENTS)


def trained(model, folder, *, epochs):
    from hybridkg.vector.training.bi_encoder import BiEncoderTask, NegativeSettings
    from hybridkg.vector.training.pairs import Questions, TrainingPairs
    from hybridkg.vector.training.schedule import OptimizerSettings
    from hybridkg.vector.training.trainer import train
    from hybridkg.vector.training.transformer_trainable import TransformerTrainable

    rights = [np.array([i]) for i in range(4)]
    encoder = TransformerTrainable(ModelFolder("tiny", model), 16)
    questions = Questions(QUESTIONS, rights)
    task = BiEncoderTask(encoder, TrainingPairs(DOCUMENTS, questions, questions), NegativeSettings(mined=1), batch=2)
    outcome = train(task, OptimizerSettings(epochs=epochs, rate=0.003))
    folder.mkdir()
    encoder.save(folder)
    return outcome


def test_a_transformer_learns_and_its_folder_is_a_model_as_any_other(tmp_path):
    model = tiny(tmp_path / "model", prompts={"query": "query: "})
    outcome = trained(model, tmp_path / "a", epochs=30)
    assert outcome.values[outcome.best] > outcome.values[0] + 0.1
    questions, documents = vectors("sentence-transformers", tmp_path / "a", tmp_path / "copy")
    order = (-questions @ documents.T).argsort(axis=1).tolist()
    ranks = [1 / (1 + own.index(i)) for i, own in enumerate(order)]
    assert np.mean(ranks) == pytest.approx(outcome.values[outcome.best])
    assert json.loads((tmp_path / "a" / "config_sentence_transformers.json").read_text())["prompts"]["query"]


def test_the_same_seed_gives_the_same_files(tmp_path):
    model = tiny(tmp_path / "model")
    for name in ("a", "b"):
        trained(model, tmp_path / name, epochs=2)
    a, b = ({p.name: p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()} for name in "ab")
    assert a == b
    assert not [name for name in a if name.endswith((".bin", ".pkl", ".pt"))]


def test_before_the_training_the_vectors_are_those_of_the_encoder(tmp_path):
    from hybridkg.vector.training.transformer_trainable import TransformerTrainable

    model = tiny(tmp_path / "model", prompts={"query": "query: ", "passage": "passage: "}, dense=8, normalize=False)
    encoder = TransformerTrainable(ModelFolder("tiny", model))
    questions, documents = vectors("sentence-transformers", model, tmp_path / "copy")
    for texts, are_questions, wanted in ((QUESTIONS, True, questions), (DOCUMENTS, False, documents)):
        found = encoder.vectors(encoder.tokenised(texts, are_questions=are_questions), training=False)
        assert np.abs(found.detach().numpy() - wanted).max() < 1e-4


def damaged(model, numbers):
    from safetensors.numpy import load_file, save_file

    (path,) = model.glob("*.safetensors")
    weights = load_file(path)
    weights[min(weights)].flat[0] = numbers
    save_file(weights, path, {"format": "pt"})


def test_weights_that_are_damaged_are_an_error(tmp_path):
    from hybridkg.vector.training.transformer_trainable import TransformerTrainable

    model = tiny(tmp_path / "model")
    (path,) = model.glob("*.safetensors")
    content = path.read_bytes()
    for broken in (content[:-4], content[:100], (1 << 62).to_bytes(8, "little") + content[8:]):
        path.write_bytes(broken)
        with pytest.raises(ConfigError, match="not a usable safetensors file"):
            TransformerTrainable(ModelFolder("tiny", model))
    path.write_bytes(content)
    damaged(model, np.nan)
    with pytest.raises(ConfigError, match="has numbers that are not finite in"):
        TransformerTrainable(ModelFolder("tiny", model))


def static(folder, words=("[UNK]", "cats", "dogs")):
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir()
    write_static(folder, StaticTable(tokenizer.to_str(), np.array([[9, 9], [1, 0], [0, 2]], np.float32), 0))
    return folder


def test_a_static_folder_is_read_as_it_was_written(tmp_path):
    table = read_static(ModelFolder("static", static(tmp_path / "model")))
    assert table.tokens.tolist() == [[0, 0], [1, 0], [0, 2]]
    assert table.unknown == 0
    questions, _ = vectors("model2vec", tmp_path / "model", tmp_path / "copy")
    assert questions.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]


def test_the_encoder_of_transformers_names_the_one_that_reads_a_static_folder(tmp_path):
    with pytest.raises(EncoderError, match="has a module 'StaticEmbedding'") as caught:
        vectors("sentence-transformers", static(tmp_path / "model"), tmp_path / "copy")
    assert "model2vec:" in caught.value.hint


def test_a_static_folder_that_is_damaged_is_an_error_or_the_same_model(tmp_path):
    """A changed number of a weight may be a model too."""
    model = static(tmp_path / "model")
    files = [path for path in sorted(model.rglob("*")) if path.is_file()]
    contents = [path.read_bytes() for path in files]
    rng, refused = np.random.default_rng(0), 0
    for path, content in zip(files, contents, strict=True):
        for _ in range(60):
            broken = bytearray(content)
            broken[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
            path.write_bytes(broken if rng.random() < 0.8 else broken[: int(rng.integers(len(content)))])
            try:
                table = read_static(find_model(ModelChoice(str(model))))
                assert np.isfinite(table.tokens).all()
            except ConfigError:
                refused += 1
        path.write_bytes(content)
    assert refused > 60
    assert read_static(ModelFolder("static", model)).unknown == 0


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("modules.json", "[]", "is not"),
        ("modules.json", '[{"type": "a.StaticEmbedding"}]', "cannot be read"),
        ("modules.json", "[" * 100_000, "cannot be read"),
        ("0_StaticEmbedding/tokenizer.json", "{}", "tokenizer cannot be read"),
        ("0_StaticEmbedding/tokenizer.json", None, "cannot read"),
        ("0_StaticEmbedding/model.safetensors", None, "cannot read"),
    ],
)
def test_a_hostile_static_folder_is_an_error(tmp_path, name, text, problem):
    model = static(tmp_path / "model")
    if text is None:
        (model / name).unlink()
    else:
        (model / name).write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_static(ModelFolder("static", model))


def test_a_tokenizer_with_more_tokens_than_the_table_is_an_error(tmp_path):
    model = static(tmp_path / "model")
    other = static(tmp_path / "other", ("[UNK]", "cats", "dogs"))
    (other / "0_StaticEmbedding" / "tokenizer.json").write_text(
        (model / "0_StaticEmbedding" / "tokenizer.json").read_text().replace('"dogs":2', '"dogs":7')
    )
    with pytest.raises(ConfigError, match="has 8 tokens, and the table 3"):
        read_static(ModelFolder("static", other))


def test_a_module_outside_of_the_model_is_refused(tmp_path):
    static(tmp_path / "secret")
    model = static(tmp_path / "model")
    modules = json.loads((model / "modules.json").read_text())
    modules[0]["path"] = "../secret/0_StaticEmbedding"
    (model / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ConfigError, match="outside"):
        read_static(ModelFolder("static", model))
