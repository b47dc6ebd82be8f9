"""`bm25` against a restatement of Lucene's formula (ranking.md 6.1): one entity, one term, one float32 at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.models.lucene import LENGTHS, inverse_norms, length_bytes

pytestmark = pytest.mark.quick

f32 = np.float32
WORDS = ["red", "fish", "sea", "old", "man"]
FIELDS = tuple(IndexedField(name, 2.5, 0.4, "unstemmed") for name in ("title", "body", "notes"))
NAMES = [f.name for f in FIELDS]

# Some texts are longer than 40 words, where the length byte rounds.
text = st.tuples(st.lists(st.sampled_from(WORDS), max_size=6), st.sampled_from([0, 0, 3, 38, 100, 700]))
words_of = text.map(lambda t: " ".join([*t[0], *(["filler"] * t[1])]))
documents = st.dictionaries(st.integers(0, 9), st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, words_of)))
clause = st.tuples(st.sampled_from(["", "", *NAMES]), st.sampled_from([*WORDS, "filler", "absent"]))
clauses = st.lists(clause, min_size=1, max_size=5)
saturation = st.sampled_from([1.2, 0.0, 0.9, 7.3])
strength = st.sampled_from([0.75, 0.0, 0.4, 1.0])


def encoded(length):
    """SmallFloat.intToByte4."""
    if length < 24:
        return length
    value = length - 24
    if value.bit_length() < 4:
        return 24 + value
    shift = value.bit_length() - 4
    return 24 + (((value >> shift) & 7) | ((shift + 1) << 3))


def decoded(byte):
    """SmallFloat.byte4ToInt."""
    if byte < 24:
        return byte
    value = byte - 24
    return 24 + (value if value < 8 else ((value & 7) | 8) << ((value >> 3) - 1))


def lucene(tf, length, df, n, mean, *, k1=1.2, b=0.75, count=1):
    """One term in one entity."""
    k1, b = f32(k1), f32(b)
    idf = f32(math.log(1 + (n - df + 0.5) / (df + 0.5)))
    weight = f32(f32(f32(count) * f32(f32(1) + k1)) * idf)
    norm = f32(k1 * f32(f32(f32(1) - b) + f32(f32(b * f32(decoded(encoded(length)))) / f32(mean))))
    inverse = f32(math.inf) if norm == 0 else f32(f32(1) / norm)
    return f32(weight - f32(weight / f32(f32(1) + f32(f32(tf) * inverse))))


def restated(documents, clauses, on, k1, b):
    """Scores by entity. clauses: (field or "", word)."""
    words = {e: {f: texts.get(f, "").split() for f in on} for e, texts in documents.items()}
    having = [e for e in words if any(words[e].values())]
    mean = sum(len(w) for e in having for w in words[e].values()) / max(1, len(having))
    scores = {}
    for entity in having:
        total, matches = 0.0, False
        for field, word in dict.fromkeys(clauses):
            allowed = [field] if field else on
            df = sum(any(word in words[e][f] for f in allowed) for e in having)
            tf = sum(words[entity][f].count(word) for f in allowed)
            length = sum(map(len, words[entity].values()))
            if tf:
                matches = True
                count = clauses.count((field, word))
                total += float(lucene(tf, length, df, len(having), mean, k1=k1, b=b, count=count))
        if matches:
            scores[entity] = float(f32(total))
    return scores


def written(clauses):
    return " ".join(f"{field}:{word}" if field else word for field, word in clauses)


def test_the_length_byte_is_that_of_the_bitwise_definition():
    lengths = np.array([*range(20_000), *(2**i + d for i in range(15, 31) for d in (-1, 0, 1)), 2**31 - 1])
    assert length_bytes(lengths).tolist() == [encoded(length) for length in lengths.tolist()]
    assert length_bytes(np.array([2**31 - 1, 2**31, 2**40])).tolist() == [255, 255, 255]


def test_decoding_gives_the_published_lengths_and_encoding_takes_them_back():
    samples = {41: 40, 63: 60, 100: 96, 256: 248, 500: 472, 1000: 984, 5000: 4632}
    assert LENGTHS[length_bytes(np.array([*samples]))].tolist() == [*samples.values()]
    assert LENGTHS.tolist() == [decoded(byte) for byte in range(256)]
    assert length_bytes(LENGTHS).tolist() == list(range(256))


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1))
def test_a_length_is_rounded_down_by_at_most_a_ninth_and_not_at_all_up_to_40(lengths):
    given = np.array(lengths)
    rounded = LENGTHS[length_bytes(given)]
    assert (rounded <= given).all()
    assert (given - rounded <= given / 9).all()
    assert (rounded == given)[given <= 40].all()


def test_the_scores_that_elastics_documentation_prints(build):
    index = build({i: {"body": "rrf " * (i + 1)} for i in range(4)}, ("body",))
    ids, scores = index.score_all(TextQuery("rrf", model="bm25"))
    assert ids.tolist() == [0, 1, 2, 3]
    printed = ["0.13963442", "0.15350538", "0.15876243", "0.16152832"]
    assert [str(f32(score)) for score in scores] == printed
    assert scores.tolist() == [float(f32(score)) for score in printed]  # exactly float32, not nearly


@settings(deadline=None, max_examples=examples(6, 160))
@given(documents, clauses, st.lists(st.sampled_from(NAMES), unique=True, min_size=1), saturation, strength)
def test_scores_are_bit_for_bit_those_of_the_formula(build, documents, clauses, on, k1, b):
    # Where one field is searched, naming it changes nothing: `title:red` is then the same clause as `red`.
    clauses = [(field if field in on and len(on) > 1 else "", word) for field, word in clauses]
    index = build(documents, FIELDS, n_nodes=10)
    chosen = tuple(FieldChoice(name) for name in on)
    arguments = (("k1", k1), ("b", b))
    ids, scores = index.score_all(TextQuery(written(clauses), fields=chosen, model="bm25", arguments=arguments))
    want = restated(documents, clauses, on, k1, b)
    assert dict(zip(ids.tolist(), scores.tolist(), strict=True)) == want
    assert ids.tolist() == sorted(want)
    assert ids.dtype == np.uint32
    assert scores.dtype == np.float64


def test_a_repeated_word_is_one_clause_with_that_boost(build):
    index = build({0: {"body": "red fish"}, 1: {"body": "blue"}, 2: {"body": "red"}}, ("body",))
    thrice = index.score_all(TextQuery("red red red", model="bm25"))[1]
    assert thrice.tolist() == [float(lucene(1, n, 2, 3, 4 / 3, count=3)) for n in (2, 1)]


def test_a_phrase_is_one_term_with_its_own_df(build):
    index = build({0: {"body": "red fish red fish"}, 1: {"body": "red sea fish"}, 2: {"body": "sea"}}, ("body",))
    ids, scores = index.score_all(TextQuery('"red fish"', model="bm25"))
    assert ids.tolist() == [0]
    assert scores.tolist() == [float(lucene(2, 4, 1, 3, 8 / 3))]


def test_scores_do_not_depend_on_which_entities_are_asked_about(build):
    docs = {i: {"title": "red " * (i % 3), "body": "red fish " * i} for i in range(40)}
    index = build(docs, FIELDS)
    for model in ("bm25", "combined_fields"):
        query = TextQuery("red title:fish body:fish", model=model)
        ids, scores = index.score_all(query)
        assert index.score(query, ids[::-3]).tolist() == scores[::-3].tolist()


def test_fields_read_as_one_text_score_as_that_text_would(build):
    docs = {0: ("red fish", "sea red"), 1: ("", "red old man"), 2: ("sea", ""), 3: ("fish " * 41, "red " * 9)}
    apart = build({e: {"title": t, "body": b} for e, (t, b) in docs.items()})
    together = build({e: {"all": f"{t} {b}"} for e, (t, b) in docs.items()}, ("all",))
    query = TextQuery("red fish fish", model="bm25")
    for mine, other in zip(apart.score_all(query), together.score_all(query), strict=True):
        assert mine.tolist() == other.tolist()


def test_without_k1_the_score_is_the_idf_alone(build):
    index = build({0: {"body": "red"}, 1: {"body": "red " * 50}, 2: {"body": "sea"}}, ("body",))
    scores = index.score_all(TextQuery("red", model="bm25", arguments=(("k1", 0),)))[1]
    assert scores.tolist() == [float(f32(math.log(1 + 1.5 / 2.5)))] * 2
    assert np.isinf(inverse_norms(0, 0.75, f32(3))).all()


@pytest.mark.parametrize("model", ["bm25", "combined_fields"])
@pytest.mark.parametrize("k1", [0, 1e-300, 1000])
@pytest.mark.parametrize("b", [0, 1e-300, 1])
def test_extreme_arguments_give_finite_scores(build, model, k1, b):
    index = build({0: {"body": "red"}, 1: {"body": "red " * 900}, 2: {"body": "sea"}}, ("body",))
    scores = index.score_all(TextQuery("red sea", model=model, arguments=(("k1", k1), ("b", b))))[1]
    assert len(scores) == 3
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("text", ["", "absent", "+red -red"])
def test_a_text_without_a_match_gives_empty_arrays(build, text):
    index = build({0: {"body": "red"}}, ("body",))
    for model in ("bm25", "combined_fields"):
        ids, scores = index.score_all(TextQuery(text, model=model))
        assert (ids.dtype, scores.dtype, len(ids), len(scores)) == (np.uint32, np.float64, 0, 0)


def test_weights_of_the_profile_are_not_looked_at_and_1_may_be_written(build):
    docs = {0: {"title": "red", "body": "red fish"}}
    heavy = build(docs, (IndexedField("title", 7.0, 0.1, "unstemmed"), IndexedField("body", 0.0, 0.1, "unstemmed")))
    light = build(docs)
    one = TextQuery("red", model="bm25", fields=(FieldChoice("title", 1.0), FieldChoice("body", 1.0)))
    assert heavy.score_all(TextQuery("red", model="bm25"))[1].tolist() == light.score_all(one)[1].tolist()


@pytest.mark.parametrize(
    ("query", "error", "message", "hint"),
    [
        (
            TextQuery("x", model="bm25", fields=(FieldChoice("title", 3.0),)),
            TextQueryError,
            "model 'bm25' has no weights of fields, so 'title' can have none",
            "leave the weight out, or USING bm25f, mlm or fsdm, which have a weight for each field",
        ),
        (
            TextQuery("x", model="bm25", fields=(FieldChoice("title", None, (("b", 0.3),)),)),
            UnknownNameError,
            "field 'title' has no argument 'b'; it takes none",
            "",
        ),
        (
            TextQuery("x", model="bm25", arguments=(("k1", -1),)),
            TextQueryError,
            "argument 'k1' of model 'bm25' is -1; it must be between 0 and 1,000",
            "",
        ),
        (
            TextQuery("x", model="bm25", arguments=(("k", 1),)),
            UnknownNameError,
            "model 'bm25' has no argument 'k'; known: b, k1",
            "did you mean 'k1'?",
        ),
    ],
)
def test_what_bm25_cannot_do_is_refused_with_the_way_out(build, query, error, message, hint):
    index = build({0: {"title": "red"}})
    with pytest.raises(error) as e:
        index.check(query)
    assert (e.value.message, e.value.hint) == (message, hint)
