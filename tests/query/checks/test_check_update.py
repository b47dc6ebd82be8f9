"""Rules for updates beyond the grammar: the message and the place of each."""

from __future__ import annotations

import pytest

from hybridkg.errors import HybridkgError, QueryCheckError
from hybridkg.query.checks.check_update import check_update, unbound_template_variables
from hybridkg.query.parser import parse_update


def refused(text: str, *parameters: str) -> HybridkgError:
    with pytest.raises(HybridkgError) as caught:
        check_update(parse_update(text), parameters)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 3",
            "LIMIT without RANK BY or ORDER BY would change some solutions and not others, at random",
            "LIMIT 3",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } OFFSET 1",
            "OFFSET without RANK BY or ORDER BY would change some solutions and not others, at random",
            "OFFSET 1",
        ),
        ("DELETE DATA { <e:s> <e:p> _:b }", "a blank node here names nothing in the knowledge base", "_:b"),
        ("DELETE WHERE { GRAPH ?g { [] <e:p> ?o } }", "a blank node here names nothing in the knowledge base", "[]"),
        ("DELETE { ?s <e:p> (1) } WHERE { ?s ?p ?o }", "a blank node here names nothing in the knowledge base", "(1)"),
        (
            "DELETE DATA { <e:s> <e:p> <<( <e:s> <e:p> <<( _:b <e:p> 1 )>> )>> }",
            "a blank node here names nothing in the knowledge base",
            "_:b",
        ),
        (
            "DELETE { ?s ?p ?o {| <e:q> 1 |} } WHERE { ?s ?p ?o }",
            "a blank node here names nothing in the knowledge base",
            "{| <e:q> 1 |}",
        ),
        (
            "DELETE WHERE { << ?s ?p ?o >> <e:q> 1 }",
            "a blank node here names nothing in the knowledge base",
            "<< ?s ?p ?o >>",
        ),
        (
            "INSERT DATA { <e:s> <e:p> <<( <e:s> <e:p> ?o )>> }",
            "nothing gives ?o a value: INSERT DATA has no solutions",
            "?o",
        ),
        (
            "INSERT DATA { <e:s> <e:p> 1 {| <e:q> 'x', ?y |} }",
            "nothing gives ?y a value: INSERT DATA has no solutions",
            "?y",
        ),
        (
            "INSERT DATA { <<( <e:s> <e:p> 1 )>> <e:p> 1 }",
            "a triple term cannot be the subject of a triple",
            "<<( <e:s> <e:p> 1 )>>",
        ),
        ("INSERT DATA { <e:s> <e:p> <<( 'x' <e:p> 1 )>> }", "a literal cannot be the subject of a triple", "'x'"),
        ("INSERT { << 5 <e:p> ?o >> <e:q> 1 } WHERE { ?s ?p ?o }", "a literal cannot be the subject of a triple", "5"),
        (
            "INSERT DATA { _:b <e:p> 1 } ; INSERT DATA { <e:s> <e:p> <<( <e:s> <e:p> _:b )>> }",
            "the blank node label '_:b' stands in two INSERT DATA of one update",
            "_:b",
        ),
        ("INSERT DATA { ?s <e:p> 1 }", "nothing gives ?s a value: INSERT DATA has no solutions", "?s"),
        ("DELETE DATA { GRAPH ?g { <e:s> <e:p> 1 } }", "nothing gives ?g a value: DELETE DATA has no solutions", "?g"),
        ("INSERT DATA { 'x' <e:p> 1 }", "a literal cannot be the subject of a triple", "'x'"),
        ("INSERT { 5 <e:p> ?o } WHERE { ?s ?p ?o }", "a literal cannot be the subject of a triple", "5"),
        (
            "INSERT DATA { _:b <e:p> 1 } ; INSERT DATA { GRAPH <e:g> { <e:s> <e:p> _:b } }",
            "the blank node label '_:b' stands in two INSERT DATA of one update",
            "_:b",
        ),
        (
            "INSERT { } WHERE { _:b <e:p> 1 } ; INSERT { } WHERE { _:b <e:p> 2 }",
            "the blank node label '_:b' stands in two different patterns",
            "_:b",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s MATCH 'x' AS ?m } RANK BY ?m RERANK TOP 5 USING cross_encoder LIMIT 3",
            "RERANK cannot stand in an update",
            "RERANK",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } ORDER BY COUNT(?o) LIMIT 1",
            "the aggregate COUNT cannot stand in the ORDER BY of an update",
            "COUNT(?o)",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } RANK BY MAX(?o)",
            "the aggregate MAX cannot stand in the RANK BY of an update",
            "MAX(?o)",
        ),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } ORDER BY (EXISTS { ?s ?p ?o BIND(1 AS ?o) })",
            "BIND assigns ?o, which has a value already",
            "?o",
        ),
        ("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o BIND(1 AS ?o) }", "BIND assigns ?o, which has a value already", "?o"),
        ("DELETE { ?s ?p ?o } WHERE { ?s MATCH 'x' AS ?o } RANK BY ?o AS ?s", "?s has a value already", "?s"),
        (
            "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } RANK BY rrf(?o)",
            "?o is not the score of a MATCH or NEAR; the scores are: none; write MATCH ... AS ?score",
            "?o",
        ),
    ],
)
def test_what_breaks_a_rule_is_told_with_its_place(text, message, place):
    error = refused(text)
    assert error.message == message
    assert text[error.span.start : error.span.end] == place


