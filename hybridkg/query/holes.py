"""Trees with holes: what is the same for all values of the parameters is made once, and the values put in later.

A hole is a constant that stands for the value of a parameter: whoever asks whether it is an IRI or a literal gets the
right answer, and no two are equal to each other or to a constant. A tree is a syntax tree, or anything made of frozen
dataclasses and tuples around one, such as a logical plan. Only the nodes above a hole are made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeAlias

from hybridkg.query import ast

Constant: TypeAlias = ast.Iri | ast.Lit
Value: TypeAlias = Constant | tuple[Constant, ...]
"""Of a parameter: one constant, or those of a list."""

Fill: TypeAlias = Callable[[Sequence[Value]], Any]
"""Puts values, in the order of the parameters, into one tree."""

OPEN = "urn:hybridkg:hole"
"""The datatype of a literal hole. Where it has been taken away, that of the value goes as well."""

KEPT = ("variables",)
"""Cached properties that no value changes, so that a copy keeps them."""


@dataclass(frozen=True)
class IriHole(ast.Iri):
    """Stands for an IRI: the value of parameter number `parameter`."""

    parameter: int = -1


@dataclass(frozen=True)
class LitHole(ast.Lit):
    """Stands for a literal; with `many`, alone in a row of VALUES, for any number of rows."""

    parameter: int = -1
    many: bool = False


def hole(value: Value, parameter: int) -> Constant | tuple[Constant, ...]:
    """A hole for values of this kind."""
    if isinstance(value, tuple):
        return (LitHole("", OPEN, parameter=parameter, many=True),)
    return IriHole("", parameter=parameter) if isinstance(value, ast.Iri) else LitHole("", OPEN, parameter=parameter)


def filling(tree: Any) -> Fill | None:
    """What puts values into the holes of a tree; None where it has none.

    >>> tree = ast.Bind(LitHole("", OPEN, parameter=0), ast.Var("x"))
    >>> filling(tree)([ast.Lit("red")])
    Bind(expression=Lit(lexical='red', datatype=None, language=None), variable=Var(name='x'))
    """
    if isinstance(tree, IriHole):
        return _iri(tree)
    if isinstance(tree, LitHole):
        return _literal(tree)
    if isinstance(tree, tuple):
        return _items(tree)
    if isinstance(tree, ast.InlineData) and _is_list(tree.rows):
        return _node(tree, {"rows": _rows(tree.rows[0][0])})
    if not is_dataclass(tree) or isinstance(tree, type):
        return None
    found = {one.name: fill for one in fields(tree) if (fill := filling(getattr(tree, one.name))) is not None}
    return _node(tree, found) if found else None


def _iri(tree: IriHole) -> Fill:
    at, span = tree.parameter, tree.span
    return lambda values: ast.Iri(values[at].value, span=span)  # type: ignore[union-attr]


def _literal(tree: LitHole) -> Fill:
    at, span, is_typed = tree.parameter, tree.span, tree.datatype is not None

    def fill(values: Sequence[Value]) -> ast.Lit:
        value: Any = values[at]
        return ast.Lit(value.lexical, value.datatype if is_typed else None, value.language, span=span)

    return fill


def _is_list(rows: tuple[tuple[Any, ...], ...]) -> bool:
    return len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], LitHole) and rows[0][0].many


def _rows(tree: Any) -> Fill:
    at = tree.parameter
    return lambda values: tuple((value,) for value in values[at])


def _items(items: tuple[Any, ...]) -> Fill | None:
    fills = [(at, fill) for at, item in enumerate(items) if (fill := filling(item)) is not None]
    if not fills:
        return None

    def fill_items(values: Sequence[Value]) -> tuple[Any, ...]:
        copied = list(items)
        for at, fill in fills:
            copied[at] = fill(values)
        return tuple(copied)

    return fill_items


def _node(tree: Any, found: dict[str, Fill]) -> Fill:
    """A copy with other values in some fields.

    Past the constructor: that of a frozen dataclass takes 0.3 us for each field, also those that stay.
    """
    kind, own = type(tree), vars(tree)
    for name in KEPT:
        if isinstance(getattr(kind, name, None), cached_property):
            getattr(tree, name)
    same = {name: own[name] for name in (*(one.name for one in fields(tree)), *KEPT) if name in own}
    fills = tuple(found.items())

    def fill_node(values: Sequence[Value]) -> Any:
        copied = object.__new__(kind)
        copied.__dict__.update(same)
        inside = copied.__dict__
        for name, fill in fills:
            inside[name] = fill(values)
        return copied

    return fill_node
