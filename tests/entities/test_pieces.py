"""How texts are cut: what every cut of every text keeps to."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridkg.config.settings import EncodingSettings
from hybridkg.entities.entity_text import AT_ONCE, verbalised
from hybridkg.entities.pieces import chunks, cutting

SIZES = st.tuples(st.integers(1, 30), st.integers(0, 29)).filter(lambda pair: pair[1] < pair[0])
TEXTS = st.lists(st.sampled_from(["a", "bcd", "éfgh", "z" * 40, " ", "  ", "\n", "\t", " ", "x, y"])).map("".join)


def in_characters(text, size, overlap):
    return list(chunks(text, range(len(text.rstrip()) + 1), size, overlap))


@given(TEXTS, SIZES)
@example("a b c " + "z" * 40, (10, 5))
def test_chunks_cover_the_words_and_no_more(text, sizes):
    size, overlap = sizes
    found = in_characters(text, size, overlap)
    if len(text.rstrip()) <= size:
        assert found == [(0, len(text))]
        return
    covered = {at for begin, end in found for at in range(begin, end)}
    assert {at for at, c in enumerate(text) if not c.isspace()} <= covered
    for begin, end in found:
        assert 0 < end - begin <= size
        assert text[begin:end] == text[begin:end].strip()
    for (begin, end), (following, behind) in pairwise(found):
        assert begin <= following
        assert end < behind
        assert end - following <= overlap


@given(st.lists(st.integers(1, 9)), SIZES)
def test_words_stay_whole_where_they_can(lengths, sizes):
    text = " ".join("w" * length for length in lengths)
    size, overlap = sizes
    words = {at for at in range(len(text)) if at == 0 or text[at - 1] == " "}
    for begin, end in in_characters(text, size, overlap):
        if size - overlap > 20 and len(text) > size:
            assert begin in words
            assert end == len(text) or text[end] == " "


def by_words(text):
    return [at for at in range(len(text)) if not text[at].isspace() and (at == 0 or text[at - 1].isspace())]


def test_chunks_of_tokens():
    cut = cutting(EncodingSettings(what="chunks", chunk=8, overlap=2, unit="tokens"), by_words)
    text = " ".join(f"w{i}" for i in range(20)) + "\n"
    pieces = [text[begin:end].split() for begin, end in cut(text, [0])]
    assert [(piece[0], piece[-1]) for piece in pieces] == [("w0", "w7"), ("w6", "w13"), ("w12", "w19")]
    assert list(cut("a few words ", [0])) == [(0, 12)]
    assert list(cut("", [0])) == [(0, 0)]


@pytest.mark.parametrize("count", [1, 20, 20_000])
def test_a_word_without_end_is_cut_anywhere(count):
    found = in_characters("x" * count, 8, 4)
    assert len(found) == max(1, -(-(count - 4) // 4))
    assert found[-1] == (max(0, (count - 5) // 4 * 4), count) or count < 8


class Found:
    def __init__(self, *fields):
        self._fields = fields

    def stream(self, position):
        for id, values in sorted(self._fields[position].items()):
            yield id, [(value, "") for value in values]


def pieces_of(found, fields, **settings):
    batches = list(verbalised(found, range(fields), cutting(EncodingSettings(**settings))))
    assert all(0 < len(batch.ids) <= AT_ONCE for batch in batches)
    return [piece for batch in batches for piece in zip(batch.ids, batch.texts, batch.spans, strict=True)]


def test_entities_fields_and_chunks():
    found = Found({3: ["a title"], 5: ["b"]}, {3: ["one", "two"], 4: ["  "], 7: ["c"]})
    assert pieces_of(found, 2) == [
        (3, "a title\none\ntwo", (0, 15)),
        (4, "  ", (0, 2)),
        (5, "b", (0, 1)),
        (7, "c", (0, 1)),
    ]
    assert pieces_of(found, 2, what="fields") == [
        (3, "a title", (0, 7)),
        (3, "one\ntwo", (8, 15)),
        (5, "b", (0, 1)),
        (7, "c", (0, 1)),
    ]
    assert pieces_of(found, 2, what="chunks", chunk=8, overlap=0)[:2] == [
        (3, "a title", (0, 7)),
        (3, "one\ntwo", (8, 15)),
    ]


def test_thousands_of_chunks_come_batch_by_batch():
    found = Found({1: ["word " * 9_000], 2: ["end"]})
    pieces = pieces_of(found, 1, what="chunks", chunk=8, overlap=3)
    assert len(pieces) > 5 * AT_ONCE
    assert pieces[-1] == (2, "end", (0, 3))
    assert {text for _, text, _ in pieces[:-1]} == {"word"}
