"""Trees with holes: what is the same for all values of the parameters is made once, and the values put in later.

A hole is a constant that stands for the value of a parameter: whoever asks whether it is an IRI or a literal gets the
right answer, and no two are equal to each other or to a constant. A tree is a syntax tree, or anything made of frozen
dataclasses and tuples around one, such as a logical plan. Only the nodes above a hole are made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeAlias

from hybridkg.query import ast
from hybridkg.rdf.terms import Literal, NamedNode

Constant: TypeAlias = ast.Iri | ast.Lit
Value: TypeAlias = Constant | tuple[Constant, ...]
"""Of a parameter: one constant, or those of a list."""

Fill: TypeAlias = Callable[[Sequence[Any]], Any]
"""Puts values, in the order of the parameters, into one tree; behind them those of slots."""

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
    program = _Program(slots)
    if program.place(tree) is None:
        return None
    steps = tuple(program.steps)

    def fill(values: Sequence[Any]) -> Any:
        made: list[Any] = []
        for step in steps:
            made.append(step(values, made))
        return made[-1]

    return fill


Step: TypeAlias = Callable[[Sequence[Any], list[Any]], Any]
"""Makes one part of a copy, from the values and from the parts that are made already."""


class _Program:
    """The parts of a tree above its holes, each once, in an order in which they can be made."""

    def __init__(self, slots: Mapping[int, int]):
        self.steps: list[Step] = []
        self._slots, self._places = slots, dict[int, int | None]()

    def place(self, tree: Any) -> int | None:
        """The number of the step that makes a part; None where it has no hole."""
        if id(tree) not in self._places:
            step = self._step(tree)
            if step is not None:
                self.steps.append(step)
            self._places[id(tree)] = None if step is None else len(self.steps) - 1
        return self._places[id(tree)]

    def _step(self, tree: Any) -> Step | None:
        """What makes a part, its own parts first."""
        if (slot := self._slots.get(id(tree))) is not None:
            return lambda values, made: values[slot]
        if isinstance(tree, IriHole):
            return _iri(tree)
        if isinstance(tree, LitHole):
            return _literal(tree)
        if isinstance(tree, tuple):
            return _items(
                tree, [(at, place) for at, item in enumerate(tree) if (place := self.place(item)) is not None]
            )
        if isinstance(tree, ast.InlineData) and _is_list(tree.rows):
            self.steps.append(_rows(tree.rows[0][0]))
            return _node(tree, {"rows": len(self.steps) - 1})
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


def _iri(tree: IriHole) -> Step:
    at, span = tree.parameter, tree.span
    return lambda values, made: ast.Iri(values[at].value, span=span)


def _term(iri: str) -> Step | None:
    """Of an IRI in a pattern of the graph."""
    opening, _, number = iri.rpartition(":")
    if opening != OPEN:
        return None
    at = int(number)

    def fill(values: Sequence[Any], _made: list[Any]) -> NamedNode:
        try:
            return NamedNode(values[at].value)
        except ValueError as e:
            raise HiddenHoleError("no IRI") from e

    return fill


def _literal(tree: LitHole) -> Step:
    at, span, is_typed = tree.parameter, tree.span, tree.datatype is not None

    def fill(values: Sequence[Any], _made: list[Any]) -> ast.Lit:
        value = values[at]
        return ast.Lit(value.lexical, value.datatype if is_typed else None, value.language, span=span)

    return fill


def _is_list(rows: tuple[tuple[Any, ...], ...]) -> bool:
    return len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], LitHole) and rows[0][0].many


def _rows(tree: Any) -> Step:
    at = tree.parameter
    return lambda values, made: tuple((value,) for value in values[at])


def _items(items: tuple[Any, ...], found: list[tuple[int, int]]) -> Step | None:
    if not found:
        return None

    def fill_items(_values: Sequence[Any], made: list[Any]) -> tuple[Any, ...]:
        copied = list(items)
        for at, place in found:
            copied[at] = made[place]
        return tuple(copied)

    return fill_items


def _node(tree: Any, found: dict[str, int]) -> Step:
    """A copy with other values in some fields.

    Past the constructor: that of a frozen dataclass takes 0.3 us for each field, also those that stay.
    """
    kind, own = type(tree), vars(tree)
    for name in KEPT:
        if isinstance(getattr(kind, name, None), cached_property):
            getattr(tree, name)
    same = {name: own[name] for name in (*(one.name for one in fields(tree)), *KEPT) if name in own}
    (first, at), *more = found.items()

    def fill_node(_values: Sequence[Any], made: list[Any]) -> Any:
        copied = object.__new__(kind)
        inside = copied.__dict__
        inside.update(same)
        inside[first] = made[at]
        for name, place in more:
            inside[name] = made[place]
        return copied

    return fill_node
