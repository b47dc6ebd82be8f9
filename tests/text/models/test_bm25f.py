"""BM25F against a restatement of its formula, and against Lucene's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

pytestmark = pytest.mark.quick

WORDS = ["red", "fish", "sea", "old", "man", "net"]
FIELDS = (
    IndexedField("title", 2.0, 0.4, "unstemmed"),
    IndexedField("body", 1.0, 0.75, "unstemmed"),
    IndexedField("notes", 0.5, 1.0, "unstemmed"),
)
values = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=3)
document = st.fixed_dictionaries({}, optional={f.name: values for f in FIELDS})
documents = st.dictionaries(st.integers(0, 15), document, max_size=12)
bag = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=4)
on_fields = st.lists(st.sampled_from([f.name for f in FIELDS]), unique=True, min_size=1)


def ask(**parts):
    return TextQuery("x", **parts)


def words_of(documents, entity, field):
    return " ".join(documents.get(entity, {}).get(field, [])).split()


def restated(documents, query, fields, k1):
    """The formula of text/models/bm25f.py, one entity and one term at a time. fields: name -> (weight, b)."""
    having = {f: [e for e in documents if words_of(documents, e, f)] for f in fields}
    mean = {f: sum(len(words_of(documents, e, f)) for e in having[f]) / max(1, len(having[f])) for f in fields}
    n = sum(any(words_of(documents, e, f) for f in fields) for e in documents)
    scores = {}
    for entity in documents:
        score, matches = 0.0, False
        for term in query:
            df = sum(any(term in words_of(documents, e, f) for f in fields) for e in documents)
            x = 0.0
            for field, (weight, b) in fields.items():
                words = words_of(documents, entity, field)
                if words:
                    x += weight * words.count(term) / ((1 - b) + b * len(words) / mean[field])
                    matches = matches or term in words
            score += math.log(1 + (n - df + 0.5) / (df + 0.5)) * x / (k1 + x)
        if matches:
            scores[entity] = score
    return scores


@settings(deadline=None, max_examples=examples(9, 160))
@given(documents, bag, on_fields, st.sampled_from([1.2, 0.3, 5.0]))
def test_scores_are_those_of_the_formula(build, documents, query, on, k1):
    index = build(documents, FIELDS, n_nodes=16)
    chosen = tuple(FieldChoice(name, 1.5, (("b", 0.25),)) if name == "notes" else FieldChoice(name) for name in on)
    defaults = {f.name: (f.weight, f.b) for f in FIELDS}
    weights = {name: (1.5, 0.25) if name == "notes" else defaults[name] for name in on}
    ids, scores = index.score_all(TextQuery(" ".join(query), fields=chosen, arguments=(("k1", k1),)))
    want = restated(documents, query, weights, k1)
    assert ids.tolist() == sorted(want)
    np.testing.assert_allclose(scores, [want[e] for e in sorted(want)], rtol=1e-9, atol=1e-12)


def test_a_number_worked_by_hand(build):
    # One field of length 5 in each of ten entities, the term once in one: ln(1 + 9.5/1.5) / 2.2.
    index = build({e: {"body": f"{'rare' if e == 3 else 'word'} b c d e"} for e in range(10)}, ("body",))
    ids, scores = index.topk(TextQuery("rare"), 10)
    assert ids.tolist() == [3]
    assert scores[0] == pytest.approx(0.9057, abs=5e-5)


def test_a_repeated_query_term_counts_each_time(build):
    index = build({0: {"body": "red fish"}, 1: {"body": "blue"}}, ("body",))
    once, twice = index.topk(TextQuery("fish"), 1)[1], index.topk(TextQuery("fish fish"), 1)[1]
    assert twice[0] == 2 * once[0]


def test_b_of_a_field_wins_over_the_model_and_the_model_over_the_profile(build):
    docs = {0: {"title": "red fish", "body": "red a b c"}, 1: {"title": "red", "body": "red"}}
    index = build(docs, FIELDS)

    def score(*arguments, title=(), body=()):
        fields = (FieldChoice("title", 1, title), FieldChoice("body", 1, body))
        return index.score(TextQuery("red", fields=fields, arguments=arguments), np.array([0], np.uint32))[0]

    assert score(("b", 0.1)) == score(title=(("b", 0.1),), body=(("b", 0.1),))
    assert score(("b", 0.1), title=(("b", 0.9),)) == score(title=(("b", 0.9),), body=(("b", 0.1),))
    assert score(title=(("b", 0.4),)) == score()


def test_a_field_of_weight_zero_matches_with_score_zero(build):
    index = build({0: {"title": "red"}, 1: {"body": "red"}, 2: {"body": "sea"}})
    query = TextQuery("red", fields=(FieldChoice("title", 0.0), FieldChoice("body")))
    assert np.isnan(index.score(query, np.array([2], np.uint32))[0])
    assert index.score(query, np.array([0], np.uint32))[0] == 0.0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (ask(arguments=(("k1", 0.0),)), "argument 'k1' of model 'bm25f' is 0; it must be finite and above 0"),
        (ask(arguments=(("b", 1.5),)), "argument 'b' of model 'bm25f' is 1.5; it must be between 0 and 1"),
        (
            ask(arguments=(("k1", float("nan")),)),
            "argument 'k1' of model 'bm25f' is nan; it must be finite and above 0",
        ),
        (ask(arguments=(("b", "high"),)), "argument 'b' of model 'bm25f' is a number, not 'high'"),
        (ask(arguments=(("b", 0.1), ("b", 0.2))), "argument 'b' of model 'bm25f' is given twice"),
        (
            ask(fields=(FieldChoice("title", -1.0),)),
            "argument 'weight' of field 'title' is -1; it must be between 0 and 1,000,000",
        ),
        (
            ask(fields=(FieldChoice("title", math.inf),)),
            "argument 'weight' of field 'title' is inf; it must be between 0 and 1,000,000",
        ),
        (
            ask(fields=(FieldChoice("title", 1.0, (("b", -0.1),)),)),
            "argument 'b' of field 'title' is -0.1; it must be between 0 and 1",
        ),
        (ask(fields=(FieldChoice("title"), FieldChoice("title"))), "field 'title' is named twice in ON"),
    ],
)
def test_an_argument_out_of_range_is_an_error_that_names_the_range(build, query, message):
    index = build({0: {"title": "red"}})
    with pytest.raises(TextQueryError) as e:
        index.check(query)
    assert e.value.message == message


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            ask(model="bm26f"),
            "no ranking model 'bm26f'; known: bm25, bm25f, combined_fields, elr, fsdm, lm, mlm, prms, sdm",
            "did you mean 'bm25f'?",
        ),
        (ask(arguments=(("k", 1),)), "model 'bm25f' has no argument 'k'; known: b, form, k1", "did you mean 'k1'?"),
        (ask(fields=(FieldChoice("titel"),)), "no text field 'titel'; known: title, body", "did you mean 'title'?"),
        (ask(fields=(FieldChoice("body", None, (("mu", 3),)),)), "field 'body' has no argument 'mu'; known: b", ""),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(build, query, message, hint):
    index = build({0: {"title": "red"}})
    for ask in (index.check, index.score_all, index.terms):
        with pytest.raises(UnknownNameError) as e:
            ask(query)
        assert (e.value.message, e.value.hint) == (message, hint)


# Lucene's length byte, ranking.md 6.1.


def encoded(length):
    if length < 24:
        return length
    value = length - 24
    if value.bit_length() < 4:
        return 24 + value
    shift = value.bit_length() - 4
    return 24 + (((value >> shift) & 7) | ((shift + 1) << 3))


def decoded(byte):
    if byte < 24:
        return byte
    value = byte - 24
    return 24 + (value if value < 8 else ((value & 7) | 8) << ((value >> 3) - 1))


def lucene(tf, length, df, n, total_length, k1=1.2, b=0.75):
    f = np.float32
    k1, b = f(k1), f(b)
    w = f(math.log(1 + (n - df + 0.5) / (df + 0.5)))
    mean = f(total_length / n)
    inverse = f(1) / (k1 * ((f(1) - b) + b * f(length) / mean))
    return float(w - w / (f(1) + f(tf) * inverse))


def test_the_length_byte_has_the_published_values():
    samples = {40: 40, 41: 40, 63: 60, 100: 96, 256: 248, 500: 472, 1000: 984, 5000: 4632}
    assert {length: decoded(encoded(length)) for length in samples} == samples


one_field = st.dictionaries(st.integers(0, 9), st.lists(st.sampled_from(WORDS), max_size=40), min_size=1, max_size=8)


@settings(deadline=None, max_examples=examples(15, 120))
@given(one_field, st.sampled_from(WORDS))
def test_one_field_of_weight_one_is_lucenes_formula_up_to_length_40(build, texts, term):
    index = build({e: {"body": " ".join(words)} for e, words in texts.items()}, ("body",), n_nodes=10)
    ids, scores = index.score_all(TextQuery(term))
    having = [words for words in texts.values() if words]
    df = sum(term in words for words in having)
    total = sum(map(len, having))
    want = [lucene(texts[e].count(term), decoded(encoded(len(texts[e]))), df, len(having), total) for e in ids.tolist()]
    assert ids.tolist() == sorted(e for e, words in texts.items() if term in words)
    np.testing.assert_allclose(scores, want, rtol=1e-6, atol=1e-7)


def test_beyond_length_40_lucene_differs_by_its_length_byte_alone(build):
    texts = {e: ["red"] * 3 + ["sea"] * (40 + 37 * e) for e in range(12)}
    index = build({e: {"body": " ".join(words)} for e, words in texts.items()}, ("body",))
    ids, scores = index.score_all(TextQuery("red"))
    lengths = {e: len(words) for e, words in texts.items()}
    total = sum(lengths.values())
    exact = [lucene(3, lengths[e], 12, 12, total) for e in ids.tolist()]
    rounded = [lucene(3, decoded(encoded(lengths[e])), 12, 12, total) for e in ids.tolist()]
    np.testing.assert_allclose(scores, exact, rtol=1e-6)
    assert all(r >= x for r, x in zip(rounded, exact, strict=True))  # the byte rounds lengths down
    np.testing.assert_allclose(scores, rounded, rtol=0.111)
