"""The one total order of terms."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Quad, Store, Triple

from hybridkg.operators.order_rows import ordered
from hybridkg.rdf.order import row_key, sorted_rows, term_key, value_key
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import XSD, double

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
typed = st.builds(
    lambda text, name: Literal(text, datatype=NamedNode(XSD + name)),
    st.sampled_from(
        ["1", "2", "10", "-1", "1.50", "1.5", "NaN", "INF", "-INF", "true", "x", "2020-02-30", "2020-01-01"]
    ),
    st.sampled_from(["integer", "decimal", "double", "boolean", "date", "dateTime", "gYear"]),
)
subjects = st.one_of(
    st.text(st.characters(codec="ascii", categories=("L", "N")), max_size=6).map(lambda w: BlankNode("b" + w)),
    st.integers(0, 30).map(lambda i: NamedNode(f"http://e/{i}")),
)
simple = st.one_of(
    subjects,
    words.map(Literal),
    st.builds(Literal, words, language=st.sampled_from(["en", "de"])),
    st.integers(-20, 20).map(Literal),
    st.floats().map(Literal),
    st.builds(
        lambda text, direction: Literal(text, language="en", direction=BaseDirection(direction)),
        words,
        st.sampled_from(["ltr", "rtl"]),
    ),
    typed,
)
predicates = st.integers(0, 3).map(lambda i: NamedNode(f"http://e/{i}"))
triple_terms = st.recursive(simple, lambda inner: st.builds(Triple, subjects, predicates, inner), max_leaves=3)
terms = st.none() | triple_terms


@given(terms, terms)
def test_two_terms_tie_only_when_they_are_equal(a, b):
    assert (term_key(a) == term_key(b)) == (a == b)


@given(terms, terms, terms)
def test_the_order_is_total_and_transitive(a, b, c):
    assert (term_key(a) < term_key(b)) + (term_key(b) < term_key(a)) + (term_key(a) == term_key(b)) == 1
    if term_key(a) < term_key(b) < term_key(c):
        assert term_key(a) < term_key(c)


comparable = st.one_of(
    st.integers(-50, 50).map(Literal),
    st.decimals(-50, 50, places=2).map(Literal),
    st.floats(-50, 50).map(Literal),
)


@given(st.lists(comparable, max_size=8))
def test_numbers_are_in_the_order_that_oxigraph_gives_them(numbers):
    store = Store()
    store.extend(Quad(NamedNode(f"http://e/{i}"), NamedNode("http://e/p"), n) for i, n in enumerate(numbers))
    theirs = [row[0] for row in store.query("SELECT ?o { ?s ?p ?o } ORDER BY ?o")]
    ours = sorted(theirs, key=term_key)
    assert [float(t.value) for t in ours] == [float(t.value) for t in theirs]


def test_kinds_of_terms_follow_sparql():
    p = NamedNode("http://e/p")
    quoted = [Triple(NamedNode(f"http://e/{name}"), p, Literal(n)) for name, n in (("b", 10), ("a", 10), ("b", 9))]
    mixed = [*quoted, Literal("a"), NamedNode("http://e/z"), BlankNode("q"), None, Literal(3), NamedNode("http://e/a")]
    assert sorted(mixed, key=term_key) == [
        None,
        BlankNode("q"),
        NamedNode("http://e/a"),
        NamedNode("http://e/z"),
        Literal(3),
        Literal("a"),
        Triple(NamedNode("http://e/a"), NamedNode("http://e/p"), Literal(10)),
        Triple(NamedNode("http://e/b"), NamedNode("http://e/p"), Literal(9)),
        Triple(NamedNode("http://e/b"), NamedNode("http://e/p"), Literal(10)),
    ]


@given(st.lists(comparable, max_size=6))
def test_triple_terms_are_in_the_order_of_their_objects_as_oxigraph_has_it(numbers):
    node, store = NamedNode("http://e/p"), Store()
    store.extend(Quad(node, node, Triple(node, node, number)) for number in numbers)
    theirs = [row[0] for row in store.query("SELECT ?o { ?s ?p ?o } ORDER BY ?o")]
    ours = sorted(theirs, key=term_key)
    assert [float(t.object.value) for t in ours] == [float(t.object.value) for t in theirs]


def test_big_integers_are_not_rounded():
    a, b = (Literal(str(10**40 + i), datatype=NamedNode(XSD + "integer")) for i in (0, 1))
    assert term_key(a) < term_key(b)
    assert row_key([a, b]) < row_key([b, a])


rows_of_terms = st.lists(st.tuples(terms, terms), max_size=12)


@given(rows_of_terms, st.permutations([0, 1]))
def test_rows_are_sorted_as_by_their_keys(rows, columns):
    assert sorted_rows(rows, columns) == sorted(rows, key=lambda row: row_key([row[i] for i in columns]))


doubles = st.one_of(
    st.floats().map(double),
    st.sampled_from(["INF", "-INF", "NaN", "-0.0", "0.0", "0", "1e999", "x", "1.0", "1", "0.1", "1.00"]).map(
        lambda text: Literal(text, datatype=NamedNode(XSD + "double"))
    ),
)


@given(
    st.lists(st.tuples(doubles | terms, terms), max_size=12) | st.lists(st.tuples(doubles, terms), max_size=12),
    st.booleans(),
    st.integers(0, 12),
)
def test_ranked_rows_have_the_total_order(rows, descending, first):
    solutions = Solutions(("s", "t"), rows)
    keys = [row[0] for row in rows]
    wanted = sorted(rows, key=lambda row: row_key([row[1], row[0]]))
    wanted.sort(key=lambda row: term_key(row[0]), reverse=descending)
    assert ordered(solutions, [(keys, descending)], ["t"]).rows == wanted
    found = ordered(solutions, [(keys, descending)], ["t"], first).rows
    assert found[:first] == wanted[:first]
    assert len(found) == len(rows)


years = st.sampled_from(["-12044", "-0044", "-0043", "-0001", "0000", "0001", "1972", "2024", "9999", "12024"])
days = st.sampled_from(["01-01", "02-28", "02-29", "03-15", "12-31"])
times = st.sampled_from(["00:00:00", "00:00:00.000000001", "12:00:00", "23:59:59.5", "24:00:00", "25:00:00"])
zones = st.sampled_from(["", "Z", "+01:00", "-05:30", "+14:00", "-14:00", "+14:01"])
amounts = st.integers(0, 400)
TEXTS = {
    "dateTime": st.builds("{}-{}T{}{}".format, years, days, times, zones),
    "date": st.builds("{}-{}{}".format, years, days, zones),
    "time": st.builds("{}{}".format, times, zones),
    "gYear": st.builds("{}{}".format, years, zones),
    "gYearMonth": st.builds("{}-{:02}{}".format, years, st.integers(0, 13), zones),
    "gMonth": st.builds("--{:02}{}".format, st.integers(0, 13), zones),
    "gMonthDay": st.builds("--{}{}".format, days, zones),
    "gDay": st.builds("---{:02}{}".format, st.integers(0, 32), zones),
    "duration": st.builds("{}P{}M{}DT{}H".format, st.sampled_from(["", "-"]), amounts, amounts, amounts),
    "dayTimeDuration": st.builds("{}P{}DT{}.5S".format, st.sampled_from(["", "-"]), amounts, amounts),
    "yearMonthDuration": st.builds("{}P{}Y{}M".format, st.sampled_from(["", "-"]), amounts, amounts),
}


def of_kind(name: str) -> st.SearchStrategy[list[Literal]]:
    literals = TEXTS[name].map(lambda text: Literal(text, datatype=NamedNode(XSD + name)))
    return st.lists(literals, min_size=2, max_size=8)


@given(st.sampled_from(sorted(TEXTS)).flatmap(of_kind))
def test_dates_times_and_durations_are_in_the_order_that_oxigraph_compares_them_in(literals):
    store, p = Store(), NamedNode("http://e/p")
    store.extend(Quad(p, p, literal) for literal in literals)
    pairs = "{ ?s ?p ?a, ?b FILTER(?a != ?b) BIND(?a < ?b AS ?less) FILTER(BOUND(?less)) }"
    for row in store.query(f"SELECT ?a ?b ?less {pairs}"):
        a, b = value_key(row["a"]), value_key(row["b"])
        assert (a < b) == row["less"].value.startswith("t")
    # Of more literals Oxigraph's order may be no order: it compares some by value and others by their characters.
    two = Store()
    two.extend(Quad(p, p, literal) for literal in literals[:2])
    theirs = [row[0] for row in two.query("SELECT ?o { ?s ?p ?o } ORDER BY ?o")]
    comparable = {(row["a"], row["b"]) for row in two.query(f"SELECT ?a ?b {pairs}")}
    assert all(pair not in comparable or value_key(pair[0]) <= value_key(pair[1]) for pair in pairwise(theirs))


def test_durations_of_all_three_datatypes_are_compared_with_one_another():
    def duration(text: str, kind: str) -> Literal:
        return Literal(text, datatype=NamedNode(XSD + kind))

    texts = ["P32D", "P10D", "P1M", "PT0S", "-P1D", "P2D"]
    kinds = ["dayTimeDuration", "duration", "yearMonthDuration", "duration", "dayTimeDuration", "dayTimeDuration"]
    found = sorted(map(duration, texts, kinds), key=term_key)
    assert [one.value for one in found] == ["-P1D", "PT0S", "P2D", "P10D", "P1M", "P32D"]
    assert value_key(duration("P1Y", "duration")) == value_key(duration("P12M", "yearMonthDuration"))
