"""JSON, databases and data frames: what their values become, and what is refused."""

from __future__ import annotations

import gzip
import json
import sqlite3

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from made_tables import changed_sheet, loaded, refused, write_csv

from hybridkg.errors import LoadError
from hybridkg.rdf import input_file
from hybridkg.tables import headers
from hybridkg.tables.inputs import guess_mapping, opened_tables


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


def test_the_tables_of_a_full_text_search_are_left_to_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE VIRTUAL TABLE films USING fts5(title)")
        database.execute("INSERT INTO films VALUES ('Alien')")
    database.close()
    assert [table.name for table in opened_tables([tmp_path / "a.sqlite"])] == ["films"]
