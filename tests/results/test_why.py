"""`row.why()`: the parts of every score add up to it, passages point into the texts, and hidden entities are found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.ranking_model import RANKING_MODELS

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
QUERY = f'SELECT ?title {{ ?film MATCH "deep space" AS ?s . ?film {LABEL} ?title }} RANK BY ?s'


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


@pytest.mark.parametrize("model", RANKING_MODELS.names())
def test_the_parts_of_a_score_add_up_to_it(films, model):
    rows = films.query(QUERY.replace(" AS ?s", f" ON (label^1, description^1) USING {model} AS ?s"))
    assert len(rows) > 2
    for row in rows:
        (hit,) = row.why().hits
        assert hit.explanation.score == row.scores["s"] == row.rank_score
        assert sum(term.contribution for term in hit.explanation.terms) == pytest.approx(row.scores["s"], rel=1e-6)


def test_marks_are_the_matching_words_of_the_text(films):
    row = films.query(QUERY.replace("?title {", "?title ?film {"))[0]
    (texts,) = films._snapshot.texts([row.term("film")])
    (hit,) = row.why().hits
    for passage in hit.passages:
        text = [t for field, t, _ in texts if field == passage.field][passage.value]
        words = {text[start:end].lower() for start, end in passage.marks}
        assert words <= {"deep", "space"}
        assert words
        assert all(passage.start <= start < end <= passage.end for start, end in passage.marks)


def test_each_match_of_a_row_is_explained_and_facts_are_told(films):
    optional = 'OPTIONAL { ?film MATCH "alien" AS ?b }'
    query = f'SELECT ?title {{ ?film MATCH "space" AS ?a . ?film {LABEL} ?title . {optional} }} RANK BY ?a'
    by_title = {row.to_python()["title"]: row.why() for row in films.query(query)}
    assert [hit.label for hit in by_title["Alien"].hits] == ["a", "b"]
    assert all([hit.label for hit in why.hits] == ["a"] for title, why in by_title.items() if title != "Alien")
    assert [str(t.predicate) for t in by_title["Alien"].triples] == [LABEL]


def test_a_text_from_a_variable_is_the_one_that_was_asked(films):
    query = (
        f'SELECT ?title {{ VALUES ?q {{ "space" "alien" }} ?film MATCH ?q AS ?s . ?film {LABEL} ?title }} RANK BY ?s'
    )
    for row in films.query(query):
        (hit,) = row.why().hits
        assert hit.explanation.score == row.scores["s"]


def test_a_row_of_a_union_is_explained_by_the_branch_that_gave_its_score(films):
    branches = '{ ?film MATCH "space" AS ?s } UNION { ?film MATCH "computer ship" USING lm AS ?s }'
    found = films.query(f"SELECT ?film {{ {branches} }} RANK BY ?s")
    assert len({row.term("film") for row in found}) < len(found)
    for row in found:
        (hit,) = row.why().hits
        assert hit.explanation.score == row.scores["s"]


EXAMPLE = "http://example.org/films/"


def evidence(films, pattern: str) -> list[str]:
    query = f'PREFIX : <{EXAMPLE}> SELECT ?film {{ ?film MATCH "cargo" AS ?s . {pattern} }} RANK BY ?s'
    triples = films.query(query)[0].why().triples
    return [" ".join(str(part).removeprefix(f"<{EXAMPLE}").rstrip(">") for part in triple) for triple in triples]


ALIEN, SCOTT = "Alien director Scott", 'Scott bornIn "United Kingdom"'


def test_paths_show_the_links_that_they_walked(films):
    assert evidence(films, "?film :director/:bornIn ?where") == [ALIEN, SCOTT]
    both = evidence(films, "?film (:director|^:director)+ :TheMartian")
    assert both == [ALIEN, "TheMartian director Scott"]
    assert evidence(films, "?film :nothing* ?film") == []


def test_blank_nodes_of_the_query_show_a_node_that_fits(films):
    assert evidence(films, '?film :director [ :bornIn "United Kingdom" ]') == [ALIEN, SCOTT]


def test_a_branch_or_an_optional_part_is_evidence_where_the_graph_has_all_of_it(films):
    both = "{ ?film :genre :Thriller ; :director :Scott } UNION { ?film :genre :Thriller ; :director :Lang }"
    assert evidence(films, both) == ["Alien genre Thriller", ALIEN]
    assert evidence(films, "OPTIONAL { ?film :director ?d . ?d :bornIn ?c }") == [ALIEN, SCOTT]
    assert evidence(films, "OPTIONAL { ?film :director ?d ; :year 1927 }") == []
    assert evidence(films, "OPTIONAL { ?film :year ?y FILTER(?y > 2000) }") == []
    assert evidence(films, "FILTER NOT EXISTS { ?film :year 1927 } MINUS { ?film :year 1927 }") == []


def test_evidence_is_a_small_graph(films):
    query = f'PREFIX : <{EXAMPLE}> SELECT * {{ ?film MATCH "cargo" AS ?s . ?film :director/:bornIn ?c }} RANK BY ?s'
    why = films.query(query)[0].why()
    assert len(why.evidence) == 2
    assert set(why.to_graph()) == set(why.evidence) <= set(films.graph())
    assert len(why.to_json()["facts"]) == 2


def test_evidence_in_a_named_graph_is_that_of_this_graph(tmp_path):
    data = tmp_path / "g.nq"
    data.write_text(
        '<e:a> <http://www.w3.org/2000/01/rdf-schema#label> "red" .\n'
        "<e:a> <e:p> <e:b> <e:g> .\n<e:b> <e:p> <e:c> <e:g> .\n<e:b> <e:q> <e:c> <e:h> .\n"
    )
    with KnowledgeBase.temporary(data) as kb:
        row = kb.query('SELECT * { ?x MATCH "red" AS ?s . GRAPH ?g { ?x <e:p>/<e:p> ?y } } RANK BY ?s')[0]
        assert len(row.why().triples) == 2


@pytest.mark.parametrize(
    "query", [f"SELECT ?t {{ ?f {LABEL} ?t }}", 'SELECT ?f (COUNT(*) AS ?n) { ?f MATCH "space" } GROUP BY ?f']
)
def test_only_ranked_rows_have_a_score_to_explain(films, query):
    with pytest.raises(UnsupportedQueryError, match="no MATCH gives these rows a score"):
        films.query(query)[0].why()


def run(*arguments):
    return CliRunner().invoke(cli, ["query", str(FILMS), *arguments])


def test_the_command_shows_the_rows_then_the_reasons():
    done = run(QUERY, "--limit", "2", "--why", "1", "--why", "2")
    assert done.exit_code == 0
    assert done.output.index("title") < done.output.index("row 1") < done.output.index("row 2")
    data = json.loads(run(QUERY, "--why", "1", "--format", "json").output)
    assert [hit["name"] for hit in data[0]["hits"]] == ["s"]
    assert sum(term["contribution"] for term in data[0]["hits"][0]["terms"]) == pytest.approx(data[0]["scores"]["s"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--why", "99"), "there is no row 99"),
        (("--why", "0"), "--why"),
        (("--why", "1", "--format", "csv"), "--why has no format 'csv'"),
    ],
)
def test_mistakes_are_told(arguments, message):
    done = run(QUERY, *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_what_ranks_is_said_where_it_is_more_than_one_score(films):
    query = 'SELECT ?film ?s ?t { ?film MATCH "space" AS ?s OPTIONAL { ?film MATCH "crew" AS ?t } } RANK BY '
    row = films.query(query + "rrf(?s, ?t^2) AS ?both")[0]
    assert f"both {row.scores['both']:.4f} = rrf(?s, ?t^2)" in str(row.why()).splitlines()
    assert row.why().to_json()["ranked_by"] == "rrf(?s, ?t^2)"
    assert "ranked_by" not in films.query(query + "?s")[0].why().to_json()
