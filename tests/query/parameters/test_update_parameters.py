"""Parameters of updates: terms in WHERE, templates, DATA and names of graphs."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from generated_updates import datasets, dumped, loaded, modifications
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import HybridkgError, ParameterError
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parameters.bind import bind_update
from hybridkg.query.parser import parse_update
from hybridkg.query.walk import variables
from hybridkg.query.write import write_update
from hybridkg.rdf.terms import NamedNode

A, B = NamedNode("e:a"), NamedNode("e:b")
TERM = ox.Triple(A, B, ox.Literal("x", language="en", direction=ox.BaseDirection.LTR))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("INSERT DATA { $s <e:p> $o }", {"s": A, "o": 5}, "INSERT DATA { <e:a> <e:p> 5 }"),
        (
            "INSERT DATA { GRAPH $g { <e:a> $p 'x' } }",
            {"$g": A, "?p": B},
            "INSERT DATA { GRAPH <e:a> { <e:a> <e:b> 'x' } }",
        ),
        (
            "DELETE DATA { <e:s> <e:p> $o }",
            {"o": 'a"} ; DROP ALL #'},
            """DELETE DATA { <e:s> <e:p> 'a"} ; DROP ALL #' }""",
        ),
        ("DELETE WHERE { ?s <e:p> $o }", {"o": A}, "DELETE WHERE { ?s <e:p> <e:a> }"),
        (
            "DELETE WHERE { ?s <e:p> $o }",
            {"o": [1, 2]},
            "DELETE { ?s <e:p> ?o } WHERE { VALUES ?o { 1 2 } ?s <e:p> ?o }",
        ),
        (
            "INSERT { GRAPH $g { ?s <e:q> $o } } WHERE { ?s <e:p> $o FILTER(?o > 1) }",
            {"g": A, "o": 5},
            "INSERT { GRAPH <e:a> { ?s <e:q> 5 } } WHERE { ?s <e:p> 5 FILTER(5 > 1) }",
        ),
        (
            "INSERT { ?f <e:q> $text } WHERE { ?f MATCH $text AS ?m } RANK BY ?m LIMIT 3",
            {"text": "fish"},
            "INSERT { ?f <e:q> 'fish' } WHERE { ?f MATCH 'fish' AS ?m } RANK BY ?m LIMIT 3",
        ),
        (
            "INSERT { $f <e:q> 1 } WHERE { $f MATCH 'x' }",
            {"f": A},
            "INSERT { ?f <e:q> 1 } WHERE { VALUES ?f { <e:a> } ?f MATCH 'x' }",
        ),
        (
            "INSERT DATA { $s <e:p> 1 } ; DELETE { ?x <e:p> 2 } WHERE { ?x <e:p> $s } ; CLEAR ALL",
            {"s": A},
            "INSERT DATA { <e:a> <e:p> 1 } ; DELETE { ?x <e:p> 2 } WHERE { ?x <e:p> <e:a> } ; CLEAR ALL",
        ),
        (
            "INSERT { ?s <e:q> ?o } WHERE { { SELECT ?s { ?s <e:p> ?o } } ?s <e:p> ?o }",
            {"o": 1},
            "INSERT { ?s <e:q> 1 } WHERE { { SELECT ?s { ?s <e:p> ?o } } ?s <e:p> 1 }",
        ),
        ("INSERT DATA { <e:s> <e:p> 1 }", {}, "INSERT DATA { <e:s> <e:p> 1 }"),
        (
            "INSERT DATA { $s <e:p> $o {| <e:q> $t |} }",
            {"s": A, "o": 5, "t": TERM},
            "INSERT DATA { <e:a> <e:p> 5 {| <e:q> <<( <e:a> <e:b> 'x'@en--ltr )>> |} }",
        ),
        (
            "DELETE { << $s ?p <<( ?o <e:p> $t )>> ~ ?r >> <e:q> 1 } WHERE { ?o ?p <<( $s ?p $t )>> ~ ?r }",
            {"s": A, "t": TERM},
            "DELETE { << <e:a> ?p <<( ?o <e:p> <<( <e:a> <e:b> 'x'@en--ltr )>> )>> ~ ?r >> <e:q> 1 } "
            "WHERE { ?o ?p <<( <e:a> ?p <<( <e:a> <e:b> 'x'@en--ltr )>> )>> ~ ?r }",
        ),
        (
            "DELETE WHERE { ?s <e:p> $o }",
            {"o": [1, TERM]},
            "DELETE { ?s <e:p> ?o } WHERE { VALUES ?o { 1 <<( <e:a> <e:b> 'x'@en--ltr )>> } ?s <e:p> ?o }",
        ),
    ],
)
def test_a_parameter_is_the_term_in_its_place(text, values, expected):
    update = bind_update(parse_update(text), values)
    assert update == parse_update(expected)
    assert parse_update(write_update(update)) == update


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("INSERT DATA { $s <e:p> 1 }", {"x": 1}, "the update has no variable for the parameter 'x'; it uses: s"),
        ("CLEAR ALL", {"x": 1}, "the update has no variable for the parameter 'x'; it uses: none"),
        ("INSERT DATA { $s <e:p> $o }", {"s": A}, "the parameter $o has no value"),
        ("INSERT DATA { $s <e:p> ?o }", {"s": A}, "nothing gives ?o a value: INSERT DATA has no solutions"),
        ("DELETE DATA { GRAPH ?g { } }", {}, "nothing gives ?g a value: DELETE DATA has no solutions"),
        (
            "INSERT DATA { $s <e:p> 1 }",
            {"s": [A, B]},
            "the parameter 's' stands in INSERT DATA, so it takes one value, not a list",
        ),
        (
            "INSERT DATA { $s <e:p> 1 }",
            {"s": "x"},
            "a literal parameter stands where a triple has its subject or predicate",
        ),
        (
            "DELETE { ?x $p 1 } WHERE { ?x <e:p> 1 }",
            {"p": 5},
            "a literal parameter stands where a triple has its subject or predicate",
        ),
        (
            "INSERT DATA { <e:s> <e:p> 1 {| $p 2 |} }",
            {"p": TERM},
            "a triple term parameter stands where a triple has its subject or predicate",
        ),
        (
            "INSERT DATA { <e:s> <e:p> <<( $s <e:p> 1 )>> }",
            {"s": "x"},
            "a literal parameter stands where a triple has its subject or predicate",
        ),
        (
            "INSERT DATA { <e:s> <e:p> $o }",
            {"o": ox.Triple(ox.BlankNode("b"), B, A)},
            "the parameter 'o' has a value that cannot stand in a query",
        ),
        (
            "INSERT DATA { GRAPH $g { <e:s> <e:p> 1 } }",
            {"g": TERM},
            "a triple term parameter stands where a graph or a service has its name",
        ),
        (
            "INSERT DATA { GRAPH $g { <e:s> <e:p> 1 } }",
            {"g": "x"},
            "a literal parameter stands where a graph or a service has its name",
        ),
        (
            "DELETE { GRAPH $g { <e:s> <e:p> 1 } } WHERE { }",
            {"g": "x"},
            "a literal parameter stands where a graph or a service has its name",
        ),
        (
            "DELETE { ?x <e:p> 1 } WHERE { ?x MATCH 'a' AS ?s } RANK BY ?s",
            {"s": 5},
            "?s gets its value in the text, so it cannot be a parameter",
        ),
        (
            "DELETE { ?x <e:p> 1 } WHERE { ?x MATCH $t }",
            {"t": ["a", "b"]},
            "the parameter 't' is the text of a MATCH or NEAR, so it takes one value, not a list",
        ),
        ("INSERT DATA { $s <e:p> 1 }", {"s": None}, "the parameter 's' has a value that cannot stand in a query"),
    ],
)
def test_a_wrong_parameter_is_named(text, values, message):
    with pytest.raises(ParameterError) as caught:
        bind_update(parse_update(text), values)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("parameters", [5, ["y"], {5: 1}])
def test_parameters_are_a_mapping_of_names(parameters):
    with pytest.raises(ParameterError, match=r"mapping of names|name of a parameter is a str"):
        bind_update(parse_update("CLEAR ALL"), parameters)


@settings(deadline=None, max_examples=examples(18, 1000))
@given(modifications(), datasets(), st.lists(st.sampled_from([A, B]), min_size=1, max_size=2, unique=True))
def test_a_bound_modification_changes_what_values_in_its_where_would(text, quads, values):
    """By an independent reading: the solutions of WHERE, joined with VALUES ?x."""
    update = parse_update(text)
    if "x" not in variables(update) or "SELECT" in text:
        return
    try:
        check_update(update)
        bound_text = write_update(bind_update(update, {"x": values}))
    except HybridkgError:
        return
    head, where = text.split("WHERE", 1)
    terms = " ".join(str(ox.NamedNode(value.value)) for value in values)
    one, other = loaded(quads), loaded(quads)
    one.update(f"{head} WHERE {{ VALUES ?x {{ {terms} }} {where.strip()[1:]}")
    other.update(bound_text)
    assert dumped(one) == dumped(other)
    if len(values) == 1:
        single = loaded(quads)
        try:
            single.update(write_update(bind_update(update, {"x": values[0]})))
        except HybridkgError:
            return
        assert dumped(single) == dumped(one)
