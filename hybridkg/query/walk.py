"""Generic traversal and rewriting of syntax trees.

`walk` needs no recursion. `rebuild` descends one level and is called recursively by its users: two frames a level, and
the parser bounds the levels (MAX_DEPTH).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import chain
from typing import Any, TypeVar

from hybridkg.query import ast

Node = TypeVar("Node", bound=ast.Syntax)


MAX_LISTED = 200
"""Nodes of a tree that is listed."""

_PLAIN = frozenset(("str", "int", "float", "bool", "str | None", "int | None", "float | None", "tuple[float, ...]"))
"""Annotations of fields that hold no nodes."""

_FIELD_NAMES: dict[type[ast.Syntax], tuple[str, ...]] = {}
"""Names of the fields that may hold nodes, by class."""


def _field_names(kind: type[ast.Syntax]) -> tuple[str, ...]:
    if kind not in _FIELD_NAMES:
        _FIELD_NAMES[kind] = tuple(
            field.name for field in fields(kind) if field.init and field.name != "span" and field.type not in _PLAIN
        )
    return _FIELD_NAMES[kind]


def children(node: ast.Syntax) -> list[ast.Syntax]:
    """The direct children, in the order of the text."""
    nodes: list[ast.Syntax] = []
    names = _FIELD_NAMES.get(type(node))
    for name in _field_names(type(node)) if names is None else names:
        value = getattr(node, name)
        if isinstance(value, ast.Syntax):
            nodes.append(value)
        elif isinstance(value, tuple):
            _collect(value, nodes)
    return nodes


def _collect(values: tuple[object, ...], nodes: list[ast.Syntax]) -> None:
    for value in values:
        if isinstance(value, ast.Syntax):
            nodes.append(value)
        elif isinstance(value, tuple):
            _collect(value, nodes)


def walk(node: ast.Syntax) -> Iterator[ast.Syntax]:
    """The node and its descendants in preorder, in the order of the text.

    A query is walked about twenty times before its first run. A tree that does not change is listed once; only small
    trees are, because a list for each node of a deep tree would take memory that grows with the square of its depth.
    """
    return chain((node,), node.descendants) if node.descendants else _walked(node)


def _walked(node: ast.Syntax) -> Iterator[ast.Syntax]:
    yield node
    waiting, seen = children(node)[::-1], list[ast.Syntax]()
    while waiting:
        below = waiting.pop()
        seen.append(below)
        yield below
        if more := children(below):
            more.reverse()
            waiting += more
    if len(seen) <= MAX_LISTED:
        object.__setattr__(node, "descendants", tuple(seen))


def variables(node: ast.Syntax) -> frozenset[str]:
    """The name of every variable in the node, in scope or not."""
    return frozenset(below.name for below in walk(node) if isinstance(below, ast.Var))


def rebuild(node: Node, change: Callable[[ast.Syntax], ast.Syntax]) -> Node:
    """A copy with `change` applied to each direct child."""
    changed: dict[str, Any] = {}
    for name in _field_names(type(node)):
        before = getattr(node, name)
        if isinstance(before, ast.Syntax):
            after: object = change(before)
            if after is not before:
                changed[name] = after
        elif isinstance(before, tuple) and before:
            items = []
            for item in before:
                items.append(  # noqa: PERF401 - a comprehension would be one more frame a level
                    change(item) if isinstance(item, ast.Syntax) else _rebuilt(item, change)
                )
            if any(a is not b for a, b in zip(before, items, strict=True)):
                changed[name] = tuple(items)
    return replace(node, **changed) if changed else node


def _rebuilt(value: object, change: Callable[[ast.Syntax], ast.Syntax]) -> object:
    """A row of VALUES, or a value that is not syntax."""
    if not isinstance(value, tuple):
        return value
    items = tuple([change(item) if isinstance(item, ast.Syntax) else item for item in value])
    return value if all(a is b for a, b in zip(value, items, strict=True)) else items
