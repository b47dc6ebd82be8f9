"""Values are values: no parameter, IRI or text becomes a part of a query, a page, a formula or a command."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest
from hostile_values import FORMULA, MARKUP

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS

BREAKERS = [
    '" } ; DROP ALL ; #',
    "' UNION SELECT * { ?s ?p ?o } #",
    '\\" . ?s ?p ?o . } #',
    "> } SELECT * { ?s ?p ?o",
    "$(touch owned)`touch owned`;touch owned",
    '"}}, "query": {"match_all": {}}, "x": {"y": "',
    "?x ?f $words {{}} %s %(a)s {0}",
    "\\u0022 } #",
    "\n}\nSELECT * { ?s ?p ?o }",
]
EVERY = "SELECT ?f { ?f <http://www.w3.org/2000/01/rdf-schema#label> ?l FILTER(?l = $value) }"
MATCHES = "SELECT ?f ?s { ?f MATCH $value AS ?s } RANK BY ?s"


@pytest.fixture(scope="module")
def kb(hostile):
    with KnowledgeBase.open(hostile) as kb:
        yield kb


@pytest.mark.parametrize("value", BREAKERS)
@pytest.mark.parametrize("strategy", [None, "reference"])
def test_a_parameter_is_a_value_whatever_it_says(kb, value, strategy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(kb.query(EVERY, {"value": value})) == 0
    fish = kb.query(MATCHES, {"value": f"{value} fish"}, strategy=strategy)
    assert len(fish) == 4  # as for the word alone
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", BREAKERS)
def test_a_text_of_a_parameter_comes_back_as_it_went_in(kb, value):
    (row,) = kb.query("SELECT ?v (STRLEN(?v) AS ?n) { VALUES ?x { 1 } BIND($value AS ?v) }", {"value": value})
    assert (str(row["v"]), int(row["n"])) == (value, len(value))


NO_IRIS = ["http://e/> ?p ?o } #", "http://e/ ?x", "http://e/<b>", "http://e/\n", "x"]


@pytest.mark.parametrize("iri", NO_IRIS)
def test_what_is_no_iri_is_refused_and_never_written_into_a_query(kb, iri):
    import rdflib

    with pytest.raises(HybridkgError):
        kb.query("SELECT ?l { $f ?p ?l }", {"f": rdflib.URIRef(iri)})


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


def elements(html):
    parser = Elements()
    parser.feed(html)
    return parser


def test_a_notebook_shows_values_and_never_runs_them(kb):
    page = elements(kb.query("SELECT ?f ?l ?s { ?f MATCH 'fish' AS ?s . ?f ?p ?l } RANK BY ?s")._repr_html_())
    assert not page.seen & {"img", "script", "iframe", "svg", "object"}
    assert not [name for name in page.attributes if name.startswith("on")]


@pytest.mark.parametrize("name", [MARKUP, FORMULA, "</script><script>alert(1)</script>", "`code` [a](javascript:x)"])
def test_the_report_of_an_experiment_shows_names_and_never_runs_them(name):
    from hybridkg.evaluation.experiment.document import Code, Heading, Paragraph, ReportTable, to_html, to_markdown

    parts = [Heading(name, 1), Paragraph(name), Code(name), ReportTable((name, "x"), ((name, "1"),), frozenset())]
    page = elements(to_html(name, parts))
    assert not page.seen & {"img", "script", "a", "iframe"}
    text = to_markdown([part for part in parts if not isinstance(part, Code)])
    for mark in ("<img", "<script", "](javascript"):
        assert mark not in text.replace("\\<", "").replace("\\]", "").replace("\\[", "")


def test_csv_has_the_value_that_is_there_as_the_standard_says(kb):
    """Decided (docs/security.md): a value is never changed on its way out, also where a spreadsheet would compute."""
    out = io.StringIO(newline="")
    OUTPUT_FORMATS.get("csv")(kb.query("SELECT ?l { ?f <http://www.w3.org/2000/01/rdf-schema#label> ?l }"), out)
    assert [f"{FORMULA} fish"] in list(csv.reader(io.StringIO(out.getvalue(), newline="")))


@pytest.mark.parametrize("value", BREAKERS)
def test_a_body_for_elasticsearch_keeps_a_text_inside_of_its_string(value):
    import orjson

    from hybridkg.remote.elasticsearch.bulk import _action

    _, line = _action({"node": 1, "text": {"a": [value]}})
    assert b"\n" not in line  # which would begin another action of the request
    assert json.loads(line) == orjson.loads(line) == {"node": 1, "text": {"a": [value]}}


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/etc", "cacm/../..", "a\x00b", "CACM "])
def test_a_dataset_is_a_name_and_no_path(ask, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert ask("dataset", name).exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "~/.ssh/id_rsa"])
def test_a_query_that_names_a_file_of_parameters_does_not_show_what_another_file_holds(hostile, ask, name):
    found = ask("query", hostile, f'SELECT ?f {{ ?f MATCH "x" USING bm25f(@"{name}") AS ?s }} RANK BY ?s')
    assert found.exit_code == 2
    assert "root:" not in found.output
