"""Law: the same table gives the same triples in every format; and what each format refuses."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import sys
import zipfile
from datetime import date, datetime, timedelta

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from made_tables import write_csv

from hybridkg.errors import LoadError, MissingExtraError
from hybridkg.rdf import input_file
from hybridkg.tables import headers, triples
from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources
from hybridkg.tables.readers import excel, separated

HEADER = ["id", "title", "year", "rating", "seen", "released", "shown", "note"]
ROWS = [
    ["f1", "Alien", 1979, 8.5, True, date(1979, 5, 25), datetime(1979, 5, 25, 20, 15), None],
    ["f2", 'Solaris "1972"', 1972, 8.25, False, date(1972, 2, 5), datetime(1972, 2, 5, 1, 2, 3), "007"],
]


def texts(rows):
    def text(value):
        match value:
            case None:
                return ""
            case bool():
                return str(value).lower()
            case date():
                return value.isoformat()
        return str(value)

    return [[text(value) for value in row] for row in rows]


def as_csv(path):
    return write_csv(path / "films.csv", HEADER, texts(ROWS))


def as_semicolons(path):
    return write_csv(path / "films.csv", HEADER, texts(ROWS), ";")


def as_tsv(path):
    file = write_csv(path / "films.tsv", HEADER, texts(ROWS), "\t")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())  # a byte order mark, as spreadsheets write it
    return file


def as_packed_csv(path):
    file = path / "films.csv.gz"
    file.write_bytes(gzip.compress(as_csv(path).read_bytes()))
    return file


def objects():
    def value(one):
        return one.isoformat() if isinstance(one, date) else one

    return [dict(zip(HEADER, map(value, row), strict=True)) for row in ROWS]


def as_json(path):
    file = path / "films.json"
    file.write_text(json.dumps(objects(), indent=1))
    return file


def as_json_lines(path):
    file = path / "films.jsonl"
    file.write_text("\n\n".join(map(json.dumps, objects())))
    return file


def as_parquet(path):
    file = path / "films.parquet"
    pa.parquet.write_table(pa.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in ROWS]), file)
    return file


def as_excel(path):
    file = path / "films.xlsx"
    book = openpyxl.Workbook()
    for row in [HEADER, ROWS[0], [], ROWS[1]]:  # an empty row is none
        book.active.append(row)
    book.save(file)
    return file


def as_sqlite(path):
    file = path / "films.sqlite"
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE TABLE films ({', '.join(HEADER)})".replace("seen", "seen BOOLEAN"))
        for row in ROWS:
            cells = [one.isoformat() if isinstance(one, date) else one for one in row]
            database.execute(f"INSERT INTO films VALUES ({', '.join('?' * len(cells))})", cells)  # noqa: S608
    database.close()
    return file


def as_frame(_):
    return pd.DataFrame(ROWS, columns=HEADER)


def as_arrow(_):
    return pa.Table.from_pandas(pd.DataFrame(ROWS, columns=HEADER))


def loaded(value, **options):
    tables = opened_tables([value])
    mapping = guess_mapping(value, **options)
    lines = b"".join(text for source in table_sources(tables, mapping) for text, _ in source.lines())
    return sorted(lines.decode().splitlines())


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    lines = loaded(as_csv(tmp_path_factory.mktemp("csv")), class_="Film")
    assert len(lines) == 2 * 9 + 1
    return lines


@pytest.mark.parametrize(
    ("make", "is_typed"),
    [
        (as_semicolons, False),
        (as_tsv, False),
        (as_packed_csv, False),
        (as_json, True),
        (as_json_lines, True),
        (as_parquet, True),
        (as_excel, True),
        (as_frame, True),
        (as_arrow, True),
        (as_sqlite, True),
    ],
)
def test_every_format_gives_the_triples_of_csv(tmp_path, wanted, make, is_typed):
    found = loaded(make(tmp_path), class_="Film")
    if is_typed:  # a float is a double, and CSV has decimals
        found = [line.replace("XMLSchema#double", "XMLSchema#decimal") for line in found]
    assert sorted(found) == wanted


DAYS = ["id", "seen", "day", "moment"]
DAY_ROWS = [
    ["f1", True, datetime(1979, 5, 25), datetime(1979, 5, 25)],
    ["f2", None, None, datetime(1972, 2, 5, 1, 2)],
    ["f3", False, datetime(1972, 2, 5), None],
]
"""Days as programs write them that have no type for days; a midnight among moments is a moment."""


def days_as_excel(path):
    file, book = path / "films.xlsx", openpyxl.Workbook()
    for row in [DAYS, *DAY_ROWS]:
        book.active.append(row)
    assert "h" in book.active["C2"].number_format
    book.save(file)
    return file


def days_as_frame(_):
    return pd.DataFrame(DAY_ROWS, columns=DAYS).astype({"seen": "boolean"})


def days_as_sqlite(path):
    file = path / "films.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE films (id TEXT, seen BOOL, day DATE, moment DATETIME)")
        for one, seen, day, moment in DAY_ROWS:
            cells = [one, seen, None if day is None else f"{day:%Y-%m-%d}", None if moment is None else str(moment)]
            database.execute("INSERT INTO films VALUES (?, ?, ?, ?)", cells)
    database.close()
    return file


def days_as_parquet(path):
    file = path / "films.parquet"
    rows = [[a, b, None if c is None else c.date(), d] for a, b, c, d in DAY_ROWS]
    pa.parquet.write_table(pa.Table.from_pylist([dict(zip(DAYS, row, strict=True)) for row in rows]), file)
    return file


def days_as_json(path):
    file = path / "films.json"
    rows = [[a, b, None if c is None else f"{c:%Y-%m-%d}", None if d is None else str(d)] for a, b, c, d in DAY_ROWS]
    file.write_text(json.dumps([dict(zip(DAYS, row, strict=True)) for row in rows]))
    return file


@pytest.mark.parametrize("make", [days_as_excel, days_as_frame, days_as_sqlite, days_as_parquet, days_as_json])
def test_booleans_days_and_moments_are_those_of_csv_in_every_format(tmp_path, make):
    rows = [["f1", "true", "1979-05-25", "1979-05-25T00:00:00"], ["f2", "", "", "1972-02-05 01:02:00"]]
    path = write_csv(tmp_path / "films.csv", DAYS, [*rows, ["f3", "false", "1972-02-05", ""]])
    assert loaded(make(tmp_path), class_="Film") == loaded(path, class_="Film")


@pytest.mark.parametrize("other", [2, "no", 0.5])
def test_a_column_declared_boolean_with_other_values_keeps_them(tmp_path, other):
    file = tmp_path / "t.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE t (id TEXT, seen BOOLEAN)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [("a", 1), ("b", 0), ("c", other)])
    database.close()
    assert not any("boolean" in line for line in loaded(file))


def test_lists_and_objects_of_json(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text('{"id": 1, "tags": ["x", "y"], "by": {"name": "a", "age": 3}, "more": [{"k": [1]}]}\n{"id": 2}\n')
    found = loaded(file)
    assert '<http://example.org/T/1> <http://example.org/tags> "y" .' in found
    assert '<http://example.org/T/1> <http://example.org/by.name> "a" .' in found
    json_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
    assert f'<http://example.org/T/1> <http://example.org/more> "[{{\\"k\\":[1]}}]"^^<{json_type}> .' in found


def test_a_text_of_digits_in_json_is_no_number(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text('{"id": "1", "zip": "10115"}\n{"id": "2", "zip": "80331"}\n')
    assert any(line.endswith('"10115" .') for line in loaded(file))


def test_integers_that_pandas_has_made_floats(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b"], "year": [1979, None], "v": [0.5, float("nan")]})
    found = loaded(frame)
    assert (
        '<http://example.org/Table/a> <http://example.org/year> "1979"^^<http://www.w3.org/2001/XMLSchema#integer> .'
        in found
    )
    assert len(found) == 2 * 2 + 2


def test_an_index_with_a_name_is_a_column():
    frame = pd.DataFrame({"title": ["x"]}, index=pd.Index(["tt1"], name="imdb_id"))
    assert loaded(frame, id="imdb_id")[0].startswith("<http://example.org/Table/tt1>")


def test_sheets_and_tables_of_one_file(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "films"
    book.active.append(["id", "director"])
    book.active.append(["f1", "d1"])
    book.create_sheet("empty")
    book.create_sheet("directors").append(["id"])
    book["directors"].append(["d1"])
    book.save(tmp_path / "all.xlsx")
    assert [table.name for table in opened_tables([tmp_path / "all.xlsx"])] == ["films", "directors"]
    mapping = guess_mapping(tmp_path / "all.xlsx")
    assert [table.part for table in mapping.tables] == ["films", "directors"]
    assert mapping.tables[0].properties[-1].target.template[0] == "http://example.org/Director/"


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
    (b",".join(b"c%d" % i for i in range(1_000_000)), "1,000,000 columns, and a table may have 10,000"),
]


@pytest.mark.parametrize(("content", "message"), CSV, ids=range(len(CSV)))
def test_what_is_wrong_with_csv(tmp_path, content, message):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    refused(file, message)


def test_a_missing_package_is_named_in_a_sentence(tmp_path, monkeypatch):
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match="an Excel workbook needs the package 'openpyxl'"):
        opened_tables([tmp_path / "t.xlsx"])


def refused(file, message):
    with pytest.raises(LoadError) as caught:
        loaded(file)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1}\n{"id": \n', "not valid JSON.*t.jsonl:2"),
        ('{"id": 1}\n[1]\n', "row 2 is a list, and each row must be an object.*t.jsonl:2"),
        ('{"id": 1, "v": "\\ud800"}\n', "row 1, column 'v' has half a character.*t.jsonl:1"),
        ('{"id": 1, "v": "a\\u0000"}\n', "row 1, column 'v' has a NUL character"),
        ('{"a.b": 1, "a": {"b": 2}}\n', "has the name 'a.b' twice"),
        ('{"id": 1, "v": [{"a": 1}]}\n{"id": 2, "v": "x"}\n', "lists of objects"),
        ("[" * 100_000, "too deep"),
        ('{"a\\ud800": 1}\n', "the name of column 1 has a NUL or half a character"),
    ],
)
def test_what_is_wrong_with_json_lines(tmp_path, content, message):
    file = tmp_path / "t.jsonl"
    file.write_text(content)
    refused(file, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"items": []}', "no array.*jq"),
        ('[{"id": 1}, {"id": }]', "not valid JSON.*object 2"),
        ('[{"id": 1} {"id": 2}]', "',' is missing before '{'.*after object 1"),
        ('[{"id": 1}', "',' is missing"),
        ('[{"id": 1}] x', "'x' stands behind the array"),
        ("[1]", "row 1 is a number"),
        ("[" * 100_000, "too deep|not valid JSON"),
    ],
)
def test_what_is_wrong_with_json(tmp_path, content, message):
    file = tmp_path / "t.json"
    file.write_text(content)
    refused(file, message)


def test_json_is_read_in_blocks_of_any_size(tmp_path, monkeypatch):
    file = tmp_path / "t.json"
    file.write_text('[ {"id": 12, "v": "é \\" ]"} ,\n{"id": 13, "v": null}]\n', encoding="utf-8")
    whole = loaded(file)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(input_file, "BLOCK", size)
        assert loaded(file) == whole


def test_what_is_wrong_with_other_files(tmp_path):
    for name in ("t.parquet", "t.xlsx", "t.sqlite"):
        (tmp_path / name).write_bytes(b"no such thing" * 100)
        refused(tmp_path / name, "not valid Parquet|not an Excel workbook|not a readable SQLite")
        with pytest.raises(LoadError, match="no file"):
            loaded(tmp_path / f"missing{name}")
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(b"x"))
    refused(tmp_path / "t.parquet.gz", "cannot be compressed.*gunzip")
    sqlite3.connect(tmp_path / "none.db").close()
    refused(tmp_path / "none.db", "no table in this database")


def test_values_that_have_no_text(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (id, v)")
        database.execute("INSERT INTO t VALUES (1, x'00')")
    database.close()
    refused(tmp_path / "t.db", "row 1, column 'v' has a value of type bytes, for which there is no literal")
    with pytest.raises(LoadError, match="column 'v' has values of type"):
        loaded(pa.table({"v": [b"x"]}))
    with pytest.raises(LoadError, match="column 'v' has values of several types"):
        loaded(pd.DataFrame({"v": [1, "x"]}))


def test_formulas_are_values_or_an_error(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["id", "v"])
    book.active.append([1, "=1+1"])  # openpyxl computes nothing, so no value is stored
    book.save(tmp_path / "t.xlsx")
    refused(tmp_path / "t.xlsx", r"cell B2 has a formula, '=1\+1', and no value.*spreadsheet")


def test_a_workbook_is_not_unpacked_beyond_a_bound(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 5_000_000)
    monkeypatch.setattr(excel, "MAX_UNPACKED", 1_000_000)
    refused(tmp_path / "t.xlsx", "a workbook of 5,000,000 bytes unpacked")


def test_the_bound_of_columns_holds_for_objects(tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.tables.readers.json_rows.MAX_COLUMNS", 3)
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": 2}\n{"c": 1, "d": 2}\n')
    refused(tmp_path / "t.jsonl", "more than 3 names")


def test_a_batch_is_bounded_by_cells():
    assert all(headers.rows_of_batch(n) * n <= max(n, headers.BATCH_CELLS) for n in (1, 10, 4_999, headers.MAX_COLUMNS))


def test_a_batch_is_bounded_by_characters(tmp_path, monkeypatch):
    """Rows with whole books in them are read by the few, and give the same triples."""
    rows = [[str(i), "x" * 300] for i in range(40)]
    files = [write_csv(tmp_path / "a.csv", ["id", "t"], rows), tmp_path / "a.jsonl", tmp_path / "a.sqlite"]
    files[1].write_text("".join(json.dumps({"id": i, "t": [t]}) + "\n" for i, t in rows))
    with sqlite3.connect(files[2]) as database:
        database.execute("CREATE TABLE a (id TEXT, t TEXT)")
        database.executemany("INSERT INTO a VALUES (?, ?)", rows)
    database.close()
    monkeypatch.setattr(headers, "BATCH_CHARACTERS", 1000)
    for file in files:
        (table,) = opened_tables([file])
        sizes = [batch.rows for batch in table.batches()]
        assert sum(sizes) == 40
        assert max(sizes) <= 4


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


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_name_twice_in_an_object_is_an_error_and_no_lost_value(tmp_path, name):
    text = '{"id": 1, "a": {"b": 1, "b": 2}}'
    (tmp_path / name).write_text(f"[{text}]" if name == "a.json" else text)
    with pytest.raises(LoadError, match="an object has the name 'b' twice"):
        guess_mapping(tmp_path / name)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_number_beyond_all_doubles_is_an_error_and_no_infinity(tmp_path, name):
    text = '{"id": 1, "a": 1e400}'
    (tmp_path / name).write_text(f"[{text}]" if name == "a.json" else text)
    with pytest.raises(LoadError, match="1e400 is larger than any double"):
        guess_mapping(tmp_path / name)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.xlsx", "rows"])
def test_an_integer_of_thousands_of_digits_is_an_error_with_its_place(tmp_path, name):
    text = '{"id": 1, "a": 2}\n{"id": 2, "a": ' + "9" * 5_000 + "}"
    if name == "a.xlsx":
        book = openpyxl.Workbook()
        for row in [["id", "a"], [1, 2], [2, 77]]:
            book.active.append(row)
        book.save(tmp_path / name)
        changed_sheet(tmp_path / name, b"<v>77</v>", b"<v>" + b"9" * 5_000 + b"</v>").replace(tmp_path / name)
    else:
        (tmp_path / name).write_text("[" + text.replace("\n", ",") + "]" if name == "a.json" else text)
    rows = [{"id": 1, "a": 2}, {"id": 2, "a": 10**5_000}]
    with pytest.raises(LoadError) as caught:
        guess_mapping(rows if name == "rows" else tmp_path / name)
    rendered = caught.value.render()
    assert "set_int_max" not in rendered
    if name == "a.xlsx":
        assert caught.value.place.endswith("a.xlsx, sheet Sheet, row 3")
    else:
        assert "row 2, column 'a' has an integer of more than 4,300 digits" in rendered


def test_a_list_with_not_a_number_in_it_is_no_json(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "a": [{"b": NaN}]}\n')
    with pytest.raises(LoadError, match="row 1, column 'a' has a list with NaN"):
        guess_mapping(tmp_path / "a.jsonl")


def test_the_index_of_a_data_frame_that_has_the_name_of_a_column_is_an_error():
    frame = pd.DataFrame({"id": [1], "a": ["x"]})
    frame.index.name = "id"
    with pytest.raises(LoadError, match="the index and a column are both called 'id'"):
        guess_mapping(frame)


def test_the_named_parts_of_an_index_are_columns():
    index = pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=[0, None])
    (table,) = opened_tables([pd.DataFrame({"a": ["x", "y"]}, index=index)])
    assert [*table.columns] == ["0", "a"]


def test_an_error_in_a_workbook_names_the_row_of_its_sheet(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "BATCH_CELLS", 4)
    book = openpyxl.Workbook()
    for row in [["id", "t"], *([i, "x"] for i in range(9)), [9, timedelta(hours=30)]]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(LoadError, match="column 't' has a value of type timedelta, for which") as e:
        guess_mapping(tmp_path / "a.xlsx")
    assert e.value.place.endswith("row 11")


def test_the_tables_of_a_full_text_search_are_left_to_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE VIRTUAL TABLE films USING fts5(title)")
        database.execute("INSERT INTO films VALUES ('Alien')")
    database.close()
    assert [table.name for table in opened_tables([tmp_path / "a.sqlite"])] == ["films"]


def changed_sheet(path, old: bytes, new: bytes):
    """A copy of a workbook with another text in its sheet."""
    copy = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(path) as book, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as target:
        for name in book.namelist():
            text = book.read(name)
            if name.endswith("sheet1.xml"):
                assert old in text
                text = text.replace(old, new)
            target.writestr(name, text)
    return copy


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    for row in (["id", "t"], [1, 2], [3, 4]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_cells_beyond_the_dimension_that_a_sheet_claims_are_read(workbook):
    copy = changed_sheet(workbook, b'<dimension ref="A1:B3"', b'<dimension ref="A1"')
    assert copy.name.partition(".")[0] == "changed-t"
    (table,) = opened_tables([copy])
    assert [(batch.rows, [column.cells for column in batch.columns]) for batch in table.batches()] == [
        (2, [["1", "3"], ["2", "4"]])
    ]


def test_a_row_of_a_sheet_and_its_number_are_bounded(workbook, monkeypatch):
    refused(changed_sheet(workbook, b'<row r="3"', b'<row r="900000000"'), "more than 1,048,576 rows")
    monkeypatch.setattr(excel, "MAX_ROW_LENGTH", 10_000)
    monkeypatch.setattr(excel, "BLOCK", 100)
    opened_tables([workbook])
    refused(
        changed_sheet(workbook, b"</row></sheetData>", b"<c><v>1</v></c>" * 1000 + b"</row></sheetData>"), "a row of"
    )


def with_title(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in [["Products 2026"], [], ["sku", "name", "price"], ["s1", "tea", 3], [], ["s2", "soap", 4]]:
            sheet.append(row)
    book.save(path / "products.xlsx")
    return path / "products.xlsx"


def test_a_title_above_the_header_is_an_error_and_the_option_for_it_leaves_the_title_out(tmp_path):
    path = with_title(tmp_path, "Sheet")
    with pytest.raises(LoadError) as caught:
        guess_mapping(path)
    assert caught.value.message == (
        "row 1 has one cell, 'Products 2026', and row 3 has 3: this is a title, and no header"
    )
    assert caught.value.hint == "name the row of the header: --header-row 3; or delete what is above it"
    as_text = write_csv(tmp_path / "products.csv", ["sku", "name", "price"], [["s1", "tea", 3], ["s2", "soap", 4]])
    mapping = guess_mapping(path, header_row=3)
    (source,) = table_sources(opened_tables([path], 3), mapping)
    assert sorted(b"".join(text for text, _ in source.lines()).decode().splitlines()) == loaded(as_text)


def test_the_row_of_the_header_of_several_sheets(tmp_path):
    path = with_title(tmp_path, "a", "b")
    with pytest.raises(LoadError, match=r"--header-row a=3"):
        guess_mapping(path)
    with pytest.raises(LoadError, match=r"is for one sheet, and there are 2: a, b"):
        guess_mapping(path, header_row=3)
    with pytest.raises(LoadError, match=r"given for a sheet 'c'; the sheets: a, b"):
        guess_mapping(path, header_row={"a": 3, "b": 3, "c": 3})
    assert [table.rows for table in guess_mapping(path, header_row={"a": 3, "b": 4}).tables] == [2, 1]


def test_the_only_sheet_of_a_workbook_is_named_by_itself_or_its_file(tmp_path):
    path = with_title(tmp_path, "Films")
    assert guess_mapping(path, header_row={"Films": 3}) == guess_mapping(path, header_row={"products": 3})
    with pytest.raises(LoadError, match=r"given for a sheet 'Film'; the sheets: Films") as caught:
        guess_mapping(path, header_row={"Film": 3})
    assert caught.value.hint == "did you mean 'Films'?"


def test_a_name_that_sheets_of_several_workbooks_have_is_refused(tmp_path):
    (tmp_path / "more").mkdir()
    one, two = with_title(tmp_path, "Films"), with_title(tmp_path / "more", "Films")
    two = two.rename(tmp_path / "others.xlsx")
    with pytest.raises(LoadError, match="2 workbooks have one") as caught:
        guess_mapping(one, two, header_row={"Films": 3})
    assert caught.value.hint == "name the workbook: --header-row products=3"
    assert len(guess_mapping(one, two, header_row={"products": 3, "others": 3}).tables) == 2


@pytest.mark.parametrize("row", [2, 7])
def test_a_header_without_a_cell_is_refused(tmp_path, row):
    with pytest.raises(LoadError, match=f"row {row} has no cell"):
        guess_mapping(with_title(tmp_path, "Sheet"), header_row=row)


def test_the_row_of_a_header_is_for_workbooks(tmp_path):
    with pytest.raises(LoadError, match="header_row is for Excel workbooks"):
        guess_mapping(as_csv(tmp_path), header_row=3)


def test_most_columns_without_a_name_are_in_a_note(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["Report", "", "", "2026"], [["id", "a", "b", "c"], ["1", "x", "y", "z"]])
    assert not any("no name" in note for note in guess_mapping(path).tables[0].notes)
    path = write_csv(tmp_path / "t.csv", ["Report", "", "", ""], [["id", "a", "b", "c"], ["1", "x", "y", "z"]])
    (table,) = guess_mapping(path).tables
    assert "3 of 4 columns have no name in the header: is it in another row?" in table.notes
