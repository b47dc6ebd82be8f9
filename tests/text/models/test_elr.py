"""`elr` against its formula (ranking.md 1.3): words by its base, then one linked node and one predicate at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.links import EntityLink, LinkedField, LinkedNode
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

WORDS = ["red", "fish", "sea", "old"]
FIELDS = tuple(IndexedField(name, weight, 0.4, "unstemmed") for name, weight in (("title", 2.0), ("body", 1.0)))
BASES = ["fsdm", "lm", "mlm", "prms", "sdm"]
N = 10

text = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
documents = st.dictionaries(st.integers(0, N - 1), st.fixed_dictionaries({"title": text, "body": text}), min_size=1)
bag = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
edges = st.dictionaries(
    st.sampled_from(["x:p", "x:q", "x:r"]), st.dictionaries(st.integers(0, N - 1), st.sets(st.sampled_from("abc")))
)
"""predicate -> entity -> the nodes that it points to."""
links = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.05, 0.1, 0.3, 1.0]), max_size=4)


class Graph:
    """Knows the edges, as the linker of a knowledge base does."""

    def __init__(self, edges, links):
        self.edges, self.links = edges, links

    def linked(self, text, given, *, language="", syntax=True):
        return tuple(LinkedNode(EntityLink(f"x:{e}", s), self.fields(e)) for e, s in self.links.items())

    def fields(self, e):
        found = []
        for predicate, values in self.edges.items():
            having = sorted(d for d, nodes in values.items() if e in nodes)
            if having:
                entities = sum(bool(nodes) for nodes in values.values())
                pairs = sum(map(len, values.values()))
                found.append(LinkedField(predicate, np.array(having, np.uint32), len(having), entities, pairs))
        return tuple(found)


def of_words(index, base, query, entity, factors):
    """The base's own sums for one entity, from its explanation, which has a test of its own."""
    asked = TextQuery(query, model=base)
    parts = RANKING_MODELS.get(base)().explain(index.task(asked, np.array([entity], np.uint32)))
    total = 0.0
    for kind, factor in factors.items():
        own = [part for part in parts if part.kind == kind]
        plain = sum(part.contribution / part.values.get("factor", 1.0) for part in own)
        total += factor * plain / (sum(part.count for part in own) or 1)
    return total


def of_nodes(edges, links, entity):
    """sum_e s(e) ln p(e|d), one node and one predicate at a time."""
    kept = {
        e: s for e, s in links.items() if s >= 0.1 and any(e in nodes for v in edges.values() for nodes in v.values())
    }
    total = 0.0
    for e, s in kept.items():
        weight, p = {}, 0.0
        for predicate, values in edges.items():
            df = sum(e in nodes for nodes in values.values())
            pairs = sum(map(len, values.values()))
            weight[predicate] = df / pairs * sum(bool(nodes) for nodes in values.values()) if df else 0.0
        for predicate, w in weight.items():
            if w:
                values = edges[predicate]
                share = w / sum(weight.values())
                df = sum(e in nodes for nodes in values.values())
                p += share * (0.9 * (e in values.get(entity, ())) + 0.1 * df / sum(bool(n) for n in values.values()))
        total += s / sum(kept.values()) * math.log(p)
    return total


@settings(deadline=None, max_examples=examples(5, 120))
@given(st.sampled_from(BASES), documents, bag, edges, links)
def test_scores_are_those_of_the_formula(build, base, documents, query, edges, links):
    index = build(documents, FIELDS, n_nodes=N)
    index.linker = Graph(edges, links)
    words = " ".join(query)
    pairs = base in ("sdm", "fsdm") and len(query) > 1
    factors = {"term": 0.8, "ordered": 0.05, "unordered": 0.05} if pairs else {"term": 0.9}
    asked = TextQuery(words, model="elr", arguments=(("base", base),))
    ids, scores = index.score_all(asked)
    assert ids.tolist() == index.score_all(TextQuery(words, model=base))[0].tolist()
    for entity, score in zip(ids.tolist(), scores.tolist(), strict=True):
        want = of_words(index, base, words, entity, factors) + 0.1 * of_nodes(edges, links, entity)
        assert score == pytest.approx(want, rel=1e-9, abs=1e-9)
        parts = RANKING_MODELS.get("elr")().explain(index.task(asked, np.array([entity], np.uint32)))
        assert sum(part.contribution for part in parts) == pytest.approx(score, rel=1e-9, abs=1e-9)


def test_of_two_entities_with_the_same_words_the_one_that_points_to_a_linked_node_wins(build):
    index = build({0: {"title": "red fish"}, 1: {"title": "red fish"}, 2: {"title": "old sea"}}, FIELDS)
    index.linker = Graph({"x:p": {1: {"a"}, 2: {"b"}}}, {"a": 0.9})
    assert index.topk(TextQuery("red fish", model="elr"), 3)[0].tolist() == [1, 0]
    plain = TextQuery("red fish", model="elr", arguments=(("entities", 0.0),))
    assert len(set(index.score_all(plain)[1].tolist())) == 1


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (TextQuery("red", model="elr"), TextQueryError, "needs a graph"),
        (TextQuery("red", model="elr", arguments=(("base", "bm25"),)), UnknownNameError, "'fsdm' or 'lm'"),
        (TextQuery("red", model="elr", arguments=(("links", 3.0),)), TextQueryError, "is a text, not 3"),
        (
            TextQuery("red", model="elr", arguments=(("base", "lm"),), fields=(FieldChoice("title", 2),)),
            TextQueryError,
            "has no weights of fields",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(build, query, error, message):
    index = build({0: {"title": "red"}}, FIELDS)
    with pytest.raises(error, match=message):
        index.score_all(query)
