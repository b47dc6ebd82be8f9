"""Queries of few postings are answered in one call of a kernel: the bits are those of the steps taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.addresses import Addresses
from hybridkg.text.embedded import at_once
from hybridkg.text.embedded.at_once import AtOnce
from hybridkg.text.embedded.plain import PlainQueries

pytestmark = pytest.mark.quick

WORDS = [f"w{i}" for i in range(25)]
ABSENT = ["none", "w99", "wwwwwwwwwwwwwwww"]
FIELDS = ("title", "body", "notes")
MODELS = {
    "bm25f": [(), (("k1", 0.4),), (("b", 0.2),), (("form", "galago"),)],
    "lm": [(), (("lambda", 0.4),), (("mu", 20.0),)],
    "mlm": [(), (("lambda", 0.4),), (("mu", 20.0),), (("smoothing", "jm"),)],
    "sdm": [()],
    "fsdm": [(), (("terms", 0.5),)],
}


@pytest.fixture(scope="module")
def index(build, kernel):
    rng = np.random.default_rng(11)
    odds = 1.0 / np.arange(1, len(WORDS) + 1)
    texts = {
        e: {f: " ".join(rng.choice(WORDS, rng.integers(0, 9), p=odds / odds.sum())) for f in FIELDS} for e in range(400)
    }
    texts[399]["notes"] = "w3 " * 400  # longer than the narrow lengths tell
    found = build(texts, [IndexedField(f, 1.0 + i, 0.5, "standard") for i, f in enumerate(FIELDS)])
    found.topk(TextQuery("w1"), 1)
    assert found._plain._at_once is not None
    return found


texts = st.lists(st.sampled_from([*WORDS, *ABSENT]), max_size=7).map(" ".join)
models = st.sampled_from([(model, arguments) for model, every in MODELS.items() for arguments in every])
fields = st.sampled_from(
    [
        (),
        (FieldChoice("notes"),),
        (FieldChoice("body"), FieldChoice("title")),
        (FieldChoice("title", 3.0), FieldChoice("notes", 0.0)),
        (FieldChoice("title", 0.0), FieldChoice("notes", 0.0)),
    ]
)


def exactly(found):
    return [(part.dtype, part.tobytes()) for part in found]


@settings(deadline=None, max_examples=400)
@given(texts, models, fields, st.sampled_from([1, 2, 10, 100, 10_000]), st.sampled_from([0, 30, 5_000]))
def test_one_call_gives_what_the_steps_give(index, text, model, on, k, most):
    if model[0] in ("lm", "sdm") and any(field.weight is not None for field in on):
        on = ()  # has no weights
    query = TextQuery(text, syntax=False, fields=on, model=model[0], arguments=model[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainQueries, "best", lambda *ignored: None)
        index._plain._shapes.clear()
        want = exactly(index.topk(query, k))
        read = index._plain._read(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(at_once, "MOST_POSTINGS", most)
        index._plain._shapes.clear()
        found = index._plain.best(query, k)
        shape = index._plain._shape_of(query)
        assert exactly(index.topk(query, k)) == want
    if found is not None:
        assert exactly(found) == want
        assert not shape.texts
    elif text in shape.texts and shape.texts[text].counts:  # what was looked up is not looked up again
        one, other = shape.texts[text], read[1]
        assert (one.terms, list(one.counts), one.numbers, one.df, one.postings) == (
            other.terms, list(other.counts), other.numbers, other.df, other.postings,
        )  # fmt: skip
        np.testing.assert_array_equal(one.cf, other.cf)
        np.testing.assert_array_equal(one.lists, other.lists)


@pytest.mark.parametrize("model", MODELS)
def test_a_word_is_answered_in_one_call(index, model):
    index._plain._shapes.clear()
    assert index._plain.best(TextQuery("w20", model=model), 3) is not None


@pytest.mark.parametrize("text", ["w1 w1", "", "none +w1", '"w1 w2"', "w1*", " ".join(f"w{i}" for i in range(17))])
def test_other_queries_take_their_steps(index, text):
    index._plain._shapes.clear()
    assert index._plain.best(TextQuery(text), 3) is None


def test_neighbouring_words_are_pairs_and_take_their_steps(index):
    index._plain._shapes.clear()
    assert index._plain.best(TextQuery("w1 w2", model="fsdm"), 3) is None
    assert index._plain.best(TextQuery("w1 w2", model="mlm"), 3) is not None


def test_answers_stay_when_the_next_question_is_asked(index):
    index._plain._shapes.clear()
    first = index._plain.best(TextQuery("w5"), 10)
    kept = exactly(first)
    index._plain.best(TextQuery("w6"), 10)
    assert exactly(first) == kept


@pytest.mark.parametrize(
    ("array", "wanted"),
    [(np.zeros(3, np.uint32), "<u8"), (np.zeros((4, 4))[:, 1:], "<f8"), (np.zeros((2, 2, 2)), "<f8"), (1.0, "<f8")],
)
def test_an_address_is_given_of_what_the_kernel_takes_only(array, wanted):
    with pytest.raises(ValueError, match="a kernel takes"):
        Addresses((np.asarray(array), wanted))


def test_an_index_of_many_fields_takes_its_steps():
    none = np.zeros(0, np.uint32)
    with pytest.raises(ValueError, match="9 fields"):
        AtOnce(9, (), None, none, none, none)  # type: ignore[arg-type]
