"""What every text index promises. A new backend subclasses TextIndexContract and gives `build`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from elastic_index import build_elastic
from elastic_server import unique_name
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex

FIELDS = (IndexedField("title", 2.0, 0.5), IndexedField("body"))
FISH = {
    0: {"title": ["red fish"], "body": ["a fish in the sea"]},
    1: {"title": ["red red"], "body": ["old man", "and the sea"]},
    2: {"title": ["blue"]},
    4: {"body": ["the fish is red"]},
    5: {"body": ["sea sea sea"]},
}
WORDS = ["red", "fish", "sea", "old", "man", "blue", "absent"]


def fitting(query):
    """The query with fields that its model can have."""
    if query.model == "bm25f" or not query.fields:
        return query
    weights = (2.5, 1.0) if query.model in ("combined_fields", "mlm", "fsdm") else (None, None)
    return query._replace(fields=tuple(FieldChoice(f.name, w) for f, w in zip(query.fields, weights, strict=True)))


query_part = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map("+{}".format),
    st.sampled_from(WORDS).map("-{}".format),
    st.sampled_from(WORDS).map("title:{}".format),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map('"{0[0]} {0[1]}"'.format),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map('"{0[0]} {0[1]}"~3'.format),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map("+({0[0]} {0[1]}^2.5)".format),
    st.sampled_from(["fi*", "sae~1", "-(red sea)", "(old -fish)", "ma*^0.5"]),
)
queries = st.builds(
    TextQuery,
    st.tuples(st.sampled_from(WORDS), st.lists(query_part, max_size=4)).map(lambda t: " ".join([t[0], *t[1]])),
    fields=st.sampled_from([(), (FieldChoice("title", 3.0, (("b", 0.1),)), FieldChoice("body", 0.3))]),
    all_terms=st.booleans(),
    model=st.sampled_from(["bm25f", "bm25f", "bm25", "combined_fields", "lm", "mlm", "prms", "sdm", "fsdm"]),
    language=st.just(""),
    syntax=st.just(True),
    arguments=st.just(()),
    conditions=st.just(()),
).map(fitting)
ALL = np.arange(6, dtype=np.uint32)
LAW = settings(deadline=None, max_examples=examples(9, 15), suppress_health_check=[HealthCheck.differing_executors])
"""The same law for every engine is the point of this class; each engine is a subclass of its own."""


class TextIndexContract:
    """Subclass and give the fixture `build`: ({entity: {field: [text, ...]}}, fields, n_nodes, rank) -> index."""

    @pytest.fixture(scope="class")
    @classmethod
    def index(cls, build):
        return build(FISH, FIELDS, 6, None)

    @LAW
    @given(query=queries, k=st.integers(0, 8))
    def test_topk_score_and_matching_agree_bit_for_bit(self, index, query, k):
        ids, scores = index.score_all(query)
        assert ids.tolist() == sorted(set(ids.tolist()))
        matches = index.matches(query)
        assert (matches.tolist(), matches.dtype) == (ids.tolist(), np.uint32)
        best, best_scores = index.topk(query, k)
        everything = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        order = sorted(everything, key=lambda e: (-everything[e], e))
        assert best.tolist() == order[:k]
        assert best_scores.tolist() == [everything[e] for e in order[:k]]
        asked = index.score(query, ALL)
        assert {e: s for e, s in enumerate(asked.tolist()) if s == s} == everything

    @LAW
    @given(query=queries, ids=st.lists(st.integers(0, 5), max_size=9))
    def test_scores_come_in_the_order_asked_with_repeats(self, index, query, ids):
        every = index.score(query, ALL)
        asked = index.score(query, np.array(ids, np.uint32))
        np.testing.assert_array_equal(asked, every[ids])

    @LAW
    @given(query=queries, ids=st.sets(st.integers(0, 5)))
    def test_what_the_model_sees_gives_the_scores(self, index, query, ids):
        model = RANKING_MODELS.get(query.model)()
        ids = np.array(sorted(ids), np.uint32)
        for task, wanted in ((index.task(query), ALL), (index.task(query, ids), ids)):
            found, scores = model.score(task)
            own = index.score(query, wanted)
            assert found.tolist() == wanted[~np.isnan(own)].tolist()
            np.testing.assert_array_equal(scores, own[~np.isnan(own)])

    def test_types_are_those_of_the_contract(self, index):
        for ids, scores in (index.score_all(TextQuery("red")), index.topk(TextQuery("red"), 2)):
            assert (ids.dtype, scores.dtype) == (np.uint32, np.float64)
        assert index.score(TextQuery("red"), ALL).dtype == np.float64
        assert isinstance(index.exact, bool)
        assert index.fields == ("title", "body")

    def test_ties_follow_the_rank_of_the_node(self, build):
        same = {e: {"title": ["same words"]} for e in range(6)}
        index = build(same, FIELDS, 6, lambda ids: (5 - ids).astype(np.uint32))
        assert index.topk(TextQuery("same"), 4)[0].tolist() == [5, 4, 3, 2]

    def test_an_unknown_term_is_empty_not_an_error(self, index):
        query = TextQuery("zebra")
        assert len(index.score_all(query)[0]) == len(index.topk(query, 5)[0]) == 0
        assert np.isnan(index.score(query, ALL)).all()
        assert [(t.term, t.df, t.role) for t in index.terms(query)] == [("zebra", 0, "should")]

    def test_a_text_without_words_matches_nothing(self, index):
        for text in ("", " \t\n", "- + ...", '""'):
            assert len(index.score_all(TextQuery(text))[0]) == 0, text

    def test_all_terms_may_occur_in_different_fields(self, index):
        assert index.score_all(TextQuery("red man", all_terms=True))[0].tolist() == [1]
        assert index.score_all(TextQuery("red zebra", all_terms=True))[0].tolist() == []

    def test_operators(self, index):
        def found(text):
            return index.score_all(TextQuery(text))[0].tolist()

        assert found("red") == [0, 1, 4]
        assert found("+red sea") == [0, 1, 4]
        assert found("red -sea") == [4]
        assert found("title:red") == [0, 1]
        assert found('"red fish"') == [0]
        assert found('body:"old man"') == [1]
        assert found("+red +sea -fish") == [1]

    def test_words_near_each_other_in_any_order(self, index):
        def found(text):
            return index.score_all(TextQuery(text))[0].tolist()

        assert found('"fish red"~0') == [0]
        assert found('"red fish"~1') == found('"fish red"~1') == [0, 4]
        assert found('"red red"~0') == [1]
        assert found('"sea sea sea"~0') == [5]
        assert found('"sea sea sea sea"~50') == []
        assert found('"man sea"~5') == []  # the end of one value, the beginning of the next
        assert found('fish -"fish red"~1') == []
        assert found('+"in fish"~9 +title:red') == [0]

    def test_prefixes_and_fuzzy_words_are_one_term_of_several(self, index):
        def found(text):
            return index.score_all(TextQuery(text))[0].tolist()

        assert found("fi*") == found("fsh~1") == found("fish") == [0, 4]
        assert found("body:re*") == [4]
        assert found("zebra*") == found("zebra~1") == []
        (term,) = index.terms(TextQuery("bl* "))
        assert (term.term, term.df, term.alternatives, term.total) == ("bl*", 1, 1, 1)
        (both,) = index.task(TextQuery("title:fi* ")).terms
        (alone,) = index.task(TextQuery("title:fish")).terms
        assert (both.df, both.cf, both.field_df, both.allowed) == (alone.df, alone.cf, alone.field_df, alone.allowed)

    def test_groups(self, index):
        def found(text):
            return index.score_all(TextQuery(text))[0].tolist()

        assert found("+(blue man) -title:blue") == [1]
        assert found("(+red +fish) blue") == [0, 2, 4]
        assert found("+red -(fish sea)") == []
        assert found("+(red -sea) fish") == [4]
        assert found("sea -(+red +man)") == [0, 5]

    def test_boosts_count_as_often_as_they_say(self, index):
        twice, boosted = (index.score_all(TextQuery(text)) for text in ("red red sea", "red^2 (sea)^1"))
        assert twice[0].tolist() == boosted[0].tolist()
        np.testing.assert_array_equal(twice[1], boosted[1])
        (half,) = index.task(TextQuery("red^0.5")).terms
        assert half.count == 0.5

    def test_pairs_are_those_of_the_entities_that_are_scored(self, index):
        task = index.task(TextQuery("+red fish -sea", model="sdm"))
        (pair,), (near,) = task.ordered, task.unordered
        assert (pair.shown, pair.df, pair.cf) == ("red fish", 1, (1, 0))
        assert [postings.ids.tolist() for postings in pair.postings] == [[], []]
        assert (near.df, near.cf, near.field_df) == (2, (1, 1), (1, 1))
        assert [postings.ids.tolist() for postings in near.postings] == [[], [4]]

    def test_a_phrase_never_crosses_two_values(self, index):
        assert index.score_all(TextQuery('"man and"'))[0].tolist() == []

    def test_plain_words_have_no_operators(self, index):
        ids, _ = index.score_all(TextQuery('"red -sea', syntax=False))
        assert ids.tolist() == [0, 1, 4, 5]

    def test_only_excluded_terms_are_an_error(self, index):
        with pytest.raises(TextQueryError):
            index.check(TextQuery("-red -sea"))

    def test_per_field_b_and_weight_change_the_score(self, index):
        def score(*fields):
            return index.score(TextQuery("red", fields=fields), ALL)[0]

        plain = score(FieldChoice("title"), FieldChoice("body"))
        assert score(FieldChoice("title", 9.0), FieldChoice("body")) > plain
        assert score(FieldChoice("title", None, (("b", 0.0),)), FieldChoice("body")) != plain

    @pytest.mark.parametrize("weight", [1e-300, 1e-40, 1e-12, 1e6])
    def test_weights_beyond_32_bits_and_the_largest_rank_as_well(self, index, weight):
        query = TextQuery("red sea", fields=(FieldChoice("title", weight), FieldChoice("body", weight * 0.5)))
        ids, scores = index.score_all(query)
        order = sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))
        assert index.topk(query, 2)[0].tolist() == ids[order][:2].tolist()

    @pytest.mark.parametrize("weight", [1_000_001.0, 1e30, 1e300, float("inf"), -1.0])
    def test_weights_beyond_the_largest_are_errors_before_any_work(self, index, weight):
        with pytest.raises(TextQueryError, match="must be between 0 and 1,000,000"):
            index.check(TextQuery("red sea", fields=(FieldChoice("title", weight),)))

    def test_unknown_names_are_errors_before_any_work(self, index):
        for query in (
            TextQuery("x", model="nothing"),
            TextQuery("x", fields=(FieldChoice("nothing"),)),
            TextQuery("x", arguments=(("nothing", 1.0),)),
            TextQuery("nothing:x"),
        ):
            with pytest.raises(UnknownNameError):
                index.check(query)

    def test_terms_name_roles_and_document_frequencies(self, index):
        terms = index.terms(TextQuery('+fishes "red fish" -sea'))
        assert [(t.term, t.df, t.role) for t in terms] == [
            ("fish", 2, "must"), ("red fish", 1, "should"), ("sea", 3, "not"),
        ]  # fmt: skip

    def test_the_passage_marks_matching_words(self, index):
        texts = [("title", "Nothing here", ""), ("body", "Two fishes swim", "")]
        assert index.passage(TextQuery("fish"), texts) == "Two **fishes** swim"
        assert index.passage(TextQuery("zebra"), texts) == ""

    def test_many_threads_get_the_same_answers(self, index):
        texts = ["red fish", '"red fish" sea', "+red -sea", "old man sea"] * 25

        def answer(text):
            ids, scores = index.topk(TextQuery(text), 5)
            return ids.tolist(), scores.tolist(), index.passage(TextQuery(text), [("title", "red fishes", "")])

        alone = [answer(text) for text in texts]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(answer, texts)) == alone

    def test_an_index_of_nothing_answers(self, build):
        index = build({}, FIELDS, 1, None)
        assert len(index.topk(TextQuery("red"), 5)[0]) == 0


class TestEmbedded(TextIndexContract):
    @pytest.fixture(scope="class")
    @classmethod
    def build(cls, tmp_path_factory):
        def make(documents, fields, n_nodes, rank):
            folder = tmp_path_factory.mktemp("embedded")
            builder = EmbeddedTextBuilder(folder, fields, n_nodes)
            for entity, texts in documents.items():
                for number, field in enumerate(fields):
                    builder.add(entity, number, [(text, "") for text in texts.get(field.name, [])])
            builder.finish()
            return EmbeddedTextIndex.open(folder, rank)

        return make


@pytest.mark.needs_elastic
class TestElastic(TextIndexContract):
    @pytest.fixture(scope="class")
    @classmethod
    def build(cls, tmp_path_factory, elastic):
        made = []

        def make(documents, fields, n_nodes, rank):
            made.append(unique_name("contract"))
            folder = tmp_path_factory.mktemp("elastic")
            return build_elastic(elastic.url, made[-1], folder, documents, fields, n_nodes, rank)

        yield make
        for name in made:
            elastic.clear(name)
