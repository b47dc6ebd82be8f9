"""The best k by bounds, where 32 bits are hardest pressed: no entity is lost behind the page at which reading stops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from engine_pair import build_pair
from hypothesis import settings
from sampling import EXHAUSTIVE

from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

pytestmark = pytest.mark.needs_elastic

FIELDS = (IndexedField("title"), IndexedField("body"), IndexedField("name"))


def same_best(pair, query, k):
    (a, x), (b, y) = pair.embedded.topk(query, k), pair.elastic.topk(query, k)
    assert a.tolist() == b.tolist()
    np.testing.assert_array_equal(x, y)


K1, B = (1.2, 300, 939, 1000), (0.0000001, 0.00001, 0.4, 1)
EVERY = list(product(K1, B))
SAMPLE = [*zip(K1, B, strict=True), (K1[-1], B[0])]
"""Each value once, and the largest k1 with the smallest b."""


def test_lost_digits_of_a_large_k1_lose_no_tie(elastic, elastic_name, tmp_path):
    # The longer, the better by a hair, and the larger the id: what 32 bits cannot tell apart is a tie.
    documents = {e: {"title": ["zebra " + "w " * (600 - e)]} for e in range(600)}
    documents |= {e: {"title": ["w"]} for e in range(600, 1_500)}
    pair = build_pair(elastic.url, elastic_name, tmp_path, documents, FIELDS, 1_500)
    for k1, b in EVERY if settings.get_current_profile_name() == EXHAUSTIVE else SAMPLE:
        for model in ("bm25", "combined_fields"):
            arguments = (("k1", float(k1)), ("b", float(b)))
            for k in (3, 150):
                same_best(pair, TextQuery("zebra", model=model, arguments=arguments), k)


def test_a_length_beyond_the_largest_that_lucene_knows_is_that_one(elastic, elastic_name, tmp_path):
    documents = {e: {"title": ["zebra " + "w " * (1_000 + e)]} for e in range(1, 1_061)}
    documents[0] = {"title": ["zebra " * 3 + "w " * 20_000]}
    pair = build_pair(elastic.url, elastic_name, tmp_path, documents, FIELDS, 1_061)
    for weight in (1.0, 1e5, 1e6):  # 1e6 copies of 20,000 words are beyond it
        fields = (FieldChoice("title", weight),)
        arguments = (("k1", 1000.0), ("b", 1.0))
        same_best(pair, TextQuery("zebra", model="combined_fields", fields=fields, arguments=arguments), 1)


def test_weights_that_are_no_half_numbers_over_three_fields(elastic, elastic_name, tmp_path):
    chance = np.random.default_rng(7)
    documents = {
        e: {f.name: [" ".join(f"w{w}" for w in chance.integers(0, 9, chance.integers(1, 40)))] for f in FIELDS}
        for e in range(600)
    }
    pair = build_pair(elastic.url, elastic_name, tmp_path, documents, FIELDS, 600)
    fields = tuple(FieldChoice(f.name, w) for f, w in zip(FIELDS, (1.3, 1.7, 2.1), strict=True))
    for text in ("w1", "w1 w2 w3", "w4 w5 w6 w7 w8"):
        query = TextQuery(text, model="combined_fields", fields=fields)
        for k in (1, 10, 600):
            same_best(pair, query, k)
        ids, scores = pair.elastic.score_all(query)
        np.testing.assert_array_equal(pair.elastic.score(query, ids), scores)
