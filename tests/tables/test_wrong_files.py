"""Files and values that are no table: the error says what they are, and where the fault is."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest

from hybridkg import KnowledgeBase, LoadError, guess_mapping


def error(*inputs, **options):
    with pytest.raises(LoadError) as caught:
        guess_mapping(*inputs, **options)
    return caught.value


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_invalid_utf8_has_its_line(tmp_path, monkeypatch, name, ends):
    monkeypatch.setattr("hybridkg.rdf.input_file.BLOCK", 64)
    content = ("a,b\n" + "1,x\n" * 100).replace("\n", ends).encode() + b"2,\xe9" + ends.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = error(tmp_path / name)
    assert (found.message, found.place) == ("invalid UTF-8: byte 0xE9", f"{tmp_path / name}:102")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('a,b\n1,x\n2,"y\n3,z\n', "row 2, column 'b'", 3),
        ('a,b\n\n1,x\n"p\nq","y\n3,z\n', "row 2, column 'b'", 5),
        ('a,b\n"1""",x\n"2', "row 2, column 'a'", 3),
        ('\na,"b\n1,x\n', "the header, column 2", 2),
    ],
)
def test_a_quoted_cell_that_is_not_closed_has_the_place_where_it_begins(tmp_path, text, message, line):
    (tmp_path / "t.csv").write_text(text)
    found = error(tmp_path / "t.csv")
    assert found.message.startswith(f"{message}: the quoted cell that begins here is not closed")
    assert found.place == f"{tmp_path / 't.csv'}:{line}"


@pytest.mark.parametrize(
    ("start", "what", "hint"),
    [
        (b"PK\x03\x04\0\0", "a ZIP archive, perhaps an Excel workbook", "t.xlsx"),
        (b"PAR1\0", "a Parquet file", "t.parquet"),
        (b"SQLite format 3\0\0", "a SQLite database", "t.sqlite"),
        (b"%PDF-1.7\n", "a PDF document", "export"),
    ],
)
@pytest.mark.parametrize("extension", ["csv", "jsonl"])
def test_a_file_of_another_format_is_recognised(tmp_path, start, what, hint, extension):
    path = tmp_path / f"t.{extension}"
    path.write_bytes(start)
    found = error(path)
    assert found.message == f"not a table of text, but {what}"
    assert hint in found.hint


def test_values_of_python_that_are_no_table(tmp_path):
    assert "to_frame" in error(pd.Series([1, 2])).hint
    with KnowledgeBase.create(tmp_path / "a.kb") as kb:
        for value, message in (
            (pd.Series([1, 2]), "a Series is one column"),
            ({}, "an empty dict is no row"),
            ([1, 2, 3], "row 1 is a number, and each row must be an object"),
        ):
            with pytest.raises(LoadError, match=message):
                kb.load(value)


def test_a_table_is_no_mapping(tmp_path):
    path = tmp_path / "products.csv"
    path.write_text("a,b\n1,2\n")
    (tmp_path / "m.ttl").write_text("a,b\n1,2\n")
    with KnowledgeBase.create(tmp_path / "a.kb") as kb:
        with pytest.raises(LoadError, match=r"a mapping is YARRRML .* or RML"):
            kb.load(path, mapping=path)
        with pytest.raises(LoadError, match="not valid Turtle: at line 1") as caught:
            kb.load(path, mapping=tmp_path / "m.ttl")
    assert "<>" not in caught.value.message


def test_decimal_commas_give_a_note(tmp_path):
    (tmp_path / "t.csv").write_text("sku;price\ns1;3\ns2;1,50\ns3;1.250,00\n")
    (note,) = guess_mapping(tmp_path / "t.csv").tables[0].notes
    assert note.startswith("column 'price' is text, because row 2 has '1,50', a number with a comma (3 of 3 values")


def test_a_number_that_becomes_the_identifier_is_called_a_guess(tmp_path):
    path = tmp_path / "noid.csv"
    path.write_text("name,val\nx,1\nx,2\ny,3\n")
    (note,) = [note for note in guess_mapping(path).tables[0].notes if "--id COLUMN" in note]
    assert note == "'val' identifies the rows by a guess, because its numbers differ: --id COLUMN chooses another"
    assert not any("guess" in note for note in guess_mapping(path, id="val").tables[0].notes)
