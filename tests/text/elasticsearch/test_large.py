"""More rows than one page of the server holds: 10,000; and more ids than one filter takes: 65,536."""

from __future__ import annotations

import random

import numpy as np
import pytest
from elastic_server import unique_name
from engine_pair import assert_same_best, assert_same_relation, assert_same_scores, build_pair
from sampling import examples, sampled

from hybridkg.entities.profile.filters import agrees
from hybridkg.interfaces.text_index import (
    AnyCondition,
    FieldChoice,
    IndexedField,
    IndexRequest,
    PushdownCondition,
    TextQuery,
)
from hybridkg.operators.pushdown_conditions import leaves
from hybridkg.remote.elasticsearch.pages import BEST_FIRST, BY_NODE, Pages

pytestmark = pytest.mark.needs_elastic

N = examples(13_000, 25_000)
SAME = examples(12_000, 20_000)
"""One page and a part of another; two pages in `make test-all`."""
FIELDS = (IndexedField("title", 2.0, 0.5), IndexedField("body", 1.0, 0.75))
YEAR, KIND, LABEL = "http://e/year", "http://e/kind", "http://e/label"
INTEGER, DOUBLE = "http://www.w3.org/2001/XMLSchema#integer", "http://www.w3.org/2001/XMLSchema#double"
LONG = '"' + "x" * 998 + '"'
"""The longest value that is stored, 1,000 characters."""


def year(number: object, datatype: str = INTEGER) -> str:
    return f'"{number}"^^<{datatype}>'


def documents():
    """Equal titles of SAME entities; bodies of a few words, some of which are rare."""
    chance = random.Random(5)
    made = {}
    for entity in range(N):
        texts = {"title": ["equal words"]} if entity < SAME else {}
        words = [chance.choice(["red", "fish", "sea", "old", "man"]) for _ in range(chance.randrange(4))]
        if entity % 100 == 7:
            words.append(f"rare{chr(97 + entity // 100 % 26)}")
        if words or entity >= SAME:
            texts["body"] = [" ".join(words) or "sea"]
        made[entity] = texts
    return made


def filters():
    """Values of three predicates; entities have none, one or several."""
    chance = random.Random(6)
    numbers = [year(n) for n in (1999, 2000, 2001, -5, 0, "007")]
    numbers += [year(n, DOUBLE) for n in ("1e3", "-0.0", "INF", "-INF", "NaN", "0.1")] + ['"2000"', '"2000"@en']
    kinds = ["<http://e/a>", "<http://e/b>", '"a"', '"a"@en', '"_"', LONG, '"' + "y" * 999 + '"', '"größe \\n"']
    return {
        YEAR: {e: sorted(chance.sample(numbers, chance.randrange(4))) for e in range(N) if e % 3},
        KIND: {e: sorted(chance.sample(kinds, chance.randrange(3))) for e in range(N)},
        LABEL: {e: [f'"label {e}"'] for e in range(0, N, 2)},
    }


def backwards(ids):
    """Another order than that of the ids."""
    return (N - ids).astype(np.uint32)


@pytest.fixture(scope="module")
def large(elastic, tmp_path_factory):
    name = unique_name("large")
    yield build_pair(
        elastic.url, name, tmp_path_factory.mktemp("large"), documents(), FIELDS, N, backwards, filters=filters()
    )
    elastic.clear(name)


@pytest.fixture
def requests(large, monkeypatch):
    """The paths that are asked for, as they are asked."""
    transport = large.elastic._server.client.transport
    paths, real = [], transport.perform_request

    def perform_request(method, target, **more):
        paths.append(target.partition("?")[0])
        return real(method, target, **more)

    monkeypatch.setattr(transport, "perform_request", perform_request)
    return paths


MODELS = ("bm25f", "bm25", "combined_fields")
SOME_MODELS = ("bm25f", pytest.param("bm25", marks=pytest.mark.exhaustive), "combined_fields")
"""The default run leaves out the one that is ranked like `bm25f`, by bounds."""
TITLE_ONLY, BODY_ONLY = (FieldChoice("title"),), (FieldChoice("body"),)
BOTH = (FieldChoice("title", 1.0), FieldChoice("body", 1.0))


