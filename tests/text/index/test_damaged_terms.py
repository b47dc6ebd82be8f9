"""A flipped bit in the arrays of the terms: a query has its answer or a CorruptError, and not fewer rows."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from sampling import examples

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.text.index import EmbeddedTextIndex
from hybridkg.text.index.topk.bag_of_words import BagOfWords

BEGINNINGS = ("", "inter", "internat", "international", "internationalism")
TERMS = sorted({f"{begin}{end}" for begin in BEGINNINGS for end in ("al", "b", "ism", "izeds", "x", "zz")})
PREFIX = 8
"""Bytes of a term that its prefix repeats."""


@pytest.fixture(scope="module")
def whole(build, kernel, tmp_path_factory):
    del kernel
    folder = tmp_path_factory.mktemp("whole")
    texts = {e: {"title": term, "body": f"{term} {TERMS[e // 2]}"} for e, term in enumerate(TERMS)}
    build(texts, folder=folder)
    return folder


def by_number(index, term):
    return index._vocabulary._terms.number(term)


def by_look_up(index, term):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BagOfWords, "best", lambda *ignored: None)
        index._plain._shapes.clear()
        return [part.tolist() for part in index.topk(TextQuery(term), 5)]


def by_single_call(index, term):
    if index._plain._single_call is None:
        by_look_up(index, TERMS[0])
    index._plain._shapes.clear()
    found = index._plain.best(TextQuery(term), 5)
    return None if found is None else [part.tolist() for part in found]


def by_numpy(index, term):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "loaded", property(lambda kernel: None))
        patch.setattr(LazyKernel, "for_work", lambda kernel, work: None)
        patch.setattr(BagOfWords, "best", lambda *ignored: None)
        index._plain._shapes.clear()
        return [part.tolist() for part in index.topk(TextQuery(term), 5)]


WAYS = (by_number, by_look_up, by_single_call, by_numpy)


def outcomes(folder, term_numbers):
    """The answer of each way for each term, or "damaged"."""
    found = {}
    index = EmbeddedTextIndex.open(folder)
    for way in WAYS:
        for number in term_numbers:
            try:
                found[way.__name__, TERMS[number]] = way(index, TERMS[number])
            except CorruptError:
                found[way.__name__, TERMS[number]] = "damaged"
    return found


def flips(content, seed, n):
    """(place, the content with a bit of the byte there flipped), n times."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        at, bit = int(rng.integers(0, len(content))), int(rng.integers(0, 8))
        yield at, content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@pytest.mark.parametrize("name", ["offsets", "prefixes", "text"])
def test_a_flipped_bit_changes_no_answer_without_a_word(whole, tmp_path, name):
    everything = range(len(TERMS))
    want = outcomes(whole, everything)
    assert all(value not in (-1, None, [[], []]) for value in want.values())
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    file = folder / f"1.terms.{name}"
    begins = np.cumsum([0, *map(len, TERMS)])
    noticed, count = 0, examples(5, 20)
    for at, content in flips(file.read_bytes(), 17, count):
        file.write_bytes(content)
        own = int(begins.searchsorted(at, "right")) - 1
        try:
            found = outcomes(folder, everything)
        except CorruptError:
            noticed += 1  # at opening
            continue
        noticed += "damaged" in found.values()
        changed = {term for (way, term), value in found.items() if value not in ("damaged", want[way, term])}
        if name == "text" and at - int(begins[own]) >= PREFIX:
            assert changed <= {TERMS[own]}  # what is left to the checksums
        else:
            assert not changed, at
    assert noticed > count // 2


@pytest.mark.parametrize("name", ["sets.offsets", "sets.fields", "sets.entities"])
def test_a_df_that_the_postings_contradict_is_damage(whole, tmp_path, name):
    want = outcomes(whole, range(5))
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    file = folder / f"1.terms.{name}"
    noticed = 0
    for _, content in flips(file.read_bytes(), 3, examples(12, 40)):
        file.write_bytes(content)
        try:
            found = outcomes(folder, range(5))
        except CorruptError:
            noticed += 1  # at opening
            continue
        noticed += "damaged" in found.values()
        for key, value in found.items():  # a score is another where the df is possible, a row is not
            assert value == "damaged" or np.array_equal(np.ravel(value)[:1], np.ravel(want[key])[:1])
    assert noticed


def test_words_that_the_index_lacks_are_no_damage(whole):
    index = EmbeddedTextIndex.open(whole)
    for term in ("", "a", "inte", "internat", "internationalisms", "zzzzzzzzzz"):
        assert by_number(index, term) == -1
        assert by_look_up(index, term or "-") == by_numpy(index, term or "-") == [[], []]


@pytest.mark.parametrize("prefix", ["inter", "internat", "internationali", "x"])
def test_expansions_of_a_damaged_dictionary(whole, tmp_path, prefix):
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    file = folder / "1.terms.prefixes"
    content = file.read_bytes()
    want = [term for term in TERMS if term.startswith(prefix)]
    assert sorted(EmbeddedTextIndex.open(folder)._vocabulary.beginning_with(prefix, [0], 99).terms) == want
    noticed = 0
    for at in range(0, len(content), 3):
        file.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        try:
            found = EmbeddedTextIndex.open(folder)._vocabulary.beginning_with(prefix, [0], 99)
        except CorruptError:
            noticed += 1
        else:
            assert sorted(found.terms) == want
    assert noticed
