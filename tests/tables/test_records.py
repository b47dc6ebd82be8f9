"""Rows as dicts of Python: the triples are those of the same objects in a file of JSON Lines."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase, LoadError, guess_mapping
from hybridkg.tables.inputs import opened_tables, table_sources

EX = "http://example.org/"
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, 1e30]), st.sampled_from(["", "a", "1", "ä b"])
)
cells = st.one_of(
    scalars, st.dictionaries(st.sampled_from("xy"), scalars, max_size=2), st.lists(st.text("ab"), max_size=2)
)
rows = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c d"]), cells, max_size=3), min_size=1, max_size=4)


def lines(value, name="t"):
    """The triples of a table of this name, sorted, or the message of the error."""
    try:
        tables = opened_tables([value])
        mapping = guess_mapping(value, class_="T")
        found = b"".join(text for source in table_sources(tables, mapping) for text, _ in source.lines())
    except LoadError as e:
        return e.message
    return sorted(found.decode().splitlines())


@settings(max_examples=examples(12, 300))
@given(rows)
def test_dicts_give_the_triples_of_the_same_objects_in_json(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("json") / "t.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    assert lines(records) == lines(path)
    if len(records) == 1 and records[0]:
        assert lines(records[0]) == lines(path)


def test_values_that_json_has_not():
    record = {
        "id": np.int64(7),
        "d": date(1999, 12, 31),
        "m": datetime(1999, 12, 31, 1),
        "n": Decimal("1.50"),
        "t": ("a", "b"),
    }
    assert lines({**record, "x": np.float64(0.5), "b": np.bool_(True)}) == lines(
        [{**record, "id": 7, "t": ["a", "b"], "x": 0.5, "b": True}]
    )
    assert f'<{EX}T/7> <{EX}d> "1999-12-31"^^<http://www.w3.org/2001/XMLSchema#date> .' in lines(record)
    assert (
        lines({"id": 1, "v": object()}) == "row 1, column 'v' has a value of type object, for which there is no literal"
    )
    assert lines([{"id": 1}, "x"]) == "row 2 is a text, and each row must be an object"


def test_dicts_are_loaded():
    with KnowledgeBase.temporary([{"id": 1, "name": "Alien"}, {"id": 2, "name": "Jaws"}], class_="Film") as kb:
        assert kb.load({"id": 3, "name": "Dune"}, class_="Film").triples == 4
        found = kb.query('SELECT ?f { ?f MATCH "dune" AS ?s }')
        assert [str(row["f"]) for row in found] == [f"{EX}Film/3"]


def test_a_dict_names_its_tables():
    products = pd.DataFrame({"sku": ["s1", "s2", "s3"], "brand_id": ["b1", "b2", "b1"]})
    inputs = {"products": products, "brands": [{"id": "b1"}, {"id": "b2"}]}
    mapping = guess_mapping(inputs)
    assert [table.name for table in mapping.tables] == ["products", "brands"]
    with KnowledgeBase.temporary(inputs) as kb:
        assert len(kb.query(f"SELECT * {{ ?p <{EX}brand> ?b . ?b a <{EX}Brand> }}")) == 3
    with KnowledgeBase.temporary(inputs, mapping=mapping) as kb:
        assert len(kb.query(f"SELECT * {{ ?p <{EX}brand> ?b . ?b a <{EX}Brand> }}")) == 3
    with KnowledgeBase.temporary({"products": products}, id={"products": "sku"}) as kb:
        assert kb.query(f"ASK {{ <{EX}Product/s1> a <{EX}Product> }}").boolean


@pytest.mark.parametrize("value", [5, None, object()])
def test_the_error_for_another_input_names_all_kinds(value):
    for refused in (lambda: KnowledgeBase.temporary(value), lambda: guess_mapping(value)):
        with pytest.raises(LoadError) as caught:
            refused()
        for kind in ("tables", "DataFrames", "list of dicts", "dict of named tables"):
            assert kind in caught.value.hint.replace("lists", "list")


def test_a_generator_of_dicts_is_told_to_be_a_list():
    with pytest.raises(LoadError, match=r"kb.load\(\[\*rows\]\)"):
        KnowledgeBase.temporary({"id": i} for i in range(3))


@pytest.mark.parametrize("rows", [[{"id": "\ud800"}], [{"id": "a"}, {"id": "\ud800x"}]])
def test_half_a_character_in_an_identifier_is_an_error_with_its_row(rows, tmp_path):
    with KnowledgeBase.create(tmp_path / "a.kb") as kb, pytest.raises(LoadError) as caught:
        kb.load(rows)
    assert caught.value.message == f"row {len(rows)}, column 'id' has half a character (a lone surrogate)"