class TestManyRows:
    @pytest.mark.parametrize("model", sampled(["bm25f", "bm25", "combined_fields"], "bm25f"))
    def test_a_relation_of_several_pages_is_complete(self, large, model):
        for text, least in [("equal red", SAME), ("equal", SAME), ('"equal words" sea', SAME), ("red -fish", N // 7)]:
            query = TextQuery(text, model=model)
            assert len(large.elastic.score_all(query)[0]) == large.elastic.match_count_bound(query) >= least
            assert assert_same_relation(large, query) >= least

    @pytest.mark.parametrize("model", SOME_MODELS)
    @pytest.mark.parametrize("k", [10, 10_000, SAME])
    def test_the_best_of_many(self, large, model, k):
        for text in ("equal red fish", "red sea"):
            assert_same_best(large, TextQuery(text, model=model), k)

    @pytest.mark.parametrize("model", SOME_MODELS)
    def test_thousands_of_ties_are_settled_by_the_rank_of_the_node(self, large, model):
        query = TextQuery("equal", fields=TITLE_ONLY, model=model)
        assert large.elastic.topk(query, 10)[0].tolist() == [SAME - 1 - i for i in range(10)]
        assert assert_same_best(large, query, 10) == 10

    def test_the_score_of_more_ids_than_one_filter_takes(self, large):
        ids = np.random.default_rng(1).integers(0, 2**32 - 1, 70_000, np.uint32)
        ids = np.concatenate([ids, np.arange(N, dtype=np.uint32)[::-1], ids[:5], np.arange(N, dtype=np.uint32)])
        for model in MODELS:
            query = TextQuery('equal "red fish" old', model=model)
            assert_same_scores(large.elastic.score(query, ids), large.embedded.score(query, ids))

    def test_most_is_exact_above_ten_thousand(self, large):
        assert large.elastic.match_count_bound(TextQuery("equal")) == SAME
        assert large.elastic.match_count_bound(TextQuery("equal", fields=BODY_ONLY)) == 0


class TestQuestionsTogether:
    def test_seventy_questions_need_few_requests_and_are_answered_as_one_by_one(self, large, requests):
        texts = [f"rare{chr(97 + i % 26)} {('red', 'sea', 'fish -man')[i % 3]}" for i in range(70)]
        questions = [
            IndexRequest(TextQuery(text, fields=BOTH, model=MODELS[i % 3]), (None, 3)[i % 2])
            for i, text in enumerate(texts)
        ]
        large.elastic.match_count_bound(TextQuery("red"))
        requests.clear()
        together = large.elastic.batch(questions)
        assert len(requests) <= 12, requests
        for number, (question, (ids, scores)) in enumerate(zip(questions, together, strict=True)):
            alone = number % examples(7, 1) == 0
            for engine in (large.embedded, *([large.elastic] if alone else [])):
                query, k = question.query, question.k
                own_ids, own_scores = engine.score_all(query) if k is None else engine.topk(query, k)
                assert own_ids.tolist() == ids.tolist()
                assert_same_scores(own_scores, scores)

    def test_questions_of_many_pages_together(self, large):
        queries = [TextQuery("equal"), TextQuery("equal red", model="bm25"), TextQuery("zebra"), TextQuery("red fish")]
        questions = [IndexRequest(query, k) for query in queries for k in (None, SAME - 1_000)]
        for question, (ids, scores) in zip(questions, large.elastic.batch(questions), strict=True):
            query, k = question.query, question.k
            wanted, wanted_scores = large.embedded.score_all(query) if k is None else large.embedded.topk(query, k)
            assert ids.tolist() == wanted.tolist()
            assert_same_scores(scores, wanted_scores)


CONDITIONS = [
    *(
        PushdownCondition(KIND, equals=value)
        for value in ("<http://e/a>", "<http://e/c>", '"a"', '"a"@en', '"_"', LONG)
    ),
    *(PushdownCondition(KIND, equals=value) for value in ('"größe \\n"', '""', '"' + "y" * 999 + '"')),
    PushdownCondition(YEAR, equals=year(2000)),
    PushdownCondition(YEAR, equals='"2000"'),
    PushdownCondition(YEAR, low=1999.0, high=2000.0),
    PushdownCondition(YEAR, low=2000.0),
    PushdownCondition(YEAR, high=0.1),
    PushdownCondition(YEAR, low=2001.0, high=1999.0),
    PushdownCondition(YEAR, low=0.0, high=0.0),
    PushdownCondition(YEAR, low=5e-324, high=1e308),
    PushdownCondition(YEAR, low=1.7976931348623157e308),
    PushdownCondition(YEAR, high=-1.7976931348623157e308),
    PushdownCondition(YEAR),
    PushdownCondition(LABEL, equals='"label 77"'),
    PushdownCondition(LABEL, equals='"label 78"'),
]


class TestConditions:
    @pytest.mark.parametrize("model", sampled(["bm25f", "bm25", "combined_fields"], "combined_fields"))
    def test_an_entity_that_breaks_a_condition_is_left_out_and_no_other(self, large, model):
        held = filters()
        plain = TextQuery("equal red sea", model=model)
        ids, scores = large.embedded.score_all(plain)
        branches = AnyCondition(((CONDITIONS[0], CONDITIONS[12]), (CONDITIONS[2],), (CONDITIONS[11],)))
        some = [(one,) for one in CONDITIONS] + [tuple(CONDITIONS[9::-9]), (CONDITIONS[0], CONDITIONS[12])]
        for conditions in [*some, (branches,), (branches, CONDITIONS[1])]:
            if not all(large.elastic.supports_pushdown(leaf) for one in conditions for leaf in leaves(one)):
                assert any(len(one.equals or "") > 1_000 for one in conditions)
                continue
            agreeing = [
                all(agrees(lambda iri, e=e: held[iri].get(e, []), one) for one in conditions) for e in ids.tolist()
            ]
            kept = np.array(agreeing, bool)
            query = TextQuery(plain.text, model=model, conditions=conditions)
            own_ids, own_scores = large.elastic.score_all(query)
            assert own_ids.tolist() == ids[kept].tolist(), conditions
            assert_same_scores(own_scores, scores[kept])
            assert large.elastic.match_count_bound(query) == int(kept.sum())
            order = np.lexsort((backwards(ids[kept]), -scores[kept]))[:7]
            assert large.elastic.topk(query, 7)[0].tolist() == ids[kept][order].tolist()

    def test_there_is_one_zero(self, large):
        zeros = [PushdownCondition(YEAR, low=low, high=high) for low in (0.0, -0.0, None) for high in (0.0, -0.0)]
        found = {zero: large.elastic.match_count_bound(TextQuery("equal", conditions=(zero,))) for zero in zeros}
        assert found[zeros[0]] == found[zeros[1]] == found[zeros[2]] == found[zeros[3]] > 0
        assert found[zeros[4]] == found[zeros[5]]

    def test_a_predicate_that_is_not_stored_is_not_held(self, large):
        assert not large.elastic.supports_pushdown(PushdownCondition("http://e/other", equals='"a"'))


class TestPointsInTime:
    @pytest.mark.parametrize("sort", [BY_NODE, BEST_FIRST], ids=["by node", "best first"])
    @pytest.mark.parametrize("lost_after", [[2], [2, 3], [3, 4]])
    def test_a_lost_one_is_replaced_and_no_row_is_missed_or_doubled(self, large, sort, lost_after):
        server, index = large.elastic._server, large.elastic._identity.index
        query = {"constant_score": {"filter": {"terms": {"terms.body": ["red", "sea"]}}}}
        wanted = [
            e for e, texts in documents().items() if {"red", "sea"} & set(" ".join(texts.get("body", [])).split())
        ]

        def steps():
            pages = Pages(server, index, query, sort=sort, size=40, scores=sort is BEST_FIRST)
            found, number, column = [], 0, 0 if sort is BY_NODE else 1
            while hits := (yield from pages.following()):
                number += 1
                found += [hit["sort"][column] for hit in hits]
                if number in lost_after and pages._place:
                    server.client.close_point_in_time(id=pages._place)
            pages.close()
            return found, number

        found, number = server.together(index, [steps()], dfs=False)[0]
        assert found == wanted
        assert number > max(lost_after)

    def test_none_is_left_open(self, large, elastic):
        index = large.elastic._identity.index

        def contexts():  # of this index: other tests may ask the server at the same time
            stats = elastic.request("GET", f"/{index}/_stats/search")[1]["indices"][index]
            return stats["total"]["search"]["open_contexts"]

        before = contexts()
        place = elastic.request("POST", f"/{index}/_pit?keep_alive=1m")[1]["id"]
        assert contexts() > before
        assert elastic.request("DELETE", "/_pit", {"id": place})[0] == 200
        large.elastic.score_all(TextQuery("equal"))
        large.elastic.topk(TextQuery("equal"), SAME - 1_000)
        large.elastic.batch([IndexRequest(TextQuery("equal red"), None), IndexRequest(TextQuery("equal"), 3)])
        assert contexts() <= before
