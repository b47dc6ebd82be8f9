"""Joins of many UNIONs in pieces, for the store.

Oxigraph 0.5.13 plans a group of n UNIONs in time that grows with the fourth power of n: 12 ms for 25, 94 ms for 50,
1.4 s for 100, 34 s for 200. It plans a sub-select by itself, so sub-selects of ten take 18 ms for 200.
"""

from __future__ import annotations

from dataclasses import replace

from hybridkg.query import ast

MAX_UNIONS = 30
"""Elements of a group that are UNIONs, or stand for some of them, up to which it stays as it is: about 20 ms."""

UNIONS_TOGETHER = 10
"""Those in one sub-select."""


def in_small_joins(group: ast.Group) -> ast.Group:
    """The same group with neighbouring UNIONs in sub-selects, where it has more than MAX_UNIONS of them.

    A join is associative, so the solutions are the same, repeats included. Inner groups, branches and sub-selects are
    changed alike; OPTIONAL, MINUS, GRAPH and FILTER stay as they are.

    >>> one = ast.UnionPattern((ast.Group(()), ast.Group(())))
    >>> [type(part).__name__ for part in in_small_joins(ast.Group((one,) * 31)).elements]
    ['SubSelect', 'SubSelect', 'SubSelect', 'UnionPattern']
    """
    elements = tuple(map(_inner, group.elements))
    while sum(map(_is_union, elements)) > MAX_UNIONS:
        fewer = _together(elements)
        if len(fewer) == len(elements):
            break  # no two of them are neighbours
        elements = fewer
    return ast.Group(elements)


def _is_union(element: ast.Element) -> bool:
    return isinstance(element, ast.UnionPattern | ast.SubSelect)


def _together(elements: tuple[ast.Element, ...]) -> tuple[ast.Element, ...]:
    """The elements, UNIONS_TOGETHER neighbouring UNIONs in a sub-select."""
    parts: list[ast.Element] = []
    run: list[ast.Element] = []

    def end() -> None:
        parts.extend(run if len(run) < 2 else [ast.SubSelect(ast.SelectQuery(None, ast.Group(tuple(run))))])
        run.clear()

    for element in elements:
        if not _is_union(element):
            end()
            parts.append(element)
            continue
        run.append(element)
        if len(run) == UNIONS_TOGETHER:
            end()
    end()
    return tuple(parts)


def _inner(element: ast.Element) -> ast.Element:
    match element:
        case ast.Group():
            return in_small_joins(element)
        case ast.UnionPattern(branches):
            return replace(element, branches=tuple(map(in_small_joins, branches)))
        case ast.SubSelect(query):
            return replace(element, query=replace(query, where=in_small_joins(query.where)))
    return element
