"""What is written in a standard format is read back by another implementation: every term, no more and no less."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Triple
from hybridkg.results.formats.sparql_json import ROWS_PER_WRITE
from hybridkg.results.formats.sparql_xml import NAMESPACE
from hybridkg.results.result_set import ResultSet

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[chr(c) for c in (*range(9), 11, 12, *range(14, 32))])
    .filter(lambda c: c not in "\ufffe\uffff"),
    max_size=12,
)  # fmt: skip


def terms(text: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    literals = (
        text.map(Literal)
        | st.builds(lambda one, tag: Literal(one, language=tag), text, st.sampled_from(["en", "pt-br"]))
        | st.builds(
            lambda one, name: Literal(one, datatype=NamedNode(XSD + name)), text, st.sampled_from(["date", "x"])
        )
    )
    return literals | st.sampled_from([NamedNode("http://e/a?b&c='d'"), NamedNode("x:\N{SNOWMAN}"), BlankNode("b1")])


def rows(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[object, ...]]]:
    return st.lists(st.tuples(terms(text) | st.none(), terms(text)), max_size=5)


def written(fmt: str, result: ResultSet) -> str:
    out = io.StringIO()
    OUTPUT_FORMATS.get(fmt)(result, out)
    return out.getvalue()


def result_of(cells: Iterable[tuple[object, ...]]) -> ResultSet:
    return ResultSet(("a", "b"), ("a", "b"), Solutions(("a", "b"), list(cells)))  # type: ignore[arg-type]


def read_xml(text: str) -> list[tuple[object, ...]]:
    """The rows by the standard library's parser; Oxigraph's drops white space around a value."""
    space = f"{{{NAMESPACE}}}"

    def term(binding: ElementTree.Element) -> object:
        (node,) = binding
        value = node.text or ""
        if node.tag == space + "uri":
            return NamedNode(value)
        if node.tag == space + "bnode":
            return BlankNode(value)
        language, datatype = node.get("{http://www.w3.org/XML/1998/namespace}lang"), node.get("datatype")
        return Literal(value, language=language, datatype=NamedNode(datatype) if datatype else None)

    names = [one.get("name") for one in ElementTree.fromstring(text).iter(space + "variable")]
    found = []
    for row in ElementTree.fromstring(text).iter(space + "result"):
        own = {binding.get("name"): term(binding) for binding in row}
        found.append(tuple(own.get(name) for name in names))
    return found


def read(text: str, syntax: pyoxigraph.QueryResultsFormat) -> list[tuple[object, ...]]:
    return [tuple(solution) for solution in pyoxigraph.parse_query_results(text, syntax)]  # type: ignore[union-attr]


@settings(max_examples=examples(36, 2000), deadline=None)
@given(rows(TEXT))
def test_json_is_read_back(cells):
    text = written("json", result_of(cells))
    assert read(text, pyoxigraph.QueryResultsFormat.JSON) == cells
    assert json.loads(text)["x-hybridkg"]["returned"] == len(cells)


@settings(max_examples=examples(36, 2000), deadline=None)
@given(rows(XML_TEXT))
def test_xml_is_read_back(cells):
    assert read_xml(written("xml", result_of(cells))) == cells


def test_a_character_that_xml_lacks_is_replaced():
    text = written("xml", result_of([(Literal("a\x0bb"), NamedNode("x:y"))]))
    assert read(text, pyoxigraph.QueryResultsFormat.XML)[0][0] == Literal("a\N{REPLACEMENT CHARACTER}b")


@pytest.mark.parametrize("fmt", ["json", "xml"])
def test_an_ask_is_a_boolean(fmt):
    text = written(fmt, ResultSet((), (), Solutions((), []), boolean=True))
    syntax = pyoxigraph.QueryResultsFormat.JSON if fmt == "json" else pyoxigraph.QueryResultsFormat.XML
    assert bool(pyoxigraph.parse_query_results(text, syntax))


GRAPH = [
    Triple(NamedNode("http://e/s"), NamedNode("http://e/p"), Literal("a\tb", language="en")),
    Triple(BlankNode("x"), NamedNode("http://e/p"), NamedNode("http://e/o")),
]


def graph_of(triples: list[Triple]) -> ResultSet:
    cells = [(t.subject, t.predicate, t.object) for t in triples]
    names = ("subject", "predicate", "object")
    return ResultSet(names, names, Solutions(names, cells), is_graph=True, _prefixes=(("e", "http://e/"),))


@pytest.mark.parametrize(
    ("fmt", "syntax"),
    [
        ("json-ld", pyoxigraph.RdfFormat.JSON_LD),
        ("rdf-xml", pyoxigraph.RdfFormat.RDF_XML),
        ("turtle", pyoxigraph.RdfFormat.TURTLE),
        ("nt", pyoxigraph.RdfFormat.N_TRIPLES),
    ],
)
def test_a_graph_is_read_back(fmt, syntax):
    text = written(fmt, graph_of(GRAPH))
    assert text.endswith("\n")
    found = pyoxigraph.Dataset(pyoxigraph.parse(text, syntax))
    wanted = pyoxigraph.Dataset(pyoxigraph.Quad(*triple) for triple in GRAPH)
    for one in (found, wanted):
        one.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert found == wanted


@pytest.mark.parametrize(
    ("predicate", "value"),
    [
        ("http://e/p/", "x"),
        ("http://e/1", "x"),
        ("http://e/v\N{SUPERSCRIPT TWO}", "x"),
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#li", "x"),
        ("http://e/p", "a control \x0b"),
    ],
)
def test_what_rdf_xml_cannot_write_is_an_error(predicate, value):
    odd = Triple(NamedNode("http://e/s"), NamedNode(predicate), Literal(value))
    with pytest.raises(UnsupportedQueryError, match="RDF/XML cannot write"):
        written("rdf-xml", graph_of([odd]))


def test_reserved_prefixes_are_left_out_of_rdf_xml():
    result = replace(graph_of(GRAPH), _prefixes=(("xml", "http://e/"), ("xmlns", "http://f/")))
    assert len(list(pyoxigraph.parse(written("rdf-xml", result), pyoxigraph.RdfFormat.RDF_XML))) == 2


@pytest.mark.parametrize("fmt", ["json", "xml", "csv", "tsv", "ndjson"])
def test_the_memory_of_a_writer_does_not_grow_with_the_rows(fmt):
    class Nowhere:
        def write(self, text: str) -> int:
            return len(text)

    def peak(count: int) -> int:
        result = result_of([(NamedNode("http://example.org/entity"), Literal("some text"))] * count)
        tracemalloc.start()
        OUTPUT_FORMATS.get(fmt)(result, Nowhere())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # imports
    assert peak(6 * ROWS_PER_WRITE) < 1.2 * peak(3 * ROWS_PER_WRITE) + 20_000
