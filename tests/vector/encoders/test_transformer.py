"""Copies of sentence-transformers models: the library's own vectors, without the library."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import numpy as np
import pytest
from sampling import sampled
from tiny_models import MINILM, edit, needs_minilm, needs_packages, tiny

from hybridkg.errors import ConfigError, CorruptError, EncoderError, MissingExtraError
from hybridkg.interfaces.encoder import ENCODERS, ModelChoice
from hybridkg.interfaces.progress import SILENT
from hybridkg.vector.encoders.model_folder import find_model
from hybridkg.vector.encoders.transformer import CUDA_FROM, SentenceTransformers, TransformerEncoder

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_packages]

TEXTS = [
    "",
    " ",
    "a",
    "The car has an engine",
    "cats and dogs live in houses with people " * 40,
    "東京 naïve Ω \U0001f600 é ﬁ\n\tx²",
    "query: passage: [SEP] [CLS] [MASK]",
    "four  wheels",
]


def prepared(folder, model, **settings) -> TransformerEncoder:
    folder.mkdir(exist_ok=True)
    kind = SentenceTransformers(ModelChoice(str(model), **settings))
    encoder = kind.train(folder, lambda: iter([TEXTS[3:5]]), 2, SILENT)
    assert encoder.name == kind.fingerprint()
    return encoder


def library(model, texts, *, task, **settings):
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(str(model), device="cpu")
    if "max_length" in settings:
        loaded.max_seq_length = settings["max_length"]
    encode = loaded.encode_query if task == "query" else loaded.encode_document
    return encode(texts, normalize_embeddings=True)


def confirm(encoder, model, **settings):
    assert np.abs(encoder.queries(TEXTS) - library(model, TEXTS, task="query", **settings)).max() < 1e-4
    assert np.abs(encoder.passages(TEXTS) - library(model, TEXTS, task="document", **settings)).max() < 1e-4


POOLINGS = {
    **{name: name for name in ("mean", "cls", "max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean")},
    "two": ("cls", "mean"),
}


@pytest.mark.parametrize("pooling", sampled(POOLINGS, "weightedmean", "two"))
def test_every_pooling_is_copied(tmp_path, pooling):
    model = tiny(tmp_path / "model", POOLINGS[pooling])
    confirm(prepared(tmp_path / "copy", model), model)


SHAPES = {
    "dense": {"dense": 8},
    "without lengths of 1": {"normalize": False},
    "all of it": {"dense": 8, "normalize": False, "prompts": {"query": "query: "}},
}


@pytest.mark.parametrize("shape", sampled(SHAPES, "all of it"))
def test_every_shape_is_copied(tmp_path, shape):
    about = SHAPES[shape]
    model = tiny(tmp_path / "model", **about)
    encoder = prepared(tmp_path / "copy", model)
    confirm(encoder, model)
    assert encoder.dimensions == about.get("dense", 32)


def test_prompts_are_the_models_own_or_those_of_the_settings(tmp_path):
    model = tiny(tmp_path / "model", prompts={"query": "query: ", "passage": "passage: "})
    edit(model / "config_sentence_transformers.json", prompts={"query": "query: ", "passage": "passage: "})
    own = prepared(tmp_path / "own", model)
    confirm(own, model)
    plain = prepared(tmp_path / "set", model, query_prompt="a ", passage_prompt="the ")
    assert (plain.query_prompt, plain.passage_prompt) == ("a ", "the ")
    assert np.abs(plain.queries(["car"]) - own.queries(["car"])).max() > 1e-3
    assert plain.name != own.name


def test_a_text_is_cut_where_the_settings_say(tmp_path):
    model = tiny(tmp_path / "model")
    short = prepared(tmp_path / "copy", model, max_length=6)
    confirm(short, model, max_length=6)
    assert (
        short.queries(["car engine has four wheels"]).tolist() == short.queries(["car engine has four cats"]).tolist()
    )
    with pytest.raises(EncoderError, match="reads at most 32 tokens"):
        prepared(tmp_path / "long", model, max_length=33)


def test_a_vector_depends_on_its_text_only(tmp_path):
    encoder = prepared(tmp_path / "copy", tiny(tmp_path / "model"))
    together = encoder.passages(TEXTS)
    assert together.tolist() == [encoder.passages([text])[0].tolist() for text in TEXTS]
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert encoder.passages([]).shape == (0, 32)


def test_the_same_model_gives_the_same_bytes_and_another_another_name(tmp_path):
    model = tiny(tmp_path / "a" / "model")
    first, second = prepared(tmp_path / "1", model), prepared(tmp_path / "2", model)
    assert first.name == second.name
    assert first.name.startswith("sentence-transformers/1 model ")
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "12"]
    assert files[0] == files[1]
    assert sorted(files[0]) == ["model.onnx", "model.weights", "tokenizer.json", "transformer.json"]
    other = SentenceTransformers(ModelChoice(str(tiny(tmp_path / "b" / "model", seed=1))))
    assert other.fingerprint() != first.name


def test_what_is_opened_is_what_was_made(tmp_path):
    encoder = prepared(tmp_path / "copy", tiny(tmp_path / "model"))
    again = SentenceTransformers().open(tmp_path / "copy")
    assert (again.name, again.dimensions) == (encoder.name, 32)
    assert again.queries(TEXTS).tolist() == encoder.queries(TEXTS).tolist()


def test_a_copy_that_is_there_is_not_made_again(tmp_path, monkeypatch):
    model = tiny(tmp_path / "model")
    encoder = prepared(tmp_path / "copy", model)
    monkeypatch.setitem(sys.modules, "hybridkg.vector.encoders.transformer_export", None)
    assert prepared(tmp_path / "copy", model).queries(["car"]).tolist() == encoder.queries(["car"]).tolist()


@needs_minilm
@pytest.mark.exhaustive  # the tiny models above go the same way
def test_the_real_model_is_copied_and_queries_need_no_torch(tmp_path):
    encoder = prepared(tmp_path / "copy", MINILM)
    assert encoder.dimensions == 384
    confirm(encoder, MINILM)
    program = (
        "import sys, json; from pathlib import Path\n"
        "from hybridkg.vector.encoders.transformer import SentenceTransformers\n"
        f"found = SentenceTransformers().open(Path({str(tmp_path / 'copy')!r})).queries(['The car has an engine'])\n"
        "heavy = [m for m in ('torch', 'transformers', 'sentence_transformers', 'onnx', 'huggingface_hub') "
        "if m in sys.modules]\n"
        "print(json.dumps([found.tolist(), heavy]))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    found, heavy = json.loads(done.stdout)
    assert heavy == []
    assert found == encoder.queries(["The car has an engine"]).tolist()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda model: (model / "model.safetensors").unlink(), ConfigError, "has no weights: no file"),
        (lambda model: [path.unlink() for path in model.glob("*.json")], ConfigError, "is not a sentence-transformers"),
        (lambda model: (model / "modules.json").write_text("[{"), ConfigError, "cannot be read"),
        (lambda model: (model / "model.safetensors").write_bytes(b"damaged"), EncoderError, "cannot be copied into"),
        (
            lambda model: edit(model / "1_Pooling" / "config.json", include_prompt=False),
            EncoderError,
            "excludes the prompt",
        ),
        (
            lambda model: edit(model / "config_sentence_transformers.json", truncate_dim=8),
            EncoderError,
            "truncates its vectors",
        ),
    ],
)
def test_a_model_that_cannot_be_used_is_declined(tmp_path, change, error, message):
    model = tiny(tmp_path / "model")
    change(model)
    with pytest.raises(error, match=message):
        prepared(tmp_path / "copy", model)


def test_a_module_that_cannot_be_copied_is_named(tmp_path, monkeypatch):
    from hybridkg.vector.encoders import transformer_export

    model = tiny(tmp_path / "model")
    monkeypatch.setattr(transformer_export, "KNOWN_MODULES", ("Transformer", "Pooling"))
    with pytest.raises(EncoderError, match="has a module 'Normalize', which cannot be copied") as raised:
        prepared(tmp_path / "copy", model)
    assert raised.value.hint == "known modules: Transformer, Pooling"
    own = json.loads((model / "modules.json").read_text())
    (model / "modules.json").write_text(json.dumps([own[1], own[0]]))
    with pytest.raises(EncoderError, match="begins with a module 'Pooling', not with 'Transformer'"):
        prepared(tmp_path / "second", model)


def test_a_copy_with_other_vectors_is_refused(tmp_path, monkeypatch):
    model = tiny(tmp_path / "model")
    monkeypatch.setattr(TransformerEncoder, "queries", lambda self, texts: np.full((len(texts), 32), np.nan))
    with pytest.raises(EncoderError, match="gives other vectors than the model: nan off"):
        prepared(tmp_path / "copy", model)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("Could not allocate bytes object!"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_too_little_memory_is_told(tmp_path, monkeypatch, error):
    from hybridkg.vector.encoders import transformer_export

    def fails(*args):
        raise error

    monkeypatch.setattr(transformer_export, "_trace", fails)
    with pytest.raises(EncoderError, match="out of memory while the model 'model' was being copied") as raised:
        prepared(tmp_path / "copy", tiny(tmp_path / "model"))
    assert "max_length" in raised.value.hint


@pytest.mark.parametrize(
    "name",
    sampled(["tokenizer.json", "model.onnx", "model.weights", "transformer.json"], "tokenizer.json", "model.weights"),
)
def test_a_copy_that_lacks_a_file_or_has_a_damaged_one_is_told(tmp_path, name):
    prepared(tmp_path / "copy", tiny(tmp_path / "model"))
    content = (tmp_path / "copy" / name).read_bytes()
    for damage in (lambda path: path.write_bytes(content[: len(content) // 2]), lambda path: path.unlink()):
        damage(tmp_path / "copy" / name)
        with pytest.raises(CorruptError) as raised:
            SentenceTransformers().open(tmp_path / "copy").queries(["car"])
        assert str(tmp_path / "copy") in raised.value.place


def test_a_missing_package_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="'sentence-transformers' needs the package 'torch'") as raised:
        SentenceTransformers(ModelChoice(str(tmp_path))).fingerprint()
    assert raised.value.hint == 'pip install "hybridkg[models]"'


def test_a_folder_is_found_from_that_of_the_knowledge_base(tmp_path):
    (tmp_path / "m").mkdir()
    assert find_model(ModelChoice("./m", tmp_path)).path == tmp_path / "m"
    with pytest.raises(ConfigError, match="the folder of the model does not exist: "):
        find_model(ModelChoice("./n", tmp_path))
    (tmp_path / "f").touch()
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        find_model(ModelChoice("./f", tmp_path))


def test_a_model_is_fetched_with_a_word_and_one_that_cannot_be_is_told(tmp_path, monkeypatch, caplog):
    import huggingface_hub

    asked = []

    def answer(name, *, allow_patterns, local_files_only=False):
        asked.append((name, local_files_only))
        raise OSError("no way\nto the network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", answer)
    (tmp_path / "minilm").mkdir()
    with caplog.at_level(logging.WARNING), pytest.raises(EncoderError, match="cannot be fetched: no way\n") as raised:
        find_model(ModelChoice("minilm", tmp_path))
    assert asked == [("sentence-transformers/minilm", True), ("sentence-transformers/minilm", False)]
    assert "fetching the model 'sentence-transformers/minilm'" in caplog.text
    assert raised.value.hint == 'a folder is written with its path: "./minilm"'


def test_a_device_that_is_not_there_is_told(tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EncoderError, match="there is no CUDA device"):
        prepared(tmp_path / "copy", tiny(tmp_path / "model"), device="cuda")


def test_a_cuda_device_encodes_passages_by_the_library(tmp_path, monkeypatch):
    from hybridkg.vector.encoders import transformer_cuda

    monkeypatch.setattr(transformer_cuda, "is_there", lambda required: True)
    on_cpu = transformer_cuda.loaded
    monkeypatch.setattr(transformer_cuda, "loaded", lambda source, device, choice: on_cpu(source, "cpu", choice))
    model = tiny(tmp_path / "model", prompts={"query": "query: ", "document": "passage: "})
    (tmp_path / "copy").mkdir()
    kind = SentenceTransformers(ModelChoice(str(model), batch=3))
    encoder = kind.train(tmp_path / "copy", lambda: iter([TEXTS]), CUDA_FROM, SILENT)
    assert isinstance(encoder, transformer_cuda.CudaEncoder)
    confirm(encoder, model)
    monkeypatch.setattr(encoder._model, "encode", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(EncoderError, match="out of memory while the model 'model' was being run"):
        encoder.passages(TEXTS)


def test_the_kinds_are_registered():
    assert ENCODERS.names() == ["lsa", "model2vec", "openai", "published", "sentence-transformers"]
