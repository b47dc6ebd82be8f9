"""The films beside a server that speaks as a language model does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_server_at_hand import model_server
from reranked_films import WEIGHTS, weights

from hybridkg import KnowledgeBase

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    folder = tmp_path_factory.mktemp("rerank") / "films.kb"
    with model_server() as served:
        copy_films(folder)
        with (folder / "kb.toml").open("a") as file:
            file.write(f'\n[reranking]\nurl = "{served.url}"\n')
        (folder / "models").mkdir()
        weights(folder, "w.json", WEIGHTS)
        with KnowledgeBase.open(folder) as kb:
            kb.served = served
            kb.folder = folder
            yield kb


@pytest.fixture
def served(films, monkeypatch):
    monkeypatch.setattr("hybridkg.remote.model_server.FIRST_WAIT", 0.0)
    films.served.asked, films.served.faults = [], []
    films.served.score = lambda question, text: 0.5
    films.served.say = lambda scores: json.dumps({"scores": scores})
    return films.served
