"""Trees with holes: what is the same for all values of the parameters is made once, and the values put in later.

A hole is a constant that stands for the value of a parameter: whoever asks whether it is an IRI or a literal gets the
right answer, and no two are equal to each other or to a constant. A tree is a syntax tree, or anything made of frozen
dataclasses and tuples around one, such as a logical plan. A filling (copies.py) takes the values in the order of the
parameters, behind them those of slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeAlias

from hybridkg.copies import Copying, Fill, Step
from hybridkg.query import ast
from hybridkg.rdf.terms import Literal, NamedNode

Constant: TypeAlias = ast.Iri | ast.Lit
Value: TypeAlias = Constant | tuple[Constant, ...]
"""Of a parameter: one constant, or those of a list."""

OPEN = "urn:hybridkg:hole"
"""The datatype of a literal hole; where it has been taken away, that of the value goes as well. The IRI of an IRI hole
begins with it, and ends with the number of the parameter: as a term of RDF, too, it is a hole."""

KEPT = ("variables",)
"""Cached properties that no value changes, so that a copy keeps them."""


class HiddenHoleError(Exception):
    """A part of a tree may have a hole that cannot be seen, or a value does not fit into one."""


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
    return (
        IriHole(f"{OPEN}:{parameter}", parameter=parameter)
        if isinstance(value, ast.Iri)
        else LitHole("", OPEN, parameter=parameter)
    )


def filling(tree: Any, slots: Mapping[int, int] = {}) -> Fill | None:
    """What puts values into the holes of a tree; None where it has none.

    What the tree holds in several places is one object in the copy, too.

    Args:
        tree: stays alive as long as its filling.
        slots: parts that are values themselves, by identity: the place of each among the values.

    Raises:
        HiddenHoleError: the tree has a part that may hide a hole: a function, a container other than a tuple, a text in
            which a hole has been written.

    >>> tree = ast.Bind(LitHole("", OPEN, parameter=0), ast.Var("x"))
    >>> filling(tree)([ast.Lit("red")])
    Bind(expression=Lit(lexical='red', datatype=None, language=None), variable=Var(name='x'))
    """
    return _Holes(slots).filling(tree)


class _Holes(Copying):
    """The holes of a tree."""

    def step(self, tree: Any) -> Step | None:
        """As Copying has it."""
        if isinstance(tree, IriHole):
            return Step(ast.Iri, {"span": tree.span}, of=self.value(tree.parameter))
        if isinstance(tree, LitHole):
            same = {"span": tree.span} if tree.datatype is not None else {"span": tree.span, "datatype": None}
            return Step(ast.Lit, same, of=self.value(tree.parameter))
        if isinstance(tree, tuple):
            return self.items(tree)
        if isinstance(tree, ast.InlineData) and _is_list(tree.rows):
            return _node(tree, {"rows": self.add(_rows(tree.rows[0][0]))})
        if isinstance(tree, NamedNode):
            return _term(tree.value)
        if (
            callable(tree)
            or isinstance(tree, dict | list | set)
            or (isinstance(tree, str | Literal) and OPEN in str(tree))
        ):
            raise HiddenHoleError(f"a {type(tree).__name__} may have a hole in it")
        if not is_dataclass(tree):
            return None
        found = {one.name: place for one in fields(tree) if (place := self.place(getattr(tree, one.name))) is not None}
        return _node(tree, found) if found else None


def holes_of(tree: Any) -> dict[NamedNode, int]:
    """The terms of RDF in a tree that are holes, in their order, and the parameters they stand for.

    >>> holes_of((NamedNode("x:a"), (NamedNode(f"{OPEN}:3"),)))
    {<NamedNode value=urn:hybridkg:hole:3>: 3}
    """
    if isinstance(tree, NamedNode):
        number = _parameter(tree.value)
        return {} if number is None else {tree: number}
    parts: Sequence[Any] = ()
    if isinstance(tree, tuple):
        parts = tree
    elif is_dataclass(tree):
        parts = [getattr(tree, one.name) for one in fields(tree)]
    return {hole: number for part in parts for hole, number in holes_of(part).items()}


def _parameter(iri: str) -> int | None:
    """The parameter that the IRI of a hole stands for; None for another IRI."""
    opening, _, number = iri.rpartition(":")
    return int(number) if opening == OPEN else None


def _term(iri: str) -> Step | None:
    """Of an IRI in a pattern of the graph."""
    at = _parameter(iri)
    if at is None:
        return None

    def fill(values: Sequence[Any]) -> NamedNode:
        try:
            return NamedNode(values[at].value)
        except ValueError as e:
            raise HiddenHoleError("no IRI") from e

    return Step(None, fill)


def _is_list(rows: tuple[tuple[Any, ...], ...]) -> bool:
    return len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], LitHole) and rows[0][0].many


def _rows(tree: Any) -> Step:
    at = tree.parameter
    return Step(None, lambda values: tuple((value,) for value in values[at]))


def _node(tree: Any, found: dict[str, int]) -> Step:
    """A copy with other values in some fields."""
    kind, own = type(tree), vars(tree)
    for name in KEPT:
        if isinstance(getattr(kind, name, None), cached_property):
            getattr(tree, name)
    same = {name: own[name] for name in (*(one.name for one in fields(tree)), *KEPT) if name in own}
    return Step(kind, same, tuple(found.items()))
