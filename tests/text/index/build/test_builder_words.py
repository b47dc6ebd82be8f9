"""The compiled splitter and the columns give what the analyzer gives, word for word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.text.analysis import words as words_module
from hybridkg.text.analysis.words import split_words
from hybridkg.text.index.build import token_columns
from hybridkg.text.index.build.analysis_batch import BatchAnalyzer, payload_of

ALL = {name: ANALYZERS.get(name)() for name in ("standard", "stopped", "unstemmed", "identifier")}
texts = st.text(st.sampled_from("aB1x29'’.,- _“–\xa0éÑſ×·ª→≤ɏɐ中\0"), max_size=20) | st.text(max_size=8)


@pytest.fixture(scope="module", autouse=True)
def kernel():
    """The compiled splitter."""
    module = token_columns.KERNEL.load()
    assert module is not None
    return module


def texts_of(values):
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    return token_columns.Texts(
        np.ones(len(values), np.int64),
        np.cumsum([len(e) for e in encoded]).astype(np.int64),
        np.zeros(len(values), np.int64),
        ["en"],
        np.frombuffer(b"".join(encoded), np.uint8),
    )


@settings(max_examples=examples(72, 600), deadline=None)
@given(st.lists(texts, max_size=6))
@example(["a''b a'b 'a' a'", "1.2,3 1. .5 1.a a.1 1.'2 1'.2", "’’ x’s", "a\xa0b…c"])
def test_plain_texts_have_the_words_of_split_words(kernel, values):
    words = token_columns.Words(kernel)
    met, counts = words.split(texts_of(values))
    begins, letters = words._offsets, words._letters.tobytes()
    shown = iter([letters[begins[n] : begins[n + 1]].decode() for n in met.tolist()])
    for value, count in zip(values, counts.tolist(), strict=True):
        if count >= 0:
            assert [next(shown) for _ in range(count)] == split_words(value)
        else:
            assert not value.isascii()
    assert next(shown, None) is None


def by_the_pattern(text):
    for mark, blank in words_module._TYPOGRAPHY:
        text = text.replace(mark, blank)
    return words_module._pattern().findall(text)


LATIN = [*range(0xC0, 0x250), *range(0x2010, 0x2028), *range(0x2190, 0x2300)]


def test_every_sign_of_latin_text_is_taken_as_the_pattern_takes_it(kernel):
    forms = "a{0}b", "1{0}2", "{0}a", "a'{0}", "{0}'{0}", "1.{0}", "{0}.{0}1", "{0},1", "{0}", "’{0}’"
    values = [form.format(chr(code)) for code in (*range(0x80, 0xC0), *LATIN) for form in forms]
    words = token_columns.Words(kernel)
    met, counts = words.split(texts_of(values))
    begins, letters = words._offsets, words._letters.tobytes()
    shown = iter([letters[begins[n] : begins[n + 1]].decode() for n in met.tolist()])
    for value, count in zip(values, counts.tolist(), strict=True):
        if count >= 0:
            assert [next(shown) for _ in range(count)] == by_the_pattern(value), value
        assert split_words(value) == by_the_pattern(value), value
    assert counts.reshape(-1, len(forms))[0xC0 - 0x80 :].min() >= 0  # all of LATIN


def test_tables_grow(kernel):
    values = [" ".join(f"word{i}" for i in range(n, n + 500)) for n in range(0, 100_000, 500)]
    words = token_columns.Words(kernel)
    met, counts = words.split(texts_of(values))
    assert met.tolist() == list(range(100_000))
    assert counts.tolist() == [500] * 200
    again, _ = words.split(texts_of(values[::-1]))
    assert again[:500].tolist() == list(range(99_500, 100_000))
    one, _ = words.split(texts_of(["x" * 1_000_000]))
    assert one.tolist() == [100_000]


tags = st.sampled_from(["", "en", "EN", "fr", "de"])
records = st.lists(st.lists(st.tuples(texts, tags), max_size=4), max_size=8)


@settings(max_examples=examples(36, 300), deadline=None)
@given(st.sampled_from(sorted(ALL)), st.lists(records, min_size=1, max_size=2))
def test_columns_are_what_the_loop_gives(name, batches):
    token_columns.KERNEL.load()
    compiled, loop = BatchAnalyzer(ALL, compiled_from=0), BatchAnalyzer(ALL, compiled_from=float("inf"))
    for batch in batches:
        values = [value for own in batch for value in own]
        payload = payload_of(
            name, ALL[name].chain, [text for text, _ in values], [tag for _, tag in values], list(map(len, batch))
        )
        found, want = compiled.analyze(payload), loop.analyze(payload)
        for field in ("terms", "languages", "text_bytes"):
            assert getattr(found, field) == getattr(want, field), field
        for field in ("tokens", "records", "slots", "changed", "changed_at", "tags"):
            assert getattr(found, field).tolist() == getattr(want, field).tolist(), field
            assert getattr(found, field).dtype == np.uint32
