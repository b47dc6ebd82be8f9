"""Decorrelation of EXISTS: its pattern is evaluated once, and rows are tested for compatible solutions.

SPARQL 1.1 section 18.6 substitutes the values of the row instead. Both give the same if every condition in the pattern
has its variables bound inside, and no part of it removes or renames solutions by a variable of the row. Oxigraph 0.5.13
also counts the variables of the row as variables of both sides of a MINUS, so one whose sides share no other variable
removes all solutions (tests/algebra/test_decorrelation.py).
"""

from __future__ import annotations

from hybridkg.algebra.certain import certain
from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import has, variables


def correlated_part(group: ast.Group, outer: frozenset[str]) -> ast.Element | None:
    """The first element of an EXISTS pattern that depends on the row by more than equal values; None without one.

    Args:
        group: the pattern.
        outer: variables that the row may bind.

    >>> from hybridkg.query.parser import parse
    >>> group = parse("SELECT * { ?x <e:p> ?y MINUS { ?x <e:q> ?z } OPTIONAL { ?y <e:r> ?w } }").form.where
    >>> correlated_part(group, frozenset("xy")) is None, type(correlated_part(group, frozenset("xw"))).__name__
    (True, 'OptionalPattern')
    """
    for place, element in enumerate(group.elements):
        read = (in_scope(ast.Group((element,))) | variables(element)) & outer
        inner: tuple[ast.Group, ...] = ()
        match element:
            case ast.Triples() | ast.InlineData():
                continue
            case ast.Group():
                inner = (element,)
            case ast.UnionPattern(branches):
                inner = branches
            case ast.GraphPattern(pattern=pattern):
                inner = (pattern,)
            case ast.MinusPattern(pattern) if outer:
                shared = _bound(ast.Group(group.elements[:place])) & _bound(pattern)
                if not shared or not read <= shared:
                    return element
                inner = (pattern,)
            case ast.SubSelect(query):
                limits = (query.modifiers.limit, query.modifiers.offset, query.modifiers.rank_by)
                if read and (limits != (None, None, None) or not read <= _bound(ast.Group((element,)))):
                    return element
                inner = (query.where,) if read else ()
            case ast.Filter(condition) if not (variables(condition) & outer) - _bound(group):
                continue
            case ast.OptionalPattern(pattern):
                has_minus = has(pattern, ast.MinusPattern)
                if has_minus or not read <= _bound(ast.Group(group.elements[:place])):
                    return element
                inner = (pattern,)
            case _ if read:
                return element
        for part in inner:
            if (found := correlated_part(part, outer)) is not None:
                return found
    return None


def _bound(group: ast.Group) -> frozenset[str]:
    """Variables that every solution binds, those of ranked relations among them."""
    items = [item for element in group.elements if isinstance(element, ast.Triples) for item in element.items]
    ranked = [item for item in items if isinstance(item, ast.RankedItem)]
    return certain(group).union(v.name for item in ranked for v in (item.entity, item.score) if v is not None)
