"""RERANK ... USING late: the order of sums of maxima, stored or not, and its parts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from late_texts import WordModel
from tiny_models import needs_packages, tiny

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError, RerankerError
from hybridkg.vector.late import reranker
from hybridkg.vector.late.max_similarity import maxima

FILMS = Path(__file__).parents[3] / "examples" / "films.ttl"
FOUND = 'SELECT ?f ?s ?r { ?f MATCH "space crew mars" AS ?s } RANK BY ?s RERANK TOP 4 USING '


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_films):
    folder = tmp_path_factory.mktemp("late") / "films.kb"
    copy_films(folder)
    (folder / "models").mkdir()
    return folder


@pytest.fixture
def words(monkeypatch):
    model = WordModel()
    monkeypatch.setattr(reranker, "token_model", lambda *_: model)
    return model


def test_rows_are_in_the_order_of_the_sums_of_maxima_and_parts_are_the_maxima(folder, words):
    with KnowledgeBase.open(folder) as kb:
        rows = list(kb.query(FOUND + "late() AS ?r"))
        question = words.question("space crew mars")
        for row in rows[:4]:
            texts = kb._snapshot.texts([row.term("f")])[0]
            (document,) = words.documents(["\n".join(text for _, text, _ in texts)])
            own = maxima(question.vectors, document)
            pairs = enumerate(zip(question.names, own, strict=True), 1)
            assert row.scores["r"] == pytest.approx(own.sum())
            assert row.why().parts == {f"{at} {token}": pytest.approx(value) for at, (token, value) in pairs}
    assert [row.scores["r"] for row in rows[:4]] == sorted((row.scores["r"] for row in rows[:4]), reverse=True)


def test_rows_with_texts_of_their_own_have_the_tokens_of_their_text_alone_as_parts(folder, words):
    query = (
        'SELECT ?f ?t ?r { VALUES ?t { "space crew" "hotel" "snow mars city" } ?f MATCH ?t AS ?s } RANK BY ?s '
        "RERANK TOP 50 USING late() AS ?r"
    )
    with KnowledgeBase.open(folder) as kb:
        rows = list(kb.query(query))
        assert {str(row["t"]) for row in rows} == {"space crew", "hotel", "snow mars city"}
        for row in rows:
            parts = row.why().parts
            assert list(parts) == [f"{at} {word}" for at, word in enumerate(str(row["t"]).split(), 1)]
            assert sum(parts.values()) == pytest.approx(row.scores["r"])


def test_stored_vectors_give_nearly_the_same_scores_without_reading_a_text_again(folder, words):
    with KnowledgeBase.open(folder) as kb:
        added = kb.token_vectors(folder / "models" / "late")
        assert added == kb._snapshot.text.counts["entities"]
        exact = kb.query(FOUND + "late() AS ?r")
        words.read = 0
        stored = kb.query(FOUND + "late(vectors='late') AS ?r")
        assert words.read == 0
        assert [row.scores["r"] for row in stored[:4]] == pytest.approx(
            [row.scores["r"] for row in exact[:4]], abs=0.03
        )
        assert "no stored vectors" not in stored.reranked[0]
        words.fingerprint = "words/9"
        with pytest.raises(RerankerError, match="stored vectors are those of"):
            kb.query(FOUND + "late(vectors='late')")


def test_a_question_without_a_known_token_keeps_the_order_and_the_result_says_so(folder, words, monkeypatch):
    none = words.question("")
    monkeypatch.setattr(words, "question", lambda _: none)
    with KnowledgeBase.open(folder) as kb:
        result = kb.query(FOUND + "late() AS ?r")
        plain = kb.query(FOUND.partition("RERANK")[0].replace(" ?r", ""))
    assert [row["f"] for row in result] == [row["f"] for row in plain]
    assert "the model knows no token of 'space crew mars'" in result.reranked[0]


def test_vectors_of_an_index_that_is_older_than_the_graph_have_a_note(tmp_path, words):
    kb = tmp_path / "kb"
    for arguments in (["load", FILMS, "--index"], ["load", tmp_path / "new.ttl", "--no-index"]):
        (tmp_path / "new.ttl").write_text('<http://e/new> <http://www.w3.org/2000/01/rdf-schema#label> "new" .')
        command, file, option = arguments
        assert CliRunner().invoke(cli, [command, str(kb), str(file), option]).exit_code == 0
    result = CliRunner().invoke(cli, ["tokens", str(kb), "--out", str(tmp_path / "vectors")], catch_exceptions=False)
    assert result.exit_code == 0
    assert "the text index is older than the graph" in result.stderr


def test_vectors_that_were_made_again_are_read_again(folder, words):
    out = folder / "models" / "again"
    with KnowledgeBase.open(folder) as kb:
        kb.token_vectors(out)
        kb.query(FOUND + "late(vectors='again')")
        shutil.rmtree(out)
        words.fingerprint = "words/2"
        kb.token_vectors(out)
        assert "no stored vectors" not in kb.query(FOUND + "late(vectors='again')").reranked[0]


def test_a_limit_of_tokens_without_a_model_is_refused(folder):
    with KnowledgeBase.open(folder) as kb, pytest.raises(ConfigError, match="needs a model"):
        kb.query(FOUND + "late(max_length=3)")


def test_a_text_that_is_not_stored_is_read_now_and_the_result_says_so(folder, words):
    with KnowledgeBase.open(folder) as kb:
        kb.token_vectors(folder / "models" / "labels", fields="label")
        part = folder / "models" / "labels" / "part0000.hashes"
        part.write_bytes(bytes(len(part.read_bytes())))
        result = kb.query(FOUND + "late(vectors='labels')")
        assert "4 of 4 texts had no stored vectors" in result.reranked[0]


@pytest.mark.parametrize(
    ("using", "error", "message"),
    [
        ("late()", RerankerError, "no vectors of tokens"),
        ("late(vectors='none')", ConfigError, "no folder of token vectors"),
        ("late(vectors='../models')", ConfigError, "no folder of token vectors"),
        ("late(vectors='late', form='compact')", ConfigError, "no form beside"),
        ("late(model='./nothing')", ConfigError, "no model in"),
    ],
)
def test_each_mistake_is_an_error_that_says_what_to_do(folder, using, error, message):
    with KnowledgeBase.open(folder) as kb, pytest.raises(error, match=message) as raised:
        kb.query(FOUND + using)
    assert raised.value.hint


@needs_packages
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_sentence_transformers_by_the_command_line(folder, tmp_path):
    model = tiny(tmp_path / "tiny")
    out = folder / "models" / "tiny"
    given = ["tokens", str(folder), "--model", str(model), "--fields", "label", "--form", "compact", "--out", str(out)]
    result = CliRunner().invoke(cli, given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "texts added" in result.output
    with KnowledgeBase.open(folder) as kb:
        stored = kb.query(FOUND + "late(vectors='tiny') AS ?r")
        exact = kb.query(FOUND + f"late(model='{model}', fields='label', form='compact') AS ?r")
    assert [row["f"] for row in stored] == [row["f"] for row in exact]
    assert [row.scores["r"] for row in stored[:4]] == pytest.approx([row.scores["r"] for row in exact[:4]], abs=0.05)


@needs_packages
@pytest.mark.filterwarnings("ignore")
def test_colberts_form_has_markers_masks_and_a_projection(tmp_path):
    """Against the transformer itself: [CLS] [marker] words [SEP] [MASK] ..., times the matrix, of length 1."""
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoModel

    from hybridkg.vector.late.token_model import open_token_model
    from hybridkg.vector.late.transformer_tokens import read_form

    model = tmp_path / "colbert-base"
    tiny(tmp_path / "colbert")
    weights = load_file(model / "model.safetensors")
    torch.manual_seed(3)
    weights["linear.weight"] = torch.randn(5, 32)
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    about = {"query_maxlen": 9, "doc_maxlen": 12, "query_token_id": "[unused1]", "doc_token_id": "[unused1]"}
    (model / "artifact.metadata").write_text(json.dumps(about))
    opened = open_token_model(str(model), [Path()], 0)
    assert opened.dimensions == 5
    question = opened.question("the car")
    assert question.names == ("[CLS]", "[unused1]", "the", "car", "[SEP]", *["[MASK]"] * 4)
    ids = [opened._torch.id_of(name) for name in question.names]
    with torch.no_grad():
        plain = AutoModel.from_pretrained(model).eval()
        output = plain(torch.tensor([ids]), torch.tensor([[1] * 5 + [0] * 4])).last_hidden_state[0]
        wanted = torch.nn.functional.normalize(output @ weights["linear.weight"].T, dim=-1).numpy()
    assert np.abs(question.vectors - wanted).max() < 1e-5
    (document,) = opened.documents(["the car : " + "engine " * 30])
    assert len(document) == 11, "12 tokens at most, without the punctuation"
    (model / "artifact.metadata").write_text('{"query_maxlen": "many"}')
    with pytest.raises(ConfigError, match="query_maxlen"):
        read_form(model)
