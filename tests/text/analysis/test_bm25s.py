"""The analyzer `bm25s`, and BM25 over a field of it, against a restatement of what the package bm25s computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.analysis.languages import ENGLISH_STOP_WORDS
from hybridkg.text.analysis.standard import MAX_WORD_LENGTH

ANALYZER = ANALYZERS.get("bm25s")()
WORDS = ["The", "a", "of", "red", "Red", "fish", "x", "snake_case", "3.14", "it's", "Ærø", "ﬁne", "-1", "İst", "ΑΣ"]
characters = st.one_of(st.sampled_from(list("aB2_ .,'-éİΣß中の\n")), st.characters(exclude_categories=["Cs"]))
texts = st.one_of(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.text(characters, max_size=25))


def restated(text: str) -> list[str]:
    """The tokens, one character at a time."""
    tokens, run = [], ""
    for character in f"{text.lower()} ":
        if character.isalnum() or character == "_":
            run += character
        else:
            tokens += [run] if len(run) > 1 and run not in ENGLISH_STOP_WORDS else []
            run = ""
    return tokens


def tokens(text: str) -> list[str]:
    return [term for word in ANALYZER.words(text) if (term := ANALYZER.term(word, ""))]


@settings(max_examples=examples(120, 2000), deadline=None)
@given(texts)
def test_tokens_are_runs_of_word_characters_without_function_words(text):
    assert tokens(text) == restated(text)


@settings(max_examples=examples(120, 200), deadline=None)
@given(texts)
def test_spans_have_the_words_and_point_at_them(text):
    spans = list(ANALYZER.spans(text))
    assert [word for word, _, _ in spans] == ANALYZER.words(text)
    for word, start, end in spans:
        assert text[start:end].lower().removesuffix("\u0307") in (word, word.replace("ς", "σ"), word.replace("σ", "ς"))


def test_a_word_of_any_length_is_a_term_of_at_most_255_characters():
    assert tokens("a" * 1000) == ["a" * MAX_WORD_LENGTH]


def test_every_language_is_analysed_alike():
    assert {ANALYZER.stemmer(tag) for tag in ("", "en", "de-AT", "zh")} == {""}


def bm25(documents: dict[int, str], query: str) -> dict[int, float]:
    """bm25s with its defaults (method lucene, k1 1.5, b .75), one document and one token of the query at a time."""
    words = {entity: restated(text) for entity, text in documents.items()}
    mean = sum(map(len, words.values())) / len(words)
    scores: dict[int, float] = {}
    for entity, own in words.items():
        for token in restated(query):
            df = sum(token in others for others in words.values())
            if tf := own.count(token):
                idf = math.log(1 + (len(words) - df + 0.5) / (df + 0.5))
                part = idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * len(own) / mean))
                scores[entity] = scores.get(entity, 0.0) + part
    return scores


with_a_token = st.lists(st.sampled_from(WORDS), max_size=60).map(lambda words: " ".join(["fish", *words]))


@settings(max_examples=examples(9, 200), deadline=None)
@given(st.dictionaries(st.integers(0, 9), with_a_token, min_size=1, max_size=10), texts)
def test_scores_are_those_of_bm25s_with_exact_lengths(build, documents, query):
    index = build({entity: {"document": text} for entity, text in documents.items()}, FIELDS, n_nodes=10)
    ids, scores = index.score_all(TextQuery(query, syntax=False, model="bm25f", arguments=(("k1", 1.5),)))
    want = bm25(documents, query)
    assert ids.tolist() == sorted(want)
    np.testing.assert_allclose(scores, [want[entity] for entity in ids.tolist()], rtol=1e-9)


FIELDS = (IndexedField("document", 1.0, 0.75, "bm25s"),)


def test_a_number_worked_by_hand(build):
    # Two documents of 2 and 4 tokens, the word once in the shorter: ln(1 + 1.5/1.5) / (1 + 1.5 (.25 + .75 * 2/3)).
    index = build({0: {"document": "The red fish"}, 1: {"document": "a blue sea, an old man"}}, FIELDS, n_nodes=2)
    ids, scores = index.topk(TextQuery("of RED", arguments=(("k1", 1.5),)), 10)
    assert ids.tolist() == [0]
    assert scores[0] == pytest.approx(0.6931 / 2.125, abs=5e-5)
