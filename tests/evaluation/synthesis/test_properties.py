"""Runs of rare words and passages with enough idf mass, against slow restatements."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from hybridkg.evaluation.synthesis.own_text import Word
from hybridkg.evaluation.synthesis.properties import (
    KEPT_MASS,
    MAX_WORDS,
    MIN_WORDS,
    best_runs,
    contains,
    mass,
    reworded,
)
from hybridkg.evaluation.synthesis.verifier import PASSAGE_WORDS, holds

LETTERS = "abcdefgh"
IDF = {letter: 1.0 + i % 3 for i, letter in enumerate(LETTERS)}

words = st.tuples(st.sampled_from([*LETTERS, "the", "of"]), st.integers(0, 9)).map(
    lambda one: Word(one[0], "" if len(one[0]) > 1 else one[0], one[1] == 0)
)
passages = st.lists(st.lists(words, max_size=14).map(tuple), max_size=4)


@given(passages, st.lists(st.lists(words, min_size=1, max_size=3).map(tuple), max_size=2))
def test_the_best_runs_are_those_of_a_search_over_all_runs(texts, names):
    forbidden = [[word.text for word in name] for name in names]
    runs = []
    for text in texts:
        for start in range(len(text)):
            for size in range(MIN_WORDS, MAX_WORDS + 1):
                run = text[start : start + size]
                own = [word.text for word in run]
                if (
                    len(run) == size
                    and run[0].term
                    and run[-1].term
                    and not any(word.begins for word in run[1:])
                    and len({word.term for word in run if word.term}) > 1
                    and not any(contains(own, name) or contains(name, own) for name in forbidden)
                ):
                    runs.append((sum(IDF.get(word.term, 0) for word in run) / size, run))
    want, taken = [], set()
    while runs:
        best = max(range(len(runs)), key=lambda i: (runs[i][0], -i))
        _, run = runs.pop(best)
        terms = {word.term for word in run if word.term}
        if not terms & taken and len(want) < 3:
            want.append(run)
            taken |= terms
    assert best_runs(texts, IDF, names) == want


@given(
    st.lists(words, max_size=3 * PASSAGE_WORDS).map(tuple), st.lists(st.sampled_from(LETTERS), unique=True, min_size=1)
)
def test_a_passage_holds_a_property_if_one_of_its_windows_does(passage, terms):
    weights = {term: IDF[term] for term in terms}
    windows = [passage[at : at + PASSAGE_WORDS] for at in range(max(1, len(passage) - PASSAGE_WORDS + 1))]
    sums = [sum(weight for term, weight in weights.items() if term in {w.term for w in window}) for window in windows]
    assert holds(passage, weights) == any(found >= KEPT_MASS * sum(weights.values()) - 1e-6 for found in sums)


def test_words_that_are_too_far_apart_are_in_no_passage():
    between = tuple(Word("x", "x") for _ in range(PASSAGE_WORDS - 2))
    ends = Word("a", "a"), Word("b", "b")
    assert holds((ends[0], *between, ends[1]), {"a": 1.0, "b": 1.0})
    assert not holds((ends[0], *between, Word("x", "x"), ends[1]), {"a": 1.0, "b": 1.0})


@given(st.lists(words, min_size=3, max_size=8).map(tuple), st.integers(0, 99))
def test_a_rewording_keeps_the_mass_and_has_words_of_the_run_only(run, seed):
    if len({word.term for word in run if word.term}) < 2:
        return
    found = reworded(run, IDF, random.Random(seed))
    assert set(found) <= set(run)
    assert len({word.term for word in found}) == len(found) >= 2
    assert all(word.term for word in found)
    assert mass(found, IDF) >= KEPT_MASS * mass(run, IDF) - 1e-9 or len(found) == 2
    assert found == reworded(run, IDF, random.Random(seed))
