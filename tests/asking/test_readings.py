"""Readings as wholes: what the words say for their answers, and how much a satisfied constraint counts."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg import KnowledgeBase
from hybridkg.asking.satisfied_weight import RIGHT, satisfied_weight
from hybridkg.asking.text_evidence import SHARPNESS, TOP, text_evidence
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/desk/"
DESK = """
@prefix : <http://example.org/desk/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ann a :Person ; rdfs:label "Ann Zyx" ; :p1 :A , :B ; :p2 :C , :D .
:A a :Paper ; rdfs:label "Red fish of the sea" .
:B a :Paper ; rdfs:label "Old songs" .
:C a :Paper ; rdfs:label "Blue birds of the wood" .
:D a :Paper ; rdfs:label "New roads of the town" .
:E a :Paper ; rdfs:label "Red fish of the pond" .
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    (folder / "desk.ttl").write_text(DESK)
    with KnowledgeBase.create(folder / "desk.kb") as kb:
        kb.load(folder / "desk.ttl")
        kb.index()
        yield kb


@pytest.mark.parametrize(("words", "predicate"), [("red fish", "p1"), ("blue birds", "p2"), ("new roads", "p2")])
def test_of_paths_with_the_same_cue_the_one_whose_answers_have_the_words_is_chosen(desk, words, predicate):
    (path,) = desk.interpret(f'papers of "Ann Zyx" about {words}').paths
    assert [step.predicate for step in path.steps] == [NS + predicate]


def test_words_of_other_nodes_take_no_constraint_away(desk):
    found = desk.interpret('papers of "Ann Zyx" about the pond')
    assert [path.anchor.name for path in found.paths] == ["Ann Zyx"]


@given(st.sampled_from(["space", "space war", "the crew of a ship", "qqq"]), st.data())
def test_the_evidence_is_the_logarithm_of_the_mean_likelihood_of_the_answers(films, text, data):
    index = snapshot_of(films).asked.text
    entities = snapshot_of(films).asked.graph.n_entities
    answers = np.array(sorted(data.draw(st.sets(st.integers(0, entities - 1)))), np.uint32)
    assert entities < TOP
    best = data.draw(st.sampled_from([0.0, 50.0]))
    scores = {int(id): float(score) for id, score in zip(*index.topk(TextQuery(text, syntax=False), TOP), strict=True)}
    most = max([best, *scores.values()]) or 1.0
    likelihoods = [exp(SHARPNESS * scores.get(int(id), 0.0) / most) for id in answers]
    found = text_evidence(text, best, np.zeros(0, np.uint32), index).of(answers)
    assert found == pytest.approx(log(sum(likelihoods) / len(likelihoods)) if likelihoods else 0.0)


def test_answers_beyond_the_best_have_their_own_scores_where_they_are_asked_for(desk, monkeypatch):
    monkeypatch.setattr("hybridkg.asking.text_evidence.TOP", 1)
    base = snapshot_of(desk).asked
    second = base.text.topk(TextQuery("red fish", syntax=False), 2)[0][1:]
    assert text_evidence("red fish", 0.0, second[:0], base.text).of(second) == 0.0
    assert text_evidence("red fish", 0.0, second, base.text).of(second) > 1.0


@given(st.integers(1, 100), st.integers(0, 30), st.integers(1, 30))
def test_the_weight_of_a_constraint_is_a_likelihood_ratio(percent, reach, among):
    """Of an answer and of any node, each satisfying the constraint or failing it."""
    meant = Fraction(RIGHT).limit_denominator(100) * percent / 100
    share = min(Fraction(1), Fraction(max(1, reach), among))
    if share == 1:
        assert satisfied_weight(percent / 100, reach, among) == pytest.approx(-log(1 - meant))
        return
    satisfied = (meant + (1 - meant) * share) / share
    failed = (1 - meant) * (1 - share) / (1 - share)
    assert satisfied_weight(percent / 100, reach, among) == pytest.approx(log(satisfied / failed))


@given(st.integers(1, 99), st.integers(1, 99))
def test_a_surer_constraint_and_one_with_fewer_answers_weigh_more(percent, reach):
    weight = satisfied_weight(percent / 100, reach, 100)
    assert 0 < weight < satisfied_weight((percent + 1) / 100, reach, 100)
    assert weight > satisfied_weight(percent / 100, reach + 1, 100)


def test_the_soft_query_has_the_weights_of_the_constraints(desk):
    found = desk.interpret('papers of "Ann Zyx" about red fish')
    (path,) = found.paths
    assert f"{satisfied_weight(path.confidence, path.reach, 5):.4f} * IF(?g1, 1, 0)" in found.query
