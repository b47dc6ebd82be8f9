"""The films with vectors, which no test changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture(scope="package")
def films(tmp_path_factory):
    kb = KnowledgeBase.create(tmp_path_factory.mktemp("asking") / "films.kb")
    kb.load(FILMS)
    kb.index(encoder="lsa")
    with kb:
        yield kb
