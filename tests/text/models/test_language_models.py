"""lm, mlm, prms, sdm and fsdm against their formulas: one entity, one field and one term at a time."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

WORDS = ["red", "fish", "sea", "old"]
NAMES = ["title", "body", "notes"]
WEIGHTS = {"title": 2.0, "body": 1.0, "notes": 0.5}
FIELDS = tuple(IndexedField(name, WEIGHTS[name], 0.4, "unstemmed") for name in NAMES)

text = st.lists(st.sampled_from([*WORDS, "x", "y"]), max_size=14).map(" ".join)
documents = st.dictionaries(st.integers(0, 9), st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, text)))
bag = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=4)
on_fields = st.lists(st.sampled_from(NAMES), unique=True, min_size=1)
smoothing = st.sampled_from([{}, {"mu": 3.0}, {"mu": 2000.0}, {"lambda": 0.1}, {"lambda": 0.7}])


def word(words, term):
    return words.count(term)


def phrase(words, pair):
    return sum(found == pair for found in pairwise(words))


def window(words, pair, width=8):
    """The largest number of disjoint windows: by trying every one."""

    @cache
    def most(start):
        best = 0
        for end in range(start + 2, len(words) + 1):
            for begin in range(max(start, end - width), end - 1):
                inside = list(words[begin:end])
                if all(inside.count(w) >= pair.count(w) for w in pair):
                    best = max(best, 1 + most(end))
        return best

    return most(0)


class Collection:
    """The documents as lists of words, by entity and field."""

    def __init__(self, documents, on):
        self.words = {e: {f: tuple(texts.get(f, "").split()) for f in on} for e, texts in documents.items()}
        self.on = on

    def cf(self, f, count, what):
        return sum(count(words[f], what) for words in self.words.values())

    def tokens(self, f):
        return sum(len(words[f]) for words in self.words.values())

    def having(self, f):
        return sum(bool(words[f]) for words in self.words.values())

    def one(self):
        """The same with all fields as one; a mark keeps pairs from crossing from field to field."""
        whole = Collection({}, ["all"])
        whole.words = {
            e: {"all": tuple(w for f in self.on for w in (*words[f], *["|"] * 9))} for e, words in self.words.items()
        }
        whole.marks = 9 * len(self.on)
        return whole

    marks = 0


def field_probability(c, entity, f, count, what, how):
    """p(t|d_f), smoothed."""
    words = c.words[entity][f]
    length = len(words) - c.marks
    tokens = c.tokens(f) - c.marks * len(c.words)
    tf, cf = count(words, what), c.cf(f, count, what)
    if not tokens:
        return 0.0
    if "lambda" in how:
        return (1 - how["lambda"]) * (tf / length if length else 0) + how["lambda"] * cf / tokens
    having = sum(len(own[f]) > c.marks for own in c.words.values())
    mu = how.get("mu", 1500 if c.marks else tokens / having)
    return (tf + mu * cf / tokens) / (length + mu)


def log_sum(c, entity, clauses, weights_of, how):
    total = 0.0
    for count, what in clauses:
        weights = weights_of(count, what)
        whole = sum(weights.values())
        p = (
            sum(w / whole * field_probability(c, entity, f, count, what, how) for f, w in weights.items())
            if whole
            else 0
        )
        if p:
            total += math.log(p)
    return total


def restated(model, documents, query, on, how, factors=(0.8, 0.1, 0.1)):
    c = Collection(documents, on)
    matching = [e for e, words in c.words.items() if any(t in words[f] for t in query for f in on)]

    def by_on(count, what):
        return {f: WEIGHTS[f] for f in on}

    def by_mapping(count, what):
        return {f: c.cf(f, count, what) / c.tokens(f) * c.having(f) if c.tokens(f) else 0.0 for f in on}

    weights = by_mapping if model == "prms" else by_on
    if model in ("lm", "sdm"):
        c, weights = c.one(), lambda count, what: {"all": 1.0}
    terms = [(word, t) for t in query]
    pairs = list(pairwise(query))
    scores = {}
    for entity in matching:
        score = log_sum(c, entity, terms, weights, how)
        if model in ("sdm", "fsdm") and pairs:
            score *= factors[0]
            score += factors[1] * log_sum(c, entity, [(phrase, p) for p in pairs], weights, how)
            score += factors[2] * log_sum(c, entity, [(window, p) for p in pairs], weights, how)
        scores[entity] = score
    return scores


def asked(model, query, on, how):
    arguments = tuple(how.items()) + ((("smoothing", "jm"),) if "lambda" in how else ())
    return TextQuery(" ".join(query), fields=tuple(map(FieldChoice, on)), model=model, arguments=arguments)


@settings(deadline=None, max_examples=examples(9, 80))
@given(st.sampled_from(["lm", "mlm", "prms", "sdm", "fsdm"]), documents, bag, on_fields, smoothing)
def test_scores_are_those_of_the_formula(build, model, documents, query, on, how):
    index = build(documents, FIELDS, n_nodes=16)
    ids, scores = index.score_all(asked(model, query, on, how))
    want = restated(model, documents, query, on, how)
    assert ids.tolist() == sorted(want)
    np.testing.assert_allclose(scores, [want[e] for e in sorted(want)], rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=examples(9, 80))
@given(st.sampled_from([name for name in RANKING_MODELS.names() if name != "elr"]), documents, bag, on_fields)
def test_every_score_is_the_sum_of_its_parts_and_each_part_of_its_fields(build, model, documents, query, on):
    index = build(documents, FIELDS, n_nodes=16)
    weights = (1.0 if model in ("bm25", "combined_fields", "lm", "prms", "sdm") else None,) * len(on)
    fields = tuple(FieldChoice(f, w) for f, w in zip(on, weights, strict=True))
    asked_for = TextQuery(" ".join(query), fields=fields, model=model)
    for entity, score in zip(*index.score_all(asked_for), strict=True):
        parts = RANKING_MODELS.get(model)().explain(index.task(asked_for, np.array([entity], np.uint32)))
        assert sum(part.contribution for part in parts) == pytest.approx(score, rel=1e-6, abs=1e-9)
        for part in parts:
            inside = sum(f.contribution for f in part.fields)
            assert inside == pytest.approx(part.contribution if any(f.tf for f in part.fields) else 0, rel=1e-6)
        for f in (f for part in parts for f in part.fields if " " not in f.name):
            assert f.length == len(documents[entity].get(f.name, "").split())


def test_numbers_worked_by_hand(build):
    # |C| = 6, cf(red) = 2; entity 0: tf 1 of 2, mu 2: (1 + 2 * 2/6) / (2 + 2) = 5/12.
    index = build({0: {"body": "red fish"}, 1: {"body": "red sea sea sea"}}, ("body",))
    (score,) = index.score(TextQuery("red", model="lm", arguments=(("mu", 2.0),)), np.array([0], np.uint32))
    assert score == pytest.approx(math.log(5 / 12))
    # Jelinek-Mercer, lambda 0.1: 0.9 * 1/4 + 0.1 * 2/6 = 0.258333 for entity 1.
    jm = TextQuery("red", model="lm", arguments=(("smoothing", "jm"), ("lambda", 0.1)))
    (score,) = index.score(jm, np.array([1], np.uint32))
    assert score == pytest.approx(math.log(0.2583333333))
    alone = TextQuery("red", model="lm", arguments=(("lambda", 0.1),))
    assert index.score(alone, np.array([1], np.uint32))[0] == score


def test_one_word_is_ranked_by_the_words_alone(build):
    index = build({0: {"body": "red fish"}, 1: {"body": "red sea sea sea"}}, ("body",))
    fsdm, mlm = (index.score_all(TextQuery("red", model=m))[1].tolist() for m in ("fsdm", "mlm"))
    assert fsdm == mlm


def test_words_side_by_side_win_over_words_near_each_other_and_those_over_words_far_apart(build):
    far = "new " + "a " * 20 + "york"
    docs = {
        0: {"body": f"{far} b"},
        1: {"body": "york new " + "a " * 20 + "b"},
        2: {"body": "new york " + "a " * 20 + "b"},
    }
    index = build(docs, ("body",))
    for model in ("sdm", "fsdm"):
        assert index.topk(TextQuery("new york", model=model), 3)[0].tolist() == [2, 1, 0]


def test_a_pair_has_its_own_weights_of_the_fields(build):
    docs = {0: {"title": "new york", "body": "york a new"}, 1: {"title": "york a new", "body": "new york"}}
    index = build(docs, FIELDS[:2])

    def best(title, body):
        fields = (FieldChoice("title", 1, (("ordered", title),)), FieldChoice("body", 1, (("ordered", body),)))
        return int(index.topk(TextQuery("new york", fields=fields, model="fsdm"), 1)[0][0])

    assert (best(1.0, 0.0), best(0.0, 1.0)) == (0, 1)


def test_pairs_do_not_reach_over_phrases_fields_or_stop_words_as_if_these_were_not_there(build):
    body = IndexedField("body", analyzer="stopped")
    index = build({0: {"body": "lord rings"}, 1: {"body": "lord of rings"}}, (body,))
    task = index.task(TextQuery("lord of rings", model="fsdm"))
    assert [term.cf for term in task.ordered] == [(1,)]
    task = index.task(TextQuery('lord "a b" rings', model="fsdm"))
    assert task.ordered == ()


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (TextQuery("x", model="lm", fields=(FieldChoice("title", 2),)), TextQueryError, "has no weights of fields"),
        (TextQuery("x", model="prms", fields=(FieldChoice("title", 2),)), TextQueryError, "has no weights of fields"),
        (TextQuery("x", model="lm", arguments=(("mu", 0.0),)), TextQueryError, "'mu' of model 'lm' is 0; it must be"),
        (TextQuery("x", model="mlm", arguments=(("smoothing", "jn"),)), UnknownNameError, "'dirichlet' or 'jm'"),
        (TextQuery("x", model="mlm", arguments=(("smoothing", 2.0),)), UnknownNameError, "is '2'; it must be"),
        (TextQuery("x", model="fsdm", arguments=(("window", 1.0),)), TextQueryError, "between 2 and 100"),
        (TextQuery("x", model="sdm", arguments=(("window", 2.5),)), TextQueryError, "2.5; it must be a whole number"),
        (TextQuery("x", model="sdm", arguments=(("window", float("inf")),)), TextQueryError, "must be a whole number"),
        (TextQuery("x", arguments=(("form", "galagoo"),)), UnknownNameError, "'lucene' or 'galago'"),
    ],
)
def test_wrong_arguments_are_refused_with_what_there_is(build, query, error, message):
    index = build({0: {"title": "x"}})
    with pytest.raises(error, match=message):
        index.score_all(query)


@settings(deadline=None, max_examples=examples(6, 100))
@given(documents, bag, on_fields)
def test_galagos_form_of_bm25f_has_its_own_idf(build, documents, query, on):
    index = build(documents, FIELDS, n_nodes=16)
    fields = tuple(map(FieldChoice, on))
    _, galago = index.score_all(TextQuery(" ".join(query), fields=fields, arguments=(("form", "galago"),)))
    task = index.task(TextQuery(" ".join(query), fields=fields))
    c = Collection(documents, on)
    n = sum(any(words.values()) for words in c.words.values())
    assert task.n_entities == n
    want = {}
    for entity in c.words:
        score, matches = 0.0, False
        for term in query:
            df = sum(any(term in words[f] for f in on) for words in c.words.values())
            x = 0.0
            for f in on:
                words = c.words[entity][f]
                if words:
                    mean = c.tokens(f) / c.having(f)
                    x += WEIGHTS[f] * words.count(term) / (1 + 0.4 * (len(words) / mean - 1))
                    matches = matches or term in words
            score += math.log(max(n, 1) / (df + 0.5)) * x / (1.2 + x)
        if matches:
            want[entity] = score
    np.testing.assert_allclose(galago, [want[e] for e in sorted(want)], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", ["lm", "mlm", "prms", "sdm", "fsdm"])
def test_every_score_is_a_finite_number_and_explained_whatever_the_arguments(build, model):
    docs = {0: {"title": "red fish"}, 1: {"body": "red fish sea"}, 2: {"title": "sea", "body": "fish"}}
    index = build(docs, FIELDS)
    weights = [(1.0, 1.0), (1e6, 1e6), (5e-324, 1e6), (5e-324, 5e-324), (0.0, 0.0)]
    arguments = [(("mu", 1e-6),), (("mu", 1e9),), (("smoothing", "jm"), ("lambda", 1e-6))]
    factors = [("terms", 1e6), ("ordered", 1e6), ("unordered", 0.0)] if model in ("sdm", "fsdm") else []
    for title, body in weights if model in ("mlm", "fsdm") else [(None, None)]:
        for own in arguments:
            fields = (FieldChoice("title", title), FieldChoice("body", body))
            asked_for = TextQuery("red fish", fields=fields, model=model, arguments=(*own, *factors))
            ids, scores = index.score_all(asked_for)
            assert ids.tolist() == [0, 1, 2]
            assert np.isfinite(scores).all()
            for entity, score in zip(ids, scores, strict=True):
                parts = RANKING_MODELS.get(model)().explain(index.task(asked_for, np.array([entity], np.uint32)))
                assert sum(part.contribution for part in parts) == pytest.approx(score)


@pytest.mark.parametrize("argument", [("mu", 5e-324), ("mu", 1e308), ("lambda", 5e-324), ("terms", 1e308)])
def test_arguments_that_floats_cannot_bear_are_refused(build, argument):
    with pytest.raises(TextQueryError, match="it must be between"):
        build({0: {"title": "x"}}).score_all(TextQuery("x", model="fsdm", arguments=(argument,)))


def test_a_fields_share_counts_its_own_lambda(build):
    index = build({0: {"title": "red", "body": "red"}, 1: {"title": "x", "body": "x"}})
    fields = (FieldChoice("title", 1, (("lambda", 0.2),)), FieldChoice("body", 1, (("lambda", 0.6),)))
    (part,) = RANKING_MODELS.get("mlm")().explain(
        index.task(TextQuery("red", fields=fields, model="mlm", arguments=(("smoothing", "jm"),)))
    )
    title, body = (f.contribution for f in part.fields)
    assert title / body == pytest.approx(0.8 / 0.4)
