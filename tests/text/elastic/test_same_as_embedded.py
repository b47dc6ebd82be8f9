"""The law of the engine: on the same documents it gives what the embedded index gives, bit for bit."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest
from elastic_server import unique_name
from engine_pair import Pair, assert_same_best, assert_same_relation, build_pair
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

pytestmark = pytest.mark.needs_elastic

FIELDS = (
    IndexedField("title", 2.0, 0.5, "standard"),
    IndexedField("body", 1.0, 0.75, "standard"),
    IndexedField("notes", 0.3, 0.75, "stopped"),
    IndexedField("raw", 1.0, 0.0, "unstemmed"),
    IndexedField("more", 0.0, 1.0, "standard"),
)
N_NODES = 24
WORDS = ["red", "reds", "fish", "fishes", "sea", "the", "of", "Häuser", "haus", "l'avion", "naïve", "日本", "x1", "x2"]
TAGS = ["", "en", "de", "fr", "ja", "x-unknown"]
FRESH = count()

word = st.sampled_from(WORDS)
# A value is some words, repeated so often that the length byte rounds: exactly up to 40, by twos, by hundreds.
value = st.builds(
    lambda words, times, last: " ".join(words * times + last),
    st.lists(word, max_size=7),
    st.sampled_from([1, 1, 1, 1, 1, 2, 7, 13, 60, 400]),
    st.lists(word, max_size=3),
)
values = st.lists(st.one_of(value, st.tuples(value, st.sampled_from(TAGS))), min_size=1, max_size=4)
entity = st.dictionaries(st.sampled_from([f.name for f in FIELDS]), values, min_size=1, max_size=5)
documents = st.dictionaries(st.integers(0, N_NODES - 1), entity, min_size=N_NODES // 2, max_size=N_NODES)

phrase = st.lists(word, min_size=1, max_size=4).map(" ".join).map('"{}"'.format)
part = st.one_of(word, word, phrase)
clause = st.builds(
    "{}{}{}".format, st.sampled_from(["", "", "", "", "+", "-"]), st.sampled_from(["", "", "", "", "@"]), part
)
texts = st.tuples(part, st.lists(clause, max_size=5)).map(lambda both: [both[0], *both[1]])
arguments = st.sampled_from(
    [(), (), (), (("k1", 1.2), ("b", 0.75)), (("k1", 0.9), ("b", 0.4)), (("k1", 0.9),), (("b", 0.0),), (("b", 1.0),)]
)
WEIGHTS = {
    "bm25f": [None, 0.0, 0.3, 1.0, 7.5],
    "bm25": [None, 1.0],
    "exact": [1.0, 2.0, 1.5, 3.0],
    "inexact": [1.0, 1.3, 2.7, 1.1],
}
SAME_ANALYZER = ["title", "body", "more"]


@st.composite
def questions(draw: st.DrawFn, kind: str) -> TextQuery:
    """A query for `bm25f`, `bm25`, or combined_fields with weights that are dyadic (`exact`) or not (`inexact`)."""
    combined = kind in ("exact", "inexact")
    names = SAME_ANALYZER if combined else [f.name for f in FIELDS]
    on = draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True))
    weights = st.sampled_from(WEIGHTS[kind])
    own = st.sampled_from([(), (), (("b", 0.2),), (("b", 1.0),)]) if kind == "bm25f" else st.just(())
    fields = tuple(FieldChoice(name, draw(weights), draw(own)) for name in on)
    if kind == "bm25f" and draw(st.booleans()):
        fields, on = (), [f.name for f in FIELDS]
    parts = [text.replace("@", f"{draw(st.sampled_from(on))}:") for text in draw(texts)]
    return TextQuery(
        " ".join(parts),
        language=draw(st.sampled_from(["", "", *TAGS])),
        syntax=draw(st.sampled_from([True, True, True, False])),
        fields=fields,
        all_terms=draw(st.sampled_from([False, False, False, True])),
        model="combined_fields" if combined else kind,
        arguments=draw(arguments),
    )


many = st.tuples(*(st.lists(questions(kind), min_size=5, max_size=9) for kind in WEIGHTS))
LAW = settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FEWER = settings(LAW, max_examples=2)


def backwards(ids: np.ndarray) -> np.ndarray:
    """A rank that is another order than that of the ids."""
    return (N_NODES - ids).astype(np.uint32)


def compare(pair: Pair, query: TextQuery, ulp: int) -> int:
    """Everything that both engines can be asked; returns how many scores were compared."""
    compared = assert_same_relation(pair, query, ulp)
    for k in (0, 1, 3, N_NODES):
        compared += assert_same_best(pair, query, k, ulp)
    assert pair.elastic.most(query) == len(pair.embedded.matching(query)[0])
    shown = [
        ("title", "The Red fishes of the sea", ""),
        ("body", "red Häuser, l'avion 日本", "de"),
        ("raw", "fish", ""),
    ]
    assert pair.elastic.passage(query, shown) == pair.embedded.passage(query, shown)
    assert pair.elastic.terms(query) == pair.embedded.terms(query)
    return compared


class Indexes:
    """Makes pairs of indexes; `clear` removes those on the server, so that it never holds many."""

    def __init__(self, server, name: str, folder: Path):
        self.server, self.name, self.folder = server, name, folder
        self.compared = self.asked = 0

    def check(self, documents, questions, **settings) -> None:
        number = next(FRESH)
        alias = f"{self.name}-{number}"
        pair = build_pair(
            self.server.url, alias, self.folder / str(number), documents, FIELDS, N_NODES, backwards, **settings
        )
        try:
            for queries in questions:
                for query in queries:
                    self.compared += compare(pair, query, 0)
                    self.asked += 1
        finally:
            self.server.clear(alias)


@pytest.fixture(scope="module")
def indexes(elastic, tmp_path_factory) -> Indexes:
    return Indexes(elastic, unique_name("same"), tmp_path_factory.mktemp("same"))


class TestEveryAnswer:
    @LAW
    @given(documents=documents, questions=many)
    def test_is_that_of_the_embedded_index(self, indexes, documents, questions):
        indexes.check(documents, questions)

    @FEWER
    @given(documents=documents, questions=many)
    def test_is_that_of_the_embedded_index_whatever_the_shards(self, indexes, documents, questions):
        indexes.check(documents, questions, shards=3)

    @FEWER
    @given(documents=documents, questions=many)
    def test_is_that_of_the_embedded_index_whatever_k1_and_b_it_was_built_with(self, indexes, documents, questions):
        indexes.check(documents, questions, k1=0.9, b=0.4)

    @pytest.mark.exhaustive
    @settings(LAW, max_examples=60)
    @given(
        documents=documents,
        questions=many,
        built=st.fixed_dictionaries(
            {
                "shards": st.integers(1, 4),
                "k1": st.sampled_from([0.0, 0.9, 1.2, 1000.0]),
                "b": st.sampled_from([0, 0.4, 1]),
            }
        ),
    )
    def test_is_that_of_the_embedded_index_at_length(self, indexes, documents, questions, built):
        indexes.check(documents, questions, **built)


class TestTerms:
    def test_a_term_that_is_both_wanted_and_excluded_has_both_roles(self, elastic, elastic_name, tmp_path):
        pair = build_pair(elastic.url, elastic_name, tmp_path, {0: {"title": ["red sea"]}}, FIELDS, N_NODES)
        found = pair.elastic.terms(TextQuery("+red sea -red"))
        assert [(term.term, term.role) for term in found] == [("red", "must"), ("sea", "should"), ("red", "not")]
        assert found == pair.embedded.terms(TextQuery("+red sea -red"))


def test_more_words_than_are_remembered_are_still_counted(elastic, elastic_name, tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.text.elastic.wordcounts.MOST_REMEMBERED", 3)
    pair = build_pair(
        elastic.url, elastic_name, tmp_path, {0: {"title": ["a b c d e f"], "body": ["a c x"]}}, FIELDS, N_NODES
    )
    for text in ("a b c", "c d e f", "a f", "b x a zebra", '"a b" "c x" d'):
        assert assert_same_relation(pair, TextQuery(text)) == 1
        assert pair.elastic.terms(TextQuery(text)) == pair.embedded.terms(TextQuery(text))
