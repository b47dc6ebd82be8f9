"""Parameters that are wrong are named; those that are right mean what SPARQL says."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import ParameterError
from hybridkg.query.parameters.bind import bind, read_term
from hybridkg.query.parser import parse
from hybridkg.query.write import write
from hybridkg.rdf.terms import Literal, NamedNode

QUERY = parse("SELECT ?x { ?x <http://e/p> ?y }")


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.ERROR, "rdflib")


@pytest.mark.parametrize(
    "value",
    [
        rdflib.URIRef("not an iri"),
        rdflib.Literal("x", datatype=rdflib.URIRef("not an iri")),
        rdflib.Literal("x", lang="muchtoolongatag"),
        rdflib.BNode("a b"),
        rdflib.Variable("z"),
        "\ud800",
        rdflib.URIRef("http://e/\ud800"),
        b"\xff",
        {1, 2},
        None,
        [[1]],
        [rdflib.URIRef("not an iri")],
    ],
)
def test_a_value_that_is_no_term_is_an_error_with_the_name_of_its_parameter(value):
    with pytest.raises(ParameterError, match="the parameter 'y' has a value that cannot stand in a query"):
        bind(QUERY, {"y": value})


@pytest.mark.parametrize("parameters", [5, ["y"], "y", [("y", 1)], {5: 1}, {None: 1}])
def test_parameters_are_a_mapping_of_names(parameters):
    with pytest.raises(ParameterError, match=r"mapping of names|name of a parameter is a str"):
        bind(QUERY, parameters)


@pytest.mark.parametrize(
    "text",
    [
        '"x"@muchtoolongatag',
        '"x"^^<not-absolute>',
        "\udcff",
        "<http://e/\udcff>",
        "<not-absolute>",
        '"x"@en-muchtoolong',
    ],
)
def test_a_typed_value_that_is_no_term_is_an_error(text):
    with pytest.raises(ParameterError, match=r"is not a value|is not an absolute IRI"):
        read_term(text)


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.text(max_size=12) | st.text('<>"@^:x1-.eE\ud800\u0663', max_size=12))
def test_every_typed_value_is_a_term_or_an_error_of_ours(text):
    with suppress(ParameterError):
        assert bind(QUERY, {"y": read_term(text)}) != QUERY


def test_a_number_of_another_script_is_words():
    assert read_term("\u0663").datatype.value.endswith("#string")


def test_a_parameter_is_bound_wherever_it_is_asked_whether_it_is():
    query = parse("SELECT ?x { ?x <http://e/p> ?z FILTER(BOUND(?y) && ?z = ?y) }")
    text = write(bind(query, {"y": 3}).form)
    assert "?y" not in text
    assert "BOUND" not in text
    assert "true" in text
    parse(text)


@pytest.mark.parametrize("pattern", ["GRAPH ?g { ?x ?p ?o }", "SERVICE ?g { ?x ?p ?o }", "SERVICE SILENT ?g {}"])
def test_a_literal_is_no_name_of_a_graph_or_a_service(pattern):
    query = parse(f"SELECT * {{ {pattern} }}")
    with pytest.raises(ParameterError, match="a literal parameter stands where a graph or a service has its name"):
        bind(query, {"g": "http://e/g"})
    assert "?g" not in write(bind(query, {"g": NamedNode("http://e/g")}).form)


def test_the_name_of_the_rank_score_cannot_be_a_parameter():
    query = parse("SELECT ?x { ?x <http://e/p> ?y } RANK BY ?y AS ?r")
    with pytest.raises(ParameterError, match=r"\?r gets its value in the text"):
        bind(query, {"r": 1})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { { SELECT ?x { VALUES ?y { 1 2 } FILTER(?x < 3) } } }",
        "SELECT ?x { { SELECT ?x { { SELECT ?x { VALUES ?y { 1 2 } FILTER(?x < 3) } } } } }",
        "SELECT * { { SELECT ?x { VALUES ?y { 1 2 } FILTER(?x < 3) } } }",
    ],
)
def test_a_column_that_has_a_value_has_it_once(query):
    """The column of a sub-select that is given as well is not a second source of the same name."""
    import pyoxigraph as ox

    rows = list(ox.Store().query(write(bind(parse(query), {"x": 2}))))
    assert [row["x"].value for row in rows] == ["2", "2"]


def test_a_triple_term_and_a_base_direction_are_read_as_typed():
    triple = read_term('<<( <http://e/s> <http://e/p> <<( <http://e/s> <http://e/p> "x"@ar--rtl )>> )>>')
    assert triple.object.object == read_term('"x"@ar--rtl')
    assert read_term('"x"@ar--rtl').direction.value == "rtl"
    for text in ("<<( a b c )>>", "<<( <a:a> <a:p> 1 )>> . <a:a> <a:p> <<( <a:a> <a:p> 1 )>>", "<<(" * 200 + ")>>"):
        with pytest.raises(ParameterError, match="not a triple term"):
            read_term(text)


def test_the_datatype_of_a_typed_value_has_a_prefix_or_is_an_iri():
    day = Literal("2025-06-01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#date"))
    assert read_term('"2025-06-01"^^xsd:date') == read_term("'2025-06-01'^^xsd:date") == day
    assert read_term('"2025-06-01"^^<http://www.w3.org/2001/XMLSchema#date>') == day
    assert read_term('"5"^^u:cm', {"u": "http://u/"}) == Literal("5", datatype=NamedNode("http://u/cm"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"x', "the quotes have no end"),
        ('"', "the quotes have no end"),
        ('"x"^^foo:bar', "no prefix 'foo:' is known"),
        ("'x'^^foo:bar", "no prefix 'foo:' is known"),
        ('"x"^^xsd:', "'xsd:' is no name"),
        ('"x"^^date', "no tag or datatype"),
        ('"x"^^', "no tag or datatype"),
        ('"x"@', "no tag or datatype"),
        ('"x"@e_n', "no tag or datatype"),
    ],
)
def test_an_unfinished_literal_is_an_error(text, reason):
    with pytest.raises(ParameterError, match=reason):
        read_term(text)


@pytest.mark.parametrize("text", ["'tis the season", '"deep learning" papers', '5" disk', 'a "b"^^c:d', '"a"-@home b'])
def test_words_may_have_quotes_in_them(text):
    assert read_term(text) == Literal(text)
