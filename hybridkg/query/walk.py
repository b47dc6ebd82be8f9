"""Visits and rebuilds syntax trees without naming every kind of node.

The parser bounds the depth of a tree, so recursion is safe here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from hybridkg.query import ast

Node = TypeVar("Node", bound=ast.Syntax)


def children(node: ast.Syntax) -> Iterator[ast.Syntax]:
    """The nodes directly below, in the order of the text."""
    for field in fields(node):
        yield from _nodes_in(getattr(node, field.name))


def _nodes_in(value: object) -> Iterator[ast.Syntax]:
    if isinstance(value, ast.Syntax):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


def walk(node: ast.Syntax) -> Iterator[ast.Syntax]:
    """The node and everything below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def variables(node: ast.Syntax) -> frozenset[str]:
    """The name of every variable mentioned anywhere in the node, in scope or not."""
    return frozenset(below.name for below in walk(node) if isinstance(below, ast.Var))


def rebuild(node: Node, change: Callable[[ast.Syntax], ast.Syntax]) -> Node:
    """A copy with `change` applied to each direct child."""
    changed: dict[str, Any] = {}
    for field in fields(node):
        before = getattr(node, field.name)
        after = _rebuilt(before, change)
        if after is not before:
            changed[field.name] = after
    return replace(node, **changed) if changed else node


def _rebuilt(value: object, change: Callable[[ast.Syntax], ast.Syntax]) -> object:
    if isinstance(value, ast.Syntax):
        return change(value)
    if isinstance(value, tuple) and value:
        items = tuple(_rebuilt(item, change) for item in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
