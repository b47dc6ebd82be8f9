"""Workbooks: sheets, titles above the header, formulas, and what is refused."""

from __future__ import annotations

import sys
import zipfile
from datetime import timedelta

import openpyxl
import pytest
from made_tables import changed_sheet, loaded, refused, write_csv

from hybridkg.errors import LoadError, MissingExtraError
from hybridkg.tables import headers
from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources
from hybridkg.tables.readers import excel


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


def test_a_missing_package_is_named_in_a_sentence(tmp_path, monkeypatch):
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match="an Excel workbook needs the package 'openpyxl'"):
        opened_tables([tmp_path / "t.xlsx"])


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


def test_an_error_in_a_workbook_names_the_row_of_its_sheet(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "BATCH_CELLS", 4)
    book = openpyxl.Workbook()
    for row in [["id", "t"], *([i, "x"] for i in range(9)), [9, timedelta(hours=30)]]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(LoadError, match="column 't' has a value of type timedelta, for which") as e:
        guess_mapping(tmp_path / "a.xlsx")
    assert e.value.place.endswith("row 11")


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
        guess_mapping(write_csv(tmp_path / "t.csv", ["id", "v"], [["1", "a"]]), header_row=3)


def test_most_columns_without_a_name_are_in_a_note(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["Report", "", "", "2026"], [["id", "a", "b", "c"], ["1", "x", "y", "z"]])
    assert not any("no name" in note for note in guess_mapping(path).tables[0].notes)
    path = write_csv(tmp_path / "t.csv", ["Report", "", "", ""], [["id", "a", "b", "c"], ["1", "x", "y", "z"]])
    (table,) = guess_mapping(path).tables
    assert "3 of 4 columns have no name in the header: is it in another row?" in table.notes
