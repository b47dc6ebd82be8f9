"""Statements about statements (RDF 1.2) beside MATCH: loaded, asked, explained and written."""

from __future__ import annotations

import io
from collections.abc import Callable

import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES

PAPERS = """
VERSION "1.2"
PREFIX : <http://e/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
:p1 rdfs:label "space opera in films" ; :author :ann {| :position 1 |} , :bob ~ :second {| :position 2 |} .
:p2 rdfs:label "a history of space travel" ; :author :bob {| :position 1 |} , :cyd {| :position 2 |} .
:p3 rdfs:label "cooking" ; :author :ann {| :position 1 |} .
:p4 rdfs:label "space"@en--ltr ; :author :ann .
<< :p1 :cites :p2 ~ _:c >> :source "web" .
_:who :knows _:whom {| :since 2001 |} .
"""
SAME_LABELS = 'PREFIX : <http://e/> _:who :knows _:whom ~ _:c . _:c :source "book" .'
HEAD = "PREFIX : <http://e/> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "

FIRST = 'SELECT ?p ?a ?s { ?p :author ?a {| :position 1 |} . ?p MATCH "space" AS ?s } RANK BY ?s'
NUMBERED = """SELECT ?p ?a ?r ?s { ?p :author ?a ~ ?r . ?r :position ?n . ?p MATCH "space" AS ?s
              FILTER(?n >= 1 && isTRIPLE(<<( ?p :author ?a )>>)) } RANK BY ?s"""
