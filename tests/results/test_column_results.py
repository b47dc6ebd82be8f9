"""A result that holds columns of ids: what is read of it is what is read of its rows, and only that becomes terms."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.graph.stored_projection import StoredTerms
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.operators.columns import IdColumn, InColumns, NumberColumn, TermColumn
from hybridkg.operators.row_cursor import RowCursor
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.term_texts import TermTexts, tagged
from hybridkg.rdf.terms import Literal, NamedNode, Term, Triple, double
from hybridkg.results import result_set
from hybridkg.results.formats import arrow, arrow_columns
from hybridkg.results.result import Result
from hybridkg.results.result_set import ResultSet
from hybridkg.results.result_stream import ResultStream

HOSTILE = r"""
@prefix : <http://e/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "an entity, with \"text\" & <marks>" ; :n 7, -7, 0 ;
   :n 12345678901234567890, "x"^^xsd:integer, "0x10"^^xsd:integer ;
   :t "", " ", ",", "\"", "'", "a\tb", "a\nb", "a\rb", "a\\b", "\\", "\u0001", "\u007F", "\u009B", "\u202E",
      "é", "日本語", "𐐷", "\uFFFE", "<b>&amp;</b>", "]]>", "_:b", "NaN", "7", "true" ;
   :l "rot"@de, "red"@en-GB, "red"@en, "أحمر"@ar, "a\"b"@en ;
   :d 1.0e0, "NaN"^^xsd:double, "INF"^^xsd:double, "-INF"^^xsd:double, -0.0e0, 1e300, 2.5 , 0.1 , "1.5"^^xsd:float ;
   :b true, false, "maybe"^^xsd:boolean ; :w "2020-02-29"^^xsd:date, "2021-01-01"^^xsd:date ;
   :m "2020-01-01T00:00:00Z"^^xsd:dateTime, "2020-01-01T00:00:00.5Z"^^xsd:dateTime ;
   :m "2020-01-01T00:00:00"^^xsd:dateTime ;
   :u "x"^^:own, "a\"b\tc"^^:own ; :i <http://e/a?b&c>, <http://e/é>, <http://e/'>, <http://e/a,b>, [], [ :x 1 ] .
