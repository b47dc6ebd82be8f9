"""A MATCH whose score has no name has the rows and scores of the same MATCH with AS, computed for the rows read."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
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
