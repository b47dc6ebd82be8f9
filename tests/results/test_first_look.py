"""Results in Python and in notebooks: mistakes are named, and scores are rounded alike."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path

import pytest
import rdflib

from hybridkg import KnowledgeBase
from hybridkg.errors import ParameterError, UserError
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal
from hybridkg.results.result_set import ResultSet

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"


def test_a_row_says_that_its_values_are_indexed_by_name():
    row = ResultSet(("n", "d"), ("n", "d"), Solutions(("n", "d"), [(Literal("x"), None)]))[0]
    with pytest.raises(AttributeError, match=r"no attribute 'n'; the value of the column is row\['n'\]"):
        _ = row.n
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = row.nothing
    with pytest.raises(KeyError, match="0; a row is indexed by the name of a column: 'n', 'd'"):
        _ = row[0]
    assert not hasattr(row, "__array__")
    assert row["n"] == rdflib.Literal("x")


def test_computed_scores_are_rounded_as_scores_are():
    with KnowledgeBase.temporary(FILMS) as kb:
        text = """SELECT (MAX(?s) AS ?most) (SUM(?s) / 2 AS ?half) (COUNT(?s) AS ?n) (SUM(?y) + MAX(?s) AS ?other)
        { ?f MATCH "space crew" AS ?s . ?f <http://example.org/films/year> ?y }"""
        result = kb.query(text)
        out = io.StringIO()
        result.write(out, "table")
        most, half, n, other = out.getvalue().splitlines()[2].split()
        row = result[0].to_python()
        assert (most, half, n) == (f"{row['most']:.4f}", f"{row['half']:.4f}", str(row["n"]))
        assert len(other) > 10
        assert f">{most}<" in result._repr_html_()


@pytest.mark.parametrize(
    "text",
    [
        'SELECT (MAX(?b) AS ?c) { { SELECT ?f (?s * 2 AS ?b) { ?f MATCH "space" AS ?s } } ?f :year ?y } GROUP BY ?y',
        'SELECT * { ?f MATCH "space" AS ?s BIND(?s * 2 AS ?b) BIND(?b + 1 AS ?c) } RANK BY ?c',
        'SELECT ?c { { SELECT ?f (SUM(?s) AS ?c) { ?f MATCH "space" AS ?s } GROUP BY ?f } }',
    ],
)
def test_what_is_computed_from_scores_on_the_way_is_rounded_as_well(text):
    with KnowledgeBase.temporary(FILMS) as kb:
        result = kb.query(text)
        assert "c" in result._computed
        assert f"{result[0].to_python()['c']:.4f}" in str(result)
        assert (
            "e" not in kb.query('SELECT ?e { ?f MATCH "space" AS ?s ; }'.replace(" ; }", " . ?f :year ?e }"))._computed
        )


def test_a_notebook_shows_a_mistake_without_a_traceback_and_an_explanation_in_columns():
    with KnowledgeBase.temporary(FILMS) as kb:
        with pytest.raises(UserError) as e:
            kb.query("SELECT * { ?s ?p }")
        assert e.value._render_traceback_() == e.value.render().splitlines()
        why = kb.query('SELECT ?f { ?f MATCH "mars" AS ?s } RANK BY ?s')[0].why()
        assert why._repr_html_().startswith('<pre style="font-family: monospace; line-height: 1.25">')
        assert escape(str(why)) in why._repr_html_()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "None is not a value of RDF"),
        (b"abc", "no RDF term for a value of type 'bytes'"),
    ],
)
def test_a_value_that_is_none_of_rdf_is_named_by_its_type(value, message):
    with KnowledgeBase.temporary(FILMS) as kb, pytest.raises(ParameterError, match=re.escape(message)):
        kb.query("SELECT * { ?s ?p $v }", {"v": value})
