"""Law: the stream of triples by blocks of columns is that of the restatement row by row, and is valid N-Triples."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from made_tables import tables, write_csv
from pyoxigraph import RdfFormat, parse, serialize
from row_by_row import triples
from sampling import examples

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.store.rdf_io.blank_nodes import MARK
from hybridkg.tables import headers
from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources
from hybridkg.tables.kinds import DATATYPES
from hybridkg.tables.mapping import PropertyMap, TableMap, TableMapping, TermMap, constant_iri, literal_of
from hybridkg.tables.yarrrml_reader import read_yarrrml

EX = "http://e.org/"


def written(path, mapping) -> bytes:
    """The N-Triples of a file by a mapping."""
    return b"".join(text for source in table_sources(opened_tables([path]), mapping) for text, _ in source.lines())


@pytest.mark.quick
@given(tables())
@settings(max_examples=examples(48, 80), deadline=None)
def test_the_stream_equals_the_restatement_row_by_row(tmp_path_factory, table):
    header, rows = table
    folder = tmp_path_factory.getbasetemp()
    path = write_csv(folder / "things.csv", header, rows)
    mapping = guess_mapping(path, id="id")
    text = written(path, mapping)
    slow = triples(header, rows, mapping.tables[0])
    assert Counter(parse(text, RdfFormat.N_TRIPLES)) == Counter(slow)  # a strict parser, so it is valid as well
    canonical = serialize(slow, format=RdfFormat.N_TRIPLES)
    assert sorted(text.splitlines()) == sorted(canonical.splitlines())  # as Oxigraph itself writes it
    counted = [number for source in table_sources(opened_tables([path]), mapping) for _, number in source.lines()]
    assert sum(counted) == len(slow)
    mapping.save(folder / "things.yml", overwrite=True)
    again = read_yarrrml(folder / "things.yml")
    assert again == mapping
    assert written(path, again) == text


def test_batches_of_any_size_give_the_same_triples(tmp_path, monkeypatch):
    rows = [[str(i), "x|y" if i % 3 else "", "true"] for i in range(20)]
    path = write_csv(tmp_path / "t.csv", ["id", "list", "flag"], rows)
    mapping = guess_mapping(path)
    whole = sorted(written(path, mapping).splitlines())
    for cells in (1, 7, 30):
        monkeypatch.setattr(headers, "BATCH_CELLS", cells)
        assert guess_mapping(path) == mapping
        assert sorted(written(path, mapping).splitlines()) == whole


def mapped(subject: TermMap, *properties: PropertyMap) -> TableMapping:
    return TableMapping((TableMap("t", "t.csv", "", subject, properties),))


def test_templates_of_several_columns_need_all_of_them(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["a", "b"], [["1", "x y"], ["2", ""]])
    both = TermMap((EX, "a", "/", "b", ""), ValueKind.IRI)
    name = TermMap(("", "a", " of ", "b", ""))
    mapping = mapped(
        TermMap((EX, "a", ""), ValueKind.IRI), PropertyMap((EX + "p",), both), PropertyMap((EX + "q",), name)
    )
    assert written(path, mapping).decode().splitlines() == [
        "<http://e.org/1> <http://e.org/p> <http://e.org/1/x%20y> .",
        '<http://e.org/1> <http://e.org/q> "1 of x y" .',
    ]


def test_a_datatype_is_that_of_the_whole_text(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "year"], [["a", "1979"]])
    of_year = TermMap(("", "year", "-01-01"), ValueKind.DATE, DATATYPES[ValueKind.DATE])
    mapping = mapped(TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "p",), of_year))
    assert b'"1979-01-01"^^' in written(path, mapping)
    write_csv(path, ["id", "year"], [["a", "1979-01"]])
    with pytest.raises(LoadError, match="row 1, column 'year': '1979-01-01-01' is not of the datatype date"):
        written(path, mapping)


def test_several_values_in_several_columns_are_combined(tmp_path):
    rows = [["r", ["x", "y"], ["1", "2"]], ["s", [], ["3"]]]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(dict(zip(("id", "a", "b"), row, strict=True))) + "\n" for row in rows))
    both = TermMap((EX, "a", "/", "b", ""), ValueKind.IRI)
    mapping = mapped(TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "p",), both))
    found = list(parse(written(path, mapping), RdfFormat.N_TRIPLES))
    assert Counter(found) == Counter(triples(("id", "a", "b"), rows, mapping.tables[0]))
    assert len(found) == 4


def test_a_wrong_cell_names_row_and_column_and_line(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "year"], [["a\nb", "1999"], ["c", "nineteen"]])
    mapping = mapped(
        TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "year",), literal_of("year", ValueKind.INTEGER))
    )
    with pytest.raises(LoadError) as caught:
        written(path, mapping)
    assert str(caught.value) == (
        "error[L301]: row 2, column 'year': 'nineteen' is not of the datatype integer, such as 42\n"
        f" --> {path}:4\n"
        "  hint: correct the cell, or map the column to a string"
    )


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (ValueKind.INTEGER, "+007", "1.0"),
        (ValueKind.DECIMAL, ".5", "1e5"),
        (ValueKind.DOUBLE, "-INF", "infinity"),
        (ValueKind.BOOLEAN, "1", "yes"),
        (ValueKind.DATE, "2024-02-29", "2023-02-29"),
        (ValueKind.DATETIME, "2024-02-29T23:59:59+01:00", "2024-02-29T12:00"),
        (ValueKind.IRI, "urn:isbn:1", "http://e.org/a b"),
    ],
)
def test_what_a_mapping_accepts(tmp_path, kind, good, bad):
    mapping = mapped(TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "p",), literal_of("v", kind)))
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [["a", good], ["b", ""]])
    assert written(path, mapping).count(b"\n") == 1
    write_csv(path, ["id", "v"], [["a", good], ["b", f"{good}\n{good}"]])
    with pytest.raises(LoadError, match="row 2, column 'v'"):
        written(path, mapping)
    write_csv(path, ["id", "v"], [["a", bad]])
    with pytest.raises(LoadError, match="row 1, column 'v'"):
        written(path, mapping)


def test_a_datatype_that_xml_schema_does_not_have_is_an_error(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "price"], [["a", "1.5"]])
    price = TermMap(("", "price", ""), datatype="http://www.w3.org/2001/XMLSchema#decimel")
    with pytest.raises(LoadError) as caught:
        written(path, mapped(TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "price",), price)))
    assert "'xsd:decimel' is no datatype of XML Schema" in str(caught.value)
    assert "did you mean xsd:decimal?" in str(caught.value)


def test_rows_without_a_subject_are_an_error(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [["a", "x"], [" ", "y"]])
    with pytest.raises(LoadError, match="row 2, no value in column 'id', which identifies the rows"):
        written(path, guess_mapping(path, id="id"))


def test_a_map_of_another_table_is_an_error(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "year"], [["a", "1"]])
    mapping = mapped(
        TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "p",), literal_of("yaer", ValueKind.STRING))
    )
    with pytest.raises(LoadError) as caught:
        written(path, mapping)
    assert "a column 'yaer', which" in str(caught.value)
    assert "did you mean 'year'?" in str(caught.value)


def test_constants_have_a_triple_in_each_row(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id"], [["a"], ["b"]])
    mapping = mapped(TermMap((EX, "id", ""), ValueKind.IRI), PropertyMap((EX + "p",), constant_iri(EX + "c")))
    assert written(path, mapping).count(b"<http://e.org/p> <http://e.org/c>") == 2


def test_no_triple_of_a_table_has_a_blank_node(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [["_:a", "_:b"]])
    text = written(path, guess_mapping(path, id="id"))
    assert {MARK in line for line in text.splitlines()} == {True, False}  # a text only: it is loaded as it is
    assert all("_:" not in str(quad.subject) for quad in parse(text, RdfFormat.N_TRIPLES))
