"""What an index looks like from outside, and documents of unusual shape."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_index import build_elastic
from engine_pair import assert_same_best, assert_same_relation, build_pair
from sampling import examples, sampled

from hybridkg.errors import ProfileError, TextServerError
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextQuery

pytestmark = pytest.mark.needs_elastic

TITLE = (IndexedField("title"),)


def index_of(elastic, name):
    (found,) = elastic.indexes(name)
    return found


def properties(elastic, name):
    index = index_of(elastic, name)
    return elastic.request("GET", f"/{index}/_mapping")[1][index]["mappings"]


def search(elastic, name, query, **more):
    status, found = elastic.request("POST", f"/{index_of(elastic, name)}/_search", {"query": query, **more})
    assert status == 200, found
    return found["hits"]["hits"]


@pytest.fixture
def small(elastic, elastic_name, tmp_path):
    """An index of two entities, for a client that knows nothing of hybridkg."""
    documents = {0: {"title": ["The Red Fishes", ("Rote Häuser", "de")]}, 3: {"title": ["sea", "..."]}}
    build_elastic(elastic.url, elastic_name, tmp_path, documents, TITLE, 4)
    return elastic_name


class TestFromOutside:
    def test_unknown_fields_are_refused(self, elastic, small):
        found = properties(elastic, small)
        assert found["dynamic"] == "strict"

    def test_ids_are_numbers_that_can_be_sorted_and_terms_have_norms(self, elastic, small):
        found = properties(elastic, small)["properties"]
        assert found["node"] == {"type": "long"}  # doc_values and index are on unless a mapping says no
        assert found["terms"]["properties"]["title"].get("norms", True) is True
        hits = search(elastic, small, {"range": {"node": {"gte": 1}}}, sort=[{"node": "asc"}])
        assert [hit["sort"] for hit in hits] == [[3]]

    def test_the_source_has_the_original_text_and_not_the_terms(self, elastic, small):
        hits = search(elastic, small, {"ids": {"values": ["0", "3"]}})
        sources = {hit["_id"]: hit["_source"] for hit in hits}
        assert sources["0"] == {
            "node": 0,
            "iri": "http://e/0",
            "text": {"title": ["The Red Fishes", "Rote Häuser"]},
            "language": {"title": ["", "de"]},
        }
        assert sources["3"]["text"] == {"title": ["sea", "..."]}

    def test_a_plain_client_finds_entities_by_their_terms(self, elastic, small):
        for text, found in [("fish", ["0"]), ("sea", ["3"]), ("fishes", []), ("the", ["0"])]:
            assert [hit["_id"] for hit in search(elastic, small, {"match": {"terms.title": text}})] == found
        assert [hit["_id"] for hit in search(elastic, small, {"exists": {"field": "length.title"}})] == ["0", "3"]

    def test_nothing_can_be_written_any_more(self, elastic, small):
        document = {"node": 9, "terms": {"title": "sea"}}
        assert elastic.request("POST", f"/{index_of(elastic, small)}/_doc", document)[0] == 403

    def test_the_lengths_of_the_server_are_ours(self, elastic, small):
        script = {"source": "doc['length.title'].value"}
        hits = search(elastic, small, {"script_score": {"query": {"match_all": {}}, "script": script}})
        assert {hit["_id"]: hit["_score"] for hit in hits} == {"0": 5.0, "3": 1.0}


class TestNames:
    NAMES = (
        "a-b",
        "id",
        "node",
        "text",
        "terms",
        "length",
        "iri",
        "language",
        "_id",
        "größe",
        "x",
        "filter",
        "Ünï-c_d9",
    )

    def test_a_field_may_have_any_name_that_a_profile_allows(self, elastic, elastic_name, tmp_path):
        fields = tuple(IndexedField(name, 1.0, 0.5) for name in self.NAMES)
        documents = {
            entity: {name: ["red fish", "sea " * entity] for name in self.NAMES[entity:]}
            for entity in range(len(self.NAMES))
        }
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, fields, 20)
        for model in ("bm25f", "bm25", "combined_fields"):
            assert assert_same_relation(pair, TextQuery("red sea", model=model)) == len(self.NAMES)
            assert assert_same_best(pair, TextQuery('"red fish" sea', model=model), 4) == 4
            for name in self.NAMES:
                query = TextQuery("red sea", fields=(FieldChoice(name),), model=model)
                assert assert_same_best(pair, query, 3) == min(3, 1 + self.NAMES.index(name))

    def test_sixty_four_fields(self, elastic, elastic_name, tmp_path):
        fields = tuple(IndexedField(f"field{i}", 1.0 + i / 4, i / 64) for i in range(64))
        documents = {
            entity: {f"field{i}": ["red fish sea"[: 3 + i % 9]] for i in range(entity, 64, entity + 1)}
            for entity in range(40)
        }
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, fields, 40)
        for model in ("bm25f", "combined_fields"):
            for text in ("red", "red sea -fishy", '"red fish" sea', "red +field7:fish field63:red"):
                query = TextQuery(text, model=model)
                # ulp 1: the sum over 64 fields is in float32, and its order is Lucene's own.
                assert_same_relation(pair, query, 1 if model == "combined_fields" else 0)
                assert_same_best(pair, query, 5, 1 if model == "combined_fields" else 0)
        with pytest.raises(ProfileError):
            build_pair(elastic.url, elastic_name, tmp_path / "b", {}, (*fields, IndexedField("one-more")), 1)

    def test_thirty_words_in_sixty_four_fields(self, elastic, elastic_name, tmp_path):
        fields = tuple(IndexedField(f"field{i}") for i in range(64))
        words = [f"word{chr(97 + i)}" for i in range(26)]
        documents = {entity: {f"field{entity}": [" ".join(words[: entity % 26 + 1])]} for entity in range(64)}
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, fields, 64)
        query = TextQuery(" ".join(words))
        assert assert_same_relation(pair, query) == 64
        assert assert_same_best(pair, query, 10) == 10

    def test_hundreds_of_filters(self, elastic, elastic_name, tmp_path):
        filters = {f"http://e/p{i}": {0: [f"<http://e/{i}>"]} for i in range(600)}
        try:
            index = build_elastic(
                elastic.url, elastic_name, tmp_path, {0: {"title": ["red"]}}, TITLE, 1, filters=filters
            )
        except TextServerError as e:
            pytest.fail(f"{e.message}; {e.hint}")
        assert index.topk(TextQuery("red"), 1)[0].tolist() == [0]


WORDS = {
    "longest": "\ufdfa" * 255,
    "longer": "\ufdfa" * 300,
    "short": "x\ufdfa",
    "alone": "ﷺ",
    "ij": "ĳ" * 255,
    "cut": "a" * 300,
    "astral": "\U0001d400" * 255,
    "iota": "ͺa",
    "line": "a\uff3fb",
    "ligatures": "ﬃ" * 250,
}


class TestUnusualDocuments:
    def test_an_entity_with_thirty_thousand_values(self, elastic, elastic_name, tmp_path):
        values = [f"red fish number {i}" for i in range(30_000)]
        documents = {0: {"title": values}, 1: {"title": ["red fish"]}}
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, TITLE, 2)
        models = ("bm25f", "bm25", "combined_fields")
        for text in ("red", "number 29999", '"fish number"', '"number 77"', '"77 red"', "red -77"):
            for model in models if text == "red -77" else models[: examples(1, 3)]:
                query = TextQuery(text, model=model)
                assert_same_relation(pair, query)
                assert_same_best(pair, query, 2)

    @pytest.mark.parametrize("name", sampled(WORDS, "longest", "cut", "line", "ligatures"))
    def test_words_that_folding_lengthens_or_parts(self, elastic, elastic_name, tmp_path, name):
        word = WORDS[name]
        documents = {
            0: {"title": [f"red {word} fish", word]},
            1: {"title": [f"{word} {word}"]},
            2: {"title": ["red fish"]},
            3: {"title": ["صلى الله عليه وسلم"]},
        }
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, TITLE, 4)
        for text in (word, f"red {word}", f'"red {word}"', f'"{word} fish"', f"red -{word}", "صلى", '"الله عليه"'):
            for model in ("bm25f", "bm25", "combined_fields"):
                query = TextQuery(text, model=model)
                assert_same_relation(pair, query)
                assert_same_best(pair, query, 2)
                assert pair.elastic.terms(query) == pair.embedded.terms(query)
        assert pair.elastic.counts["tokens"] == pair.embedded.counts["tokens"]

    def test_an_entity_without_a_term_has_a_document_and_matches_nothing(self, elastic, elastic_name, tmp_path):
        documents = {0: {"title": ["..."]}, 1: {"title": [""]}, 2: {}, 3: {"title": ["a"]}}
        pair = build_pair(
            elastic.url, elastic_name, tmp_path, documents, (IndexedField("title", analyzer="stopped"),), 4
        )
        assert pair.elastic.counts["entities"] == pair.embedded.counts["entities"] == 0
        for text in ("a", "red", '"a the"', "..."):
            assert assert_same_relation(pair, TextQuery(text)) == 0

    def test_texts_with_control_characters_and_lone_marks(self, elastic, elastic_name, tmp_path):
        documents = {
            0: {"title": ["red\x00fish\u2028sea\u0301 \ufeffred\u200dfish", "\U0001f3a3 red"]},
            1: {"title": ["red _ fish"]},
        }
        pair = build_pair(elastic.url, elastic_name, tmp_path, documents, TITLE, 2)
        for text in ("red", "fish", '"red fish"', "sea", "se\u00e1", '"fish sea"', "_"):
            assert_same_relation(pair, TextQuery(text))
        assert np.array_equal(pair.elastic.topk(TextQuery("red"), 5)[0], pair.embedded.topk(TextQuery("red"), 5)[0])