def test_the_hints_say_what_to_do_instead():
    assert refused("DELETE DATA { _:b <e:p> 1 }").hint == "find it by DELETE ... WHERE"
    assert "RANK BY ?score or ORDER BY" in refused("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 3").hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INSERT DATA { _:b <e:p> 1 GRAPH <e:g> { _:b <e:p> 2 } }",
        "INSERT { _:b <e:p> ?x } WHERE { ?x ?p _:b } ; INSERT { _:b <e:p> ?x } WHERE { ?x ?p 1 }",
        "INSERT DATA { _:b <e:p> 1 } ; INSERT { _:b <e:p> ?x } WHERE { ?x ?p 1 }",
        "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } ORDER BY ?o LIMIT 3 OFFSET 1",
        "DELETE { ?s ?p ?o } WHERE { ?s MATCH 'x' AS ?m . ?s ?p ?o } RANK BY minmax(?m) LIMIT 3",
        "DELETE { ?s ?p ?other } WHERE { ?s ?p ?o }",
        "LOAD <e:f> ; CLEAR ALL ; CREATE GRAPH <e:g> ; COPY DEFAULT TO <e:g>",
        "DELETE { } WHERE { { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }",
    ],
)
def test_what_no_rule_forbids_passes(text):
    check_update(parse_update(text))


def test_variables_of_data_may_be_parameters():
    update = parse_update("INSERT DATA { ?s <e:p> ?o }")
    check_update(update, ("s", "o"))
    with pytest.raises(QueryCheckError, match=r"\?o"):
        check_update(update, ("s",))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("DELETE { ?s ?p ?x } INSERT { GRAPH ?g { ?s ?q ?o } } WHERE { ?s ?p ?o }", ["x", "g", "q"]),
        ("INSERT { ?s <e:p> ?m, ?r } WHERE { ?s MATCH 'x' AS ?m } RANK BY ?m AS ?r", []),
        ("INSERT { ?s <e:p> ?z } WHERE { ?s <e:p> 1 MINUS { ?s <e:p> ?z } }", ["z"]),
        ("DELETE WHERE { ?s ?p ?o } ; INSERT DATA { ?x <e:p> 1 }", []),
        ("DELETE { ?s ?p 1 } WHERE { ?s ?q 2 } ; DELETE { ?s ?q 1 } WHERE { ?s ?p 2 }", ["p", "q"]),
    ],
)
def test_variables_that_no_solution_has_are_found(text, names):
    found = unbound_template_variables(parse_update(text))
    assert [variable.name for variable in found] == names
    assert all(text[variable.span.start :].startswith("?" + variable.name) for variable in found)
