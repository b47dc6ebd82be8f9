"""Results and plans in notebooks, and as Arrow tables."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import MissingExtraError, UserError
from hybridkg.kb import KnowledgeBase
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, double
from hybridkg.results.formats.arrow import typed_column
from hybridkg.results.formats.html import MAX_ROWS, term_to_html
from hybridkg.results.iri_names import IriNames
from hybridkg.results.result_set import ResultSet

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
hostile = st.one_of(
    texts, st.sampled_from(["</td><script>x()</script>", "**<b>**", "&lt;", '" onmouseover="x()', "**"])
)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= set(attrs)

    def handle_data(self, data):
        self.text += data


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    tags.close()
    return tags


def typed(value: str, datatype: str) -> Literal:
    return Literal(value, datatype=NamedNode(XSD + datatype))


@settings(max_examples=examples(48, 80), deadline=None)
@given(hostile)
@example('"><script>alert(1)</script>')
def test_no_name_of_an_iri_becomes_markup(text):
    iri = "http://e/a"
    for names in (IriNames({}, {iri: text}), IriNames({text: "http://e/"}, {})):
        found = read(term_to_html(NamedNode(iri), names=names))
        assert found.tags == {"a"}
        assert found.attributes <= {("href", iri), ("title", iri)}


@settings(max_examples=examples(48, 80), deadline=None)
@given(hostile)
@example('"><script>alert(1)</script>')
def test_no_value_becomes_markup(text):
    for term in (Literal(text), Literal(text, language="en"), typed(text, "double"), typed(text, "date")):
        found = read(term_to_html(term))
        assert found.tags <= {"mark", "small"}
        assert not found.attributes


@pytest.mark.parametrize(
    ("iri", "is_link"),
    [
        ("http://example.org/a?b=c&d=%20", True),
        ("HTTPS://example.org/", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("urn:isbn:1", False),
        ("http://e/\u202egpj.exe", False),
        ("file:///etc/passwd", False),
        ("http:e", False),
    ],
)
def test_only_addresses_of_the_web_are_links(iri, is_link):
    found = read(term_to_html(NamedNode(iri)))
    assert found.attributes == ({("href", iri)} if is_link else set())
    assert found.tags == ({"a"} if is_link else set())


def test_the_marks_of_a_snippet_are_mark_elements():
    assert term_to_html(Literal("a **red** fish"), is_snippet=True) == "a <mark>red</mark> fish"
    assert term_to_html(Literal("a **red** fish")) == "a **red** fish"
    assert term_to_html(Literal("2 ** 3"), is_snippet=True) == "2 ** 3"


def test_scores_stand_right_and_are_rounded():
    result = ResultSet(
        ("e", "s"),
        ("e", "s"),
        Solutions(("e", "s"), [(NamedNode("http://e/1"), double(2.48951))]),
        _scores=(("s", "s"),),
    )
    html = result._repr_html_()
    assert '<td style="text-align: right">2.4895</td>' in html
    assert '<td style="text-align: left"><a href="http://e/1">http://e/1</a></td>' in html
    assert "1 row, exact" in html


def test_a_long_result_says_how_many_rows_are_not_shown():
    result = ResultSet(("n",), ("n",), Solutions(("n",), [(Literal(i),) for i in range(1234)]))
    html = result._repr_html_()
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "1,234 rows, 1,184 more not shown, exact" in html


def test_a_long_value_is_cut():
    assert len(term_to_html(Literal("&" * 1_000_000))) < 20_000


def test_a_question_and_an_empty_result_have_html_too():
    assert ResultSet((), (), Solutions((), []), boolean=True)._repr_html_() == "<p>yes</p>"
    assert (
        "0 rows (of 5 requested: no more rows satisfy the query)"
        in ResultSet(("x",), ("x",), Solutions(("x",), []), requested=5)._repr_html_()
    )


def test_warnings_are_shown_and_escaped():
    warning = UserError("no <b> in the data", hint="did you mean 'c'?")
    html = ResultSet(("x",), ("x",), Solutions(("x",), []), warnings=(warning,))._repr_html_()
    assert "no &lt;b&gt; in the data" in html
    assert "did you mean &#x27;c&#x27;?" in html


def test_columns_kept_behind_the_rows_are_not_shown():
    result = ResultSet(("e",), ("e", "_rank"), Solutions(("e", "_rank"), [(Literal("x"), double(7.125))]))
    assert "7.125" not in result._repr_html_()


def test_a_plan_is_preformatted_and_escaped():
    query = 'SELECT ?f { ?f MATCH "<b>space</b>" AS ?s } RANK BY ?s LIMIT 3'
    with KnowledgeBase.temporary(FILMS) as kb:
        explanation = kb.explain(query)
        html = explanation._repr_html_()
        assert read(html).tags == {"pre"}
        assert read(html).text == str(explanation)
        assert escape("<b>") in html
        assert kb.query(f"EXPLAIN {query}")._repr_html_() == html
        shown = read(kb.query(query)._repr_html_())
    assert {"table", "a"} <= shown.tags
    assert unescape(shown.text) == shown.text


# --- Arrow -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "kind", "values"),
    [
        ([Literal(1), typed("2", "short"), None], "int64", [1, 2, None]),
        ([Literal(1), typed("2.5", "decimal"), double(1e3)], "float64", [1.0, 2.5, 1000.0]),
        ([typed(str(2**63), "integer")], "string", [str(2**63)]),
        ([typed(str(2**53 + 1), "integer"), double(1.0)], "string", [str(2**53 + 1), "1.0"]),
        ([typed("1" + "0" * 400, "decimal")], "string", ["1" + "0" * 400]),
        ([typed("true", "boolean"), typed("0", "boolean")], "bool", [True, False]),
        ([typed("2020-02-29", "date")], "date32", [date(2020, 2, 29)]),
        ([typed("2020-02-30", "date")], "string", ["2020-02-30"]),
        ([typed("2020-01-01Z", "date")], "string", ["2020-01-01Z"]),
        ([typed("2020-01-01T10:00:00.5", "dateTime")], "timestamp", [datetime(2020, 1, 1, 10, 0, 0, 500_000)]),
        (
            [typed("2020-01-01T00:30:00+01:00", "dateTime"), typed("2020-01-01T00:00:00Z", "dateTime")],
            "timestamp[UTC]",
            [datetime(2019, 12, 31, 23, 30, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)],
        ),
        (
            [typed("2020-01-01T00:00:00", "dateTime"), typed("2020-01-01T00:00:00Z", "dateTime")],
            "string",
            ["2020-01-01T00:00:00", "2020-01-01T00:00:00Z"],
        ),
        ([typed("2020-01-01T00:00:00.1234567", "dateTime")], "string", ["2020-01-01T00:00:00.1234567"]),
        ([typed("0001-01-01T00:00:00+14:00", "dateTime")], "string", ["0001-01-01T00:00:00+14:00"]),
        ([typed("2020-01-01", "dateTime")], "string", ["2020-01-01"]),
        ([Literal("a", language="de"), NamedNode("http://e/"), BlankNode("b")], "string", ["a", "http://e/", "_:b"]),
        ([Literal(1), Literal("one")], "string", ["1", "one"]),
        ([typed("one", "integer")], "string", ["one"]),
        ([None, None], "string", [None, None]),
        ([], "string", []),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_its_values(terms, kind, values):
    assert typed_column(terms) == (kind, values)


cells = st.one_of(
    st.none(),
    st.integers(-(2**65), 2**65).map(lambda n: typed(str(n), "integer")),
    st.floats().map(double),
    st.booleans().map(Literal),
    st.dates().map(lambda d: typed(d.isoformat(), "date")),
    st.datetimes(timezones=st.one_of(st.none(), st.just(UTC))).map(lambda t: typed(t.isoformat(), "dateTime")),
    texts.map(Literal),
)


@settings(max_examples=examples(48, 80), deadline=None)
@given(st.lists(cells, max_size=6), st.randoms(use_true_random=False))
def test_the_type_of_a_column_depends_on_its_values_and_not_on_their_order(terms, random):
    kind, values = typed_column(terms)
    assert [value is None for value in values] == [term is None for term in terms]
    shuffled = random.sample(terms, len(terms))
    assert typed_column(shuffled)[0] == kind
    if kind == "string":
        assert values == [None if term is None else term.value for term in terms]


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.lists(cells.filter(lambda cell: cell is not None), min_size=1, max_size=1))
def test_a_column_holds_exactly_the_value_of_a_term(terms):
    (term,), (kind, (value,)) = terms, typed_column(terms)
    if kind in ("int64", "float64"):
        assert value == float(term.value) or term.value in ("NaN", str(value))
    elif kind.startswith("timestamp") or kind == "date32":
        assert value.isoformat() == term.value


def test_without_pyarrow_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError) as caught:
        ResultSet(("n",), ("n",), Solutions(("n",), [(Literal(1),)])).to_arrow()
    assert caught.value.hint == 'pip install "hybridkg[arrow]"'


def test_an_arrow_table_has_the_columns_of_the_result_in_its_order():
    pa = pytest.importorskip("pyarrow")
    cells = [
        (Literal("b"), Literal(1), typed("2020-01-01", "date"), typed("2020-01-01T00:00:00Z", "dateTime"), double(0.5)),
        (Literal("a"), None, None, None, None),
    ]
    names = ("z", "n", "day", "moment", "s")
    table = ResultSet(
        names, (*names, "_rank"), Solutions((*names, "_rank"), [(*row, double(1.0)) for row in cells])
    ).to_arrow()
    assert table.column_names == list(names)
    assert table.schema.types == [pa.string(), pa.int64(), pa.date32(), pa.timestamp("us", tz="UTC"), pa.float64()]
    assert table.column("z").to_pylist() == ["b", "a"]
    assert table.column("n").to_pylist() == [1, None]
    assert ResultSet(("x",), ("x",), Solutions(("x",), [])).to_arrow().num_rows == 0
