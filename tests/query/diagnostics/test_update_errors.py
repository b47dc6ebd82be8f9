"""Errors of updates: the whole rendered text, because that is what people read."""

from __future__ import annotations

import pytest

from hybridkg.errors import HybridkgError, SourceName
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import parse, parse_update


def rendered(text: str, read=parse_update) -> str:
    with pytest.raises(HybridkgError) as caught:
        check_update(read(text))
    return caught.value.at(SourceName("update", text)).render()


RENDERED = {
    "DELETE { ?f ?p ?o }\nWHERE { ?f ?p ?o } LIMIT 3": """\
error[Q201]: LIMIT without RANK BY or ORDER BY would change some solutions and not others, at random
 --> update:2:20
  |
2 | WHERE { ?f ?p ?o } LIMIT 3
  |                    ^^^^^^^
  hint: write RANK BY ?score or ORDER BY ?x before LIMIT""",
    "DELETE DATA { _:f a <http://e/Film> }": """\
error[Q201]: a blank node here names nothing in the knowledge base
 --> update:1:15
  |
1 | DELETE DATA { _:f a <http://e/Film> }
  |               ^^^
  hint: find it by DELETE ... WHERE""",
    "INSERT { ?f a <http://e/Film> }": """\
error[Q101]: DELETE and INSERT with a template need WHERE
 --> update:1:32
  |
1 | INSERT { ?f a <http://e/Film> }
  |                                ^
  hint: such as DELETE { <http://...> rdfs:label ?old } WHERE { <http://...> rdfs:label ?old }; without variables, \
DELETE DATA or INSERT DATA""",
    "INSERT DATA { <http://e/f> a <http://e/Film> } WHERE { ?f ?p ?o }": """\
error[Q101]: DATA has triples only, and no WHERE
 --> update:1:48
  |
1 | INSERT DATA { <http://e/f> a <http://e/Film> } WHERE { ?f ?p ?o }
  |                                                ^^^^^
  hint: leave DATA out: DELETE or INSERT { ... } WHERE { ... }""",
    "DELETE { ?f ?p ?o } WHERE { ?f MATCH 'x' AS ?s } RANK BY ?s RERANK TOP 5 USING m": """\
error[Q101]: RERANK cannot stand in an update
 --> update:1:61
  |
1 | DELETE { ?f ?p ?o } WHERE { ?f MATCH 'x' AS ?s } RANK BY ?s RERANK TOP 5 USING m
  |                                                             ^^^^^^
  hint: rank by the scores of MATCH and NEAR; or ask a query with RERANK, and give its entities as a parameter""",
    "INSERT DATA { ?film a <http://e/Film> }": """\
error[Q201]: nothing gives ?film a value: INSERT DATA has no solutions
 --> update:1:15
  |
1 | INSERT DATA { ?film a <http://e/Film> }
  |               ^^^^^
  hint: give it as a parameter, or write DELETE or INSERT { ... } WHERE { ... }""",
    "SELECT * { ?s ?p ?o }": """\
error[Q101]: this is a query
 --> update:1:1
  |
1 | SELECT * { ?s ?p ?o }
  | ^^^^^^
  hint: hybridkg query KB ...; in Python: kb.query(...)""",
    "CLEAR <http://e/g>": """\
error[Q101]: CLEAR and DROP name graphs by GRAPH <...>, DEFAULT, NAMED or ALL
 --> update:1:7
  |
1 | CLEAR <http://e/g>
  |       ^^^^^^^^^^^^
  hint: such as CLEAR GRAPH <http://...>""",
    "CLEAR SILENT": """\
error[Q101]: the text ends too early; expected ALL, DEFAULT, GRAPH or NAMED
 --> update:1:13
  |
1 | CLEAR SILENT
  |             ^""",
}


@pytest.mark.parametrize("text", RENDERED)
def test_the_rendered_error(text):
    assert rendered(text) == RENDERED[text]


def test_an_update_in_place_of_a_query():
    assert (
        rendered("CLEAR ALL", parse)
        == """\
error[Q101]: this is an update
 --> query:1:1
  |
1 | CLEAR ALL
  | ^^^^^
  hint: hybridkg update KB ...; in Python: kb.update(...)"""
    )


def test_a_declaration_before_the_same_mistake_changes_nothing():
    short, long = "DELETE { ?s ?p ?o }", "PREFIX e: <e:> CLEAR ALL ; PREFIX f: <e:> DELETE { ?s e:p ?o . ?o f:p [] }"
    assert rendered(short).splitlines()[0] == rendered(long).splitlines()[0]