<http://e/s?x=1&y=2> rdfs:label "another entity" ; :t "only here" ; :year 1999 .
:c rdfs:label "a third" ; :year 1999, 2001 .
:e rdfs:label "a fourth" ; :year 1999 .
"""

QUERIES = [
    "SELECT * { ?s ?p ?o }",
    "SELECT ?o ?s { ?s ?p ?o } ORDER BY ?o",
    *(f"SELECT ?s ?o {{ ?s <http://e/{name}> ?o }}" for name in (*"ntldbwmui", "year")),
    "SELECT ?s ?y ?t { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?l OPTIONAL { ?s <http://e/year> ?y } "
    "OPTIONAL { ?s <http://e/t> ?t } }",
    "SELECT DISTINCT ?y { ?s <http://e/year> ?y }",
    "SELECT ?t { ?s <http://e/t> ?t } LIMIT 9",
    "SELECT ?t ?none { ?s <http://e/t> ?t }",
    "SELECT ?none { ?s <http://e/t> ?t }",
    "SELECT ?s ?x ?y { ?s MATCH 'entity' AS ?x OPTIONAL { ?s <http://e/year> ?y } }",
    "SELECT (COUNT(*) AS ?n) ?s { ?s ?p ?o } GROUP BY ?s",
]

HIDDEN = "SELECT DISTINCT ?y { ?s MATCH 'entity' AS ?x . ?s <http://e/year> ?y }"
"""The entity and its score are cells of the rows, and no columns."""

FORMATS = ("csv", "json", "ndjson", "table", "tsv", "xml")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path: Path = tmp_path_factory.mktemp("hostile") / "hostile.ttl"
    path.write_text(HOSTILE)
    with KnowledgeBase.temporary(path) as kb:
        yield kb


def in_rows(result: ResultSet) -> ResultSet:
    """The same result, held in rows."""
    return replace(result, _solutions=result._solutions.in_rows())


def written(result: Result, fmt: str) -> str:
    out = io.StringIO(newline="")
    result.write(out, fmt)
    return out.getvalue()


def test_most_answers_are_held_in_columns(hostile):
    held = {query: isinstance(hostile.query(query)._solutions, InColumns) for query in QUERIES}
    assert sum(held.values()) > len(QUERIES) / 2, held


@pytest.mark.parametrize("query", QUERIES)
def test_the_texts_of_a_column_are_those_of_its_terms(hostile, query):
    solutions = hostile.query(query)._solutions
    for column in solutions.columns.values() if isinstance(solutions, InColumns) else ():
        distinct, place = column.each()
        terms = distinct.cells()
        assert [terms[n] for n in place.tolist()] == column.cells()
        texts, want = distinct.texts(), TermTexts.of(terms)
        assert want is not None
        if isinstance(column, IdColumn):
            assert texts is not None
            assert texts.strings() == want.strings()
            assert [texts.tags[n] for n in texts.kinds] == [want.tags[n] for n in want.kinds]
            assert column.graph.tagged(column.ids) == tagged(column.cells())


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", sampled([1, 3, 8192], 3))
def test_every_format_writes_of_columns_what_it_writes_of_rows(hostile, monkeypatch, query, size):
    monkeypatch.setattr(result_set, "ROWS_PER_BLOCK", size)
    monkeypatch.setattr(RowCursor.__init__, "__kwdefaults__", {"size": size})
    rows = in_rows(hostile.query(query))
    for fmt in FORMATS:
        want = written(rows, fmt)
        assert written(hostile.query(query), fmt) == want, fmt
        with hostile.stream(query) as stream:
            known = f'"returned":{len(rows)},"shortfall":""'
            found = written(stream, fmt)
            if isinstance(stream, ResultStream):
                found = found.replace('"returned":null,"shortfall":null', known, 1)
        assert found == want, fmt
    assert repr(hostile.query(query).to_python()) == repr(rows.to_python())
    assert list(hostile.query(query).rows()) == list(rows.rows())


def test_columns_of_computed_terms_and_numbers_are_written_as_their_rows():
    triple = Triple(NamedNode("http://e/s"), NamedNode("http://e/p"), Literal('a "b"\t<'))
    terms: list[Term | None] = [triple, None, Literal(1), triple, Literal("x", language="en"), Literal("x")] * 30
    scores = np.array([np.nan, np.inf, -np.inf, -0.0, 0.1, 2.0] * 30)
    columns = {"t": TermColumn.of(terms), "s": NumberColumn(scores, double)}

    def made(columns: Any, size: int) -> list[Row]:
        return list(zip(*(column.cells() for column in columns), strict=True))

    held = ResultSet(("t", "s"), ("t", "s"), InColumns(columns, len(terms), made), _scores=(("s", "s"),))
    for fmt in FORMATS:
        assert written(held, fmt) == written(in_rows(held), fmt)


def test_only_what_is_read_becomes_terms(hostile, monkeypatch):
    made: list[int] = []
    terms, texts, tagged = StoredTerms.terms, StoredTerms.texts, StoredTerms.tagged

    def counted(read: Any) -> Any:
        def counting(self: StoredTerms, ids: Ids) -> Any:
            made.append(len(ids))
            return read(self, ids)

        return counting

    monkeypatch.setattr(StoredTerms, "terms", counted(terms))
    monkeypatch.setattr(StoredTerms, "texts", counted(texts))
    monkeypatch.setattr(StoredTerms, "tagged", counted(tagged))
    result = hostile.query("SELECT ?s ?y { ?s <http://e/year> ?y }")
    assert (len(result), result.returned, bool(result), "4 rows" in repr(result), made) == (4, 4, True, True, [])
    assert result[0]["y"] == result[0]["y"]
    assert sum(made) == 8
    made.clear()
    hidden = hostile.query("SELECT DISTINCT ?y { ?s <http://e/year> ?y . ?s MATCH 'entity third' AS ?x }")
    assert len(hidden._variables) > 1
    written(hidden, "csv")
    assert sum(made) == len(hidden)


def test_every_writer_of_rows_is_compared():
    ours = {name for name in OUTPUT_FORMATS.names() if OUTPUT_FORMATS.is_builtin(name)}
    assert ours - {"json-ld", "nt", "rdf-xml", "turtle", "trec"} == set(FORMATS)


@pytest.mark.parametrize("query", QUERIES)
def test_the_arrow_table_of_columns_is_that_of_rows(hostile, query):
    pa = pytest.importorskip("pyarrow")
    result = hostile.query(query)
    found, want = result.to_arrow(), in_rows(result).to_arrow()
    assert found.schema == want.schema
    assert [repr(column.to_pylist()) for column in found] == [repr(column.to_pylist()) for column in want]
    for at, column in enumerate(found.columns):
        kind, values = arrow.typed_column([cells[at] for cells in result.cells])
        assert kind == "string" or column.type == arrow._types(pa)[kind]
        assert repr(column.to_pylist()) == repr(pa.array(values, arrow._types(pa)[kind]).to_pylist())
        if pa.types.is_dictionary(column.type):
            bound = [value for value in values if value is not None]
            assert column.chunk(0).dictionary.to_pylist() == list(dict.fromkeys(bound))
            assert 2 * len(set(bound)) <= len(bound)
        elif kind == "string" and any(value is not None for value in values):
            assert 2 * len({*values} - {None}) > sum(value is not None for value in values)


def test_long_columns_of_text_are_several_arrays(hostile, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(arrow_columns, "MAX_ARRAY_BYTES", 40)
    result = hostile.query("SELECT ?t { ?s <http://e/t> ?t }")
    table = result.to_arrow()
    assert table.column(0).num_chunks > 1
    assert table.column(0).to_pylist() == [cell.value for (cell,) in result.cells]


@pytest.mark.filterwarnings("ignore:Parsing weird boolean")
@pytest.mark.parametrize("query", [*QUERIES, "SELECT ?x { ?x <x:none> ?y }", "SELECT * {}"])
def test_the_data_frame_of_columns_is_that_of_rows_of_python_values(hostile, query):
    pandas = pytest.importorskip("pandas")
    result = hostile.query(query)
    rows = [row.to_python() for row in in_rows(result)]
    want = pandas.DataFrame(rows, columns=list(result.columns))
    pandas.testing.assert_frame_equal(result.to_dataframe(), want)
    assert repr(result.to_python()) == repr(rows)


def test_cells_that_are_not_projected_are_made_when_they_are_read(hostile, monkeypatch):
    made: list[str] = []
    select = InColumns.select
    monkeypatch.setattr(InColumns, "select", lambda self, names: made.append(",".join(names)) or select(self, names))
    result = hostile.query(HIDDEN)
    made.clear()
    assert list(result.rows()) == [(Literal(1999),)]
    (row,) = result
    assert (list(row), row["y"].toPython(), made) == (["y"], 1999, ["y"])
    assert [len(cells) for cells in result.cells] == [3]
    assert row.scores == {"x": float(result.cells[0][2].value)}
    assert row.scores == result[0].scores == result[:1][0].scores
    assert [str(triple.object) for triple in row.triples()] == [str(Literal(1999))]


def test_a_stream_projects_as_a_result_that_holds_its_rows(hostile):
    with hostile.stream("SELECT ?t { ?s <http://e/t> ?t ; <http://e/year> ?y }") as stream:
        rows = list(stream.rows())
    assert rows == list(hostile.query("SELECT ?t { ?s <http://e/t> ?t ; <http://e/year> ?y }").rows())
    assert rows == [(Literal("only here"),)]
