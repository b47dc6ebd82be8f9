"""Counts of words against a Counter, also where they leave memory."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.kb.skb import word_distribution
from hybridkg.kb.skb.word_distribution import WordDistribution

texts = st.lists(st.text(st.sampled_from("ab é\t\n\ud800"), max_size=8), max_size=12)


@given(texts, st.sampled_from([0, 1, 3, 1 << 20]), st.integers(1, 4))
def test_counts_and_entropy_are_those_of_a_counter(made, most, parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_distribution, "MAX_WORDS", most)
        counts = [WordDistribution() for _ in range(parts)]
        for i, text in enumerate(made):
            counts[i % parts].add(text)
        found = WordDistribution.union(counts)
    wanted = Counter(word for text in made for word in text.split())
    total = sum(wanted.values())
    assert (found.tokens, found.distinct) == (total, len(wanted))
    assert found.entropy == pytest.approx(-sum(n / total * math.log2(n / total) for n in wanted.values()))
    assert sum(part.tokens for part in counts) == total


def test_without_words_the_entropy_is_zero():
    assert str(WordDistribution().entropy) == "0.0"
    counts = WordDistribution()
    counts.add("a a a")
    assert str(counts.entropy) == "0.0"
