"""Columns of a table that is loaded several times: types and references stay as they were in the earlier loads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_tables import CELLS, write_csv
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.interfaces.row_subject import KeptColumn, RowSubject
from hybridkg.store.generations import kept_tables
from hybridkg.store.generations.kept_tables import KeptTables

EX = "http://example.org/"
HEADER = ["sku", "ean", "price", "tags", "brand_id"]
ROWS = [["s1", "0461", "1.50", "new|sale", "b1"], ["s2", "4650", "2.75", "eco|new", "b2"]]


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "shop.kb") as made:
        yield made


@pytest.fixture
def shop(kb, tmp_path):
    kb.load(write_csv(tmp_path / "brands.csv", ["brand_id", "name"], [["b1", "Acme"], ["b2", "Ajax"]]), index=False)
    kb.load(write_csv(tmp_path / "products.csv", HEADER, ROWS), index=False)
    return tmp_path / "products.csv"


def values(kb, sku, name):
    return sorted(row["o"].n3() for row in kb.query(f"SELECT ?o {{ <{EX}Product/{sku}> <{EX}{name}> ?o }}"))


@pytest.mark.parametrize("replace_rows", [False, True])
def test_one_row_has_the_types_of_the_earlier_rows(kb, shop, replace_rows):
    report = kb.load(
        write_csv(shop, HEADER, [["s3", "4651", "3", "eco|new", "b1"]]), replace_rows=replace_rows, index=False
    )
    assert values(kb, "s3", "ean") == ['"4651"']
    assert values(kb, "s3", "price") == ['"3"^^<http://www.w3.org/2001/XMLSchema#decimal>']
    assert values(kb, "s3", "tags") == ['"eco"', '"new"']
    assert [one.code for one in report.warnings if one.code == "W305"] == []
    notes = kb.guess_mapping(shop).tables[0].notes
    assert "column 'ean' is text, as in earlier loads of this table; its cells alone would be xsd:integer" in notes


def test_a_cell_that_does_not_fit_gives_a_warning_with_its_place(kb, shop):
    report = kb.load(write_csv(shop, HEADER, [["s3", "1", "3", "", ""], ["s4", "1", "n/a", "", ""]]), index=False)
    (warning,) = report.warnings
    assert (warning.code, warning.message) == (
        "W305",
        f"{shop}:3: row 2, column 'price': 'n/a' is not xsd:decimal, as the column was in earlier loads, so that all "
        "of its cells in this load are text",
    )


def test_a_table_that_replaces_all_rows_has_the_types_of_its_cells(kb, shop):
    kb.load(write_csv(shop, HEADER, [["s1", "1", "x", "y", "b1"], ["s2", "2", "x", "y", "b1"]]), replace_rows=True)
    assert values(kb, "s1", "ean") == ['"1"^^<http://www.w3.org/2001/XMLSchema#integer>']


def test_a_reference_stays_one_where_a_row_is_not_there_yet(kb, shop, tmp_path):
    new = write_csv(shop, HEADER, [["s3", "1", "3", "", "b1"], ["s4", "1", "3", "", "b 9"]])
    note = (
        f"column 'brand_id' is a reference, as in earlier loads, and no row <{EX}Brand/...> is there for 'b 9': load "
        "the rows of this, or correct the cells"
    )
    assert note in kb.guess_mapping(new).tables[0].notes
    kb.load(new, index=False)
    assert (values(kb, "s3", "brand"), values(kb, "s4", "brand")) == ([f"<{EX}Brand/b1>"], [f"<{EX}Brand/b%209>"])
    kb.load(write_csv(tmp_path / "brands.csv", ["brand_id", "name"], [["b 9", "New"]]), index=False)
    assert kb.query(f'ASK {{ <{EX}Product/s4> <{EX}brand>/<{EX}name> "New" }}')


cells = st.sampled_from([cell for kind in ("integer", "boolean", "list", "text") for cell in CELLS[kind]])


@settings(max_examples=examples(4, 100))
@given(st.lists(cells, min_size=2, max_size=4), st.data())
def test_loads_of_parts_of_a_table_after_the_whole_add_nothing(tmp_path_factory, column, data):
    folder = tmp_path_factory.mktemp("parts")
    rows = [[f"s{i}", cell] for i, cell in enumerate(column)]
    part = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique_by=lambda row: row[0]))
    with KnowledgeBase.create(folder / "a.kb") as kb:
        kb.load(write_csv(folder / "things.csv", ["id", "x"], rows), id="id", index=False)
        report = kb.load(write_csv(folder / "things.csv", ["id", "x"], part), id="id", index=False)
        assert (report.triples, [one.code for one in report.warnings if one.code == "W305"]) == (0, [])


def test_what_is_kept_of_the_columns_is_bounded(monkeypatch):
    monkeypatch.setattr(kept_tables, "MAX_COLUMNS", 2)
    monkeypatch.setattr(kept_tables, "MAX_ALL_COLUMNS", 3)
    kept = KeptTables([])
    for name in "ab":
        columns = tuple(KeptColumn(one, "string") for one in ("x" * 501, "p", "q", "r"))
        kept.add(RowSubject(name, "id", "", f"e:{name}/", columns=columns))
    assert [[column.name for column in one.columns] for one in kept.kept] == [[], ["p", "q"]]


def test_a_column_of_values_stays_one_after_a_copy_of_the_table_was_loaded(kb, shop):
    kb.load(write_csv(shop.with_name("other.csv"), HEADER, ROWS), index=False)
    kb.load(write_csv(shop, HEADER, [ROWS[0], ROWS[1], ["s1", "1", "", "", ""]]), id="sku", index=False)
    assert values(kb, "s2", "sku") == ['"s2"']
    kb.load(write_csv(shop, HEADER, [ROWS[0]]), replace_rows=True, index=False)
    assert (values(kb, "s1", "sku"), values(kb, "s1", "ean")) == (['"s1"'], ['"0461"'])
