"""Verification by vectors: against the least similarity that the gold allows, and within a synthesis."""

from __future__ import annotations

import numpy as np
import pytest

from hybridkg import KnowledgeBase
from hybridkg.evaluation.synthesis import similarity_verifier
from hybridkg.evaluation.synthesis.own_text import OwnText
from hybridkg.evaluation.synthesis.similarity_verifier import MAX_LESS_SIMILAR, SimilarityVerifier
from hybridkg.evaluation.synthesis.synthesise import synthesise
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/"
NEAR, FAR = "alpha beta gamma delta", "alpha beta and the weather of many other places on a long day"
GRAPH = f"""
@prefix : <{NS}> .
:gold :text "{NEAR}" . :same :text "{NEAR}" . :other :text "{FAR}" . :none :number 1 .
:long :text "{"word " * 70}{NEAR}" .
"""


class Bags:
    """Encodes a text by the shares of some words."""

    name, dimensions = "bags", 5

    def passages(self, texts):
        words = ("alpha", "beta", "gamma", "delta", "weather")
        return np.array([[text.split().count(word) for word in words] for text in texts], np.float32)

    queries = passages


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("similar")
    (folder / "graph.ttl").write_text(GRAPH)
    with KnowledgeBase.create(folder / "graph.kb") as kb:
        kb.load(folder / "graph.ttl", index=True)
        yield OwnText(kb)


@pytest.mark.parametrize("at_once", [1, 3, 1_024])
@pytest.mark.parametrize(
    ("candidates", "kept"),
    [
        (["gold"], ["gold"]),
        (["other", "gold", "same"], ["gold", "same"]),
        (["long", "gold"], ["long", "gold"]),  # its last chunk is the gold's text, among others of another chunk
        (["none", "gold"], ["gold"]),
    ],
)
def test_an_answer_has_a_chunk_about_as_similar_as_the_best_of_the_gold(texts, candidates, kept, at_once, monkeypatch):
    monkeypatch.setattr(similarity_verifier, "CHUNKS_AT_ONCE", at_once)
    verifier = SimilarityVerifier(texts, Bags())
    found = verifier.verified([NS + name for name in candidates], ["alpha beta", "gamma delta"], NS + "gold")
    assert found == [NS + name for name in kept]


def test_the_gold_itself_may_be_the_less_similar_one(texts):
    found = SimilarityVerifier(texts, Bags()).verified([NS + "other", NS + "gold"], ["gamma delta"], NS + "other")
    assert found == [NS + "other", NS + "gold"]


def test_a_knowledge_base_with_vectors_keeps_the_similar_ones_of_the_answers_without(graphs, tmp_path):
    _, _, path = graphs["amazon"]
    KnowledgeBase.open(path).backup(tmp_path / "amazon.kb")
    with KnowledgeBase.open(tmp_path / "amazon.kb") as kb:
        without = {one.gold: one for one in synthesise(kb, "stark-amazon", 40, seed=5).questions}
        kb.index(encoder="lsa")
        made = synthesise(kb, "stark-amazon", 40, seed=5).questions
        encoder, texts, several = snapshot_of(kb).vectors.encoder, OwnText(kb), 0
        for one in made:
            assert one.gold in one.answers
            if one.asked and (plain := without.get(one.gold)) and plain.asked == one.asked and plain.text == one.text:
                cosines = {iri: cosine(encoder, texts, iri, one.asked) for iri in plain.answers}
                least = cosines[one.gold] - MAX_LESS_SIMILAR
                assert set(one.answers) == {iri for iri in plain.answers if cosines[iri] >= least - 1e-6}
                several += len(plain.answers) > 1
    assert several


def cosine(encoder, texts, iri, asked):
    """The slow restatement: the highest cosine of 40 words that begin at every twentieth."""
    question = encoder.queries([", ".join(asked)])[0]
    best = -1.0
    for passage in texts.passages(iri):
        words = [word.text for word in passage]
        for at in range(0, max(1, len(words) - 20), 20):
            vector = encoder.passages([" ".join(words[at : at + 40])])[0]
            norm = float(np.linalg.norm(vector) * np.linalg.norm(question)) or 1.0
            best = max(best, float(vector @ question) / norm)
    return best
