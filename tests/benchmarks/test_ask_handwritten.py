"""The handwritten questions of examples/ask: every query parses, names its anchors, and has an answer in the data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.ask.handwritten import FILES, names_of, nodes_of, read_handwritten, target_of, with_anchors
from benchmarks.stark_data.__main__ import DATA
from hybridkg import KnowledgeBase
from hybridkg.evaluation.gold_queries import paths_of
from hybridkg.query.parser import parse

NS = "http://example.org/films/"
STARK_DATA = Path(os.environ.get("HYBRIDKG_STARK_DATA", "/tmp/stark-data"))
"""The folder that `python -m benchmarks.stark_data --out` made."""


def test_there_are_a_hundred_different_questions():
    questions = [one.ask for name in FILES for one in read_handwritten(name)]
    assert (len(questions), len(set(questions))) == (100, 100)
    assert set(FILES) <= set(DATA)


@pytest.mark.parametrize("name", FILES)
def test_every_query_parses_and_has_a_class_and_paths_from_its_anchors(name):
    for one in read_handwritten(name):
        parse(one.query)
        assert target_of(one.query).startswith("https://w3id.org/hybridkg/stark/"), one.ask
        anchors = dict.fromkeys(names_of(one.query), "http://example.org/anchor")
        assert bool(paths_of(with_anchors(one.query, anchors), ())) == bool(anchors), one.ask


def test_a_query_is_compared_with_iris_in_the_place_of_its_anchors():
    query = f'PREFIX f: <{NS}> SELECT ?x {{ ?x a f:Film . ?a f:name "Ridley Scott" . ?x f:director ?a }}'
    assert names_of(query) == {"a": (NS + "name", "Ridley Scott")}
    assert paths_of(with_anchors(query, {"a": NS + "Scott"}), ()) == [
        (NS + "Scott", (frozenset({(NS + "director", True)}),))
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_every_query_has_an_answer_and_its_anchors_exist(name):
    path = STARK_DATA / name / "made" / "kb"
    if not path.is_dir():
        pytest.skip(f"{path} is not there; HYBRIDKG_STARK_DATA is the folder that benchmarks.stark_data made")
    with KnowledgeBase.open(path) as kb:
        for one in read_handwritten(name):
            assert list(kb.query(one.query)), one.ask
            assert all(nodes_of(kb, one.query).values()), one.ask
