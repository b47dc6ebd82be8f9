"""Single-call ranking of queries of few postings: the bits are those of the steps taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk import single_call, topk
from hybridkg.text.index.topk.bag_of_words import BagOfWords

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
    assert found._plain._single_call is not None
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


@settings(deadline=None, max_examples=examples(48, 400))
@given(texts, models, fields, st.sampled_from([1, 2, 10, 100, 10_000]), st.sampled_from([0, 30, 5_000]))
def test_one_call_gives_what_the_steps_give(index, text, model, on, k, most):
    if model[0] in ("lm", "sdm") and any(field.weight is not None for field in on):
        on = ()  # has no weights
    query = TextQuery(text, syntax=False, fields=on, model=model[0], arguments=model[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BagOfWords, "best", lambda *ignored: None)
        index._plain._shapes.clear()
        want = exactly(index.topk(query, k))
    assert want == exactly(best(*index.score_all(query), k, None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_call, "MAX_POSTINGS", most)
        index._plain._shapes.clear()
        found = index._plain.best(query, k)
        assert exactly(index.topk(query, k)) == want
    if found is not None:
        assert exactly(found) == want


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


def test_an_index_of_many_fields_takes_its_steps(build, kernel):
    names = [f"f{i}" for i in range(single_call.MAX_FIELDS + 1)]
    found = build({e: dict.fromkeys(names[: e + 1], "w1 w2") for e in range(9)}, names)
    query = TextQuery("w1")
    want = exactly(best(*found.score_all(query), 3, None))
    assert [exactly(found.topk(query, 3)) for _ in range(2)] == [want] * 2
    assert found._plain.best(query, 3) is None


def test_block_max_pruning_begins_beyond_the_single_call():
    assert single_call.MAX_POSTINGS <= topk.MIN_POSTINGS
