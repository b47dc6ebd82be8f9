"""The compiled search for pairs and phrases against numpy, and both against a search of every text."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import NO_POSTINGS
from hybridkg.text.index.positions import phrases
from hybridkg.text.index.positions.phrases import (
    pair_postings,
    pattern_postings,
    phrase_numpy,
    phrase_postings,
    window_numpy,
    window_of,
)
from hybridkg.text.index.positions.windows import windows

pytestmark = pytest.mark.quick


class Field:
    """The postings of one field, from {term: {entity: ascending positions}}."""

    def __init__(self, occurrences, dtype=np.uint32):
        self._occurrences, self._dtype = occurrences, dtype

    def postings(self, term):
        found = self._occurrences.get(term, {})
        if not found:
            return NO_POSTINGS
        return Postings(np.array(sorted(found), np.uint32), np.array([len(found[e]) for e in sorted(found)], np.uint32))

    def positions(self, term):
        found = self._occurrences.get(term, {})
        return np.array([p for e in sorted(found) for p in found[e]], self._dtype)

    def occurrences(self, term):
        return sum(map(len, self._occurrences.get(term, {}).values()))


def of_texts(texts, dtype=np.uint32):
    """From {entity: terms, -1 for none}."""
    occurrences = {}
    for entity, terms in texts.items():
        for place, term in enumerate(terms):
            if term >= 0:
                occurrences.setdefault(term, {}).setdefault(entity, []).append(place)
    return Field(occurrences, dtype)


def as_lists(postings):
    return postings.ids.tolist(), postings.tf.tolist()


@pytest.fixture(scope="module")
def compiled():
    kernel = LazyKernel("hybridkg.text.index.positions.phrases_kernel")
    assert kernel.load() is not None
    return kernel


@pytest.fixture
def use(monkeypatch, compiled):
    """use(): from here on the kernel does the work."""
    return lambda: monkeypatch.setattr(phrases, "KERNEL", compiled)


terms = st.integers(-1, 2)
texts = st.dictionaries(st.integers(0, 60), st.lists(terms, max_size=14), max_size=25)
sizes = st.sampled_from([np.uint8, np.uint16, np.uint32])
pairs_of_terms = st.permutations(range(3)).map(lambda p: tuple(p[:2]))
widths = st.integers(1, 12) | st.sampled_from([99, 100])


def words_of(first, second, offset, other_offset):
    return (offset, first), (other_offset, second)


@settings(deadline=None, max_examples=examples(36, 300))
@given(texts, sizes, pairs_of_terms, st.integers(0, 3), st.integers(0, 3), widths)
@example({0: [0, 0, 1, 1]}, np.uint8, (0, 1), 0, 1, 3)
@example({0: [1, 0, 1, 0]}, np.uint8, (0, 1), 0, 1, 2)
def test_a_pair_is_what_numpy_finds(compiled, texts, dtype, pair, offset, other_offset, width):
    first, second = pair
    field, words = of_texts(texts, dtype), words_of(first, second, offset, other_offset)
    phrase, near = phrases._pair(compiled.load(), field, *words, ordered=True, window=width)
    assert as_lists(phrase) == as_lists(phrase_numpy(field, words))
    assert as_lists(near) == as_lists(window_numpy(field, [first, second], width))
    only = phrases._pair(compiled.load(), field, *words, ordered=True, window=0)
    assert (as_lists(only[0]), as_lists(only[1])) == (as_lists(phrase), ([], []))
    only = phrases._pair(compiled.load(), field, *words, ordered=False, window=width)
    assert (as_lists(only[0]), as_lists(only[1])) == (([], []), as_lists(near))


@settings(deadline=None, max_examples=examples(36, 300))
@given(texts, st.integers(0, 2), st.integers(0, 2), widths)
def test_a_pair_is_what_a_search_of_the_texts_finds(compiled, texts, first, second, width):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phrases, "KERNEL", compiled)
        phrase, near = pair_postings(of_texts(texts), (0, first), (1, second), width)
    follows = {e: sum(t[i : i + 2] == [first, second] for i in range(len(t))) for e, t in texts.items()}
    together = {e: len(list(windows(list(enumerate(t)), Counter([first, second]), width))) for e, t in texts.items()}
    for found, want in ((phrase, follows), (near, together)):
        assert dict(zip(*as_lists(found), strict=True)) == {e: n for e, n in want.items() if n}


any_places = st.lists(st.integers(0, 120) | st.integers(2**31 - 100, 2**31), max_size=5, unique=True).map(sorted)
lists = st.dictionaries(st.integers(0, 12) | st.integers(2**32 - 9, 2**32 - 1), any_places.filter(bool), max_size=8)


@settings(deadline=None, max_examples=examples(24, 200))
@given(lists, lists, st.integers(0, 2), st.integers(0, 2), st.integers(2, 100))
def test_places_may_be_far_apart_and_shared_and_entities_may_be_the_last(
    compiled, one, other, offset, other_offset, width
):
    field, words = Field({0: one, 1: other}), words_of(0, 1, offset, other_offset)
    phrase, near = phrases._pair(compiled.load(), field, *words, ordered=True, window=width)
    assert as_lists(phrase) == as_lists(phrase_numpy(field, words))
    assert as_lists(near) == as_lists(window_numpy(field, [0, 1], width))


@settings(deadline=None, max_examples=examples(24, 200))
@given(texts, sizes, st.lists(st.integers(0, 2), min_size=3, max_size=5), st.lists(st.booleans(), min_size=5))
def test_a_phrase_of_more_words_is_what_numpy_finds(compiled, texts, dtype, terms, gaps):
    words, place = [], 0
    for term, gap in zip(terms, gaps, strict=False):
        words.append((place, term))
        place += 1 + gap
    field = of_texts(texts, dtype)
    assert as_lists(phrases._phrase(compiled.load(), field, words)) == as_lists(phrase_numpy(field, words))


@pytest.mark.parametrize("few", [3, 90, 2500])
def test_lists_of_very_different_lengths_meet_as_well(compiled, few):
    r = np.random.default_rng(few)

    def occurrences(n):
        entities = r.choice(9000, n, replace=False).tolist()
        return {e: sorted(r.choice(30, r.integers(1, 5), replace=False).tolist()) for e in entities}

    field = Field({0: occurrences(few), 1: occurrences(4000)}, np.uint8)
    for one, other in ((0, 1), (1, 0)):
        words = [(0, one), (2, other)]
        phrase, near = phrases._pair(compiled.load(), field, *words, ordered=True, window=6)
        assert as_lists(phrase) == as_lists(phrase_numpy(field, words))
        assert as_lists(near) == as_lists(window_numpy(field, [one, other], 6))
        assert few == 3 or len(near.ids) > 0
        longer = [(0, one), (1, other), (3, one)]
        assert as_lists(phrases._phrase(compiled.load(), field, longer)) == as_lists(phrase_numpy(field, longer))


def test_the_kernel_does_the_work_once_it_is_loaded(use, monkeypatch):
    field = of_texts({0: [0, 1, 2], 1: [1, 0], 2: [0, 1], 4: [0]})

    def found():
        pair = pair_postings(field, (0, 0), (1, 1), 8)
        longer = phrase_postings(field, [(0, 0), (1, 1), (2, 2)])
        return [as_lists(p) for p in (*pair, longer, window_of(field, [1, 0], 2), window_of(field, [0, 1, 2], 3))]

    want = [([0, 2], [1, 1]), ([0, 1, 2], [1, 1, 1]), ([0], [1]), ([0, 1, 2], [1, 1, 1]), ([0], [1])]
    assert found() == want
    use()
    monkeypatch.setattr(phrases, "phrase_numpy", None)
    assert found() == want
    assert as_lists(pattern_postings(field, [(0, 0), (1, 1)], 0)) == want[0]
    assert as_lists(pattern_postings(field, [(0, 0), (1, 1)], 8)) == want[1]
    assert as_lists(pattern_postings(field, [(0, 2)], 0)) == ([0], [1])


def test_words_that_the_index_lacks_make_no_pairs(use):
    field = of_texts({0: [0, 1]})
    for _ in range(2):
        assert pair_postings(field, (0, 0), (1, -1), 8) == (NO_POSTINGS, NO_POSTINGS)
        assert as_lists(phrase_postings(field, [(0, 0), (1, 7)])) == ([], [])
        assert as_lists(phrase_postings(field, [(0, 0), (1, 1), (2, 7)])) == ([], [])
        use()


def test_missing_positions_are_an_error_and_nothing_beyond_them_is_read(use):
    class Short(Field):
        def positions(self, term):
            return super().positions(term)[:-1]

    use()
    field = Short({0: {0: [0, 2, 4], 1: [5]}, 1: {0: [1, 3, 5], 1: [6]}}, np.uint16)
    for find in (
        lambda: pair_postings(field, (0, 0), (1, 1), 8),
        lambda: phrase_postings(field, [(0, 0), (1, 1), (2, 0)]),
    ):
        with pytest.raises(CorruptError, match="positions"):
            find()
