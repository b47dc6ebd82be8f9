"""Values are put in place of parameters by constructors; what cannot be seen through is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hybridkg.interfaces.parameter import Bindings, Parameter, Substitution, UnboundParameterError, bound
from hybridkg.query import ast
from hybridkg.query.walk import variables, walk

RED, BLUE = ast.Lit("red", "x:colour"), ast.Iri("x:blue")


@dataclass(frozen=True)
class Part:
    child: Any
    other: Any = None
    made: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", 1)


@dataclass(frozen=True)
class WithFunction:
    function: Callable[[], int]


def test_a_value_takes_the_kind_and_the_place_of_its_parameter():
    span = ast.Span(3, 5)
    tree = ast.Bind(ast.LiteralParameter(0, span=span), ast.Var("x"))
    made = bound(tree, Bindings([RED]))
    assert made == ast.Bind(RED, ast.Var("x"))
    assert made.expression.span == span
    assert type(made.expression) is ast.Lit
    assert bound(ast.LiteralParameter(0, plain=True), Bindings([RED])) == ast.Lit("red")
    assert bound((ast.IriParameter(1), ast.IriParameter(0)), Bindings([BLUE, ast.Iri("x:a")])) == (
        ast.Iri("x:a"),
        BLUE,
    )


def test_a_list_is_the_rows_of_values():
    data = ast.InlineData((ast.Var("x"),), ((ast.ListParameter(0),),))
    for values in ((RED, BLUE), (RED,), ()):
        assert bound(data, Bindings([values])).rows == tuple((value,) for value in values)


def test_only_what_is_above_a_parameter_is_made_and_by_its_constructor():
    still = Part(RED)
    shared = Part(ast.IriParameter(0))
    substitution = Substitution(Part(Part(shared, still), shared))
    one, two = substitution(Bindings([BLUE])), substitution(Bindings([ast.Iri("x:a")]))
    assert one.child.other is still
    assert one.other is one.child.child
    assert (one.other.child, two.other.child) == (BLUE, ast.Iri("x:a"))
    assert one.made == one.child.made == one.other.made == 1
    assert Substitution(still)(Bindings([])) is still
    assert not Substitution(still).parameters


@pytest.mark.parametrize("hidden", [WithFunction(lambda: 1), {"a": RED}, [RED], Part({RED})])
def test_what_may_hide_a_parameter_is_refused(hidden: Any):
    with pytest.raises(UnboundParameterError):
        Substitution(Part(ast.IriParameter(0), hidden))


def test_a_part_that_is_closed_is_not_looked_into():
    tree = Part(ast.IriParameter(0), WithFunction(lambda: 1))
    assert Substitution(tree, (WithFunction,))(Bindings([BLUE])).other is tree.other


def test_a_parameter_is_equal_to_itself_alone_and_has_no_value():
    assert ast.IriParameter(0) == ast.IriParameter(0) != ast.IriParameter(1)
    assert ast.LiteralParameter(0) == ast.LiteralParameter(0) != ast.LiteralParameter(1)
    assert ast.IriParameter(0) != ast.Iri("")
    for name in ("lexical", "datatype", "language"):
        with pytest.raises(UnboundParameterError):
            getattr(ast.LiteralParameter(0), name)
    with pytest.raises(UnboundParameterError):
        _ = ast.IriParameter(0).value
    with pytest.raises(UnboundParameterError):
        value_of(ast.IriParameter(0))


def value_of(node: ast.Syntax) -> str | None:
    match node:
        case ast.Iri(value):
            return value
    return None


def test_a_tree_with_parameters_can_be_walked():
    tree = ast.Bind(ast.Binary("+", ast.LiteralParameter(0), ast.Var("y")), ast.Var("x"))
    assert variables(tree) == {"x", "y"}
    assert sum(isinstance(node, Parameter) for node in walk(tree)) == 1
