"""Static embeddings: tables of tokens, and texts as the means of theirs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tiny_models import needs_packages, tiny

from hybridkg.errors import CorruptError, EncoderError
from hybridkg.interfaces.encoder import ModelChoice
from hybridkg.interfaces.progress import SILENT
from hybridkg.vector.encoders.static import LAYOUT, SIF, Model2Vec, StaticEncoder, weighted

pytestmark = [pytest.mark.filterwarnings("ignore")]

TEXTS = ["the car has an engine", "", "東", "Cats, cats and dogs!", "[SEP]"]


def prepared(folder, model, **settings) -> StaticEncoder:
    folder.mkdir(exist_ok=True)
    kind = Model2Vec(ModelChoice(str(model), **settings))
    encoder = kind.train(folder, lambda: iter([]), 0, SILENT)
    assert encoder.name == kind.fingerprint()
    return encoder


def test_weights_and_components_are_those_of_the_formulas():
    tokens = np.random.default_rng(1).standard_normal((20, 5)).astype(np.float32)
    tokens[[3, 7]] = 0
    found = weighted(tokens, 3)
    assert found.shape == (20, 3)
    assert not found[[3, 7]].any()
    used = [i for i in range(20) if i not in (3, 7)]
    centred = tokens[used] - tokens[used].mean(axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    shares = 1 / np.arange(2, 20)
    weights = SIF / (SIF + shares / shares.sum())
    assert np.abs(found[used]) == pytest.approx(np.abs(left * lengths)[:, :3] * weights[:, None], abs=1e-6)
    assert weighted(np.zeros((4, 5), np.float32), 3).tolist() == [[0] * 3] * 4
    assert weighted(tokens, 256).shape == (20, 5)


@needs_packages
def test_a_token_is_what_the_model_makes_of_it_alone(tmp_path):
    from sentence_transformers import SentenceTransformer

    from hybridkg.vector.encoders.model_folder import ModelFolder
    from hybridkg.vector.encoders.static_distilling import token_vectors

    path = tiny(tmp_path / "model")
    model = SentenceTransformer(str(path), device="cpu")
    _, vectors, unknown = token_vectors(ModelFolder("m", path), ModelChoice(device="cpu"))
    vocabulary = model.tokenizer.get_vocab()
    assert unknown == vocabulary["[UNK]"]
    for word in ("car", "##a"):
        state = model[0](model.preprocess(["car"]) | {"input_ids": model.preprocess(["car"])["input_ids"].clone()})
        ids = model.preprocess(["car"])
        ids["input_ids"][0, 1] = vocabulary[word]
        wanted = model[0](ids)["token_embeddings"][0].mean(dim=0).detach().numpy()
        assert vectors[vocabulary[word]] == pytest.approx(wanted, abs=1e-5)
        assert state is not None
    assert not vectors[[vocabulary[name] for name in ("[PAD]", "[CLS]", "[unused1]")]].any()


@needs_packages
def test_a_text_is_the_mean_of_its_tokens(tmp_path):
    model = tiny(tmp_path / "model")
    encoder = prepared(tmp_path / "1", model)
    found = encoder.passages(TEXTS)
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 0, 0, 1, 0], abs=1e-6)
    assert encoder.queries(["cats cats and dogs"])[0] @ found[3] > 0.9
    again = Model2Vec().open(tmp_path / "1")
    assert again.queries(TEXTS).tolist() == found.tolist()
    prepared(tmp_path / "2", model)
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "12"]
    assert files[0] == files[1]
    program = (
        "import sys; from pathlib import Path; from hybridkg.vector.encoders.static import Model2Vec\n"
        f"assert Model2Vec().open(Path({str(tmp_path / '1')!r})).queries(['car']).any()\n"
        "sys.exit(any(m in sys.modules for m in ('torch', 'onnxruntime', 'transformers', 'model2vec')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@needs_packages
def test_what_cannot_be_done_is_told(tmp_path):
    model = tiny(tmp_path / "model")
    with pytest.raises(EncoderError, match="has no prompts and no limit of tokens"):
        prepared(tmp_path / "a", model, query_prompt="query: ")
    prepared(tmp_path / "b", model)
    for name in ("tokens", "tokenizer.json", LAYOUT.header):
        kept = (tmp_path / "b" / name).read_bytes()
        (tmp_path / "b" / name).write_bytes(kept[: len(kept) // 2])
        with pytest.raises(CorruptError):
            Model2Vec().open(tmp_path / "b").queries(["car"])
        (tmp_path / "b" / name).write_bytes(kept)
