"""Separated values: what divides cells and lines, and what is refused."""

from __future__ import annotations

import gzip

import pytest
from made_tables import loaded, refused, write_csv

from hybridkg.errors import LoadError
from hybridkg.rdf import input_file
from hybridkg.tables import triples
from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources
from hybridkg.tables.readers import separated


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id|name|year\n1|a,b|2\n", ("id", "name", "year")),
        ("id,a|b|c\n1,2\n", ("id", "a|b|c")),  # a comma goes first
        ('"a|b"\nx|y\n', ("a|b",)),
        ("name\nx|y\n", ("name",)),
    ],
)
def test_vertical_bars_divide_where_nothing_else_does(tmp_path, text, columns):
    (tmp_path / "t.csv").write_text(text)
    assert opened_tables([tmp_path / "t.csv"])[0].columns == columns


CSV = [
    (b"", "no header: the file is empty"),
    (b"\n\n\n", "no header: the file is empty"),
    (b"a,b\n1,2\n3\n", "row 2 has 1 cell, and the header has 2.*t.csv:3"),
    (b"a,b\n1,2,3\n", "row 1 has 3 cells, and the header has 2.*t.csv:2"),
    (b"a,b\n1,x\n\n2,y,\n", "row 2 has 3 cells.*t.csv:4"),
    (b"a,b,a\n", "two columns are called 'a': columns 1 and 3.*rename"),
    (b",,\n1,2,3\n", "no header: the first row"),
    (b"a\n\xe9t\xe9\n", "invalid UTF-8.*t.csv:.*iconv"),
    (b"\xff\xfea\x00\n\x00", "invalid UTF-8|NUL byte"),
    (b"a\n" + b"word\n" * 9 + b"x\x00y\n", "a NUL byte.*t.csv:11.*remove it"),
    ("a\nbc\n".encode("utf-16-le"), "a NUL byte.*t.csv:1.*iconv -f UTF-16"),
    (b'a,b\n1,"x\n', "the quoted cell that begins here is not closed"),
    (b'a,b\n1,"x"y\n', "not valid CSV.*twice"),
    (gzip.compress(b"a,b\n1,2\n"), "not a table, but a .gz archive|invalid UTF-8|NUL byte"),
]


@pytest.mark.parametrize(("content", "message"), CSV, ids=range(len(CSV)))
def test_what_is_wrong_with_csv(tmp_path, content, message):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    refused(file, message)


def test_a_table_may_not_have_a_million_columns(tmp_path):
    (tmp_path / "t.csv").write_bytes(b",".join(b"c%d" % i for i in range(1_000_000)))
    refused(tmp_path / "t.csv", "1,000,000 columns, and a table may have 10,000")


def test_an_index_of_pandas_without_a_name_gets_one(tmp_path):
    write_csv(tmp_path / "t.csv", ["", "a"], [["0", "x"]])
    assert any("/column_1>" in line for line in loaded(tmp_path / "t.csv"))


def test_a_line_end_may_be_of_any_system(tmp_path):
    found = []
    for end in ("\n", "\r\n", "\r"):
        (tmp_path / "t.csv").write_bytes(end.join(["id,v", '1,"a b"', "2,c", ""]).encode())
        found.append(loaded(tmp_path / "t.csv"))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 6


def test_a_line_end_inside_a_cell_and_at_the_end_of_a_block(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes(b'id,v\r\n1,"a\r\nb"\r\n2,"c\nd"\r\n')
    whole = loaded(tmp_path / "t.csv")
    assert any('"a\\r\\nb"' in line for line in whole)
    for size in range(1, 12):
        monkeypatch.setattr(input_file, "BLOCK", size)
        assert loaded(tmp_path / "t.csv") == whole


def test_long_cells_and_lines_are_bounded(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_text('id,v\n1,"' + "x" * 200_000 + '"\n')
    assert any(len(line) > 200_000 for line in loaded(file))  # above the limit that the csv module sets itself
    monkeypatch.setattr(separated, "BLOCK", 0)
    monkeypatch.setattr(input_file, "BLOCK", 50_000)
    monkeypatch.setattr(separated, "MAX_LINE_LENGTH", 100_000)
    refused(file, "a row of more than")


def test_a_row_of_endless_lines_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(separated, "MAX_LINE_LENGTH", 1000)
    monkeypatch.setattr(separated, "BLOCK", 0)
    monkeypatch.setattr(input_file, "BLOCK", 100)
    good = "id,t\n" + "".join(f'{i},"a\nb"\n' for i in range(500))
    (tmp_path / "a.csv").write_text(good)
    assert sum(batch.rows for batch in opened_tables([tmp_path / "a.csv"])[0].batches()) == 500
    (tmp_path / "a.csv").write_text(good + '"\n",' * 500)
    with pytest.raises(LoadError, match="a row of more than"):
        guess_mapping(tmp_path / "a.csv")


def test_a_triple_that_no_parser_takes_names_its_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "MAX_TRIPLE_LENGTH", 300)
    for content in ("id,t\n1,x\n2," + "y" * 300, "id,t\n1,x\n2," + "\\" * 200):
        (tmp_path / "a.csv").write_text(content + "\n")
        (source,) = table_sources(opened_tables([tmp_path / "a.csv"]), guess_mapping(tmp_path / "a.csv"))
        with pytest.raises(LoadError, match="row 2, column 't' has") as e:
            [*source.lines()]
        assert e.value.place == f"{tmp_path / 'a.csv'}:3"
