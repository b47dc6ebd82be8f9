"""ORDER BY for Oxigraph where it cannot be done outside of it: in sub-selects, CONSTRUCT and DESCRIBE.

Oxigraph 0.5.13 compares two numbers, or two instants, by value, and everything else by its characters, which is no
order (operators/ordered_store_query.py): its sort notices, and the process aborts. Four keys in front of each key make
one of it:

1. The kind: NaN, other numbers and other literals are not compared by value with one another. As in rdf/order.py,
   NaN comes first, numbers come before dates, dates before texts, and of the literals texts with a language last.
2. Instants with a time zone are not compared with those without.
3. Numbers as doubles, because a double equals every integer that rounds to it: 2^53 and 2^53 + 1 are both equal to
   the double 2^53.
4. Doubles and floats are apart from integers and decimals of the same double, which are compared exactly.

100,000 rows take 0.56 s in place of 0.22.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk
from hybridkg.rdf.terms import XSD

Node = TypeVar("Node", bound=ast.Syntax)

_NODE, _NOT_A_NUMBER, _NUMBER, _TAGGED, _TRIPLE = map(ast.Lit, ("", "-", "0", "~", "~~"))
"""Keys before and behind the IRIs of datatypes; an unbound value has no key, and is the first."""

_DOUBLE, _FLOAT = ast.Iri(XSD + "double"), ast.Iri(XSD + "float")


def guarded(node: Node) -> Node:
    """The same syntax, with the four keys in front of each key of ORDER BY.

    >>> from hybridkg.query.parser import parse
    >>> form = parse("SELECT ?v { ?s ?p ?v } ORDER BY DESC(?v)").form
    >>> [(key.descending, type(key.expression).__name__) for key in guarded(form).modifiers.order_by]
    [(True, 'Call'), (True, 'Binary'), (True, 'Call'), (True, 'Binary'), (True, 'Var')]
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
    datatype, is_number = ast.Call("DATATYPE", value), ast.Call("ISNUMERIC", value)
    of_text = _if(_is_empty(ast.Call("LANG", value)), ast.Call("STR", (datatype,)), _TAGGED)
    of_number = _if(ast.Binary("=", key.expression, key.expression), _NUMBER, _NOT_A_NUMBER)
    of_literal = _if(is_number, of_number, of_text)
    is_node = ast.Binary("||", ast.Call("ISIRI", value), ast.Call("ISBLANK", value))
    kind = _if(is_node, _NODE, _if(ast.Call("ISLITERAL", value), of_literal, _TRIPLE))
    is_floating = ast.Binary("||", ast.Binary("=", datatype, _DOUBLE), ast.Binary("=", datatype, _FLOAT))
    keys = (kind, _is_empty(ast.Call("TZ", value)), _if(is_number, ast.Call(_DOUBLE, value), _NODE), is_floating)
    yield from (ast.OrderKey(one, key.descending) for one in keys)
    yield key


def _if(condition: ast.Expression, then: ast.Expression, otherwise: ast.Expression) -> ast.Call:
    return ast.Call("IF", (condition, then, otherwise))


def _is_empty(expression: ast.Expression) -> ast.Expression:
    return ast.Binary("=", expression, ast.Lit(""))
