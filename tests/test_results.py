"""What is printed for machines and for people."""

from __future__ import annotations

import csv
import io
import json

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, parse_query_results

from hybridkg.errors import HybridkgError, UnknownNameError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.terms import double
from hybridkg.results.result_set import ResultSet

ROWS = ResultSet(
    columns=("e", "label", "s"),
    variables=("e", "label", "s", "_rank1"),
    cells=[
        (NamedNode("http://e/1"), Literal('say "hi", all', language="en"), double(2.5), double(5.0)),
        (BlankNode("b"), Literal("tab\there\nand line"), double(1.25), double(2.5)),
        (NamedNode("http://e/3"), None, None, None),
    ],
    scores=(("s", "s"), ("_rank1", "rank")),
    ranked_by="_rank1",
    requested=10,
    generation="000001",
    strategy="reference",
)
YES = ResultSet((), (), [], boolean=True)


def written(result: ResultSet, fmt: str) -> str:
    out = io.StringIO(newline="")
    OUTPUT_FORMATS.get(fmt)(result, out)
    return out.getvalue()


@pytest.mark.parametrize(("fmt", "theirs"), [("json", QueryResultsFormat.JSON), ("tsv", QueryResultsFormat.TSV)])
def test_the_standard_formats_are_read_back_by_an_outside_parser(fmt, theirs):
    found = parse_query_results(written(ROWS, fmt), theirs)
    assert [v.value for v in found.variables] == ["e", "label", "s"]
    rows = [tuple(row) for row in found]
    assert [row[:2] for row in rows] == [cells[:2] for cells in ROWS.cells]
    assert [row[2] and float(row[2].value) for row in rows] == [2.5, 1.25, None]


def test_json_says_what_is_known_about_the_answer():
    about = json.loads(written(ROWS, "json"))["x-hybridkg"]
    assert about["requested"] == 10
    assert about["returned"] == 3
    assert about["exact"] is True
    assert about["generation"] == "000001"
    assert about["scores"] == [{"s": 2.5, "rank": 5.0}, {"s": 1.25, "rank": 2.5}, {}]


def test_csv_is_read_back_by_the_standard_library():
    rows = list(csv.reader(io.StringIO(written(ROWS, "csv"), newline="")))
    assert rows[0] == ["e", "label", "s"]
    assert rows[1] == ["http://e/1", 'say "hi", all', "2.5"]
    assert rows[2] == ["_:b", "tab\there\nand line", "1.25"]
    assert rows[3] == ["http://e/3", "", ""]


def test_ndjson_has_a_line_for_each_row():
    lines = [json.loads(line) for line in written(ROWS, "ndjson").splitlines()]
    assert lines[0] == {"e": "http://e/1", "label": 'say "hi", all', "s": 2.5, "_scores": {"s": 2.5, "rank": 5.0}}
    assert lines[2] == {"e": "http://e/3", "label": None, "s": None}


@pytest.mark.parametrize(("fmt", "text"), [("table", "yes\n"), ("csv", "true\r\n"), ("tsv", "true\n")])
def test_the_answer_of_an_ask_is_one_word(fmt, text):
    assert written(YES, fmt) == text


def test_a_trec_run_falls_strictly_in_float32_and_names_each_entity_once():
    tied = ResultSet(
        ("e", "a", "s"),
        ("e", "a", "s"),
        [
            (NamedNode("http://e/1"), Literal("x"), double(1.0)),
            (NamedNode("http://e/1"), Literal("y"), double(1.0)),
            (NamedNode("http://e/2"), Literal("x"), double(1.0)),
            (NamedNode("http://e/0"), Literal("x"), double(1.0 - 1e-12)),
        ],
        scores=(("s", "s"),),
        ranked_by="s",
    )
    lines = [line.split() for line in written(tied, "trec").splitlines()]
    assert [line[2] for line in lines] == ["http://e/1", "http://e/2", "http://e/0"]
    assert [line[3] for line in lines] == ["1", "2", "3"]
    import numpy as np

    scores = [np.float32(line[4]) for line in lines]
    assert scores[0] > scores[1] > scores[2]


def test_a_run_without_scores_is_an_error_that_says_what_to_write():
    plain = ResultSet(("e",), ("e",), [(NamedNode("http://e/1"),)])
    with pytest.raises(HybridkgError, match="a TREC run needs an entity and a score"):
        written(plain, "trec")


def test_rows_speak_rdflib_and_plain_python():
    import rdflib

    row = ROWS[0]
    assert row["e"] == rdflib.URIRef("http://e/1")
    assert row["label"] == rdflib.Literal('say "hi", all', lang="en")
    assert row.to_python() == {"e": "http://e/1", "label": 'say "hi", all', "s": 2.5}
    assert ROWS[2]["s"] is None
    assert row.scores == {"s": 2.5, "rank": 5.0}
    assert list(row) == ["e", "label", "s"]
    with pytest.raises(KeyError):
        row["nope"]
    with pytest.raises(UnknownNameError, match="its columns: e, label, s"):
        row.term("nope")


def test_a_dataframe_has_plain_values():
    frame = ROWS.to_dataframe()
    assert list(frame.columns) == ["e", "label", "s"]
    assert frame["s"].tolist()[:2] == [2.5, 1.25]


def test_a_table_keeps_the_snippet_marks_without_colour_and_drops_escape_sequences():
    shown = written(
        ResultSet(("t",), ("t",), [(Literal("a **red** fish \x1b[31mnot red"),)]),
        "table",
    )
    assert "a **red** fish [31mnot red" in shown
    assert "\x1b" not in shown
