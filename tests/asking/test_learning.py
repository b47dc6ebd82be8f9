"""Learned models: they change which path of an anchor is chosen, and survive as JSON."""

from __future__ import annotations

from math import log

import pytest

from hybridkg.asking.learning import Example, learn, word_model
from hybridkg.asking.weights import QuestionWeights
from hybridkg.errors import ConfigError
from hybridkg.kb.asking import interpreted
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/films/"
SAME_DIRECTOR = (((NS + "director", False), (NS + "director", True)),)


def test_a_model_is_the_naive_bayes_of_the_words():
    model = word_model([("x", ["by", "by"]), ("x", ["by"]), ("y", ["on"]), ("y", ["on", "rare"])])
    assert model.prior["x"] == pytest.approx(log(2.5 / 5.5))
    assert model.unseen == pytest.approx(log(0.5 / 5.5))
    assert model.ratios["by"]["x"] == pytest.approx(log((2 + 0.25) / 2.5 / 0.5))
    assert model.ratios["by"]["y"] == pytest.approx(log(0.25 / 2.5 / 0.5))
    assert "rare" not in model.ratios
    assert model.score("x", ["by", "never"]) == pytest.approx(model.prior["x"] + model.ratios["by"]["x"])


def learned(films):
    examples = [
        Example(f'films made by the people behind "{name}"', NS + "Film", [(NS + iri, SAME_DIRECTOR)])
        for name, iri in (("Alien", "Alien"), ("Blade Runner", "BladeRunner"), ("Solaris", "Solaris"))
    ]
    return learn(examples, snapshot_of(films).asked)


def test_a_learned_path_is_chosen_for_another_anchor(films):
    weights = learned(films)
    (path,) = interpreted(films, 'films by the people behind "Stalker"', limit=10, weights=weights).paths
    assert [step.written for step in path.steps] == [f"<{NS}director>", f"^<{NS}director>"]


def test_learned_weights_survive_as_json(films, tmp_path):
    weights = learned(films)
    file = tmp_path / "weights.json"
    file.write_text(weights.to_json())
    assert QuestionWeights.read(file) == weights


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "routes": {"a": 3}, "classes": null}']
)
def test_another_file_is_no_weights(tmp_path, text):
    file = tmp_path / "weights.json"
    file.write_text(text)
    with pytest.raises(ConfigError):
        QuestionWeights.read(file)
