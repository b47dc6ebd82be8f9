"""Plain queries with pairs of words against the general way: the same ids, the same forms, the same bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.index.positions import phrases
from hybridkg.text.index.positions.word_pairs import NOTHING, Pairs, pair_key
from hybridkg.text.index.postings import FieldPostings
from hybridkg.text.index.stored_fields import best

WORDS = ["aa", "ab", "ba", "bb", "the", "of", "ca", "東", "京", "cb"]
MODELS = ("bm25f", "mlm", "lm", "prms", "sdm", "fsdm")
FIELDS = ("title", "body", "notes")


def documents(n, seed=3):
    """Short and long texts; the words behind are rarer, and some texts hold a word very often."""
    rng = np.random.default_rng(seed)
    share = 0.6 ** np.arange(len(WORDS) - 1)
    made = {}
    for entity in range(n):
        made[entity] = {
            field: " ".join(rng.choice(WORDS[:-1], int(rng.choice([0, 2, 5, 40])), p=share / share.sum()))
            for field in FIELDS
        }
        if rng.random() < 0.05:
            made[entity]["body"] += " aa" * 70 + " ca"
        if entity % 97 == 5:
            made[entity]["body"] += " aa cb aa cb"
    return made


@pytest.fixture(scope="module", params=["unstemmed", "stopped"])
def index(request, build, kernel):
    fields = [IndexedField(name, 1.0 + i, 0.75, request.param) for i, name in enumerate(FIELDS)]
    return build(documents(700), fields)


weights = st.sampled_from([None, 0.0, 0.3, 1.0, 5.0])
factors = st.sampled_from([0.0, 0.1, 0.8, 7.0])
smoothing = st.fixed_dictionaries(
    {}, optional={"mu": st.sampled_from([1e-6, 100.0]), "lambda": st.sampled_from([0.1, 1.0])}
)
pairs = st.fixed_dictionaries(
    {},
    optional={"terms": factors, "ordered": factors, "unordered": factors, "window": st.sampled_from([2, 3, 8, 100])},
)
ARGUMENTS = {
    "bm25f": st.fixed_dictionaries({}, optional={"k1": st.just(0.5), "b": st.sampled_from([0.0, 1.0])}),
    **dict.fromkeys(("mlm", "lm", "prms"), smoothing),
    **dict.fromkeys(("sdm", "fsdm"), st.builds(lambda one, other: one | other, smoothing, pairs)),
}
OF_FIELDS = {
    "bm25f": {"b": st.just(0.2)},
    "mlm": {"mu": st.just(3.0)},
    "fsdm": {"mu": st.just(3.0), "lambda": st.just(0.2), "ordered": weights, "unordered": weights},
}
text = st.lists(st.sampled_from([*WORDS, "aa", "ab", "absent", "gone", "²", "東the", "東京"]), max_size=7).map(" ".join)


@st.composite
def queries(draw):
    model = draw(st.sampled_from(MODELS))
    fields = []
    for name in draw(st.lists(st.sampled_from(FIELDS), unique=True)):
        own = draw(st.fixed_dictionaries({}, optional=OF_FIELDS.get(model, {})))
        given = tuple((key, value) for key, value in own.items() if value is not None)
        fields.append(FieldChoice(name, draw(weights) if model in OF_FIELDS else None, given))
    return TextQuery(
        draw(text),
        fields=tuple(fields),
        syntax=draw(st.booleans()),
        model=model,
        arguments=tuple(draw(ARGUMENTS[model]).items()),
    )


def exactly(found):
    ids, scores = found
    return ids.tolist(), scores.tobytes()


@settings(deadline=None, max_examples=examples(15, 600))
@given(queries(), st.sampled_from([1, 10, 10_000]))
def test_the_plain_way_gives_the_bits_of_the_general_way(index, query, k):
    assert exactly(index.topk(query, k)) == exactly(best(*index.score_all(query), k, None))


@settings(deadline=None, max_examples=examples(18, 300))
@given(queries())
def test_the_form_of_a_plain_query_is_that_of_the_general_way(index, query):
    plain = index._plain.read(query)
    if plain is None:
        return
    resolved = index._resolve(query)
    form = resolved.model.form(index._outline(resolved))
    items = (*resolved.counts, *resolved.ordered, *resolved.unordered)
    items = items[: len(form.gain)]  # bm25f has no pairs
    for name, own, wanted in zip(form._fields, plain.form, form, strict=True):
        assert np.array_equal(own, wanted), name
    for own, wanted in zip(plain.lists, index._occurrences.lists(items, resolved), strict=True):
        assert np.array_equal(own, wanted)


@pytest.mark.parametrize("model", MODELS[:3] + MODELS[4:])
@pytest.mark.parametrize("query", ["aa", "aa ba", "aa the ba aa", "absent aa", "aa aa"])
def test_words_go_the_plain_way(index, model, query):
    assert index._plain.read(TextQuery(query, model=model)) is not None


@pytest.mark.parametrize("query", ["aa +ba", '"aa ba"', "a*", "title:aa"])
def test_operators_go_the_general_way(index, query):
    assert index._plain.read(TextQuery(query, model="fsdm")) is None


def numbers_of(index):
    terms = index._occurrences._terms
    return [terms.number(word) for word in WORDS if terms.number(word) >= 0]


def as_lists(postings):
    return postings.ids.tolist(), postings.tf.tolist()


@pytest.mark.parametrize(
    ("distance", "window"), sampled(itertools.product([1, 2, 300], [1, 2, 8, 100]), (1, 8), (2, 2), (300, 100), (1, 1))
)
def test_pairs_are_those_of_numpy(index, distance, window):
    terms = numbers_of(index)
    asked = [(one, other, distance) for one, other in itertools.product(terms, terms)]
    pairs = Pairs(index._lists, len(FIELDS))
    found = pairs._all(asked, range(len(FIELDS)), window)
    for (p, (one, other, _)), f in itertools.product(enumerate(asked), range(len(FIELDS))):
        field = FieldPostings(index._lists, f, len(FIELDS))
        phrase = phrases.phrase_numpy(field, [(0, one), (distance, other)])
        near = phrases.window_numpy(field, [one, other], window)
        own, own_near = found.get((p, f), (NOTHING, NOTHING))
        assert as_lists(own.postings) == as_lists(phrase)
        assert as_lists(own_near.postings) == as_lists(near)
        assert (own.occurrences, own_near.occurrences) == (phrase.tf.sum(), near.tf.sum())


def test_few_entities_are_searched_in_long_lists(index):
    sizes = [index._lists.size(term * len(FIELDS) + 1) for term in numbers_of(index)]
    assert 0 < min(sizes) * 24 < max(sizes)  # so the test above has pairs for both ways


@pytest.mark.parametrize(("column", "change"), [(4, -1), (9, -1), (3, 10**9), (8, 10**9)])
def test_missing_positions_are_an_error(index, monkeypatch, column, change):
    jobs_of = Pairs._jobs

    def damaged(self, pairs, fields):
        jobs = jobs_of(self, pairs, fields).astype(np.int64)
        jobs[:, :, column] += change
        return jobs.astype(np.uint64)

    monkeypatch.setattr(Pairs, "_jobs", damaged)
    terms = numbers_of(index)
    with pytest.raises(CorruptError, match="positions"):
        Pairs(index._lists, len(FIELDS)).lists([(terms[0], terms[1], 1), (terms[1], terms[0], 1)], [0, 1, 2], 8)


def test_pairs_found_are_shared_by_both_ways(index):
    one, other = numbers_of(index)[:2]
    index.topk(TextQuery("aa ab", model="fsdm"), 3)
    before = set(index._occurrences._cache.entries)
    assert pair_key((one, other, 1), 0, 0) in before
    index.score_all(TextQuery("aa ab", model="fsdm"))
    index.score_all(TextQuery('"aa ab"'))
    assert set(index._occurrences._cache.entries) == before


@settings(deadline=None, max_examples=examples(15, 120))
@given(queries())
def test_numpy_gives_the_same(index, query):
    compiled = exactly(index.topk(query, 10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        index._occurrences._cache.entries.clear()
        assert exactly(index.topk(query, 10)) == compiled


@pytest.mark.parametrize("model", ["sdm", "fsdm"])
def test_an_index_without_any_word_has_no_pairs(build, model):
    empty = build({}, [IndexedField("title", 1.0, 0.75)], n_nodes=3)
    assert len(empty.topk(TextQuery("aa bb", model=model), 3)[0]) == 0
