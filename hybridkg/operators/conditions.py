"""What the triple patterns and filters of a fragment say of one of its variables, for a text index that is far away.

Only what is certain: an entity that breaks a condition is in no solution, so the index may leave it out; an entity
that satisfies all of them may be in none. Numbers are compared as doubles here and exactly, as doubles or as floats
by the store, depending on their datatypes; the bounds are widened by what that can make of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace

from hybridkg.entities.number_bounds import bounds_of
from hybridkg.interfaces.text_index import AnyOf, Condition
from hybridkg.query import ast
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import Literal, NamedNode

MOST_CONDITIONS = 64
"""Conditions of one fragment; more make the question longer and hardly the answer shorter."""

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
"""The comparisons, and each as it reads from the other side."""


def conditions(group: ast.Group, variable: str) -> tuple[Condition | AnyOf, ...]:
    """Conditions that every value of a variable satisfies in every solution of a rank-free group.

    Reads triple patterns with a constant object, with one of the constants that VALUES gives, and with a number in a
    range that a FILTER gives; and branches of UNION which all say something like that. What is optional, excluded, or
    about a graph that is named is passed over.

    Args:
        group: asked about the default graph; of a query with a dataset clause nothing is known.
        variable: the entity.

    Returns:
        Distinct conditions in the order written; satisfied in the sense of entities.filters.agrees.
    """
    found: dict[Condition | AnyOf, None] = {}
    room = MOST_CONDITIONS
    for one in _said(group, variable):
        if one not in found and len(leaves(one)) <= room:
            found[one] = None
            room -= len(leaves(one))
    return tuple(found)


def leaves(condition: Condition | AnyOf) -> tuple[Condition, ...]:
    """The condition, or those of all branches."""
    if isinstance(condition, AnyOf):
        return tuple(one for branch in condition.branches for one in branch)
    return (condition,)


def _said(group: ast.Group, variable: str) -> Iterator[Condition | AnyOf]:
    required = list(_required(whole(group)))
    ranges = _ranges([element.condition for element in required if isinstance(element, ast.Filter)])
    given = [element for element in required if isinstance(element, ast.InlineData)]
    for element in required:
        if isinstance(element, ast.UnionPattern):
            branches = [tuple(_plain(branch, variable)) for branch in element.branches]
            if all(branches):
                yield AnyOf(tuple(branches))
            continue
        if not isinstance(element, ast.TriplePattern) or element.subject != ast.Var(variable):
            continue
        if (constant := _constant(element, variable)) is not None:
            yield constant
        elif isinstance(element.predicate, ast.Iri) and isinstance(element.object, ast.Var):
            if element.object.name in ranges:
                yield replace(ranges[element.object.name], predicate=element.predicate.value)
            for table in given:
                if element.object in table.variables:
                    yield from _one_of(element, table, variable)


def _plain(group: ast.Group, variable: str) -> Iterator[Condition]:
    """What a branch says without branches of its own."""
    for element in _required(group):
        if isinstance(element, ast.TriplePattern) and (constant := _constant(element, variable)) is not None:
            yield constant


def _one_of(pattern: ast.TriplePattern, table: ast.InlineData, variable: str) -> Iterator[AnyOf]:
    """That the object of a triple pattern is one of those in a table; nothing where one of them is left open, or there
    are many.
    """
    if len(table.rows) > MOST_CONDITIONS:
        return
    branches: dict[tuple[Condition], None] = {}
    for row in table.rows:
        value = row[table.variables.index(pattern.object)]
        constant = None if value is None else _constant(replace(pattern, object=value), variable)
        if constant is None:
            return
        branches[(constant,)] = None
    if branches:
        yield AnyOf(tuple(branches))


def say_all(group: ast.Group, variable: str, found: Collection[Condition | AnyOf]) -> bool:
    """Whether the entities that satisfy some of the conditions of a group are those of its solutions, each once unless
    there are branches.

    Ranges never are: their bounds are widened.
    """
    elements = whole(group).elements
    if not all(isinstance(element, ast.Triples | ast.UnionPattern) for element in elements):
        return False
    required, waiting = list(_required(whole(group))), list(found)
    for one in required:
        if isinstance(one, ast.UnionPattern):
            branches = tuple(tuple(_plain(branch, variable)) for branch in one.branches)
            said = AnyOf(branches) in waiting
            if not said or not all(
                say_all(branch, variable, own) for branch, own in zip(one.branches, branches, strict=True)
            ):
                return False
        elif _constant(one, variable) not in waiting:
            return False
    return bool(required)


def _constant(pattern: ast.Syntax, variable: str) -> Condition | None:
    """What a triple pattern with a constant object says of its subject."""
    match pattern:
        case ast.TriplePattern(ast.Var(name), ast.Iri(predicate), ast.Iri() | ast.Lit() as constant) if (
            name == variable and (value := _value(constant)) is not None
        ):
            return Condition(predicate, value)
    return None


def _required(group: ast.Group) -> Iterator[ast.TriplePattern | ast.Filter | ast.UnionPattern | ast.InlineData]:
    """What holds in every solution; a group within the group is joined with it."""
    waiting = [iter(group.elements)]
    while waiting:
        element = next(waiting[-1], None)
        match element:
            case None:
                waiting.pop()
            case ast.Triples(items):
                yield from (item for item in items if isinstance(item, ast.TriplePattern))
            case ast.Filter() | ast.UnionPattern() | ast.InlineData():
                yield element
            case ast.Group(elements):
                waiting.append(iter(elements))


def whole(group: ast.Group) -> ast.Group:
    """The group of which a plan takes some variables only (algebra/rules/narrow_distinct.py)."""
    match group.elements:
        case (ast.SubSelect(ast.SelectQuery(projection, where, "DISTINCT", (), modifiers, None)),) if (
            modifiers == ast.Modifiers() and all(one.expression is None for one in projection or ())
        ):
            return where
    return group


def _value(constant: ast.Iri | ast.Lit) -> str | None:
    """The constant as N-Triples writes what the store has of it; None for one that no store takes."""
    try:
        if isinstance(constant, ast.Iri):
            return str(NamedNode(constant.value))
        if constant.language is not None:
            return str(as_stored(Literal(constant.lexical, language=constant.language)))
        if constant.datatype is None:
            return str(Literal(constant.lexical))
        return str(as_stored(Literal(constant.lexical, datatype=NamedNode(constant.datatype))))
    except ValueError:
        return None


def _ranges(filters: list[ast.Expression]) -> dict[str, Condition]:
    """By variable, the range in which the filters keep it, as a condition without its predicate."""
    found: dict[str, Condition] = {}
    waiting = filters[::-1]
    while waiting:
        match waiting.pop():
            case ast.Binary("&&", left, right):
                waiting += [right, left]
            case ast.Binary(op, ast.Var(name), constant) if op in MIRRORED:
                _narrow(found, name, op, constant)
            case ast.Binary(op, constant, ast.Var(name)) if op in MIRRORED:
                _narrow(found, name, MIRRORED[op], constant)
    return found


def _narrow(ranges: dict[str, Condition], name: str, op: str, constant: ast.Expression) -> None:
    """Takes one comparison of a variable with a constant into account; `<` is read as `<=`."""
    bounds = _bounds(constant)
    if bounds is None:
        return
    least, most = bounds
    known = ranges.get(name, Condition(""))
    low, high = known.low, known.high
    if op in (">", ">=", "=") and math.isfinite(least):
        low = least if low is None else max(low, least)
    if op in ("<", "<=", "=") and math.isfinite(most):
        high = most if high is None else min(high, most)
    if (low, high) != (None, None):
        ranges[name] = Condition("", low=low, high=high)


def _bounds(constant: ast.Expression) -> tuple[float, float] | None:
    """Between which doubles all numbers are that some comparison takes for the constant; None where it is no number."""
    sign = 1.0
    while isinstance(constant, ast.Unary) and constant.op in ("+", "-"):
        sign = -sign if constant.op == "-" else sign
        constant = constant.operand
    if not isinstance(constant, ast.Lit) or constant.datatype is None:
        return None
    value = _value(constant)
    bounds = None if value is None else bounds_of(value)
    if bounds is None:
        return None
    least, most = bounds
    return (least, most) if sign > 0 else (-most + 0.0, -least + 0.0)
