"""Files with the rows of an earlier table under another name: what would duplicate them is told with the option."""

from __future__ import annotations

import pytest
from made_tables import write_csv

from hybridkg import KnowledgeBase

EX = "http://example.org/"


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "shop.kb") as made:
        made.load(write_csv(tmp_path / "stock.csv", ["sku", "n"], [["s1", "4"]]), index=False)
        made.load(write_csv(tmp_path / "products.csv", ["sku", "n"], [["s1", "1"], ["s2", "2"]]), index=False)
        yield made


def test_rows_that_replace_nothing_give_a_warning_with_the_class_of_the_similar_table(kb, tmp_path):
    fixed = write_csv(tmp_path / "products_fixed.csv", ["sku", "n"], [["s1", "3"]])
    (warning,) = kb.load(fixed, replace_rows=True, index=False).warnings
    assert (warning.code, "--replace-rows --class products_fixed=Product, " in warning.hint) == ("W306", True)
    assert kb.load(fixed, class_={"products_fixed": "Product"}, replace_rows=True, index=False).warnings == ()
    assert [row["o"].n3()[1:2] for row in kb.query(f"SELECT ?o {{ <{EX}Product/s1> <{EX}n> ?o }}")] == ["3"]


def test_new_rows_of_a_known_table_give_no_warning(kb, tmp_path):
    more = write_csv(tmp_path / "products.csv", ["sku", "n"], [["s3", "3"]])
    assert kb.load(more, replace_rows=True, index=False).warnings == ()


@pytest.mark.parametrize("name", ["products (1)", "products-2", "products_fixed"])
def test_the_name_of_a_copy_gives_a_note(kb, tmp_path, name):
    copy = write_csv(tmp_path / f"{name}.csv", ["sku", "n"], [["s1", "1"]])
    (note,) = kb.guess_mapping(copy).tables[0].notes
    assert note.startswith(f"{name!r} has the name of a copy of 'products'")
    assert kb.guess_mapping(copy, class_="Product").tables[0].notes == ()


def test_the_advice_to_load_a_table_again_names_its_class(kb, tmp_path):
    products = write_csv(tmp_path / "goods.csv", ["sku", "brand_id"], [["g1", "b1"], ["g2", "b2"]])
    kb.load(products, class_="P200", index=False)
    kb.load(products, index=False)
    brands = write_csv(tmp_path / "brands.csv", ["brand_id"], [["b1"], ["b2"]])
    (note,) = kb.guess_mapping(brands).tables[0].notes
    assert note.endswith("load it again with --replace-rows --class goods=P200 and with --replace-rows")
