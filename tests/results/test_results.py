"""What is printed for machines and for people."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import fields

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, parse_query_results
from sampling import examples

from hybridkg.errors import HybridkgError, UnknownNameError, UnsupportedQueryError
from hybridkg.interfaces.output_format import OUTPUT_FORMATS
from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, double
from hybridkg.results.formats.table import NARROW, _breaks
from hybridkg.results.result import Result
from hybridkg.results.result_set import ResultSet

ROWS = ResultSet(
    columns=("e", "label", "s"),
    _variables=("e", "label", "s", "_rank1"),
    _solutions=Solutions(
        ("e", "label", "s", "_rank1"),
        [
            (NamedNode("http://e/1"), Literal('say "hi", all', language="en"), double(2.5), double(5.0)),
            (BlankNode("b"), Literal("tab\there\nand line"), double(1.25), double(2.5)),
            (NamedNode("http://e/3"), None, None, None),
        ],
    ),
    _scores=(("s", "s"), ("_rank1", "rank")),
    _ranked_by="_rank1",
    requested=10,
    generation="000001",
    strategy="reference",
)
YES = ResultSet((), (), Solutions((), []), boolean=True)


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
        Solutions(
            ("e", "a", "s"),
            [
                (NamedNode("http://e/1"), Literal("x"), double(1.0)),
                (NamedNode("http://e/1"), Literal("y"), double(1.0)),
                (NamedNode("http://e/2"), Literal("x"), double(1.0)),
                (NamedNode("http://e/0"), Literal("x"), double(1.0 - 1e-12)),
            ],
        ),
        _scores=(("s", "s"),),
        _ranked_by="s",
    )
    lines = [line.split() for line in written(tied, "trec").splitlines()]
    assert [line[2] for line in lines] == ["http://e/1", "http://e/2", "http://e/0"]
    assert [line[3] for line in lines] == ["1", "2", "3"]
    import numpy as np

    scores = [np.float32(line[4]) for line in lines]
    assert scores[0] > scores[1] > scores[2]


def test_a_run_without_scores_is_an_error_that_says_what_to_write():
    plain = ResultSet(("e",), ("e",), Solutions(("e",), [(NamedNode("http://e/1"),)]))
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
        ResultSet(("t",), ("t",), Solutions(("t",), [(Literal("a **red** fish \x1b[31mnot red"),)])),
        "table",
    )
    assert "a **red** fish [31mnot red" in shown
    assert "\x1b" not in shown


DATATYPES = sorted(NUMERIC) + [
    XSD + name for name in ("boolean", "string", "date", "dateTime", "duration", "hexBinary", "anyURI", "gYear")
]
LEXICAL = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["\u00b2", "--5", "+5", "-0", "1_0", " 7 ", "\u0663", "NaN", "-INF", "+INF", "1e999", "1e-400", ".", "5.", ".5"]
    ),
    st.sampled_from(
        ["9" * 5000, "0.1", "0." + "1" * 40, "1" + "0" * 30, "true", "1", "\x00", "\x1b[2J", "a\r\nb\tc\\", "**a**"]
    ),
    st.integers().map(str),
    st.floats().map(repr),
)
LITERALS = st.one_of(
    st.builds(lambda text, name: Literal(text, datatype=NamedNode(name)), LEXICAL, st.sampled_from(DATATYPES)),
    st.builds(lambda text, tag: Literal(text, language=tag), LEXICAL, st.sampled_from(["en", "de-AT", "zh-Hant-TW"])),
)
TERMS = st.one_of(st.none(), LITERALS, st.just(NamedNode("http://e/x")), st.just(BlankNode("b")))


def rows_of(*pairs) -> ResultSet:
    cells = [(NamedNode(f"http://e/{i}"), value, rank) for i, (value, rank) in enumerate(pairs)]
    return ResultSet(
        ("e", "v"),
        ("e", "v", "_rank"),
        Solutions(("e", "v", "_rank"), cells),
        _scores=(("_rank", "rank"),),
        _ranked_by="_rank",
    )


@settings(max_examples=examples(27, 150), deadline=None)
@given(st.lists(st.tuples(TERMS, TERMS), max_size=4))
@example([(Literal("\u00b2", datatype=NamedNode(XSD + "integer")), Literal("a title"))])
@example([(Literal("--5", datatype=NamedNode(XSD + "int")), Literal("true", datatype=NamedNode(XSD + "boolean")))])
@example([(None, Literal("1e300", datatype=NamedNode(XSD + "double")))] * 2)
def test_every_output_format_survives_every_literal_and_every_value_that_ranks(pairs):
    result = rows_of(*pairs)
    values = [value for value, _ in pairs]
    for fmt in OUTPUT_FORMATS.names():
        # These refuse rows that they cannot write, and say so.
        if fmt not in ("trec", "nt", "turtle", "json-ld", "rdf-xml"):
            written(result, fmt)
    for fmt in (QueryResultsFormat.JSON, QueryResultsFormat.TSV):
        read = parse_query_results(written(result, fmt.file_extension.replace("srj", "json")), fmt)
        assert [row[1] for row in read] == values
    assert [row[1] for row in csv.reader(io.StringIO(written(result, "csv"), newline=""))][1:] == [
        "" if value is None else f"_:{value.value}" if isinstance(value, BlankNode) else value.value for value in values
    ]
    lines = [json.loads(line) for line in written(result, "ndjson").split("\n")[:-1]]
    for line, value in zip(lines, values, strict=True):
        if isinstance(value, Literal) and isinstance(line["v"], str):
            assert line["v"] == value.value
    if any(isinstance(value, NamedNode | BlankNode) for value in values):
        with pytest.raises(UnsupportedQueryError, match=r"these rows have 2: \?e, \?v"):
            written(result, "trec")
    elif all(row.rank_score is not None for row in result):
        assert len(written(result, "trec").splitlines()) == len(pairs)
    else:
        with pytest.raises(UnsupportedQueryError, match="a TREC run needs an entity and a score in every row"):
            written(result, "trec")


@settings(max_examples=examples(90, 150), deadline=None)
@given(TERMS)
@example(Literal("9" * 5000, datatype=NamedNode(XSD + "integer")))
@example(Literal("\x00", datatype=NamedNode(XSD + "hexBinary")))
def test_every_literal_has_an_rdflib_term_and_a_python_value(value):
    row = rows_of((value, value))[0]
    assert (row["v"] is None) == (value is None)
    if isinstance(value, Literal):
        assert str(row["v"]) == value.value
    row.to_python()


@pytest.mark.parametrize(
    "value", [Literal("Alien"), Literal(True), Literal("x", language="en"), NamedNode("http://e/1")]
)
def test_what_ranks_and_is_no_number_is_no_score(value):
    row = rows_of((None, value))[0]
    assert row.scores == {}
    assert row.rank_score is None


@pytest.mark.parametrize(
    ("text", "datatype", "value"),
    [
        ("7", "unsignedByte", 7),
        ("\u00b2", "integer", "\u00b2"),
        ("--5", "integer", "--5"),
        ("1_0", "integer", "1_0"),
        ("1" * 19, "integer", "1" * 19),
        ("0.10", "decimal", 0.1),
        ("0.1000000000000000000001", "decimal", "0.1000000000000000000001"),
        ("0.1000000000000000000001", "double", 0.1),
        ("INF", "double", "INF"),
    ],
)
def test_ndjson_has_a_number_only_where_it_says_the_same(text, datatype, value):
    line = json.loads(written(rows_of((Literal(text, datatype=NamedNode(XSD + datatype)), None)), "ndjson"))
    assert line["v"] == value
    assert type(line["v"]) is type(value)


def test_a_column_named_like_the_scores_keeps_its_values():
    result = ResultSet(
        ("_scores", "s"),
        ("_scores", "s"),
        Solutions(("_scores", "s"), [(Literal("mine"), double(1.5))]),
        _scores=(("s", "s"),),
    )
    assert json.loads(written(result, "ndjson")) == {"_scores": "mine", "s": 1.5, "__scores": {"s": 1.5}}


def test_an_ask_is_no_trec_run():
    with pytest.raises(UnsupportedQueryError, match="a TREC run needs"):
        written(YES, "trec")


def test_a_trec_run_is_written_whole_or_not_at_all():
    out = io.StringIO()
    with pytest.raises(UnsupportedQueryError):
        OUTPUT_FORMATS.get("trec")(rows_of((None, double(2.0)), (None, None)), out)
    assert out.getvalue() == ""


@pytest.mark.parametrize(("columns", "width"), [(41, "80"), (3, "1")])
def test_a_table_that_does_not_fit_has_a_line_for_each_value(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    names = tuple(f"c{i}" for i in range(columns))
    cells = [tuple(Literal(f"row {r} value {i}") for i in range(columns)) for r in range(2)]
    lines = written(ResultSet(names, names, Solutions(names, cells)), "table").split("\n")
    assert [" ".join(line.split()) for line in lines[:columns]] == [f"?c{i} row 0 value {i}" for i in range(columns)]
    assert lines[columns] == ""
    assert " ".join(lines[columns + 1].split()) == "?c0 row 1 value 0"


def test_a_value_of_several_lines_never_looks_like_another_variable(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1")
    names = ("a", "b")
    shown = written(ResultSet(names, names, Solutions(names, [(Literal("x\n?b  forged"), Literal("y"))])), "table")
    assert shown == "?a  x\n    ?b  forged\n?b  y\n"


def test_only_scores_are_rounded_in_a_table():
    result = ResultSet(
        ("mass", "s"),
        ("mass", "s"),
        Solutions(("mass", "s"), [(double(6.62607e-34), double(1.23456))]),
        _scores=(("s", "s"),),
    )
    assert written(result, "table").splitlines()[-1].split() == ["6.62607e-34", "1.2346"]


def test_a_column_that_ranks_is_a_score_under_any_name():
    cells = [(double(2.280325408433614), double(0.123456789), double(2.280325408433614))]
    result = ResultSet(
        ("mass", "other"),
        ("mass", "other", "_r"),
        Solutions(("mass", "other", "_r"), cells),
        _scores=(("_r", "rank"),),
        _ranked_by="_r",
    )
    assert written(result, "table").splitlines()[-1].split() == ["2.2803", "0.123456789"]


def test_a_table_drops_the_marks_that_turn_the_reading_direction():
    marks = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
    shown = written(ResultSet(("t",), ("t",), Solutions(("t",), [(Literal(f"a{marks}b"),)])), "table")
    assert "ab" in shown
    assert not set(marks) & set(shown)


@pytest.mark.parametrize("width", [36, 44, 52, 60, 80, 120])
def test_a_mark_of_a_snippet_is_not_cut_where_it_fits(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    text = "we study **low**-**resource** speech: https://example.org/very/long/path/**resource**/other **resource**"
    result = ResultSet(
        ("t", "u"), ("t", "u"), Solutions(("t", "u"), [(Literal(text), Literal("a title of some length"))])
    )
    shown = written(result, "table").splitlines()
    if width < NARROW:  # a block for the row
        lines = [line[4:] for line in shown[: shown.index("?u  a title of some length")]]
    else:
        lines = [line[: line.find("   ")] if "   " in line else line for line in shown[2:]]
    assert all(line.count("**") % 2 == 0 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.text(alphabet="ab*- \n", max_size=60), st.integers(1, 20))
def test_where_a_line_ends_no_character_is_lost_and_no_narrow_mark_is_cut(text, width):
    breaks = [0, *_breaks(text, width), len(text)]
    assert breaks == sorted(breaks)
    for mark in re.finditer(r"\*\*[ab-]+\*\*", text):
        if len(mark[0]) <= width and text.count("*") == 4:
            assert not any(mark.start() < at < mark.end() for at in breaks)


def test_the_public_fields_of_a_result_are_few_and_each_is_documented():
    names = [field.name for field in fields(ResultSet)]
    public = {name for name in names if not name.startswith("_")}
    assert public == {
        "boolean", "columns", "exact", "explanation", "generation", "is_graph", "limits_reached", "requested",
        "reranked", "stale_indexes", "strategy", "warnings",
    }  # fmt: skip
    for name in names:
        assert f"\n        {name}: " in f"{Result.__doc__}{ResultSet.__doc__}", name
    assert ROWS.score_names == ("s", "rank")
    assert all(set(row.scores) <= set(ROWS.score_names) for row in ROWS)


def test_the_json_of_a_result_has_the_names_of_its_attributes():
    about = json.loads(written(ROWS, "json"))["x-hybridkg"]
    for name in ("requested", "returned", "shortfall", "exact", "generation", "strategy"):
        assert about[name] == getattr(ROWS, name)
    for name in ("stale_indexes", "limits_reached", "reranked"):
        assert about[name] == list(getattr(ROWS, name))
