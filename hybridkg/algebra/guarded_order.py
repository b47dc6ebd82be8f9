"""ORDER BY for Oxigraph where it cannot be done outside of it: in sub-selects, CONSTRUCT and DESCRIBE.

Oxigraph 0.5.13 compares two numbers, or two instants, by value, and everything else by its characters, which is no
order (operators/ordered_store_query.py): its sort notices, and the process aborts. Two keys in front of each key keep
apart what it does not compare by value: numbers from other literals, and instants with a time zone from those without.
As in rdf/order.py, numbers come before dates, dates before texts, and texts with a language last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk

Node = TypeVar("Node", bound=ast.Syntax)

_NOTHING = ast.Lit("")
_LAST = ast.Lit("~")
"""Behind the IRI of each datatype."""


def guarded(node: Node) -> Node:
    """The same syntax, with the two keys in front of each key of ORDER BY.

    >>> from hybridkg.query.parser import parse
    >>> form = parse("SELECT ?v { ?s ?p ?v } ORDER BY DESC(?v)").form
    >>> [(key.descending, type(key.expression).__name__) for key in guarded(form).modifiers.order_by]
    [(True, 'Call'), (True, 'Binary'), (True, 'Var')]
    """
    if not any(isinstance(below, ast.Modifiers) and below.order_by for below in walk(node)):
        return node

    def changed(below: ast.Syntax) -> ast.Syntax:
        below = rebuild(below, changed)
        if isinstance(below, ast.Modifiers) and below.order_by:
            return replace(below, order_by=tuple(one for key in below.order_by for one in _keys(key)))
        return below

    return rebuild(node, changed)


def _keys(key: ast.OrderKey) -> Iterator[ast.OrderKey]:
    value = (key.expression,)
    datatype = ast.Call("STR", (ast.Call("DATATYPE", value),))
    of_text = ast.Call("IF", (_is_empty(ast.Call("LANG", value)), datatype, _LAST))
    yield ast.OrderKey(ast.Call("IF", (ast.Call("ISNUMERIC", value), _NOTHING, of_text)), key.descending)
    yield ast.OrderKey(_is_empty(ast.Call("TZ", value)), key.descending)
    yield key


def _is_empty(expression: ast.Expression) -> ast.Expression:
    return ast.Binary("=", expression, _NOTHING)
