"""Generic traversal and rewriting of syntax trees.

`walk` needs no recursion. `rebuild` descends one level and is called recursively by its users: two frames a level, and
the parser bounds the levels (MAX_DEPTH).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from itertools import chain
from typing import Any, TypeVar

from hybridkg.query import ast

Node = TypeVar("Node", bound=ast.Syntax)


MAX_LISTED = 200
"""Nodes of a tree that is listed."""

_PLAIN = frozenset(
    ("str", "int", "float", "bool", "str | None", "int | None", "float | None", "tuple[float, ...]", "tuple[Quad, ...]")
)
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
        elif value and isinstance(value, tuple):
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

    A query is walked about twenty times before its first run, whole and in parts. So the first walk of a tree lists the
    descendants of each of its nodes; only of small trees, because the lists of a deep tree take memory that grows with
    the square of its depth.
    """
    below = node.descendants
    return chain((node,), below) if below is not None else iter(_listed(node))


def _listed(node: ast.Syntax) -> Iterable[ast.Syntax]:
    """The node and its descendants, those of each node kept in it; lazily where there are many."""
    order: list[ast.Syntax] = []
    waiting: list[ast.Syntax | int] = [node]  # or the place of a node whose descendants are all listed
    while waiting:
        one = waiting.pop()
        if isinstance(one, int):
            object.__setattr__(order[one], "descendants", tuple(order[one + 1 :]))
            continue
        order.append(one)
        known = one.descendants
        if known is None:
            waiting.append(len(order) - 1)
            below = children(one)
            below.reverse()
            waiting += below
        elif known:
            order += known
        if len(order) > MAX_LISTED:
            return chain(order, _lazily(waiting))
    return order


def _lazily(waiting: list[ast.Syntax | int]) -> Iterator[ast.Syntax]:
    """The nodes among `waiting`, the last first, each with its descendants."""
    while waiting:
        node = waiting.pop()
        if not isinstance(node, int):
            yield node
            waiting += children(node)[::-1]


def has(node: ast.Syntax, *classes: type[ast.Syntax]) -> bool:
    """Whether the node or one of its descendants is of one of the classes; of a subclass does not count.

    >>> has(ast.Unary("!", ast.Call("RAND", ())), ast.Call, ast.Exists)
    True
    """
    return not set(map(type, walk(node))).isdisjoint(classes)


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
