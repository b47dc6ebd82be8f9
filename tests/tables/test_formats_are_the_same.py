"""Law: the same table gives the same triples in every format."""

from __future__ import annotations

import gzip
import json
import sqlite3
from datetime import date, datetime

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from made_tables import loaded, write_csv

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
