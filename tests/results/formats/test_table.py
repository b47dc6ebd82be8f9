"""Tables for people: short names of IRIs, no IRI broken, and a layout that can be read in any terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.rdf.known_prefixes import known_prefixes
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal, NamedNode, Term
from hybridkg.results.formats.table import MAX_WORD, NARROW, _shared_out
from hybridkg.results.result_set import ResultSet

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
NAMESPACES = ("http://e/", "http://example.org/a/long/namespace/of/films/", "urn:none:")
iris = st.builds(
    lambda space, name: NamedNode(space + name),
    st.sampled_from(NAMESPACES),
    st.text("abc-_1(", min_size=1, max_size=40),
)
texts = st.builds(Literal, st.lists(st.text("abcd", min_size=1, max_size=40), max_size=25).map(" ".join))
terms: st.SearchStrategy[Term] = st.one_of(iris, texts, st.integers(0, 10**6).map(Literal))


def table(result: ResultSet, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    out = StringIO()
    result.write(out, "table")
    return out.getvalue().splitlines()


@settings(max_examples=examples(90, 150), deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[terms] * n), min_size=1, max_size=4)), st.integers(1, 150)
)
def test_no_iri_is_broken_and_no_table_is_wider_than_its_terminal(rows, width):
    names = tuple("abcde"[: len(rows[0])])
    known = known_prefixes({"e": "http://e/", "films": NAMESPACES[1]})
    result = ResultSet(names, names, Solutions(names, rows), _known=known)
    with pytest.MonkeyPatch.context() as patch:
        lines = table(result, width, patch)
    is_grid = any("─" in line for line in lines)
    for term in (term for row in rows for term in row):
        if isinstance(term, NamedNode):
            short = result.iri_names()(term.value)
            assert any(f" {short} " in f" {line} " for line in lines), short
            assert is_grid is False or len(short) <= width
        elif is_grid or width > MAX_WORD + 10:
            assert all(any(word in line for line in lines) for word in term.value.split() if len(word) <= MAX_WORD)
    if is_grid:
        assert max(map(len, lines)) <= width
        assert width >= NARROW or len(lines) == 2 + len(rows)  # nothing is wrapped where it is narrow


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=6), st.integers(0, 200))
def test_widths_are_shared_out_without_a_rest(columns, more):
    least = [low for low, _ in columns]
    wide = [low + grows for low, grows in columns]
    room = sum(least) + min(more, sum(wide) - sum(least))
    widths = _shared_out(wide, least, room)
    assert sum(widths) == room
    assert all(low <= have <= high for low, have, high in zip(least, widths, wide, strict=True))
    free = [have for have, low, high in zip(widths, least, wide, strict=True) if low < have < high]
    assert max(free, default=0) - min(free, default=0) <= 1


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


QUERY = 'SELECT * { ?f MATCH "space crew" AS ?s SNIPPET ?why . ?f :director ?d } RANK BY ?s LIMIT 2'


def test_a_wide_terminal_gets_columns_whose_texts_are_wrapped(films, monkeypatch):
    assert [line.rstrip() for line in table(films.query(QUERY), 72, monkeypatch)] == [
        "?f             ?s   ?why                                      ?d",
        "─" * 72,
        ":Odyssey   2.2094   On the way to Jupiter the computer of a   :Kubrick",
        "                    spaceship turns against its **crew**.",
        ":Solaris   1.8678   On a **space** station above a living     :Tarkovsky",
        "                    ocean the **crew** is visited by people",
        "                    from memory.",
    ]


def test_a_narrow_terminal_gets_a_block_for_each_row(films, monkeypatch):
    assert table(films.query(QUERY, limit=1), 44, monkeypatch) == [
        "?f    :Odyssey",
        "?s    2.2094",
        "?why  On the way to Jupiter the computer of",
        "      a spaceship turns against its",
        "      **crew**.",
        "?d    :Kubrick",
    ]


def test_the_prefixes_of_the_query_come_first_then_kept_then_well_known_ones(films, monkeypatch):
    whole = "<http://example.org/films/Alien> rdfs:label <http://xmlns.com/foaf/0.1/name> <urn:x>"
    text = f"SELECT * {{ VALUES ?x {{ {whole} }} }}"
    assert table(films.query(text), 80, monkeypatch)[2:] == [":Alien    ", "rdfs:label", "foaf:name ", "urn:x     "]
    own = films.query("PREFIX own: <http://example.org/films/> " + text)
    assert table(own, 80, monkeypatch)[2].split() == ["own:Alien"]


def test_formats_for_programs_have_whole_iris(films):
    for name in ("csv", "tsv", "json", "ndjson", "xml"):
        out = StringIO()
        films.query("SELECT ?f { ?f :director :Lang }").with_labels().write(out, name)
        assert "http://example.org/films/Metropolis" in out.getvalue(), name


def test_labels_stand_in_place_of_iris_and_are_looked_up_once(films, monkeypatch):
    result = films.query("SELECT ?f ?d ?y { ?f :director ?d ; :year ?y } ORDER BY ?y LIMIT 1")
    asked = []
    lookup = result._label_lookup
    object.__setattr__(result, "_label_lookup", lambda iris: asked.append(iris) or lookup(iris))
    shown = result.with_labels()
    assert table(shown, 80, monkeypatch)[2].split("   ") == ["Metropolis", "Fritz Lang", "1927"]
    assert len(asked) == 1
    assert "Fritz Lang" in shown._repr_html_()
    assert 'title="http://example.org/films/Lang"' in shown._repr_html_()
    assert str(result.with_labels()[0]["f"]) == "http://example.org/films/Metropolis"


def test_a_graph_is_written_with_the_prefixes_that_it_uses(films):
    out = StringIO()
    films.query("DESCRIBE :Lang").write(out, "turtle")
    assert out.getvalue().startswith("@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n")
    assert ':Lang :bornIn "Austria"' in out.getvalue()
    assert "foaf" not in out.getvalue()
