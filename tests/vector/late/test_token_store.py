"""Stored token vectors: what is read is what was written, in a byte for each number; a run goes on where it ended."""

from __future__ import annotations

import json

import numpy as np
import pytest
from late_texts import WIDE, WordModel

from hybridkg.errors import ConfigError, CorruptError, StorageError
from hybridkg.interfaces.progress import SILENT
from hybridkg.vector.late import token_store
from hybridkg.vector.late.token_store import TokenStore, quantised, store

SETTINGS = {"fields": "", "form": "plain", "max_length": 0, "model": ""}
TEXTS = ["a red fish", "", "blue", "a red fish", "one two three four", "blue blue"]


def stored(folder, texts=TEXTS, model=None, **settings):
    model = model or WordModel()
    return store(folder, model, texts, len(texts), SETTINGS | settings, SILENT)


def test_stored_vectors_are_the_models_within_half_a_level(tmp_path):
    assert stored(tmp_path) == 5
    opened = TokenStore(tmp_path)
    assert (len(opened), opened.tokens, opened.dimensions) == (5, 10, WIDE)
    for text, place in zip(TEXTS, opened.known(TEXTS).tolist(), strict=True):
        (exact,) = WordModel().documents([text])
        found = opened.vectors(*place)
        assert found.shape == exact.shape
        assert np.abs(found - exact).max(initial=0.0) <= 0.5 / 127 + 1e-6
        assert np.array_equal(found, quantised(exact)[0] * quantised(exact)[1][:, None])
    assert opened.known(["green"]).tolist() == [[-1, -1]]


def test_a_run_reads_only_new_texts_and_an_interrupted_one_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(token_store, "SEGMENT_TEXTS", 2)

    class Interrupted(WordModel):
        def documents(self, texts):
            if self.read >= 2:
                raise KeyboardInterrupt
            return super().documents(texts)

    with pytest.raises(KeyboardInterrupt):
        stored(tmp_path, model=Interrupted())
    assert len(TokenStore(tmp_path)) == 2
    model = WordModel()
    assert stored(tmp_path, model=model) == 3
    assert model.read == 3
    whole = TokenStore(tmp_path)
    assert (whole.known(TEXTS)[:, 0] >= 0).all()
    assert stored(tmp_path, [*TEXTS, "new words"]) == 1


def test_a_folder_of_something_else_or_that_cannot_be_made_is_refused_and_left_alone(tmp_path):
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"no folder of token vectors: it has 'modules.json'"):
        stored(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["modules.json"]
    with pytest.raises(StorageError, match="cannot write"):
        stored(tmp_path / "modules.json" / "vectors")


def test_another_model_or_other_texts_are_refused(tmp_path):
    stored(tmp_path)
    with pytest.raises(ConfigError, match="words/1"):
        stored(tmp_path, model=WordModel("words/2"))
    with pytest.raises(ConfigError, match="another folder"):
        stored(tmp_path, form="compact")


@pytest.mark.parametrize(
    "change", [{"dimensions": 7}, {"dimensions": "x"}, {"fingerprint": None}, {"version": 9}, {"arrays": {}}]
)
def test_a_damaged_header_is_an_error(tmp_path, change):
    stored(tmp_path)
    header = tmp_path / "part0000.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | change))
    with pytest.raises(CorruptError):
        TokenStore(tmp_path)


def test_a_cut_file_and_an_empty_folder_are_errors(tmp_path):
    stored(tmp_path)
    numbers = tmp_path / "part0000.numbers"
    numbers.write_bytes(numbers.read_bytes()[:-1])
    with pytest.raises(CorruptError, match="bytes instead of"):
        TokenStore(tmp_path)
    with pytest.raises(ConfigError, match="hybridkg tokens"):
        TokenStore(tmp_path / "none")
