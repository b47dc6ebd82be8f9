"""A MATCH whose score has no name has the rows and scores of the same MATCH with AS, computed for the rows read."""

from __future__ import annotations

import numpy as np
import pytest

from hybridkg import KnowledgeBase
from hybridkg.operators.column_join import concatenated
from hybridkg.operators.columns import NumberColumn, unbound
from hybridkg.operators.late_scores import LateScores
from hybridkg.rdf.terms import double
from hybridkg.text.index.reader import EmbeddedTextIndex

P = "PREFIX : <http://example.org/films/>\n"
MATCHES = (
    '"space station"',
    "'+space -deep \"science fiction\"'",
    '"spac*"',
    '"space" ON (label^3, description)',
    '"the" USING lm',
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with KnowledgeBase.create(tmp_path_factory.mktemp("late") / "kb") as kb:
        kb.load("examples/films.ttl", index=True)
        yield kb


def scored(kb, match, name):
    """(film, year, score by its label) of the newest matches."""
    found = kb.query(f"{P}SELECT ?f ?y {{ ?f MATCH {match}{name} . ?f :year ?y }} ORDER BY DESC(?y) LIMIT 3")
    return [(str(row["f"]), str(row["y"]), [*row.scores.values()]) for row in found]


@pytest.mark.parametrize("match", MATCHES)
def test_scores_without_a_name_are_those_with_one(kb, match):
    named = kb.query(f"SELECT ?f ?s {{ ?f MATCH {match} AS ?s }}")
    late = kb.query(f"SELECT ?f {{ ?f MATCH {match} }}")
    assert [(row["f"], row.scores["f"]) for row in late] == [(row["f"], row.scores["s"]) for row in named]
    assert scored(kb, match, "") == scored(kb, match, " AS ?s")


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT (COUNT(?f) AS ?n) { ?f MATCH <M> }",
        "SELECT ?y (COUNT(*) AS ?n) { ?f MATCH <M> . ?f :year ?y } GROUP BY ?y",
        "SELECT DISTINCT ?d { ?f MATCH <M> . ?f :director ?d }",
        'SELECT ?f { { ?f MATCH <M> } UNION { ?f MATCH "war" } }',
        'SELECT ?f ?s { ?f MATCH "space" AS ?s MINUS { ?f MATCH <M> } } RANK BY ?s',
        "SELECT ?f ?s { ?f :year ?s OPTIONAL { ?f MATCH <M> } }",
    ],
)
def test_rows_are_those_of_the_named_score(kb, query, match):
    def rows(name):
        return sorted(tuple(map(str, row.values())) for row in kb.query(P + query.replace("<M>", match + name)))

    assert rows("") == rows(" AS ?late")


def test_only_the_rows_that_are_read_are_scored(kb, monkeypatch):
    asked = []
    own = EmbeddedTextIndex.score
    monkeypatch.setattr(
        EmbeddedTextIndex, "score", lambda index, query, ids: asked.append(len(ids)) or own(index, query, ids)
    )
    monkeypatch.setattr(EmbeddedTextIndex, "score_all", lambda index, query: pytest.fail("all matches are scored"))
    assert str(kb.query('SELECT (COUNT(?f) AS ?n) { ?f MATCH "a the film" }')[0]["n"]) == "16"
    assert asked == []
    newest = kb.query(f'{P}SELECT ?f ?y {{ ?f MATCH "a the film" . ?f :year ?y }} ORDER BY DESC(?y) LIMIT 1')
    assert newest[0].scores["f"] > 0
    assert max(asked) == 1


class Doubling:
    """Scores each entity with twice its id, and records how many it scores."""

    def __init__(self):
        self.asked = []

    def score(self, query, ids):
        self.asked.append(len(ids))
        return ids.astype(float) * 2


def test_concatenated_scores_of_one_match_stay_late_also_among_unbound_cells():
    index, query = Doubling(), object()
    one, other = (LateScores(np.array(ids, np.uint32), query, index) for ids in ([3, 1], [2]))
    both = concatenated([one, unbound(2), other])
    assert index.asked == []
    assert both.is_bound.tolist() == [True, True, False, False, True]
    assert both.take(np.array([3, 4])).cells() == [None, double(4.0)]
    assert index.asked == [1]
    assert both.cells() == [double(6.0), double(2.0), None, None, double(4.0)]
    assert concatenated([one, other]).scores.numbers.tolist() == [6.0, 2.0, 4.0]


def test_concatenated_scores_of_several_matches_are_numbers():
    index = Doubling()
    one, other = (LateScores(np.array([n], np.uint32), object(), index) for n in (3, 1))
    found = concatenated([one, other, NumberColumn(np.array([0.5]), double)])
    assert isinstance(found, NumberColumn)
    assert found.numbers.tolist() == [6.0, 2.0, 0.5]


def test_a_union_scores_no_row_that_is_only_counted(kb, monkeypatch):
    union = '{ ?f MATCH "a the film"<N> } UNION { ?f :year ?y }'
    query = f"{P}SELECT ?f {{ {union} }}"

    def scores(name):
        return sorted((str(row["f"]), *sorted(row.scores.values())) for row in kb.query(query.replace("<N>", name)))

    rows = scores("")
    assert rows == scores(" AS ?late")
    asked = []
    monkeypatch.setattr(EmbeddedTextIndex, "score", lambda index, query, ids: asked.append(len(ids)))
    counted = kb.query(f"{P}SELECT (COUNT(?f) AS ?n) {{ {union.replace('<N>', '')} }}")
    assert (int(str(counted[0]["n"])), asked) == (len(rows), [])
