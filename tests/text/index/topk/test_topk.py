"""The pruned best k against the best of the whole ranking: the same ids and the same bits, whatever is asked.

The limits below which nothing is pruned are set low here, and occurrences and lengths take few values, so that many
scores are equal. Ranges of ids differ in how often they have a word, so that most can be passed over.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.id_sets import contains
from hybridkg.text.index.layout import DOC_BLOCK
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk import block_max_writer, topk

pytestmark = pytest.mark.quick

WORDS = {"aa": 0.7, "ab": 0.4, "ba": 0.3, "bb": 0.1, "ca": 0.04, "cb": 0.01, "da": 0.002}
"""The share of the entities that have each in a field; from `ca` on they have no block_max."""

PROFILES = {
    "plain": [("title", 1.0, 0.75), ("body", 1.0, 0.75), ("notes", 1.0, 0.75)],
    "weighted": [("title", 3.0, 0.4), ("body", 1.0, 0.0), ("notes", 0.2, 1.0)],
    "without notes": [("title", 1.0, 0.5), ("body", 0.5, 1.0), ("notes", 0.0, 0.75)],
    "one": [("title", 2.0, 0.75)],
}
MODELS = ("bm25f", "mlm", "lm", "prms", "sdm", "fsdm")


def documents(rng, fields, n):
    """Texts in which one of twenty ranges has words often, and the others once."""
    often = rng.random(-(-n // DOC_BLOCK)) < 0.05
    texts = []
    for entity in range(n):
        own = {}
        for field in fields:
            text = [word for word, share in WORDS.items() if rng.random() < share * (0.5 if field == "notes" else 1)]
            if often[entity // DOC_BLOCK] and rng.random() < 0.4:
                text += text * int(rng.choice([2, 8, 60]))
            if rng.random() < 0.2:
                text.reverse()
            own[field] = " ".join(text + ["x"] * int(rng.choice([0, 1, 1, 10])))
        texts.append(own)
    return dict(enumerate(texts))


@pytest.fixture(scope="module")
def low_limits(kernel):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_max_writer, "MIN_NODES", 1)
        patch.setattr(block_max_writer, "COMMON", 20)
        patch.setattr(topk, "MIN_POSTINGS", 1)
        patch.setattr(topk, "FIRST_BLOCKS", 1)
        patch.setattr(topk, "MAX_BLOCKS", 8)
        patch.setattr(topk, "MIN_BLOCKS", 8)
        yield


@pytest.fixture(scope="module")
def made(build, low_limits):
    """made(profile, n, seed, ranked) -> (index, rank of the nodes or None); each is built once."""
    known = {}

    def make(profile, n, seed=1, ranked=True):
        key = profile, n, seed, ranked
        if key not in known:
            fields = [IndexedField(name, weight, b, "unstemmed") for name, weight, b in PROFILES[profile]]
            rng = np.random.default_rng(seed)
            ranks = rng.permutation(n).astype(np.uint32)
            rank = (lambda ids: ranks[ids]) if ranked else None
            known[key] = build(documents(rng, [f.name for f in fields], n), fields, n_nodes=n, rank=rank), rank
        return known[key]

    return make


@pytest.fixture
def ranked(monkeypatch):
    """What topk ranked in each call: what of and the best; where it passed ranges over, their bounds as well."""
    seen, rank, pruned = [], topk.rank, topk.rank_with_block_max

    def told(kernel, form, lists, best, **options):
        rank(kernel, form, lists, best, **options)
        seen.append(SimpleNamespace(form=form, best=best, highest=None))

    def told_pruned(form, lists, best, packed, block_max, *rest):
        pruned(form, lists, best, packed, block_max, *rest)
        seen.append(SimpleNamespace(form=form, best=best, highest=topk._scratch.bounds[: block_max.n_blocks].copy()))

    monkeypatch.setattr(topk, "rank", told)
    monkeypatch.setattr(topk, "rank_with_block_max", told_pruned)
    return seen


def exactly(found):
    ids, scores = found
    return ids.dtype, ids.tolist(), scores.dtype, scores.tobytes()


def exhaustive(index, query, k, rank, among=None):
    ids, scores = index.score_all(query)
    if among is not None:
        kept = contains(ids, among)
        ids, scores = ids[kept], scores[kept]
    return best(ids, scores, k, rank)


word = st.sampled_from([*WORDS, *list(WORDS)[:4], "x", "absent"])
clause = st.one_of(
    word,
    word,
    word,
    st.builds("{} {}".format, word, word),
    st.builds("+{}".format, word),
    st.builds("-{}".format, word),
    st.builds("{}^{}".format, word, st.sampled_from(["0.001", "3", "1000"])),
    st.builds('"{} {}"'.format, word, word),
    st.builds('"{} {}"~4'.format, word, word),
    st.sampled_from(["a*", "c*", "aa~1"]),
    st.builds("FIELD:{}".format, word),
)
texts = st.one_of(
    st.lists(word, min_size=1, max_size=7).map(" ".join),
    st.builds("{} {}".format, word, st.lists(clause, min_size=1, max_size=5).map(" ".join)),
)
weights = st.sampled_from([None, None, 0.0, 1e-9, 0.3, 1.0, 5.0, 1e6])
mu = st.sampled_from([1e-6, 1.0, 100.0, 1500.0, 1e9])
share = st.sampled_from([0.0, 0.3, 1.0])
factor = st.sampled_from([0.0, 0.1, 0.8, 1e6])
smoothing = st.one_of(
    st.just(()),
    st.tuples(st.tuples(st.just("mu"), mu)),
    st.tuples(st.tuples(st.just("lambda"), st.sampled_from([1e-6, 0.1, 0.9, 1.0]))),
)
pairs = st.fixed_dictionaries(
    {}, optional={"terms": factor, "ordered": factor, "unordered": factor, "window": st.sampled_from([2, 8])}
).map(lambda given: tuple(given.items()))
ARGUMENTS = {
    "bm25f": st.fixed_dictionaries(
        {}, optional={"k1": st.sampled_from([1e-3, 0.5, 100.0]), "b": share, "form": st.sampled_from(["galago"])}
    ).map(lambda given: tuple(given.items())),
    **dict.fromkeys(("mlm", "lm", "prms"), smoothing),
    **dict.fromkeys(("sdm", "fsdm"), st.builds(lambda one, other: one + other, smoothing, pairs)),
}
OF_FIELDS = {"bm25f": {"b": share}, "mlm": {"mu": mu}, "fsdm": {"mu": mu, "ordered": weights, "unordered": weights}}


@st.composite
def queries(draw, profile, models=MODELS):
    """A text, all fields or some of them, and a model with weights and arguments."""
    model = draw(st.sampled_from(models))
    names = [name for name, _, _ in PROFILES[profile]]
    fields = []
    for name in draw(st.one_of(st.just([]), st.lists(st.sampled_from(names), unique=True, min_size=1))):
        own = draw(st.fixed_dictionaries({}, optional=OF_FIELDS.get(model, {})))
        given = tuple((name, value) for name, value in own.items() if value is not None)
        fields.append(FieldChoice(name, draw(weights) if model in OF_FIELDS else None, given))
    return TextQuery(
        draw(texts).replace("FIELD", fields[-1].name if fields else "title"),
        fields=tuple(fields),
        all_terms=draw(st.sampled_from([False, False, False, True])),
        model=model,
        arguments=draw(ARGUMENTS[model]),
    )


ks = st.sampled_from([1, 2, 10, 10, 100, 1000, 10**9])


def asked(profile, **options):
    return st.tuples(st.just(profile), queries(profile, **options))


questions = st.one_of(*map(asked, PROFILES))


def chosen(n, seed, kind):
    """Ascending candidates; None for no such set."""
    rng = np.random.default_rng(seed)
    share = {"all": 1.0, "most": 0.9, "some": 0.3, "few": 0.01, "none": 0.0, "a stretch": 0.5}[kind]
    kept = rng.random(n) < share
    if kind == "a stretch":
        kept[: n // 3] = kept[n // 3 + 70 :] = False
    return np.flatnonzero(kept).astype(np.uint32)


candidates = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from(["all", "most", "some", "few", "none", "a stretch"]))


@settings(deadline=None, max_examples=examples(48, 400))
@given(questions, ks, st.booleans())
def test_the_best_are_those_of_the_whole_ranking(made, question, k, ranked):
    profile, query = question
    index, rank = made(profile, 2500, ranked=ranked)
    assert exactly(index.topk(query, k)) == exactly(exhaustive(index, query, k, rank))


@settings(deadline=None, max_examples=examples(24, 200))
@given(questions, ks, candidates)
def test_candidates_only_leave_out_others(made, question, k, candidates):
    profile, query = question
    index, rank = made(profile, 2500)
    among = chosen(2500, *candidates)
    assert exactly(index.topk(query, k, among)) == exactly(exhaustive(index, query, k, rank, among))


@settings(deadline=None, max_examples=examples(6, 100))
@given(questions, ks, st.integers(1, 400), st.integers(0, 10), st.booleans())
def test_the_best_of_small_indexes_are_those_of_the_whole_ranking(made, question, k, n, seed, ranked):
    profile, query = question
    index, rank = made(profile, n, seed, ranked)
    assert exactly(index.topk(query, k)) == exactly(exhaustive(index, query, k, rank))


@settings(deadline=None, max_examples=examples(18, 150))
@given(questions, st.sampled_from([1, 10]))
def test_no_score_is_above_the_bound_of_its_range(made, question, k):
    profile, query = question
    index, _ = made(profile, 2500)
    seen, pruned = [], topk.rank_with_block_max

    def told(form, lists, best, packed, block_max, *rest):
        empty_doc_score, unit = pruned(form, lists, best, packed, block_max, *rest)
        seen.append(
            (form, empty_doc_score + unit * (topk._scratch.bounds[: block_max.n_blocks].astype(np.float64) - 1))
        )
        return empty_doc_score, unit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topk, "rank_with_block_max", told)
        index.topk(query, k)
    assume(seen)
    ids, scores = index.score_all(query)
    form, highest = seen[0]
    assume(len(form.gain) > 1)  # of a single word only the ranges that are listed have one
    assert not np.isnan(highest).any()
    # The kernel compares bounds with the score less a margin (block_max_kernel.py).
    assert (scores - 1e-5 * (1 + np.abs(scores)) <= highest[ids // DOC_BLOCK]).all()


@settings(deadline=None, max_examples=examples(15, 100))
@given(questions, st.lists(st.integers(0, 2499), max_size=40), st.integers(1, 300))
def test_scores_of_candidates_have_the_same_bits_in_any_order(made, question, ids, k):
    profile, query = question
    index, _ = made(profile, 2500)
    whole = dict(zip(*(part.tolist() for part in index.score_all(query)), strict=True))
    top, scores = index.topk(query, k)
    ids = np.array([*ids, *top.tolist(), *ids[:3]], np.uint32)
    found = index.score(query, ids)
    want = np.array([whole.get(entity, np.nan) for entity in ids.tolist()])
    assert found.tobytes() == want.tobytes()
    assert index.score(query, top).tobytes() == scores.tobytes()


@settings(deadline=None, max_examples=examples(12, 100))
@given(questions, ks, st.one_of(st.none(), candidates))
def test_numpy_gives_the_bits_of_the_kernels(made, question, k, candidates):
    profile, query = question
    index, _ = made(profile, 2500)
    among = None if candidates is None else chosen(2500, *candidates)
    ids = np.arange(0, 2500, 17, dtype=np.uint32)

    def answers():
        return (
            *exactly(index.topk(query, k, among)),
            *exactly(index.score_all(query)),
            index.score(query, ids).tobytes(),
        )

    compiled = answers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        assert answers() == compiled


@pytest.mark.parametrize("k", sampled([1, 10, 20], 10))
@pytest.mark.parametrize("text", ["aa", "aa ab", "aa ba da"])
@pytest.mark.parametrize("model", MODELS)
def test_most_entities_are_never_scored(made, ranked, model, text, k):
    # Only equal weights are near those that `prms` finds by itself.
    index, rank = made("plain" if model == "prms" else "weighted", 20_000)
    query = TextQuery(text, model=model)
    found = index.topk(query, k)
    assert all(turn.highest is not None for turn in ranked)
    matches = len(index.score_all(query)[0])
    assert matches > 10_000
    assert ranked[0].best.scored < matches * (0.95 if model == "prms" else 0.5)
    assert exactly(found) == exactly(exhaustive(index, query, k, rank))


@pytest.mark.parametrize(
    "query",
    [
        TextQuery("aa ab", fields=(FieldChoice("title"),)),
        TextQuery("aa ab", fields=(FieldChoice("body", 1.2, (("b", 0.1),)), FieldChoice("title", 2.0))),
        TextQuery("aa ab", arguments=(("k1", 3.0), ("b", 0.2))),
        TextQuery("+aa -da ba"),
        TextQuery('aa "ab ba"'),
        TextQuery("aa c*"),
        TextQuery("title:aa bb"),
    ],
)
def test_fewer_entities_are_scored_in_other_fields_weights_and_operators_too(made, ranked, query):
    index, rank = made("weighted", 20_000)
    found = index.topk(query, 5)
    matches = len(index.score_all(query)[0])
    assert 5 < ranked[0].best.scored < matches
    assert exactly(found) == exactly(exhaustive(index, query, 5, rank))


@pytest.mark.parametrize(
    "limits",
    [{"MIN_POSTINGS": 10**9}, {"MAX_TERMS": 0}, {"FIRST_BLOCKS": 0}, {"FIRST_BLOCKS": 10**6}],
)
def test_the_limits_change_nothing(made, monkeypatch, limits):
    index, rank = made("weighted", 2500)
    for name, limit in limits.items():
        monkeypatch.setattr(topk, name, limit)
    for model in MODELS:
        query = TextQuery("aa ab bb ca", model=model)
        assert exactly(index.topk(query, 20)) == exactly(exhaustive(index, query, 20, rank))


HARD = [
    TextQuery("aa ab x", model="sdm", arguments=(("terms", 1e6), ("lambda", 1e-6))),
    TextQuery("aa ab x", model="fsdm", arguments=(("terms", 1e6), ("unordered", 1e6), ("lambda", 1e-6))),
    TextQuery("aa^1000000 ab x", model="mlm", arguments=(("lambda", 1e-6),)),
    TextQuery("x aa", model="lm", arguments=(("lambda", 1e-6),)),
    TextQuery(" ".join(WORDS) + " x " + " ".join(f"{word}^{n}" for word in WORDS for n in range(2, 9)), model="lm"),
    TextQuery("aa x", model="lm", arguments=(("mu", 1e9),)),
    TextQuery("aa ab ba", arguments=(("k1", 1e300),)),
    TextQuery("aa ab ba", arguments=(("k1", 1e-300),)),
    TextQuery("aa ab ba", fields=(FieldChoice("title", 1e-90), FieldChoice("body", 1e-99)), arguments=(("k1", 1e300),)),
    TextQuery("aa ab ba", fields=(FieldChoice("title", 1e-320), FieldChoice("body", 1e-99))),
    TextQuery("aa ab ba", fields=(FieldChoice("title", 1e-200), FieldChoice("body", 1.0))),
    TextQuery("aa ab", fields=(FieldChoice("title", 1e6), FieldChoice("body", 0.0))),
    TextQuery("aa ab", fields=(FieldChoice("title", 1e6), FieldChoice("body", 1e-72)), model="mlm"),
    TextQuery("aa^0.000001 ab^1000000"),
    TextQuery(
        "aa^1000000 ab", fields=(FieldChoice("title", 1e6), FieldChoice("body", 5e-324)), arguments=(("k1", 1e300),)
    ),
]


@pytest.mark.parametrize("number", range(len(HARD)))
def test_numbers_at_the_ends_of_what_may_be_asked(made, number):
    for k in (1, 10, 500):
        index, rank = made("weighted", 2500)
        assert exactly(index.topk(HARD[number], k)) == exactly(exhaustive(index, HARD[number], k, rank))


def test_terms_of_negative_weight_are_never_pruned(made, ranked):
    index, rank = made("one", 2500)
    query = TextQuery("aa x ab", arguments=(("form", "galago"),))
    found = index.topk(query, 10)
    assert exactly(found) == exactly(exhaustive(index, query, 10, rank))


def test_equal_scores_at_the_last_place_are_settled_by_rank(build, low_limits, ranked):
    rng = np.random.default_rng(7)
    n = 3072
    ranks = rng.permutation(n).astype(np.uint32)
    texts = {e: {"body": "red " * (1 + (e // 512) % 3) + "sea " * (3 - (e // 512) % 3)} for e in range(n)}
    index = build(texts, rank=lambda ids: ranks[ids])
    order = exhaustive(index, TextQuery("red"), n, lambda ids: ranks[ids])[0].tolist()
    ranked.clear()
    for k in (1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 3071, 3072, 3073):
        assert index.topk(TextQuery("red"), k)[0].tolist() == order[:k]
    assert ranked[0].best.scored < n


def test_one_text_without_a_length_of_its_own_is_not_passed_over(made):
    index, rank = made("plain", 73, 2, False)
    for text in ("bb ab ba -ab", "bb ab ba"):
        query = TextQuery(text, model="lm", arguments=(("lambda", 1e-6),))
        assert exactly(index.topk(query, 1)) == exactly(exhaustive(index, query, 1, rank))


@pytest.mark.parametrize("k", [0, -1])
def test_no_entities_are_none(made, k):
    ids, scores = made("one", 2500)[0].topk(TextQuery("aa"), k)
    assert (ids.dtype, ids.tolist(), scores.tolist()) == (np.uint32, [], [])


@pytest.mark.parametrize("text", ["absent", "absent -aa", "aa -aa", ""])
def test_what_matches_nothing_has_no_best(made, text):
    assert made("weighted", 2500)[0].topk(TextQuery(text), 10)[0].tolist() == []


@pytest.mark.parametrize("k", [2**31, 2**63, 10**30])
def test_any_number_may_be_wanted(made, k):
    index, rank = made("weighted", 2500)
    query = TextQuery("aa ca")
    assert exactly(index.topk(query, k)) == exactly(exhaustive(index, query, 2500, rank))


@pytest.mark.parametrize("model", MODELS)
def test_more_terms_than_are_pruned(made, model):
    index, rank = made("weighted", 2500)
    query = TextQuery(" ".join(f"{word}{n}" for n in range(40) for word in ("w", "v")) + " aa ab ca", model=model)
    assert exactly(index.topk(query, 10)) == exactly(exhaustive(index, query, 10, rank))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", ['aa ab "aa ab"', 'aa aa "aa aa"', 'aa ab "aa ab"~8 ba', '"aa ab" aa ab'])
def test_a_phrase_that_is_also_a_pair_counts_as_both(made, model, text):
    index, rank = made("weighted", 2500)
    query = TextQuery(text, model=model)
    assert exactly(index.topk(query, 10)) == exactly(exhaustive(index, query, 10, rank))


def test_a_weight_for_a_field_that_has_none_in_the_profile(made):
    index, rank = made("without notes", 2500)
    for model in ("bm25f", "mlm"):
        query = TextQuery("aa ab", fields=(FieldChoice("notes", 2.0), FieldChoice("title")), model=model)
        assert exactly(index.topk(query, 10)) == exactly(exhaustive(index, query, 10, rank))


def test_fields_in_a_language_are_not_taken_for_all_fields(build, low_limits):
    rng = np.random.default_rng(3)
    texts = {
        e: {
            "title": [("aa " * int(rng.integers(1, 4)), "en" if e % 2 else "de")],
            "body": ["x " * int(rng.integers(0, 90))],
        }
        for e in range(2500)
    }
    index = build(texts)
    for model in MODELS:
        for text in ("title:aa", "aa"):
            fields = FieldChoice("title"), FieldChoice("title", language="en")
            query = TextQuery(text, fields=fields, model=model)
            assert exactly(index.topk(query, 10)) == exactly(exhaustive(index, query, 10, None))


def test_many_threads_get_the_same_best(made):
    from concurrent.futures import ThreadPoolExecutor

    index, rank = made("weighted", 2500)
    asked = [TextQuery(text, model=model) for model in MODELS for text in ("aa", "aa ab ca", "bb ba da", '"aa ab" x')]
    want = [exactly(exhaustive(index, query, 10, rank)) for query in asked]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda query: exactly(index.topk(query, 10)), asked * 8)) == want * 8


@pytest.mark.parametrize("others", [100, 300, 700, 1500])
def test_bounds_are_not_below_scores_that_are_small_differences_of_large_numbers(build, low_limits, others):
    rng = np.random.default_rng(others)
    ranks = rng.permutation(2500).astype(np.uint32)
    texts = {e: {"body": "x " * 7 if e < others else "aa " * (1 + e % 3) + "x" * (e % 5 == 0)} for e in range(2500)}
    index = build(texts, rank=lambda ids: ranks[ids])
    for text in ("aa^1000000", "aa^1000000 x^100000", "aa^999999 absent^1000000"):
        for model in ("lm", "mlm"):
            query = TextQuery(text, model=model, arguments=(("lambda", 1e-6),))
            want = exhaustive(index, query, 10, lambda ids: ranks[ids])
            assert exactly(index.topk(query, 10)) == exactly(want)


def test_a_common_word_may_stand_only_in_fields_without_weight(build, low_limits):
    fields = [IndexedField("title", 1.0, 0.5, "unstemmed"), IndexedField("notes", 0.0, 0.5, "unstemmed")]
    index = build({e: {"title": "x", "notes": "aa " * (1 + e % 3)} for e in range(500)}, fields)
    for on in ((), (FieldChoice("notes", 2.0), FieldChoice("title"))):
        for model in MODELS:
            query = TextQuery("aa x", fields=() if model in ("lm", "prms", "sdm") else on, model=model)
            assert exactly(index.topk(query, 10)) == exactly(exhaustive(index, query, 10, None))
