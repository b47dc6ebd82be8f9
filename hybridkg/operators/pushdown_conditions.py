"""What the triple patterns and filters of a fragment say of one of its variables, for a text index that is far away.

Only what is certain: an entity that breaks a condition is in no solution, so the index may leave it out; an entity
that satisfies all of them may be in none. Numbers are compared as doubles here and exactly, as doubles or as floats
by the store, depending on their datatypes; the bounds are widened by what that can make of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hybridkg.entities.profile.number_bounds import bounds_of
from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition
from hybridkg.query import ast
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import Literal, NamedNode

MAX_CONDITIONS = 64
"""Conditions of one fragment; more make the question longer and hardly the answer shorter."""

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
"""The comparisons, and each as it reads from the other side."""


def conditions(group: ast.Group, variable: str) -> tuple[PushdownCondition | AnyCondition, ...]:
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
    found = _Found()
    _collect(_seen(group, variable), variable, found)
    return tuple(found.conditions)


def leaves(condition: PushdownCondition | AnyCondition) -> tuple[PushdownCondition, ...]:
    """The condition, or those of all branches."""
    if isinstance(condition, AnyCondition):
        return tuple(one for branch in condition.branches for one in branch)
    return (condition,)


@dataclass
class _Found:
    """Distinct conditions, as many as there is room for.

    Args:
        conditions: in the order found.
        room: for so many more.
    """

    conditions: dict[PushdownCondition | AnyCondition, None] = field(default_factory=dict)
    room: int = MAX_CONDITIONS

    def add(self, one: PushdownCondition | AnyCondition) -> None:
        """Takes a condition, if there is room for it."""
        if one not in self.conditions and len(leaves(one)) <= self.room:
            self.conditions[one] = None
            self.room -= len(leaves(one))


def _collect(group: ast.Group, variable: str, found: _Found) -> None:
    """Reads each triple pattern once, and a table only where there is room for its rows."""
    required = list(dict.fromkeys(_required(group)))
    ranges = _ranges([element.condition for element in required if isinstance(element, ast.Filter)])
    tables = _tables([element for element in required if isinstance(element, ast.InlineData)])
    for element in required:
        if not found.room:
            return
        if isinstance(element, ast.UnionPattern):
            branches = _branches(element, variable) if len(element.branches) <= found.room else ()
            if branches and all(branches):
                found.add(AnyCondition(branches))
            continue
        if not isinstance(element, ast.TriplePattern) or element.subject != ast.Var(variable):
            continue
        if (constant := _constant(element, variable)) is not None:
            found.add(constant)
        elif isinstance(element.predicate, ast.Iri) and isinstance(element.object, ast.Var):
            if element.object.name in ranges:
                found.add(replace(ranges[element.object.name], predicate=element.predicate.value))
            fitting = []
            for column in tables.get(element.object.name, ()):
                if len(column.values) <= found.room and column.stored:
                    found.add(
                        AnyCondition(
                            tuple((PushdownCondition(element.predicate.value, value),) for value in column.stored)
                        )
                    )
                    fitting.append(column)
            tables[element.object.name] = fitting  # what does not fit now never will


def _branches(union: ast.UnionPattern, variable: str) -> tuple[tuple[PushdownCondition, ...], ...]:
    """What each branch says; nothing of one that says nothing."""
    return tuple(tuple(_plain(branch, variable)) for branch in union.branches)


def _plain(group: ast.Group, variable: str) -> Iterator[PushdownCondition]:
    """What a branch says without branches of its own."""
    for element in _required(group):
        if isinstance(element, ast.TriplePattern) and (constant := _constant(element, variable)) is not None:
            yield constant


@dataclass(frozen=True)
class _Column:
    """The distinct values that a table gives a variable."""

    values: tuple[ast.Iri | ast.Lit, ...]

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """As the store has them, each once; nothing where one of them is none that a store takes."""
        found = dict.fromkeys(map(_value, self.values))
        return tuple(value for value in found if value is not None) if None not in found else ()


def _tables(given: Sequence[ast.InlineData]) -> dict[str, list[_Column]]:
    """By variable, the values that tables give it: of each that leaves none open, and has few rows."""
    found: dict[str, dict[_Column, None]] = {}
    for table in given:
        if 0 < len(table.rows) <= MAX_CONDITIONS:
            for variable, cells in zip(table.variables, zip(*table.rows, strict=True), strict=True):
                values = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
                if None not in cells:
                    found.setdefault(variable.name, {})[_Column(values)] = None
    return {name: list(columns) for name, columns in found.items()}


def say_all(group: ast.Group, variable: str, found: Collection[PushdownCondition | AnyCondition]) -> bool:
    """Whether the entities that satisfy some of the conditions of a group are those of its solutions, each once unless
    there are branches.

    Ranges never are: their bounds are widened.
    """
    seen, waiting = _seen(group, variable), list(found)
    if not all(isinstance(element, ast.Triples | ast.UnionPattern) for element in seen.elements):
        return False
    required = list(_required(seen))
    for one in required:
        if isinstance(one, ast.UnionPattern):
            branches = _branches(one, variable)
            said = AnyCondition(branches) in waiting
            if not said or not all(
                say_all(branch, variable, own) for branch, own in zip(one.branches, branches, strict=True)
            ):
                return False
        elif _constant(one, variable) not in waiting:
            return False
    return bool(required)


def _constant(pattern: ast.Syntax, variable: str) -> PushdownCondition | None:
    """What a triple pattern with a constant object says of its subject."""
    match pattern:
        case ast.TriplePattern(ast.Var(name), ast.Iri(predicate), ast.Iri() | ast.Lit() as constant) if (
            name == variable and (value := _value(constant)) is not None
        ):
            return PushdownCondition(predicate, value)
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


def _seen(group: ast.Group, variable: str) -> ast.Group:
    """The group whose variable is the one of the group: that of a sub-select, where it shows the variable."""
    match group.elements:
        case (ast.SubSelect(ast.SelectQuery(projection)),) if projection is not None and all(
            one.variable.name != variable for one in projection
        ):
            return group
    return whole(group)


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


def _ranges(filters: list[ast.Expression]) -> dict[str, PushdownCondition]:
    """By variable, the range in which the filters keep it, as a condition without its predicate."""
    found: dict[str, PushdownCondition] = {}
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


def _narrow(ranges: dict[str, PushdownCondition], name: str, op: str, constant: ast.Expression) -> None:
    """Takes one comparison of a variable with a constant into account; `<` is read as `<=`."""
    bounds = _bounds(constant)
    if bounds is None:
        return
    least, most = bounds
    known = ranges.get(name, PushdownCondition(""))
    low, high = known.low, known.high
    if op in (">", ">=", "=") and math.isfinite(least):
        low = least if low is None else max(low, least)
    if op in ("<", "<=", "=") and math.isfinite(most):
        high = most if high is None else min(high, most)
    if (low, high) != (None, None):
        ranges[name] = PushdownCondition("", low=low, high=high)


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
