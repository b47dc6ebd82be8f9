"""Phrases and words near each other against a search of every position, and BM25F over their counts."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import Span, TextQueryError
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index.build.runs import VALUE_GAP
from hybridkg.text.match_query.matching import WIDEST_WINDOW

WORDS = ["a1", "b1", "c1"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=3)
documents = st.dictionaries(st.integers(0, 7), st.tuples(texts, texts), max_size=7)
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)


def occurrences(values, phrase):
    return sum(words[i : i + len(phrase)] == phrase for words in values for i in range(len(words)))


@settings(deadline=None, max_examples=examples(9, 160))
@given(documents, phrases)
def test_a_phrase_scores_as_a_term_with_its_own_counts(build, docs, phrase):
    index = build(
        {e: {"title": [" ".join(w) for w in t], "body": [" ".join(w) for w in b]} for e, (t, b) in docs.items()},
        n_nodes=8,
    )
    ids, scores = index.score_all(TextQuery('"{}"'.format(" ".join(phrase))))
    tf = {e: [occurrences(values, phrase) for values in fields] for e, fields in docs.items()}
    want = sorted(e for e in docs if any(tf[e]))
    assert ids.tolist() == want
    length = {e: [sum(map(len, values)) for values in fields] for e, fields in docs.items()}
    having = [[e for e in docs if length[e][f]] for f in (0, 1)]
    n = sum(any(length[e]) for e in docs)
    for entity, score in zip(ids.tolist(), scores.tolist(), strict=True):
        x = 0.0
        for f in (0, 1):
            if length[entity][f]:
                mean = sum(length[e][f] for e in having[f]) / len(having[f])
                x += tf[entity][f] / (0.25 + 0.75 * length[entity][f] / mean)
        idf = math.log(1 + (n - len(want) + 0.5) / (len(want) + 0.5))
        assert score == pytest.approx(idf * x / (1.2 + x), rel=1e-9)


@settings(deadline=None, max_examples=examples(9, 80))
@given(documents, st.lists(phrases, min_size=1, max_size=3), phrases)
def test_must_and_not_keep_exactly_the_entities_that_obey(build, docs, must, excluded):
    index = build(
        {e: {"title": [" ".join(w) for w in t], "body": [" ".join(w) for w in b]} for e, (t, b) in docs.items()},
        n_nodes=8,
    )
    text = " ".join([*('+"{}"'.format(" ".join(p)) for p in must), '-"{}"'.format(" ".join(excluded))])

    def has(entity, phrase):
        return any(occurrences(values, phrase) for values in docs[entity])

    want = [e for e in sorted(docs) if all(has(e, p) for p in must) and not has(e, excluded)]
    assert index.score_all(TextQuery(text))[0].tolist() == want
    scores = index.score(TextQuery(text), np.arange(8, dtype=np.uint32))
    assert [e for e in range(8) if scores[e] == scores[e]] == want


def most_windows(values, words, width):
    """The largest number of stretches of at most `width` words, none overlapping, that each hold all the words."""
    wanted, most = Counter(words), 0
    for value in values:
        best = [0] * (len(value) + 1)
        for start in reversed(range(len(value))):
            ends = range(start + 1, min(len(value), start + width) + 1)
            holding = [1 + best[end] for end in ends if not wanted - Counter(value[start:end])]
            best[start] = max([best[start + 1], *holding])
        most += best[0]
    return most


@settings(deadline=None, max_examples=examples(9, 160))
@given(documents, st.lists(st.sampled_from(WORDS), min_size=2, max_size=3), st.integers(0, 6))
def test_words_near_each_other_count_as_windows_that_do_not_overlap(build, docs, words, near):
    index = build(
        {e: {"title": [" ".join(w) for w in t], "body": [" ".join(w) for w in b]} for e, (t, b) in docs.items()},
        n_nodes=8,
    )
    (term,) = index.task(TextQuery('"{}"~{}'.format(" ".join(words), near))).terms
    found = [dict(zip(p.ids.tolist(), p.tf.tolist(), strict=True)) for p in term.postings]
    width = len(words) + near
    for field in (0, 1):
        want = {e: most_windows(fields[field], words, width) for e, fields in docs.items()}
        assert found[field] == {e: n for e, n in want.items() if n}


def test_words_near_each_other_never_stand_in_two_values(build):
    assert WIDEST_WINDOW <= VALUE_GAP
    index = build({0: {"body": ["red", "sea"]}, 1: {"body": "red " + "x " * 98 + "sea"}, 2: {"body": "sea red"}})
    assert index.score_all(TextQuery('"red sea"~98'))[0].tolist() == [1, 2]
    assert index.score_all(TextQuery('"red sea"~97'))[0].tolist() == [2]
    with pytest.raises(TextQueryError) as e:
        index.check(TextQuery('old "red sea"~99'))
    assert (e.value.message, e.value.hint, e.value.span) == (
        "words near each other take at most 100 places; these take 2 and may have 99 between them",
        "write ~98 or less",
        Span(4, 16),
    )
    with pytest.raises(TextQueryError, match="these take 101"):
        index.check(TextQuery('"{}"~0'.format(" ".join(["red"] * 101))))


def test_the_stop_words_of_words_near_each_other_take_their_places_and_are_not_looked_for(build):
    fields = [IndexedField("body", analyzer="stopped")]
    index = build({0: {"body": "art of the state"}, 1: {"body": "art x x x state"}, 2: {"body": "the"}}, fields)
    assert index.score_all(TextQuery('"state of the art"~0'))[0].tolist() == [0]
    assert index.score_all(TextQuery('"the state of the art of"~1'))[0].tolist() == [0, 1]
    assert index.score_all(TextQuery('"state the"~3'))[0].tolist() == [0, 1]
    assert index.score_all(TextQuery('"the of"~3'))[0].tolist() == []


def test_a_phrase_leaves_a_gap_for_its_stop_words(build):
    fields = [IndexedField("body", analyzer="stopped")]
    index = build({0: {"body": "state of the art"}, 1: {"body": "state art"}, 2: {"body": "state in an art"}}, fields)
    assert index.score_all(TextQuery('"state of the art"'))[0].tolist() == [0, 2]
    assert index.score_all(TextQuery('"the state art"'))[0].tolist() == [1]
    assert index.score_all(TextQuery('+the "state art"'))[0].tolist() == [1]


def test_fields_of_different_analyzers_each_see_their_own_terms(build):
    fields = [IndexedField("stem"), IndexedField("exact", analyzer="unstemmed")]
    index = build({0: {"stem": "models"}, 1: {"exact": "models"}, 2: {"exact": "model"}}, fields)
    assert index.score_all(TextQuery("model"))[0].tolist() == [0, 2]
    assert index.score_all(TextQuery("models"))[0].tolist() == [0, 1]


def test_the_language_of_value_and_query_select_the_stemmer(build):
    fields = [IndexedField("body")]
    index = build({0: {"body": [("Häuser", "de")]}, 1: {"body": [("Hausern", "ja")]}}, fields)
    assert index.score_all(TextQuery("Haus", language="de-CH"))[0].tolist() == [0]
    assert index.score_all(TextQuery("HAUSERN", language="zz"))[0].tolist() == [1]


def test_the_gap_of_stop_words_does_not_bridge_two_values(build):
    fields = [IndexedField("body", analyzer="stopped")]
    index = build({0: {"body": ["state", "art"]}, 1: {"body": "state the art"}}, fields)
    assert index.score_all(TextQuery('"state the art"'))[0].tolist() == [1]
    assert index.score_all(TextQuery('"state of the art"'))[0].tolist() == []
