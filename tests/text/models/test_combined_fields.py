"""`combined_fields` against a restatement of Lucene's CombinedFieldQuery (ranking.md 6.2), one float32 at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.ranking_model import Postings, ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.models.bm25 import BM25
from hybridkg.text.models.combined_fields import CombinedFields, java_order, tokens_in_all
from hybridkg.text.models.lucene import LENGTHS

f32 = np.float32
WEIGHTS = [1.0, 2.5, 3.0, 1.3, 7.7]


def floor_to_byte(length):
    """dec(enc(length)), by search."""
    return max(known for known in LENGTHS.tolist() if known <= min(length, 2**31 - 1))


def term_score(tf, length, df, n, mean, k1, b, count):
    """ranking.md 6.1 from the length byte on."""
    k1, b = f32(k1), f32(b)
    idf = f32(math.log(1 + (n - df + 0.5) / (df + 0.5)))
    weight = f32(f32(f32(count) * f32(f32(1) + k1)) * idf)
    norm = f32(k1 * f32(f32(f32(1) - b) + f32(f32(b * f32(length)) / f32(mean))))
    inverse = f32(math.inf) if norm == 0 else f32(f32(1) / norm)
    return f32(weight - f32(weight / f32(f32(1) + f32(f32(tf) * inverse))))


def restated(task, entity):
    """The score of one entity: every term of the task in turn."""
    total = 0.0
    for term in task.terms:
        searched = sorted((f for f, ok in enumerate(term.allowed) if ok), key=lambda f: task.fields[f].name)
        tf, length, tokens = f32(0), f32(0), 0
        for f in searched:
            field, weight = task.fields[f], f32(task.fields[f].weight)
            occurrences = int(term.postings[f].tf[term.postings[f].ids == entity].sum())
            tf = f32(tf + f32(weight * f32(occurrences)))
            length = f32(length + f32(weight * f32(floor_to_byte(int(task.lengths[field.row, entity])))))
            tokens = int(tokens + float(weight) * field.tokens)
        if tf > 0:
            n = max(task.fields[f].entities for f in searched)
            df = max(term.field_df[f] for f in searched)
            dl = floor_to_byte(math.floor(float(length) + 0.5))
            k1, b = task.arguments.get("k1", 1.2), task.arguments.get("b", 0.75)
            total += float(term_score(tf, dl, df, n, tokens / n, k1, b, term.count))
    return float(f32(total))


def random_task(seed, n_nodes, n_terms, n_fields, arguments=None, weights=WEIGHTS):
    """Sparse and dense postings, some terms in some fields only, and statistics of a larger index."""
    rng = np.random.default_rng(seed)
    terms = []
    for _ in range(n_terms):
        allowed = rng.random(n_fields) < 0.8
        allowed[rng.integers(n_fields)] = True
        most = int(n_nodes ** rng.random())
        lists = []
        for ok in allowed:
            ids = np.sort(rng.choice(n_nodes, rng.integers(0, most + 1) if ok else 0, replace=False)).astype(np.uint32)
            lists.append(Postings(ids, rng.integers(1, 90, len(ids)).astype(np.uint32)))
        df = len(np.unique(np.concatenate([p.ids for p in lists])))
        cf = tuple(int(p.tf.sum()) for p in lists)
        field_df = tuple(len(p.ids) for p in lists)
        terms.append(ScoredTerm(int(rng.integers(1, 4)), df, cf, field_df, tuple(allowed.tolist()), tuple(lists)))
    lengths = rng.integers(1, 5000, (n_fields + 1, n_nodes)).astype(np.uint32)
    rows = rng.permutation(n_fields + 1)[:n_fields].tolist()
    fields = tuple(
        ScoredField(f"f{9 - i}", row, float(rng.choice(weights)), 0.75, n_nodes + i, int(lengths[row].sum()) + i, {})
        for i, row in enumerate(rows)
    )
    return ScoringTask(fields, tuple(terms), n_nodes + n_fields, lengths, arguments or {})


arguments = st.fixed_dictionaries(
    {}, optional={"k1": st.sampled_from([0.0, 0.9, 7.3]), "b": st.sampled_from([0.0, 0.4, 1.0])}
)
sizes = st.sampled_from([1, 30, 2_000, 300_000])


@settings(deadline=None, max_examples=examples(15, 120))
@given(st.integers(0, 2**32 - 1), sizes, st.integers(0, 5), st.integers(1, 4), arguments)
def test_scores_are_bit_for_bit_those_of_the_formula(seed, n_nodes, n_terms, n_fields, arguments):
    task = random_task(seed, n_nodes, n_terms, n_fields, arguments)
    ids, scores = CombinedFields().score(task)
    lists = [p.ids for term in task.terms for p in term.postings]
    assert ids.tolist() == sorted(set(np.concatenate([*lists, np.zeros(0, np.uint32)]).tolist()))
    assert (ids.dtype, scores.dtype) == (np.uint32, np.float64)
    for place in {*range(0, len(ids), 1 + len(ids) // 12), *range(len(ids))[-2:]}:
        assert scores[place] == restated(task, int(ids[place]))


@settings(deadline=None, max_examples=examples(15, 120))
@given(st.integers(0, 2**32 - 1), sizes, st.integers(1, 5), arguments)
def test_one_field_of_weight_one_is_bm25(seed, n_nodes, n_terms, arguments):
    task = random_task(seed, n_nodes, n_terms, 1, arguments, [1.0])
    task = ScoringTask(task.fields, task.terms, task.fields[0].entities, task.lengths, task.arguments)
    for mine, other in zip(CombinedFields().score(task), BM25().score(task), strict=True):
        assert mine.tobytes() == other.tobytes()


@settings(deadline=None, max_examples=examples(9, 60))
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_the_order_of_the_on_fields_does_not_matter(seed, n_fields):
    task = random_task(seed, 500, 3, n_fields)
    back = tuple(
        ScoredTerm(t.count, t.df, t.cf[::-1], t.field_df[::-1], t.allowed[::-1], t.postings[::-1]) for t in task.terms
    )
    turned = ScoringTask(task.fields[::-1], back, task.n_entities, task.lengths, task.arguments)
    for mine, other in zip(CombinedFields().score(task), CombinedFields().score(turned), strict=True):
        assert mine.tobytes() == other.tobytes()


TITLE, BODY = IndexedField("title", 3.0, 0.4, "unstemmed"), IndexedField("body", 1.0, 0.75, "unstemmed")
LIGHT, STEMMED = IndexedField("notes", 0.5, 0.75, "unstemmed"), IndexedField("label", 1.0, 0.75, "standard")
DOCS = {
    0: {"title": "red fish", "body": "red sea red"},
    1: {"body": "sea " * 45},
    2: {"title": "old man", "body": "red man"},
    3: {"title": "man " * 41},
}


def test_a_score_from_the_statistics_of_hand_counted_fields(build):
    index = build(DOCS, (TITLE, BODY))
    ids, scores = index.score_all(TextQuery("red", model="combined_fields"))
    # Both fields are had by 3 entities; `red` is in 1 title and in 2 bodies; 45 title tokens at weight 3, 50 in bodies.
    mean = (3 * (2 + 2 + 41) + (3 + 45 + 2)) / 3
    want = {0: term_score(5, 9, 2, 3, mean, 1.2, 0.75, 1), 2: term_score(1, 8, 2, 3, mean, 1.2, 0.75, 1)}
    assert dict(zip(ids.tolist(), scores.tolist(), strict=True)) == {e: float(score) for e, score in want.items()}


def test_lengths_are_rounded_for_each_field_and_again_in_their_sum(build):
    docs = {0: {"title": "red " * 41, "body": "sea " * 41}, 1: {"body": "sea"}}
    index = build(docs, (IndexedField("title", 1.3, 0.75, "unstemmed"), BODY))
    scores = index.score_all(TextQuery("red", model="combined_fields"))[1]
    # 41 becomes 40 in both; 1.3 * 40 + 40 = 92 becomes 88. Title tokens: 1.3 * 41 = 53.3, cut to 95 with the body's 42.
    tokens = int(int(42.0) + float(f32(1.3)) * 41)
    assert tokens == 95
    assert floor_to_byte(92) == 88
    frequency = f32(f32(1.3) * f32(41))
    assert scores.tolist() == [float(term_score(frequency, 88, 1, 2, tokens / 2, 1.2, 0.75, 1))]


def test_a_word_for_one_field_is_scored_as_if_only_that_field_were_searched(build):
    index = build(DOCS, (TITLE, BODY))
    both = index.score_all(TextQuery("title:man", model="combined_fields"))
    alone = index.score_all(TextQuery("man", model="combined_fields", fields=(FieldChoice("title"),)))
    assert both[0].tolist() == alone[0].tolist() == [2, 3]
    assert both[1].tolist() == alone[1].tolist()


def test_fields_are_added_in_javas_order_of_their_names():
    assert sorted(["title", "a", "\U00010000", "\uffff"], key=java_order) == ["a", "title", "\U00010000", "\uffff"]


def test_sums_stop_at_the_largest_integers_of_java(build):
    field = ScoredField("title", 0, 1e38, 0.75, 2, 2**40, {})
    assert tokens_in_all([field, field], [f32(1e38), f32(1e38)]) == 2**63 - 1
    for weight in (1, 1e6):
        index = build(DOCS, (TITLE, BODY))
        on = (FieldChoice("title", weight), FieldChoice("body", weight))
        ids, scores = index.score_all(TextQuery("red man", model="combined_fields", fields=on))
        assert ids.tolist() == [0, 2, 3]
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()


@pytest.mark.parametrize(
    ("parts", "error", "message", "hint"),
    [
        (
            {},
            TextQueryError,
            "field 'notes' has weight 0.5; model 'combined_fields' needs at least 1",
            "ON (notes^1, ...), or USING bm25f, which takes any weight",
        ),
        (
            {"fields": (FieldChoice("title"), FieldChoice("body", 0.0))},
            TextQueryError,
            "field 'body' has weight 0; model 'combined_fields' needs at least 1",
            "ON (body^1, ...), or USING bm25f, which takes any weight",
        ),
        (
            {"fields": (FieldChoice("title"), FieldChoice("body"), FieldChoice("label"))},
            TextQueryError,
            "model 'combined_fields' needs fields with the same analyzer; 'title' and 'label' differ",
            "name fields that are analysed alike: ON (...), or USING bm25f",
        ),
        (
            {"fields": (FieldChoice("title", 2.0, (("b", 0.4),)),)},
            UnknownNameError,
            "field 'title' has no argument 'b'; it takes none",
            "",
        ),
        (
            {"fields": (FieldChoice("title"),), "arguments": (("b", 2),)},
            TextQueryError,
            "argument 'b' of model 'combined_fields' is 2; it must be between 0 and 1",
            "",
        ),
    ],
)
def test_what_combined_fields_cannot_do_is_refused_with_the_way_out(build, parts, error, message, hint):
    index = build(DOCS, (TITLE, BODY, LIGHT, STEMMED))
    with pytest.raises(error) as e:
        index.check(TextQuery("red", model="combined_fields", **parts))
    assert (e.value.message, e.value.hint) == (message, hint)
