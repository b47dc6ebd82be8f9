"""Tests of values as sets of ids: for every pair of kinds of values as Oxigraph has it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from generated_patterns import ILL_TYPED, LITERALS, NODES, OPERATORS
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sampling import examples
from test_patterns_equal_oxigraph import in_tail, truth

from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.strings import MAX_CASED, TermStrings
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import (
    CasedComparison,
    Ids,
    Join,
    Minus,
    Opaque,
    PredicatePath,
    Restrict,
    Scan,
    StringTest,
    Test,
    ValueComparison,
    Variable,
)
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import XSD, Literal, NamedNode, Term, Triple

P = NamedNode("x:p")
ONE_SCAN = Scan(Variable("s"), PredicatePath("x:p"), Variable("o"))
TERMS: list[Term] = [*LITERALS, *NODES]
TRIPLES = [Triple(NODES[0], P, term) for term in TERMS]  # type: ignore[arg-type]


def index_of(triples: list[Triple] = TRIPLES, late: Callable[[Literal], bool] | None = None) -> Projection:
    return Projection(columns_of(triples, late=late), truth)


@pytest.fixture(scope="module", params=[False, True], ids=["", "tail"])
def everything(request: pytest.FixtureRequest) -> Projection:
    return index_of(late=in_tail if request.param else None)


def passing(index: Projection, test: Test) -> set[Term | None]:
    prepared = index.compile(Restrict(ONE_SCAN, (test,)))
    assert prepared is not None
    return set(index.terms(prepared.candidates("o", Meter())))


def expected(expression: str, terms: list[Term] = TERMS) -> set[Term | None]:
    return {term for term, true in zip(terms, truth(expression, terms), strict=True) if true}


@pytest.mark.parametrize("op", OPERATORS)
def test_a_comparison_is_true_where_oxigraph_says_so(everything: Projection, op: str) -> None:
    for constant in TERMS:
        want = expected(f"?x {op} {constant}")
        assert passing(everything, ValueComparison("o", op, constant)) == want, f"?x {op} {constant}"


@pytest.mark.parametrize("function", ["CONTAINS", "STRSTARTS", "STRENDS"])
def test_a_string_test_is_true_where_oxigraph_says_so(everything: Projection, function: str) -> None:
    for argument in [term for term in LITERALS if term.datatype.value.endswith(("#string", "#langString"))]:
        want = expected(f"{function}(?x, {argument})")
        assert passing(everything, StringTest(function, "o", argument)) == want, f"{function} {argument}"


@pytest.mark.parametrize("function", ["UCASE", "LCASE"])
@pytest.mark.parametrize("op", OPERATORS)
def test_a_comparison_in_one_case_is_true_where_oxigraph_says_so(
    everything: Projection, op: str, function: str
) -> None:
    for text in ("", "a", "A", "Ab", "zz", "[", "{"):
        test = CasedComparison(function, "o", op, Literal(text))
        assert passing(everything, test) == expected(f"{function}(?x) {op} {Literal(text)}"), text


@settings(max_examples=examples(40, 200), deadline=None)
@given(
    st.lists(st.text("aAbZ[`\u00e9\u0131\u00df\u212a\U00010400", max_size=4), min_size=1, max_size=24, unique=True),
    st.text("aAzZb[", max_size=3),
    st.sampled_from(OPERATORS),
    st.booleans(),
    st.sampled_from([None, in_tail]),
)
def test_the_case_of_strings_is_compared_by_their_order(
    texts: list[str], text: str, op: str, upper: bool, late: Callable[[Literal], bool] | None
) -> None:
    columns = columns_of([Triple(NODES[0], P, Literal(value)) for value in texts], late=late)
    function, asked = "UCASE" if upper else "LCASE", list[str]()

    def decide(ids: Ids) -> NDArray[np.bool_]:
        terms = columns.terms.terms(ids)
        asked.extend(str(term.value) for term in terms if isinstance(term, Literal))
        return np.array(truth(f"{function}(?x) {op} {Literal(text)}", terms), np.bool_)

    test = TermStrings(columns.terms).cased(upper, op, Literal(text), decide)
    passed = test.of_set(np.arange(columns.terms.n_terms, dtype=np.uint32), PatternRun(Meter(), 100))
    terms: list[Term] = [Literal(value) for value in texts]
    assert set(columns.terms.terms(passed)) == expected(f"{function}(?x) {op} {Literal(text)}", terms)
    assert not any(value.isascii() for value in asked)


@pytest.mark.parametrize("length", [MAX_CASED - 1, MAX_CASED, MAX_CASED + 1, 5_000])
@pytest.mark.parametrize("op", OPERATORS)
def test_the_case_of_long_strings_is_compared_without_recursion_of_their_length(op: str, length: int) -> None:
    long = "a" * length
    index = index_of([Triple(NODES[0], P, Literal(value)) for value in (long, long[1:], long + "B", "B" + long[1:])])
    test = CasedComparison("UCASE", "o", op, Literal(long.upper()))
    every = [Literal(value) for value in (long, long[1:], long + "B", "B" + long[1:])]
    assert passing(index, test) == expected(f"UCASE(?x) {op} {Literal(long.upper())}", every)


def test_an_opaque_test_is_asked_of_oxigraph(everything: Projection) -> None:
    assert passing(everything, Opaque("o", "isNumeric(?x)")) == expected("isNumeric(?x)")


def test_ill_typed_literals_are_no_numbers_and_dates() -> None:
    index = index_of([Triple(NODES[0], P, literal) for literal in ILL_TYPED])
    assert passing(index, ValueComparison("o", ">", Literal("0", datatype=NamedNode(XSD + "integer")))) == set()
    assert passing(index, ValueComparison("o", ">", Literal("1000-01-01", datatype=NamedNode(XSD + "date")))) == set()


numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(lambda n: ("integer", str(n))),
    st.integers(-(2**26), 2**26).map(lambda n: ("integer", str(n))),
    st.decimals(-(10**9), 10**9, places=9, allow_nan=False).map(lambda n: ("decimal", format(n, "f"))),
    st.floats(allow_nan=True).map(lambda x: ("double", str(x).replace("inf", "INF").replace("nan", "NaN"))),
    st.floats(width=32).map(lambda x: ("float", str(x).replace("inf", "INF").replace("nan", "NaN"))),
)


@settings(max_examples=examples(36, 60), deadline=None)
@example([("integer", "0")], ("double", "1.401298464324817e-45"), "=", True, None)  # the smallest float
@given(
    st.lists(numbers, min_size=1, max_size=12),
    numbers,
    st.sampled_from(OPERATORS),
    st.booleans(),
    st.sampled_from([None, in_tail]),
)
def test_numbers_compare_as_in_oxigraph(
    some: list[tuple[str, str]],
    one: tuple[str, str],
    op: str,
    near: bool,
    late: Callable[[Literal], bool] | None,
) -> None:
    if near:  # the same number, and its neighbours, as other datatypes
        value = float(one[1].replace("INF", "inf"))
        if np.isfinite(value) and abs(value) < 1e15:
            some = [*some, ("double", repr(value)), ("float", repr(value)), ("decimal", format(value, ".9f"))]
            some += [("double", repr(float(np.nextafter(value, 1e99)))), ("integer", str(int(value)))]
    terms: list[Term] = list(
        dict.fromkeys(as_stored(Literal(text, datatype=NamedNode(XSD + kind))) for kind, text in some)
    )
    constant = as_stored(Literal(one[1], datatype=NamedNode(XSD + one[0])))
    index = index_of([Triple(NODES[0], P, term) for term in terms], late)  # type: ignore[arg-type]
    want = expected(f"?x {op} {constant}", terms)
    assert passing(index, ValueComparison("o", op, constant)) == want


@settings(max_examples=examples(48, 80), deadline=None)
@given(st.lists(st.text("ab\u00e9\U00010400", max_size=6), min_size=1, max_size=20), st.text("ab\u00e9", max_size=3))
def test_strings_that_contain_or_end_with_a_text_are_found_in_the_bytes(texts: list[str], text: str) -> None:
    columns = columns_of([Triple(NODES[0], P, Literal(value)) for value in texts])
    first, end = columns.terms.parts[0].segments["string"]
    ids = np.arange(first, end, dtype=np.uint32)
    strings = TermStrings(columns.terms)
    values = [term.value for term in columns.terms.terms(ids) if isinstance(term, Literal)]
    for some, kept in ((ids, values), (ids[::2], values[::2])):
        if text:
            assert strings.search(some, text.encode(), False).tolist() == [text in value for value in kept]
            assert strings.search(some, text.encode(), True).tolist() == [value.endswith(text) for value in kept]


def test_a_year_needs_no_question_to_oxigraph() -> None:
    def never(expression: str, values: object) -> list[bool]:
        raise AssertionError(expression)

    years = [Literal(str(year), datatype=NamedNode(XSD + "integer")) for year in range(1990, 2020)]
    index = Projection(columns_of([Triple(NODES[0], P, year) for year in years]), never)
    prepared = index.compile(
        Restrict(Join((ONE_SCAN,)), (ValueComparison("o", ">=", years[10]), ValueComparison("o", "<", years[12])))
    )
    assert prepared is not None
    assert index.terms(prepared.candidates("o", Meter())) == years[10:12]
    assert prepared.size().low == prepared.size().high == 2


def test_a_test_that_would_ask_oxigraph_too_often_is_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    from hybridkg.graph.match import compile

    monkeypatch.setattr(compile, "MAX_REQUESTED", 5)
    index = index_of([Triple(NODES[0], P, Literal(text)) for text in "abcdefgh"])
    assert index.compile(Restrict(ONE_SCAN, (Opaque("o", "isNumeric(?x)"),))) is None
    assert index.compile(Restrict(ONE_SCAN, (StringTest("CONTAINS", "o", Literal("a")),))) is not None


def test_a_test_beside_a_minus_is_asked_for_the_values_of_the_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    from hybridkg.graph.match import compile

    monkeypatch.setattr(compile, "MAX_REQUESTED", 5)
    few = [Triple(NODES[0], P, Literal(text)) for text in ("a", "7", "c")]
    index = index_of([*few, *(Triple(NODES[0], NamedNode("x:q"), Literal(text)) for text in "defgh")])
    without = Minus(ONE_SCAN, Scan(Variable("t"), PredicatePath("x:q"), Variable("o")))
    prepared = index.compile(Restrict(without, (Opaque("o", "STRLEN(?x) > 0"),)))
    assert prepared is not None
    assert len(prepared.candidates("o", Meter())) == 3


def test_a_condition_is_false_for_an_unbound_variable() -> None:
    from hybridkg.graph.match.ids import IdRanges
    from hybridkg.graph.match.run import PatternRun
    from hybridkg.interfaces.graph_index import UNBOUND

    condition = IdTest(IdRanges(((0, 10),)))
    column = np.array([3, UNBOUND, 12], np.uint32)
    assert condition.holds(column, PatternRun(Meter(), 10)).tolist() == [True, False, False]
