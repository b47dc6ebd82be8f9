"""Functions of strings over bytes have Oxigraph's values, wherever they say that they know them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sampling import examples

from hybridkg.operators import expressions
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.few_texts import of_term, values_of_few
from hybridkg.operators.text_functions import Strings, TextFunctions
from hybridkg.planner.cost_model import CostModel
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import walk
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.term_texts import TermsOfTexts, TermTexts
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Term
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

PIECES = ["a", "B", "red", "Red ", "RE", "z", " ", "\n", "0", "~", "é", "É", "ß", "Σ", "ς", "ŉ", "ǅ", "İ", "K", "日",
          "🐟", "e\u0301", "\x7f", "\u0080", '"', "\\"]  # fmt: skip


def context() -> ExecutionContext:
    return ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)  # type: ignore[arg-type]


def text(draw: random.Random, most: int = 6) -> str:
    pieces = PIECES[:10] if draw.random() < 0.5 else PIECES
    return "".join(draw.choices(pieces, k=draw.randrange(most)))


def term(draw: random.Random) -> Term | None:
    own = text(draw)
    return draw.choice(
        [Literal(own)] * 12
        + [
            Literal(own, language="en"), Literal(own, language="de"), NamedNode("x:" + own.encode().hex()),
            BlankNode(), None, Literal(7), Literal("1.50", datatype=NamedNode(XSD + "decimal")), Literal(True),
            Literal(own, datatype=NamedNode("x:type")), Literal("x", datatype=NamedNode(XSD + "integer")),
        ]
    )  # fmt: skip


def constant(draw: random.Random) -> str:
    return str(Literal(text(draw, 4)))


def string(draw: random.Random, depth: int) -> str:
    inner = "?x" if depth <= 0 else string(draw, depth - 1)
    size = draw.choice(
        ["", f", {draw.randrange(4)}", f", {draw.randrange(4)}", ", 1e0", ", STRLEN(?x) - 3", ", STRLEN(?x) > 2"]
    )
    kinds = [
        "?x",
        "STR(?x)",
        f"UCASE({inner})",
        f"LCASE({inner})",
        f"SUBSTR({inner}, {draw.choice([*'01234', '2.0'])}{size})",
        f"STRBEFORE({inner}, {constant(draw)})",
        f"STRAFTER({inner}, {constant(draw)})",
    ]
    return draw.choice(kinds)


def number(draw: random.Random, depth: int) -> str:
    own = f"STRLEN({string(draw, depth)})"
    other = draw.choice(["1", "2", "3.5", "1.0", "2e0"])
    return draw.choice([own, own, f"({own} {draw.choice('+-*')} {other})", f"(2 * {own})"])


def condition(draw: random.Random, depth: int) -> str:
    op, own = draw.choice(["=", "!=", "<", "<=", ">", ">="]), string(draw, depth)
    pattern = draw.choice(["^", "", "^"]) + draw.choice(["r", "RE", "a", "red", "é", "0"])
    flags = draw.choice(["", "", ', "i"'])
    kinds = [
        f"{own} {op} {constant(draw)}",
        f"{constant(draw)} {op} {own}",
        f"{number(draw, depth)} {op} {draw.choice(['0', '1', '3', '2.5', '4e0'])}",
        f"{draw.choice(['CONTAINS', 'STRSTARTS', 'STRENDS'])}({own}, {constant(draw)})",
        f'REGEX({own}, "{pattern}"{flags})',
        f'REGEX({own}, "{pattern.strip("^")}$"{flags})',
        f"{own} {draw.choice(['IN', 'NOT IN'])} ({constant(draw)}, {constant(draw)})",
    ]
    if depth > 0:
        kinds += [f"!({condition(draw, depth - 1)})"]
        kinds += [f"({condition(draw, depth - 1)} {draw.choice(['&&', '||'])} {condition(draw, depth - 1)})"]
    return draw.choice(kinds)


def parsed(written: str) -> ast.Expression:
    return next(
        node.condition for node in walk(parse(f"SELECT * {{ FILTER({written}) }}")) if isinstance(node, ast.Filter)
    )


def computed(value: Any, known: Any) -> list[Term]:
    """Terms of the known values."""
    if isinstance(value, Strings):
        return list(map(Literal, Strings(value.data, value.starts[known], value.ends[known]).list()))
    kind = bool if value.dtype == np.bool_ else int
    return [Literal(kind(own)) for own in value[known].tolist()]


@pytest.mark.parametrize("seed", range(examples(60, 3_000)))
def test_a_known_value_is_that_of_oxigraph(seed: int) -> None:
    draw = random.Random(seed)
    terms = [term(draw) for _ in range(40)]
    texts = TermTexts.of(terms)
    assert texts is not None
    for written in (string(draw, 2), number(draw, 2), condition(draw, 2), condition(draw, 2)):
        expression, functions = parsed(written), TextFunctions(texts)
        value = functions.value(expression)
        if value is None:
            continue
        wanted = expressions.evaluate(expression, Solutions(("x",), [(own,) for own in terms]), context())
        known = np.flatnonzero(functions.is_known)
        for place, found in zip(known.tolist(), computed(value, known), strict=True):
            assert found == wanted[place], (written, terms[place])


@pytest.mark.parametrize("seed", range(examples(60, 3_000)))
def test_a_value_of_one_term_is_that_of_oxigraph(seed: int) -> None:
    draw = random.Random(seed)
    terms = [term(draw) for _ in range(12)]
    joined = f"CONCAT({string(draw, 1)}, {constant(draw)}, {string(draw, 0)})"
    for written in (string(draw, 2), number(draw, 2), condition(draw, 2), condition(draw, 1), joined, "LANG(?x)"):
        expression = parsed(written)
        wanted = expressions.evaluate(expression, Solutions(("x",), [(own,) for own in terms]), context())
        for own, value in zip(terms, wanted, strict=True):
            found = values_of_few(of_term(expression), [own])
            assert found is None or found == [value], (written, own)


def test_few_plain_texts_need_no_store() -> None:
    terms = [Literal("red fish"), Literal("né"), Literal("")]
    for written in ("STRLEN(?x)", "SUBSTR(?x, 2, 3)", "LANG(?x)", "STRBEFORE(?x, ' ')", "CONCAT(?x, '!')", "?x < 'm'"):
        assert values_of_few(of_term(parsed(written)), terms) is not None, written
    assert values_of_few(of_term(parsed("UCASE(?x)")), terms) is None
    assert (
        values_of_few(of_term(parsed("STRLEN(?x) * 999999999 * 999999999 * 9")), terms) is None
    )  # an error beyond int64
    assert values_of_few(of_term(parsed("STRLEN(?x)")), [Literal(7)]) is None


def test_most_values_are_known_of_plain_ascii_and_lengths_of_all_plain_literals() -> None:
    ascii_texts, others = (TermTexts.of([Literal(own) for own in own]) for own in (["red", "Blue"], ["ré", "日本"]))
    assert ascii_texts is not None
    assert others is not None
    for written in ("UCASE(?x) < 'M'", "STRLEN(?x) > 3", "REGEX(?x, 'E', 'i')", "SUBSTR(?x, 2) = 'ed'", "?x = 'red'"):
        functions = TextFunctions(ascii_texts)
        assert functions.truth(parsed(written)) is not None
        assert functions.is_known.all(), written
    functions = TextFunctions(others)
    assert functions.value(parsed("STRLEN(?x)")).tolist() == [2, 2]  # type: ignore[union-attr]
    assert functions.is_known.all()
    assert TextFunctions(others).truth(parsed("MD5(?x) = 'a'")) is None


@pytest.mark.parametrize(
    "written", ["SUBSTR(?x, 2.0)", "SUBSTR(?x, 1, 2e0)", "STRLEN(?x) + 1.0", "STRLEN(SUBSTR(?x, 1e0)) = 3"]
)
def test_what_is_an_error_or_no_integer_with_a_decimal_is_left_to_oxigraph(written: str) -> None:
    texts = TermTexts.of([Literal("red")])
    assert texts is not None
    assert TextFunctions(texts).value(parsed(written)) is None


def test_a_text_in_another_case_is_compared_by_the_bytes_that_the_constant_has() -> None:
    texts = TermTexts.of([Literal(own) for own in ("aé", "né", "éa", "m", "mé", "")])
    assert texts is not None
    functions = TextFunctions(texts)
    truths = functions.truth(parsed("UCASE(?x) < 'M'"))
    assert truths is not None
    assert functions.is_known.tolist() == [True, True, False, True, True, True]
    assert truths[functions.is_known].tolist() == [True, False, False, False, True]


@pytest.mark.parametrize("seed", range(examples(5, 200)))
def test_conditions_of_many_texts_hold_where_each_alone_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "MANY_TEXTS", 1)
    draw = random.Random(seed)
    terms = [own for own in (term(draw) for _ in range(60)) if own is not None]
    texts = TermTexts.of(terms)
    assert texts is not None
    for written in (condition(draw, 1), condition(draw, 2)):
        together = expressions.holds(written, TermsOfTexts(texts), OxigraphStore.memory)
        assert together.tolist() == expressions.holds(written, terms, OxigraphStore.memory).tolist(), written
