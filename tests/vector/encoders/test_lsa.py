"""Latent semantic analysis: words that occur together come near each other, and every run gives the same."""

import numpy as np
import pytest
import scipy.sparse

from hybridkg.interfaces.progress import SILENT
from hybridkg.vector.encoders import lsa
from hybridkg.vector.encoders.lsa import Lsa, LsaEncoder
from hybridkg.vector.encoders.svd import right_singular_vectors

TEXTS = [
    "the car has an engine and four wheels",
    "an automobile has an engine and wheels",
    "the engine of the automobile drives its wheels",
    "a car with a strong engine",
    "cats and dogs are animals that live with people",
    "a dog is an animal and so is a cat",
    "animals such as cats live in houses",
    "the dog chases cats",
]


def prepared(folder, texts=TEXTS, **settings) -> LsaEncoder:
    folder.mkdir(exist_ok=True)
    return Lsa(**settings).train(folder, lambda: iter([texts[:3], texts[3:]]), len(texts), SILENT)


def test_a_word_finds_the_texts_of_words_that_keep_its_company(tmp_path):
    encoder = prepared(tmp_path, dimensions=2)
    (asked,) = encoder.queries(["automobile"])
    similar = encoder.passages(TEXTS) @ asked
    assert similar[3] > 0.5  # "a car with a strong engine" has no word of the query
    assert max(similar[4:]) < 0.1


def test_vectors_have_length_one_or_zero(tmp_path):
    encoder = prepared(tmp_path)
    lengths = np.linalg.norm(encoder.passages([*TEXTS, "", "zebra", "?!"]), axis=1)
    assert lengths == pytest.approx([1] * 8 + [0] * 3, abs=1e-6)
    assert encoder.passages([]).shape == (0, encoder.dimensions)


def test_what_is_opened_is_what_was_made(tmp_path):
    encoder = prepared(tmp_path / "a")
    again, other = Lsa().open(tmp_path / "a"), prepared(tmp_path / "b")
    assert again.name == encoder.name == f"lsa/1 {encoder.dimensions}"
    assert again.passages(TEXTS).tolist() == encoder.passages(TEXTS).tolist() == other.passages(TEXTS).tolist()
    files = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}


@pytest.mark.parametrize("texts", [[], [""], ["one text only"], ["same words here", "same words here"]])
def test_little_or_nothing_to_learn_from(tmp_path, texts):
    encoder = prepared(tmp_path, texts)
    assert encoder.passages(["words", "nothing"]).shape == (2, encoder.dimensions)


@pytest.mark.parametrize("texts", [["one text only"], ["same words here", "same words here"], TEXTS])
def test_every_text_with_a_word_has_a_vector_and_every_word_is_known(tmp_path, texts):
    encoder = prepared(tmp_path, texts)
    assert encoder.passages(texts).any(axis=1).all()
    words = [word for word in dict.fromkeys(" ".join(texts).split()) if len(word) > 4]
    assert encoder.queries(words).any(axis=1).all()


def test_many_texts_are_sampled_evenly(tmp_path, monkeypatch):
    monkeypatch.setattr(lsa, "MAX_TEXTS", 3)
    assert list(lsa._every(iter([["a", "b"], ["c"], ["d", "e", "f", "g", "h"]]), 3)) == ["a", "d", "g"]
    assert prepared(tmp_path).dimensions <= 3


def test_directions_are_those_of_the_full_decomposition():
    matrix = np.random.default_rng(3).standard_normal((60, 40)).astype(np.float32) * (0.7 ** np.arange(40))
    found = right_singular_vectors(scipy.sparse.csr_array(matrix.astype(np.float32)), 8, seed=0)
    exact = np.linalg.svd(matrix)[2][:8].T
    assert np.abs(np.einsum("ij,ij->j", found, exact)) == pytest.approx(np.ones(8), abs=1e-3)
    assert found.T @ found == pytest.approx(np.eye(8), abs=1e-5)
    assert (found[np.abs(found).argmax(axis=0), range(8)] > 0).all()
