"""Encoders with models, from kb.toml to the rows: what is encoded, what is not encoded again, and what fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from tiny_models import edit, needs_packages, tiny

from hybridkg import KnowledgeBase
from hybridkg.errors import ConfigError, EncoderError, MissingExtraError, VectorQueryError
from hybridkg.vector.encoders.embedding_cache import NAME as WORK
from hybridkg.vector.encoders.transformer import TransformerEncoder

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_packages]

TEXTS = ("the car has an engine", "an automobile has wheels", "cats and dogs are animals", "the dog lives in a house")
ENCODED = ["\n".join(sorted([text, f"t{i}"])) for i, text in enumerate(TEXTS)]  # the name in the IRI is a label, too
NEAR = 'SELECT ?x ?s { ?x NEAR "a car engine" AS ?s } RANK BY ?s'
MATCH = 'SELECT ?x ?s { ?x MATCH "engine" AS ?s } RANK BY ?s'


def turtle(texts):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    return "\n".join(f'<http://e/t{i}> {label} "{text}" .' for i, text in enumerate(texts))


def configured(folder, encoder, extra=""):
    toml = folder / "kb.toml"
    lines = [line for line in toml.read_text().splitlines() if not line.startswith("encoder")]
    toml.write_text("\n".join([f'encoder = "{encoder}"', *lines, "", extra, ""]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders")
    tiny(folder / "model")
    (folder / "data.ttl").write_text(turtle(TEXTS))
    with KnowledgeBase.create(folder / "kb") as kb:
        configured(folder / "kb", "sentence-transformers:../model")
        counts = kb.load(folder / "data.ttl", index=True).index.vectors
    assert counts.encoded == counts.entities == len(TEXTS)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


@pytest.fixture
def encoded(monkeypatch):
    """The texts that are encoded."""
    seen = []
    real = TransformerEncoder.passages

    def passages(self, texts):
        seen.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(TransformerEncoder, "passages", passages)
    return seen


def vectors(kb):
    folder = kb._snapshot.generation.path / "vectors"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_has_not_changed_is_not_encoded_again(folder, encoded):
    with KnowledgeBase.open(folder / "kb") as kb:
        before, rows = vectors(kb), [row.to_python() for row in kb.query(NEAR)]
        assert kb.index().vectors.encoded == 0
        assert encoded == []
        assert vectors(kb) == before
        assert [row.to_python() for row in kb.query(NEAR)] == rows
        (folder / "more.ttl").write_text(turtle([*TEXTS, "people"]))
        counts = kb.load(folder / "more.ttl", index=True).index.vectors
        assert (counts.entities, counts.encoded, encoded) == (5, 1, ["people\nt4"])
        (folder / "changed.ttl").write_text(turtle(["with an engine"]))
        assert kb.load(folder / "changed.ttl", index=True).index.vectors.encoded == 1
        assert not (folder / "kb" / WORK).exists()


def test_it_makes_no_difference_what_was_encoded_before(folder, tmp_path):
    (folder / "all.ttl").write_text(turtle([*TEXTS, "people", "houses"]))
    with KnowledgeBase.open(folder / "kb") as kb:
        kb.load(folder / "all.ttl", index=True)
        later = vectors(kb)
    with KnowledgeBase.create(folder / "fresh") as kb:
        configured(folder / "fresh", "sentence-transformers:../model")
        kb.load(folder / "all.ttl", index=True)
        assert vectors(kb) == later


@pytest.mark.parametrize("change", ["model", "settings", "damage"])
def test_vectors_of_another_model_or_damaged_ones_are_not_used_again(folder, encoded, change):
    if change == "model":
        shutil.rmtree(folder / "model")
        shutil.rmtree(folder / "model-base")
        tiny(folder / "model", seed=5)
    elif change == "settings":
        configured(folder / "kb", "sentence-transformers:../model", "[encoding]\nmax_length = 5")
    else:
        (file,) = folder.glob("kb/*/vectors/vectors")
        content = bytearray(file.read_bytes())
        content[50] ^= 1
        file.write_bytes(content)
    with KnowledgeBase.open(folder / "kb") as kb:
        assert kb.index().vectors.encoded == len(TEXTS)
    assert sorted(encoded[-len(TEXTS) :]) == sorted(ENCODED)


def test_an_interrupted_run_goes_on(folder, monkeypatch, encoded):
    from hybridkg.kb.write import encode_entities

    monkeypatch.setattr(encode_entities, "ENCODED_AT_ONCE", 1)
    configured(folder / "kb", "sentence-transformers:../model", "[encoding]\nmax_length = 9")
    real, count = TransformerEncoder.passages, []

    def interrupted(self, texts):
        if list(texts) in [[text] for text in ENCODED]:
            count.append(1)
            if len(count) == 3:
                raise KeyboardInterrupt
        return real(self, texts)

    monkeypatch.setattr(TransformerEncoder, "passages", interrupted)
    with KnowledgeBase.open(folder / "kb") as kb:
        before = vectors(kb)
        with pytest.raises(KeyboardInterrupt):
            kb.index()
        assert vectors(kb) == before
        assert len(kb.query(NEAR)) == len(kb.query(MATCH)) + 3
        assert [path.suffix for path in (folder / "kb" / WORK).iterdir()] == [".log"]
        monkeypatch.setattr(TransformerEncoder, "passages", real)
        assert kb.index().vectors.encoded == 2
        assert not (folder / "kb" / WORK).exists()
        interrupted_then_finished = vectors(kb)
        kb.index()
        assert vectors(kb) == interrupted_then_finished


@pytest.mark.exhaustive  # five seconds of imports; the run below is interrupted in this process
def test_a_killed_run_goes_on(folder):
    configured(folder / "kb", "sentence-transformers:../model", "[encoding]\nmax_length = 9")
    program = (
        "import os, signal, sys\n"
        "from hybridkg import KnowledgeBase\n"
        "from hybridkg.kb.write import encode_entities\n"
        "from hybridkg.vector.encoders.transformer import TransformerEncoder\n"
        "encode_entities.ENCODED_AT_ONCE = 1\n"
        "real, count = TransformerEncoder.passages, []\n"
        "def killed(self, texts):\n"
        "    count.extend([1] if len(texts) == 1 else [])\n"
        "    if len(count) == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(self, texts)\n"
        "TransformerEncoder.passages = killed\n"
        f"KnowledgeBase.open({str(folder / 'kb')!r}).index()\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    with KnowledgeBase.open(folder / "kb") as kb:
        assert len(kb.query(NEAR)) == len(TEXTS)
        assert kb.index().vectors.encoded == 1


def test_a_query_from_the_command_line_imports_no_torch(folder):
    program = (
        "import sys, json\n"
        "from hybridkg.cli import cli\n"
        f"cli(['query', {str(folder / 'kb')!r}, {NEAR!r}], standalone_mode=False)\n"
        "heavy = ('torch', 'transformers', 'sentence_transformers', 'onnx', 'huggingface_hub', 'sklearn', 'scipy')\n"
        "print(json.dumps([m for m in heavy if m in sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.count("http://e/t") == len(TEXTS)
    assert json.loads(done.stderr.strip().splitlines()[-1]) == []


def test_numbers_that_are_none_are_told_and_nothing_is_written(folder, monkeypatch):
    configured(folder / "kb", "sentence-transformers:../model", "[encoding]\nmax_length = 9")
    real = TransformerEncoder.passages

    def broken(self, texts):
        found = real(self, texts)
        return found * np.nan if len(texts) == len(TEXTS) else found

    monkeypatch.setattr(TransformerEncoder, "passages", broken)
    with KnowledgeBase.open(folder / "kb") as kb:
        before = vectors(kb)
        with pytest.raises(VectorQueryError, match="returned a vector that is not finite"):
            kb.index()
        assert vectors(kb) == before
        assert len(kb.query(MATCH)) == 1
        assert len(kb.query(NEAR)) == len(TEXTS)


@pytest.mark.parametrize(
    ("encoder", "message", "hint"),
    [
        ("lsa:x", "the encoder 'lsa' takes no model", 'encoder = "lsa"'),
        ("sentence-transformers", "the encoder 'sentence-transformers' takes a model", "sentence-transformers:MODEL"),
        ("sentence-transformers:../none", "the folder of the model does not exist", ""),
        ("model2vec:../data.ttl", "the folder of the model is a file, not a folder", ""),
        ("sentence_transformers:x", "no encoder 'sentence_transformers'; known: none, lsa, model2vec", "did you mean"),
    ],
)
def test_a_wrong_encoder_is_told_before_any_work(folder, encoder, message, hint):
    configured(folder / "kb", encoder)
    with KnowledgeBase.open(folder / "kb") as kb:
        generation = kb._snapshot.generation.name
        with pytest.raises(ConfigError, match=message) as raised:
            kb.index()
        assert raised.value.place == str(folder / "kb" / "kb.toml")
        assert hint in raised.value.hint
        assert kb._snapshot.generation.name == generation
        assert len(kb.query(MATCH)) == 1


def test_a_model_that_is_declined_leaves_everything_at_work(folder):
    edit(folder / "model" / "1_Pooling" / "config.json", include_prompt=False)
    with KnowledgeBase.open(folder / "kb") as kb:
        with pytest.raises(EncoderError, match="excludes the prompt from its pooling"):
            kb.index()
        assert len(kb.query(NEAR)) == len(TEXTS)
        assert [path.name for path in (folder / "kb").iterdir() if path.name.startswith(".")] == []


def test_without_the_packages_of_queries_text_goes_on(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with KnowledgeBase.open(folder / "kb") as kb:
        assert len(kb.query(MATCH)) == 1
        with pytest.raises(MissingExtraError, match="needs the package 'tokenizers'"):
            kb.query(NEAR)
        assert len(kb.query("SELECT ?x ?s { ?x NEAR <http://e/t0> AS ?s } RANK BY ?s")) == len(TEXTS) - 1


def test_static_embeddings_are_kept_too(folder):
    configured(folder / "kb", "model2vec:../model")
    with KnowledgeBase.open(folder / "kb") as kb:
        assert kb.index().vectors.encoded == len(TEXTS)
        assert kb.index().vectors.encoded == 0
        assert len(kb.query(NEAR)) == len(TEXTS)
        assert kb._snapshot.vectors_state["encoder"].startswith("model2vec/1 model ")
