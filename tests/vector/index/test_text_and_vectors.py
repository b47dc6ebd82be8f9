"""Which relations are far away."""

from types import SimpleNamespace

import pytest

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.interfaces.ranked_index import is_remote_relation
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.vector.index.text_and_vectors import Ranked

WORDS = '?x MATCH "red" AS ?s'
SIMILAR = '?x NEAR "red" AS ?t'


def ranked(text: int | None, vectors: int | None) -> Ranked:
    def index(limit: int | None) -> SimpleNamespace:
        return SimpleNamespace(is_remote=limit is not None, max_remote_scan=limit or 0, counts={}, fields=())

    return Ranked(index(text), index(vectors))


def limit_of(index: Ranked, query: TextQuery | VectorQuery) -> int | None:
    return index.max_remote_scan if is_remote_relation(index, query) else None


@pytest.mark.parametrize(
    ("text", "vectors", "of_words", "of_vectors"),
    [(None, None, None, None), (None, 7, None, 7), (5, None, 5, 5), (5, 7, 5, 5)],
)
def test_a_server_of_vectors_leaves_the_text_where_it_is(text, vectors, of_words, of_vectors):
    index = ranked(text, vectors)
    assert (limit_of(index, TextQuery("red")), limit_of(index, VectorQuery("red"))) == (of_words, of_vectors)


@pytest.mark.parametrize(
    ("pattern", "by", "far"),
    [
        (WORDS, "?s", False),
        (SIMILAR, "?t", True),
        (f"{WORDS} . {SIMILAR}", "?s", True),
        (f"{WORDS} OPTIONAL {{ {SIMILAR} }}", "rrf(?s, ?t)", True),
    ],
)
def test_a_plan_is_as_far_away_as_what_it_matches(pattern, by, far):
    logical = rewrite(from_ast(parse(f"SELECT * {{ {pattern} }} RANK BY {by} LIMIT 3")))
    for index, expected in ((ranked(None, 7), far), (ranked(5, None), True), (ranked(None, None), False)):
        planning = PlannerContext(None, index)
        ranking = planning.ranking(logical)
        assert ranking is not None
        assert planning.is_remote(ranking.matches) is expected
