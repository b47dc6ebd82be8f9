"""Queries of plain words go a shorter way through an index: the answers are those of the long one, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.index.postings import prefixes_of
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk.bag_of_words import END, MAX_CACHED_TEXTS, MAX_WORDS, BagOfWords
from hybridkg.text.match_query.vocabulary import encoded

pytestmark = pytest.mark.quick

WORDS = [
    "red",
    "Reds",
    "RED",
    "réd",
    "the",
    "of",
    "fishing",
    "fish",
    "Straße",
    "strasse",
    "3",
    "1,000",
    "naïve",
    "中文",
]
OTHERS = ["absent", "missing", "absents", "don't", "v2.0", "", "ﬁsh", "²", "٣"]
INDEXES = {"alike": ("standard", "standard"), "stopped": ("stopped", "stopped"), "mixed": ("standard", "unstemmed")}
MODELS = ("bm25f", "mlm", "lm", "prms", "sdm", "fsdm", "bm25", "combined_fields")


@pytest.fixture(scope="module")
def indexes(build, kernel):
    rng = np.random.default_rng(4)
    texts = {e: {f: " ".join(rng.choice(WORDS, rng.integers(0, 7))) for f in ("title", "body")} for e in range(300)}
    return {
        name: build(texts, [IndexedField(f, 1.0, 0.5, a) for f, a in zip(("title", "body"), analyzers, strict=True)])
        for name, analyzers in INDEXES.items()
    }


def exactly(found):
    return found[0].tolist(), found[1].tobytes()


texts = st.lists(st.sampled_from([*WORDS, *WORDS, *OTHERS]), max_size=6).map(" ".join)
fields = st.sampled_from(
    [(), (FieldChoice("body"),), (FieldChoice("body"), FieldChoice("title")), (FieldChoice("title", language="en"),)]
)
languages = st.sampled_from(["", "en", "de", "fr-CH", "zz"])


@settings(deadline=None, max_examples=examples(24, 200))
@given(st.sampled_from(list(INDEXES)), texts, fields, languages, st.booleans(), st.booleans(), st.sampled_from(MODELS))
def test_the_short_way_gives_the_answers_of_the_long_one(indexes, name, text, on, language, syntax, every, model):
    index = indexes[name]
    if any(field.language for field in on):
        on = ()
    if model == "combined_fields" and name == "mixed":
        model = "bm25f"
    query = TextQuery(text, language=language, syntax=syntax, fields=on, all_terms=every, model=model)
    some = np.array([7, 7, *range(250, 20, -9), 299], np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BagOfWords, "_read", lambda self, query: None)
        want = exactly(index.topk(query, 7))
        assert want == exactly(best(*index.score_all(query), 7, None))
        scores, terms, most = index.score(query, some).tobytes(), index.terms(query), index.match_count_bound(query)
    assert index.match_count_bound(query) == most
    assert exactly(index.topk(query, 7)) == want  # from what it remembers
    assert exactly(index.topk(query, 7)) == want
    assert index.score(query, some).tobytes() == scores
    assert index.terms(query) == terms


@settings(deadline=None, max_examples=examples(36, 60))
@given(texts, languages, st.sampled_from(["bm25f", "mlm", "lm"]))
def test_words_are_looked_up_alike_by_numpy_and_by_the_kernel(indexes, text, language, model):
    plain = indexes["alike"]._plain
    query = TextQuery(text, language=language, syntax=False, model=model)
    plain._shapes.clear()
    compiled = plain.read(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "_kernel_arrays", None)
        plain._shapes.clear()  # nothing is remembered
        looked_up = plain.read(query)
    plain._shapes.clear()
    for one, other in ((compiled.form, looked_up.form), (compiled.lists, looked_up.lists)):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same)
    assert (compiled.words, compiled.fields) == (looked_up.words, looked_up.fields)


def test_what_is_remembered_of_texts_is_little_and_of_one_question_only(indexes):
    index = indexes["alike"]
    queries = [
        TextQuery(text, fields=on, model=model)
        for text in (*WORDS, *(f"red {i}" for i in range(MAX_CACHED_TEXTS)))
        for on in ((FieldChoice("body"),), (FieldChoice("title"),))
        for model in ("bm25f", "lm")
    ]

    def answer(query):
        return index.match_count_bound(query), exactly(index.topk(query, 3))

    remembered = list(map(answer, queries))
    assert max(len(shape.texts) for shape in index._plain._shapes.values() if shape) <= MAX_CACHED_TEXTS
    for query, found in zip(queries, remembered, strict=True):
        index._plain._shapes.clear()
        assert answer(query) == found


def test_entities_that_are_scored_may_be_each_second_one_of_an_array(indexes):
    every, query = np.arange(300, dtype=np.uint32), TextQuery("red fish")
    scores = indexes["alike"].score(query, every)
    assert indexes["alike"].score(query, every[::2]).tobytes() == scores[::2].tobytes()


def test_plain_queries_are_those_of_words_in_fields_that_are_analysed_alike(indexes):
    def plain(text="red fish", name="alike", **parts):
        return indexes[name]._plain.read(TextQuery(text, **parts)) is not None

    assert all(plain(model=model) for model in ("bm25f", "mlm", "lm", "sdm"))
    assert plain("don't +red", syntax=False)
    assert not plain("don't +red")
    assert not plain("red*")
    assert not plain(all_terms=True)
    assert not plain(name="mixed")
    assert plain(name="mixed", fields=(FieldChoice("title"),))
    assert plain(model="fsdm")
    assert not plain(model="prms")
    assert not plain(model="bm25")
    assert plain(" ".join(f"w{i}" for i in range(MAX_WORDS)))
    assert not plain(" ".join(f"w{i}" for i in range(MAX_WORDS + 1)))


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"fields": (FieldChoice("titel"),)}, UnknownNameError),
        ({"model": "bm26f"}, UnknownNameError),
        ({"arguments": (("k1", 0.0),)}, TextQueryError),
        ({"arguments": (("form", "other"),)}, UnknownNameError),
        ({"fields": (FieldChoice("title", float("nan")),)}, TextQueryError),
        ({"language": "no language"}, None),
    ],
)
def test_errors_are_those_of_the_long_way(indexes, parts, error):
    query = TextQuery("red", **parts)
    for _ in range(2):
        if error is None:
            indexes["alike"].topk(query, 3)
            continue
        with pytest.raises(error) as short:
            indexes["alike"].topk(query, 3)
        with pytest.raises(error) as long:
            indexes["alike"].check(query)
        assert str(short.value) == str(long.value)


beginnings = st.sampled_from(["", "a", "inter", "internat", "internati", "internation", "中文中", "\ud800"])
some_terms = st.lists(st.builds("{}{}".format, beginnings, st.text("ab中", max_size=4)), max_size=40)


@settings(deadline=None, max_examples=examples(90, 150))
@given(some_terms, some_terms)
def test_the_kernel_finds_each_term_by_its_bytes(kernel, terms, others):
    stored = sorted({encoded(term) for term in terms if term})
    wanted = list(dict.fromkeys(encoded(term) for term in (*terms, *others) if term))
    offsets = np.cumsum([0, *map(len, stored)]).astype(np.uint64)
    text = np.frombuffer(b"".join(stored), np.uint8)
    n, t = len(stored), len(wanted)
    ends, sets, none = np.arange(n + 1, dtype=np.uint32), np.arange(n + 1, dtype=np.uint32), np.zeros(n, np.uint8)
    found = np.full(8 * t, 99, np.int64)
    n_lists, postings = kernel.look_up(
        np.frombuffer(b"".join(word + END.encode() for word in wanted), np.uint8), t, np.zeros(1, np.int64), 1,
        prefixes_of(stored), offsets, text, 7 * ends, 3 * ends, ends, sets, none + 1, np.full(n, 7, np.uint32), found,
    )  # fmt: skip
    lists = found[3 * t : 3 * t + 5 * n_lists].reshape(5, n_lists)
    number = {term: place for place, term in enumerate(stored)}
    assert found[:t].tolist() == [number.get(term, -1) for term in wanted]
    assert found[t : 2 * t].tolist() == [7 if term in number else 0 for term in wanted]
    assert found[2 * t : 3 * t].tolist() == [3 if term in number else 0 for term in wanted]
    assert lists.T.tolist() == [[t, 0, number[term], 0, 7] for t, term in enumerate(wanted) if term in number]
    assert postings == 7 * lists.shape[1]
