"""Expressions of a SELECT, in its columns and modifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from hybridkg.query import ast
from hybridkg.query.walk import has, rebuild


def spelled_out(expression: ast.Expression, projection: Iterable[ast.SelectItem]) -> ast.Expression:
    """The expression with aliases expanded: `(SUM(?t) AS ?total) ... RANK BY ?total + 1`."""
    aliases = {item.variable.name: item.expression for item in projection if item.expression is not None}

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Var) and node.name in aliases:
            return aliases[node.name]
        return rebuild(node, change)

    return change(expression)  # type: ignore[return-value]


def expressions_of(query: ast.SelectQuery) -> Iterator[ast.Expression]:
    """The expressions of the columns and of HAVING, ORDER BY and RANK BY."""
    for item in query.projection or ():
        if item.expression is not None:
            yield item.expression
    yield from query.modifiers.having
    for key in query.modifiers.order_by:
        yield key.expression
    if query.modifiers.rank_by:
        yield query.modifiers.rank_by.expression


def with_expressions(query: ast.SelectQuery, change: Callable[[Any], Any]) -> ast.SelectQuery:
    """The query with `change` applied to the expressions of its projection and modifiers, but not to its pattern."""
    projection = query.projection and tuple(rebuild(item, change) for item in query.projection)
    return replace(query, projection=projection, modifiers=rebuild(query.modifiers, change))


def has_aggregate(expression: ast.Expression) -> bool:
    return has(expression, ast.Aggregate)