TERMS = """SELECT ?p ?t ?s { ?r rdf:reifies ?t . ?p MATCH "space" AS ?s FILTER(SUBJECT(?t) = ?p) } RANK BY ?s"""
MADE = """SELECT ?p ?t ?s { ?p :author ?a . ?p MATCH "space" AS ?s BIND(<<( ?p :author ?a )>> AS ?t)
          FILTER NOT EXISTS { ?r rdf:reifies ?t } } RANK BY ?s"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("reified")
    papers, same = folder / "papers.ttl", folder / "same.ttl"
    papers.write_text(PAPERS)
    same.write_text(SAME_LABELS)
    kb = KnowledgeBase.create(folder / "kb")
    kb.load(papers, same)
    return kb


def rows(kb: KnowledgeBase, query: str, **options: str) -> list[tuple[str | None, ...]]:
    result = kb.query(HEAD + query, **options)
    names = [name for name in result.columns if name != "s"]
    return [tuple(None if (term := row.term(name)) is None else str(term) for name in names) for row in result]


def e(name: str) -> str:
    return f"<http://e/{name}>"


def test_an_annotation_stands_beside_a_match(kb):
    assert sorted(rows(kb, FIRST)) == [(e("p1"), e("ann")), (e("p2"), e("bob"))]
    assert len(rows(kb, NUMBERED)) == 4
    cited = f"{e('p1')} {e('cites')} {e('p2')}"
    assert (e("p1"), cited) in rows(kb, TERMS)
    assert rows(kb, MADE) == [(e("p4"), f"{e('p4')} {e('author')} {e('ann')}")]


@pytest.mark.parametrize("query", [FIRST, NUMBERED, TERMS, MADE])
def test_every_strategy_has_the_rows_of_the_reference(kb, query):
    want, compared = rows(kb, query, strategy="reference"), 0
    for name in STRATEGIES.names():
        try:
            assert rows(kb, query, strategy=name) == want, name
        except UnsupportedQueryError:
            continue
        compared += 1
    assert want
    assert compared >= 2


def test_explain_says_what_the_projection_lacks_and_other_predicates_keep_it(kb):
    assert "Oxigraph: triple terms" in str(kb.explain(HEAD + FIRST))
    assert "Oxigraph: the projection lacks triples of rdf:reifies" in str(kb.explain(HEAD + TERMS))
    assert "columns: ?p :author ?a" in str(kb.explain(HEAD + MADE))
    plain = str(kb.explain(HEAD + "SELECT ?p ?n { ?p :author ?a . ?r :position ?n }"))
    assert "columns: ?p :author ?a . ?r :position ?n" in plain
    assert "the projection lacks triples of" in str(kb.explain(HEAD + "SELECT * { ?s ?p ?o }"))
    directed = "SELECT * { ?p <http://www.w3.org/2000/01/rdf-schema#label> ?l ; :author ?a }"
    assert "the projection lacks triples of" in str(kb.explain(HEAD + directed))
    assert (e("p4"), '"space"@en--ltr', e("ann")) in rows(kb, directed)


def test_a_label_with_a_base_direction_is_text(kb):
    assert rows(kb, 'SELECT ?p { ?p MATCH "cooking" AS ?s . ?p :author ?a {| :position 1 |} }') == [(e("p3"),)]
    assert (e("p4"),) in rows(kb, 'SELECT ?p { ?p MATCH "space" AS ?s } RANK BY ?s')


def test_blank_nodes_of_two_files_stay_apart_inside_triple_terms(kb):
    found = rows(kb, "SELECT ?a ?b ?r { ?a :knows ?b ~ ?r }")
    assert len(found) == len({a for a, _, _ in found}) == len({b for _, b, _ in found}) == 2
    assert len(rows(kb, "SELECT ?r ?t { ?r rdf:reifies ?t ; :source ?x }")) == 2


def test_the_facts_of_a_row_include_its_reification(kb):
    row = next(
        row for row in kb.query(HEAD + NUMBERED) if str(row.term("a")) == e("bob") and row.term("p").value[-1] == "1"
    )
    facts = [tuple(map(str, triple)) for triple in row.triples()]
    statement = f"{e('p1')} {e('author')} {e('bob')}"
    assert (e("second"), "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>", statement) in facts
    assert "<<( :p1 :author :bob )>>" in str(row.why())
    with pytest.raises(UnsupportedQueryError, match="rdflib has no term"):
        row.facts()


READERS: dict[str, Callable[[str], object]] = {
    "json": lambda text: ox.parse_query_results(text, format=ox.QueryResultsFormat.JSON),
    "xml": lambda text: ox.parse_query_results(text, format=ox.QueryResultsFormat.XML),
    "tsv": lambda text: ox.parse_query_results(text, format=ox.QueryResultsFormat.TSV),
}


@pytest.mark.parametrize("fmt", sorted(READERS))
def test_oxigraph_reads_the_triple_terms_and_directions_that_we_write(kb, fmt):
    query = HEAD + "SELECT ?x { { ?r rdf:reifies ?x } UNION { ?p ?q ?x FILTER(hasLANGDIR(?x)) } }"
    result, out = kb.query(query), io.StringIO()
    result.write(out, fmt)
    found = [solution[0] for solution in READERS[fmt](out.getvalue())]
    want = [row.term("x") for row in result]
    assert len(want) == 9
    assert {str(term) for term in found if "d1x" not in str(term)} >= {
        str(term) for term in want if "_:" not in str(term)
    }
    assert len(found) == len(want)


@pytest.mark.parametrize("fmt", ["csv", "ndjson", "table"])
def test_other_formats_show_a_triple_term_in_its_brackets(kb, fmt):
    out = io.StringIO()
    kb.query(HEAD + "SELECT ?t { :second rdf:reifies ?t }").write(out, fmt)
    whole = f"<<( {e('p1')} {e('author')} {e('bob')} )>>"
    assert ("<<( :p1 :author :bob )>>" if fmt == "table" else whole) in out.getvalue()


def test_a_graph_with_triple_terms_is_written_where_the_format_has_them(kb):
    query = HEAD + 'CONSTRUCT { ?p :by ?a {| :score ?s |} } { ?p :author ?a . ?p MATCH "opera" AS ?s } RANK BY ?s'
    result = kb.query(query)
    for fmt, syntax in (
        ("turtle", ox.RdfFormat.TURTLE),
        ("nt", ox.RdfFormat.N_TRIPLES),
        ("rdf-xml", ox.RdfFormat.RDF_XML),
    ):
        out = io.StringIO()
        result.write(out, fmt)
        triples = [quad.triple for quad in ox.parse(out.getvalue(), format=syntax)]
        assert len(triples) == len(result) == 6
        assert sum(isinstance(triple.object, ox.Triple) for triple in triples) == 2
    with pytest.raises(UnsupportedQueryError, match="JSON-LD"):
        result.write(io.StringIO(), "json-ld")


def test_a_triple_term_is_text_for_python_and_arrow(kb):
    result = kb.query(HEAD + "SELECT ?t { :second rdf:reifies ?t }")
    text = f"<<( {e('p1')} {e('author')} {e('bob')} )>>"
    assert result.to_python() == [{"t": text}]
    with pytest.raises(UnsupportedQueryError, match="rdflib has no term"):
        result[0]["t"]
