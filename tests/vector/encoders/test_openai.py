"""Encoders of an embeddings endpoint, from kb.toml to the rows: what is sent, what is not, and what is asked first."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from model_server_at_hand import DIMENSIONS, changed, content, model_server, status, vector
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError, HybridkgError, ModelServerError, ParameterError
from hybridkg.interfaces import encoder as interface
from hybridkg.vector.encoders.embedding_cache import NAME as WORK
from hybridkg.vector.encoders.openai import PROBE

TEXTS = ("the car has an engine", "an automobile has wheels", "cats and dogs are animals", "the dog lives in a house")
NEAR = 'SELECT ?x ?s { ?x NEAR "a car engine" AS ?s } RANK BY ?s'


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setattr("hybridkg.remote.model_server.FIRST_WAIT", 0.0)
    for name in ("HYBRIDKG_OPENAI_API_KEY", "OPENAI_API_KEY", "HYBRIDKG_OPENAI_URL"):
        monkeypatch.delenv(name, raising=False)
    with model_server() as running:
        yield running


def made(folder, served, texts=TEXTS, encoder="openai:m", extra=""):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (folder / "data.ttl").write_text("\n".join(f'<http://e/t{i}> {label} "{text}" .' for i, text in enumerate(texts)))
    kb = KnowledgeBase.create(folder / "kb")
    toml = folder / "kb" / "kb.toml"
    settings = toml.read_text().replace('encoder = "none"', f'encoder = "{encoder}"')
    toml.write_text(f'{settings}\n[encoding]\nurl = "{served.url}"\n{extra}\n')
    kb.load(folder / "data.ttl", index=False)
    return kb


def test_vectors_are_those_of_the_server_and_rank_by_their_cosine(tmp_path, served):
    kb = made(tmp_path, served)
    counts = kb.index().vectors
    assert (counts.dimensions, counts.encoded, counts.entities) == (DIMENSIONS, 4, 4)
    result = kb.query(NEAR)
    asked = np.array(vector("a car engine"))
    sent = dict(zip(served.texts, map(vector, served.texts), strict=True))
    assert served.texts[0] == PROBE
    cosines = {
        text: float(np.array(own) @ asked / np.linalg.norm(own) / np.linalg.norm(asked)) for text, own in sent.items()
    }
    for row in result:
        number = int(str(row["x"])[-1])
        (text,) = [text for text in cosines if TEXTS[number] in text]
        assert row.scores["s"] == pytest.approx(cosines[text], abs=1e-6)
    assert len(result) == 4


def test_a_text_that_has_a_vector_is_not_sent_again(tmp_path, served):
    kb = made(tmp_path, served)
    kb.index()
    served.asked.clear()
    (tmp_path / "more.ttl").write_text('<http://e/t9> <http://www.w3.org/2000/01/rdf-schema#label> "a new one" .')
    counts = kb.load(tmp_path / "more.ttl", index=True).index.vectors
    assert counts.encoded == 1
    assert len(served.texts) == 1
    assert "a new one" in served.texts[0]


def test_prompts_batches_and_lengths_are_those_of_the_settings(tmp_path, served):
    extra = 'batch = 3\nmax_length = 8\npassage_prompt = "passage: "\nquery_prompt = "query: "'
    kb = made(tmp_path, served, extra=extra)
    kb.index()
    batches = [len(body["input"]) for _, _, body in served.asked]
    assert batches == [1, 3, 1]
    assert all(text.startswith("passage: ") and len(text.encode()) <= 24 for text in served.texts[1:])
    kb.query(NEAR)
    assert served.texts[-1] == "query: a car engine"[:24]


def test_other_settings_are_another_encoder(tmp_path, served):
    kb = made(tmp_path, served)
    kb.index()
    toml = tmp_path / "kb" / "kb.toml"
    toml.write_text(toml.read_text() + 'passage_prompt = "x"\n')
    assert kb.index().vectors.encoded == 4


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, served, monkeypatch):
    monkeypatch.setattr("hybridkg.kb.write.encode_entities.ENCODED_AT_ONCE", 2)
    kb = made(tmp_path, served)
    served.faults = [None, None, status(400, "no more")]
    with pytest.raises(ModelServerError, match="no more"):
        kb.index()
    assert (tmp_path / "kb" / WORK).is_dir()
    served.asked.clear()
    assert kb.index().vectors.encoded == 2
    assert len(served.texts) == 3
    assert not (tmp_path / "kb" / WORK).exists()


FAULTS = {
    "500": (lambda served: [status(500)] * 9, "answers 500 5 times"),
    "no JSON": (lambda served: [content("<html>")], "answers no JSON"),
    "a list": (lambda served: [content("[]")], "returned no vectors"),
    "too few": (lambda served: [changed(served, lambda a: {"data": a["data"][1:]})], "returned 3 vectors for 4 texts"),
    "dimension": (
        lambda served: [changed(served, lambda a: a["data"][0].update(embedding=[1.0, 2.0]))],
        "a vector of 2 numbers; those of 'm' had 8",
    ),
    "NaN": (
        lambda served: [changed(served, lambda a: a["data"][0].update(embedding=[float("nan")] * 8))],
        "not a list of finite numbers",
    ),
    "text": (
        lambda served: [changed(served, lambda a: a["data"][0].update(embedding="AAAA"))],
        "not a list of finite numbers",
    ),
    "twice": (
        lambda served: [changed(served, lambda a: a["data"][0].update(index=0))],
        "does not number its vectors by text",
    ),
    "out of range": (
        lambda served: [changed(served, lambda a: a["data"][0].update(index=7))],
        "does not number its vectors by text",
    ),
}


@pytest.mark.parametrize("fault", sampled(FAULTS, "500", "no JSON", "too few", "NaN"))
def test_what_is_no_answer_ends_the_build_and_leaves_what_was(tmp_path, served, fault):
    make, message = FAULTS[fault]
    kb = made(tmp_path, served)
    served.faults = [None, *make(served)]
    with pytest.raises(ModelServerError, match=message):
        kb.index()
    served.faults = []
    assert kb.index().vectors.entities == 4


def test_a_query_whose_server_is_gone_says_so(tmp_path, served):
    kb = made(tmp_path, served)
    kb.index()
    served.faults = [status(503)] * 9
    with pytest.raises(ModelServerError, match="503"):
        kb.query(NEAR)
    assert len(kb.query(NEAR)) == 4
    assert len(kb.query("SELECT ?x { ?x NEAR <http://e/t0> AS ?s } RANK BY ?s")) == 3


def test_many_texts_are_not_sent_without_a_yes(tmp_path, served, monkeypatch):
    monkeypatch.setattr(interface, "MANY_TEXTS", 3)
    kb = made(tmp_path, served)
    with pytest.raises(ParameterError, match=r"4 texts, about \d+ tokens, in 1 request, to http") as caught:
        kb.index()
    assert "--yes" in caught.value.hint
    assert served.texts == [PROBE]
    seen = []
    counts = kb.index(confirm=lambda sending: seen.append(sending) or True)
    assert counts.vectors.encoded == 4
    (sending,) = seen
    assert (sending.texts, sending.where) == (4, served.url)
    assert sending.characters == sum(len(text) for text in served.texts[2:])
    kb.index()  # nothing new is to be sent


def test_an_update_that_sends_many_texts_needs_a_yes_too(tmp_path, served, monkeypatch):
    monkeypatch.setattr(interface, "MANY_TEXTS", 3)
    kb = made(tmp_path, served)
    kb.index(confirm=lambda sending: True)
    before, sent = repr(kb), len(served.texts)
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    text = f"INSERT DATA {{ {' '.join(f'<http://e/new{n}> <{label}> {str(n)!r} .' for n in range(4))} }}"
    with pytest.raises(ParameterError, match=r"encoding sends 4 texts, .* which nothing has confirmed") as caught:
        kb.update(text)
    assert caught.value.hint == (
        "--yes confirms it; in Python, confirm=lambda upload: True; --no-index (index=False) sends nothing"
    )
    kb.refresh()
    assert (repr(kb), len(served.texts)) == (before, sent)
    assert kb.update(text, index=False).is_behind
    kb.index(confirm=lambda sending: True)
    assert kb.update("DELETE WHERE { <http://e/new0> ?p ?o }").removed == 1


def test_the_command_line_shows_the_cost_and_needs_a_yes(tmp_path, served, monkeypatch):
    monkeypatch.setattr(interface, "MANY_TEXTS", 3)
    made(tmp_path, served).close()
    refused = CliRunner().invoke(cli, ["index", str(tmp_path / "kb")])
    assert refused.exit_code == 2
    assert "to be encoded: 4 texts" in refused.stderr
    assert served.texts == [PROBE]
    agreed = CliRunner().invoke(cli, ["index", str(tmp_path / "kb"), "--yes"])
    assert agreed.exit_code == 0, agreed.stderr
    assert "to be encoded: 4 texts" in agreed.stderr


def test_the_key_is_sent_and_written_nowhere(tmp_path, served, monkeypatch):
    key = "sk-very-secret-5678"
    monkeypatch.setenv("HYBRIDKG_OPENAI_API_KEY", key)
    kb = made(tmp_path, served)
    kb.index()
    kb.query(NEAR)
    assert all(headers["Authorization"] == f"Bearer {key}" for _, headers, _ in served.asked)
    for path in (tmp_path / "kb").rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('api_key = "sk-1"', "must not be in a file"),
        ('url = "nowhere"', "not the address"),
        ("per_minute = -1", "whole number from 0"),
        ("timeout = 0", "number from 1"),
    ],
)
def test_settings_that_cannot_be(tmp_path, served, setting, message):
    kb = made(tmp_path, served)
    toml = tmp_path / "kb" / "kb.toml"
    text = toml.read_text()
    if setting.startswith("url"):
        text = text.replace(f'url = "{served.url}"', "")
    toml.write_text(f"{text}\n{setting}\n")
    with pytest.raises(ConfigError) as caught:
        kb.index()
    assert message in caught.value.render()
    assert "kb.toml" in caught.value.render()


def test_the_kind_needs_a_model(tmp_path, served):
    kb = made(tmp_path, served, encoder="openai")
    with pytest.raises(HybridkgError, match="takes a model"):
        kb.index()


def test_blank_texts_are_not_sent(tmp_path, served):
    from hybridkg.interfaces.encoder import ModelChoice
    from hybridkg.interfaces.progress import SILENT
    from hybridkg.vector.encoders.openai import OpenAI

    encoder = OpenAI(ModelChoice("m", url=served.url)).train(tmp_path, lambda: (), 0, SILENT)
    found = encoder.passages(["a", " ", ""])
    assert served.texts == [PROBE, "a"]
    assert np.linalg.norm(found, axis=1).round(6).tolist() == [1.0, 0.0, 0.0]
