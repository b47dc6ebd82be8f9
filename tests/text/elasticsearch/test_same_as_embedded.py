"""The law of the engine: on the same documents it gives what the embedded index gives, bit for bit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from elastic_server import unique_name
from engine_pair import Pair, assert_same_best, assert_same_relation, assert_same_task, build_pair
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.links import EntityLink, LinkedField, LinkedNode
from hybridkg.interfaces.ranking_model import RANKING_MODELS
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
near = st.builds('"{}"~{}'.format, st.lists(word, min_size=1, max_size=4).map(" ".join), st.integers(0, 6))
prefix = st.builds("{0:.{1}}*".format, word, st.integers(2, 5))
fuzzy = st.builds("{}~{}".format, word, st.sampled_from(["", 1, 2]))
part = st.one_of(word, word, phrase, near, prefix, fuzzy)
role = st.sampled_from(["", "", "", "", "+", "-"])
boost = st.sampled_from(["", "", "", "^2.5", "^0.01", "^7"])
clause = st.builds("{}{}{}{}".format, role, st.sampled_from(["", "", "", "", "@"]), part, boost)
inner = st.lists(st.one_of(clause, clause, st.just("-(@sea x1)")), max_size=3).map(" ".join)
group = st.builds("{}({} {}){}".format, role, part, inner, boost)
texts = st.tuples(part, st.lists(st.one_of(clause, clause, group), max_size=4)).map(lambda both: [both[0], *both[1]])

WEIGHTED, UNWEIGHTED = [None, 0.0, 0.3, 1.0, 7.5], [None, 1.0]
NO, K1_B = st.just(()), [(), (), (), (("k1", 1.2), ("b", 0.75)), (("k1", 0.9), ("b", 0.4)), (("k1", 0.9),)]
K1_B += [(("b", 0.0),), (("b", 1.0),)]
SMOOTHING = [(), (), (("mu", 7.0),), (("smoothing", "jm"),), (("lambda", 0.7), ("smoothing", "jm"))]
PAIRS = [(), (("window", 2.0),), (("terms", 0.5), ("ordered", 0.0), ("window", 5.0)), (("smoothing", "jm"),)]
LINKED = [(), (("base", "mlm"),), (("base", "sdm"), ("entities", 0.5)), (("links", "<http://e/1> <http://e/2> 0.5"),)]


@dataclass(frozen=True)
class Kind:
    """What is asked of a model: weights of the fields, and arguments."""

    model: str
    weights: list[float | None]
    arguments: list[tuple[tuple[str, float | str], ...]]


KINDS = (
    Kind("bm25f", WEIGHTED, [*K1_B, (("form", "lucene"),)]),
    Kind("bm25f", WEIGHTED, [(("form", "galago"),), (("k1", 0.9), ("form", "galago"))]),
    Kind("bm25", UNWEIGHTED, K1_B),
    Kind("combined_fields", [1.0, 2.0, 1.5, 3.0], K1_B),  # 32 bits hold their sums
    Kind("combined_fields", [1.0, 1.3, 2.7, 1.1], K1_B),
    Kind("lm", UNWEIGHTED, SMOOTHING),
    Kind("mlm", WEIGHTED, SMOOTHING),
    Kind("prms", UNWEIGHTED, SMOOTHING),
    Kind("sdm", UNWEIGHTED, PAIRS),
    Kind("fsdm", WEIGHTED, PAIRS),
    Kind("elr", UNWEIGHTED, LINKED),
)
SAME_ANALYZER = ["title", "body", "more"]
SYNONYMS = """
x1, x2, sea fish
haus => avion, red
fishes of, the sea, naive
"""


@st.composite
def questions(draw: st.DrawFn, kind: Kind) -> TextQuery:
    """A query for a model."""
    names = SAME_ANALYZER if kind.model == "combined_fields" else [f.name for f in FIELDS]
    on = draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True))
    weights = st.sampled_from(kind.weights)
    own = st.sampled_from([(), (), (("b", 0.2),), (("b", 1.0),)]) if kind.model == "bm25f" else NO
    fields = tuple(FieldChoice(name, draw(weights), draw(own)) for name in on)
    if kind.model != "combined_fields" and draw(st.booleans()):
        fields, on = (), [f.name for f in FIELDS]
    parts = [text.replace("@", f"{draw(st.sampled_from(on))}:") for text in draw(texts)]
    return TextQuery(
        " ".join(parts),
        language=draw(st.sampled_from(["", "", *TAGS])),
        syntax=draw(st.sampled_from([True, True, True, False])),
        fields=fields,
        all_terms=draw(st.sampled_from([False, False, False, True])),
        model=kind.model,
        arguments=draw(st.sampled_from(kind.arguments)),
    )


some = st.tuples(*map(questions, KINDS)).map(list)
many = st.tuples(*(st.lists(questions(kind), min_size=2, max_size=4) for kind in KINDS)).map(
    lambda of_kinds: [query for queries in of_kinds for query in queries]
)
LAW = settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
FEWER = settings(LAW, max_examples=2)


def backwards(ids: np.ndarray) -> np.ndarray:
    """A rank that is another order than that of the ids."""
    return (N_NODES - ids).astype(np.uint32)


def compare(pair: Pair, query: TextQuery) -> int:
    """Everything that both engines can be asked; returns how many scores were compared."""
    try:
        pair.embedded.check(query)
    except HybridkgError as e:
        with pytest.raises(type(e), match=re.escape(e.message)):
            pair.elastic.check(query)
        return 0
    compared = assert_same_relation(pair, query)
    for k in (0, 2, N_NODES):
        compared += assert_same_best(pair, query, k)
    assert pair.elastic.match_count_bound(query) == len(pair.embedded.score_all(query)[0])
    assert_same_task(pair, query, np.arange(1, N_NODES, 2, dtype=np.uint32))
    shown = [
        ("title", "The Red fishes of the sea", ""),
        ("body", "red Häuser, l'avion 日本", "de"),
        ("raw", "fish", ""),
    ]
    assert pair.elastic.passage(query, shown) == pair.embedded.passage(query, shown)
    assert pair.elastic.passages(query, shown) == pair.embedded.passages(query, shown)
    assert pair.elastic.terms(query) == pair.embedded.terms(query)
    return compared


class SomeLinks:
    """Links every text to two nodes."""

    def linked(
        self, text: str, given: str | None, *, language: str = "", syntax: bool = True
    ) -> tuple[LinkedNode, ...]:
        ids = np.arange(0, N_NODES, 3, dtype=np.uint32)
        fields = LinkedField("http://e/p", ids, 9, 12, 20), LinkedField("", ids[2:3], 1, 40, 40)
        return tuple(LinkedNode(EntityLink(f"http://e/{n}", 1 / n), fields[: 3 - n]) for n in (1, 2) if given or text)


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
        pair.embedded.linker = pair.elastic.linker = SomeLinks()
        try:
            for query in questions:
                self.compared += compare(pair, query)
                self.asked += 1
        finally:
            self.server.clear(alias)


@pytest.fixture(scope="module")
def indexes(elastic, tmp_path_factory) -> Indexes:
    return Indexes(elastic, unique_name("same"), tmp_path_factory.mktemp("same"))


def test_every_model_is_asked():
    assert {kind.model for kind in KINDS} == set(RANKING_MODELS.names())


class TestEveryAnswer:
    @LAW
    @given(documents=documents, questions=some)
    def test_is_that_of_the_embedded_index(self, indexes, documents, questions):
        indexes.check(documents, questions)

    @FEWER
    @given(documents=documents, questions=some)
    def test_is_that_of_the_embedded_index_whatever_the_shards(self, indexes, documents, questions):
        indexes.check(documents, questions, shards=3, synonyms=SYNONYMS)

    @FEWER
    @given(documents=documents, questions=some)
    def test_is_that_of_the_embedded_index_whatever_k1_and_b_it_was_built_with(self, indexes, documents, questions):
        indexes.check(documents, questions, k1=0.9, b=0.4)

    @pytest.mark.exhaustive
    @settings(LAW, max_examples=examples(36, 60))
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
    monkeypatch.setattr("hybridkg.text.elasticsearch.wordcounts.MAX_CACHED", 3)
    pair = build_pair(
        elastic.url, elastic_name, tmp_path, {0: {"title": ["a b c d e f"], "body": ["a c x"]}}, FIELDS, N_NODES
    )
    for text in ("a b c", "c d e f", "a f", "b x a zebra", '"a b" "c x" d'):
        assert assert_same_relation(pair, TextQuery(text)) == 1
        assert pair.elastic.terms(TextQuery(text)) == pair.embedded.terms(TextQuery(text))
