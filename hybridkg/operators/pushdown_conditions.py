"""Pushdown conditions: necessary conditions of a fragment on one of its variables, for a remote text index.

An entity that violates a condition is in no solution, so the index may prune it; an entity that satisfies all of them
may still be in none. Numbers are compared as doubles here, and exactly, as doubles or as floats by the store, depending
on their datatypes; the bounds are widened accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hybridkg.entities.profile.number_bounds import bounds_of
from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition
from hybridkg.query import ast
from hybridkg.query.constants import term_of_constant
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import XSD_STRING, Literal

MAX_CONDITIONS = 64
"""Maximum conditions of one fragment; more make the request longer and the answer hardly shorter."""

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
"""Comparison operators, each with its mirror image."""


def conditions(group: ast.Group, variable: str) -> tuple[PushdownCondition | AnyCondition, ...]:
    """Conditions that every value of a variable satisfies in every solution of a rank-free group.

    Sources are triple patterns with a constant object, with one of the constants of VALUES, and with a number in the
    range of a FILTER; and branches of UNION that all imply such a condition. Optional, excluded and named-graph
    elements are ignored.

    Args:
        group: over the default graph; a query with a dataset clause has no conditions.
        variable: the entity.

    Returns:
        Distinct conditions in the order written, with the meaning of entities.filters.agrees.
    """
    collected = _Conditions()
    _collect(_seen(group, variable), variable, collected)
    return tuple(collected.conditions)


def leaves(condition: PushdownCondition | AnyCondition) -> tuple[PushdownCondition, ...]:
    """The condition itself, or those of all branches."""
    if isinstance(condition, AnyCondition):
        return tuple(one for branch in condition.branches for one in branch)
    return (condition,)


@dataclass
class _Conditions:
    """Distinct conditions in order, with room for a number of further ones."""

    conditions: dict[PushdownCondition | AnyCondition, None] = field(default_factory=dict)
    room: int = MAX_CONDITIONS

    def add(self, one: PushdownCondition | AnyCondition) -> None:
        if one not in self.conditions and len(leaves(one)) <= self.room:
            self.conditions[one] = None
            self.room -= len(leaves(one))


def _collect(group: ast.Group, variable: str, collected: _Conditions) -> None:
    """Reads each triple pattern once, and a table only if there is room for its rows."""
    required = list(dict.fromkeys(_required(group)))
    ranges = _ranges([element.condition for element in required if isinstance(element, ast.Filter)])
    tables = _tables([element for element in required if isinstance(element, ast.InlineData)])
    for element in required:
        if not collected.room:
            return
        if isinstance(element, ast.UnionPattern):
            branches = _branches(element, variable) if len(element.branches) <= collected.room else ()
            if branches and all(branches):
                collected.add(AnyCondition(branches))
            continue
        if not isinstance(element, ast.TriplePattern) or element.subject != ast.Var(variable):
            continue
        if (constant := _constant(element, variable)) is not None:
            collected.add(constant)
        elif isinstance(element.predicate, ast.Iri) and isinstance(element.object, ast.Var):
            if element.object.name in ranges:
                collected.add(replace(ranges[element.object.name], predicate=element.predicate.value))
            fitting = []
            for column in tables.get(element.object.name, ()):
                if len(column.values) <= collected.room and column.stored:
                    iri = element.predicate.value
                    collected.add(AnyCondition(tuple((PushdownCondition(iri, value),) for value in column.stored)))
                    fitting.append(column)
            tables[element.object.name] = fitting  # room only shrinks


def _branches(union: ast.UnionPattern, variable: str) -> tuple[tuple[PushdownCondition, ...], ...]:
    return tuple(tuple(_plain(branch, variable)) for branch in union.branches)


def _plain(group: ast.Group, variable: str) -> Iterator[PushdownCondition]:
    """Conditions of a branch, without nested branches."""
    for element in _required(group):
        if isinstance(element, ast.TriplePattern) and (constant := _constant(element, variable)) is not None:
            yield constant


@dataclass(frozen=True)
class _Column:
    values: tuple[ast.Iri | ast.Lit, ...]

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Values in the form of the store, each once; empty if the store rejects one of them."""
        values = dict.fromkeys(map(_value, self.values))
        return tuple(value for value in values if value is not None) if None not in values else ()


def _tables(tables: Sequence[ast.InlineData]) -> dict[str, list[_Column]]:
    """Values by variable, from each table that binds it in every row and has few rows."""
    distinct: dict[str, dict[_Column, None]] = {}
    for table in tables:
        if 0 < len(table.rows) <= MAX_CONDITIONS:
            for variable, cells in zip(table.variables, zip(*table.rows, strict=True), strict=True):
                values = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
                if None not in cells:
                    distinct.setdefault(variable.name, {})[_Column(values)] = None
    return {name: list(columns) for name, columns in distinct.items()}


def say_all(group: ast.Group, variable: str, conditions: Collection[PushdownCondition | AnyCondition]) -> bool:
    """Whether the entities that satisfy the given conditions of a group are exactly those of its solutions, each once
    unless there are branches.

    Never with ranges: their bounds are widened.
    """
    seen, waiting = _seen(group, variable), list(conditions)
    if not all(isinstance(element, ast.Triples | ast.UnionPattern) for element in seen.elements):
        return False
    required = list(_required(seen))
    for one in required:
        if isinstance(one, ast.UnionPattern):
            branches = _branches(one, variable)
            is_covered = AnyCondition(branches) in waiting
            if not is_covered or not all(
                say_all(branch, variable, own) for branch, own in zip(one.branches, branches, strict=True)
            ):
                return False
        elif _constant(one, variable) not in waiting:
            return False
    return bool(required)


def _constant(pattern: ast.Syntax, variable: str) -> PushdownCondition | None:
    match pattern:
        case ast.TriplePattern(ast.Var(name), ast.Iri(predicate), ast.Iri() | ast.Lit() as constant) if (
            name == variable and (value := _value(constant)) is not None
        ):
            return PushdownCondition(predicate, value)
    return None


def _required(group: ast.Group) -> Iterator[ast.TriplePattern | ast.Filter | ast.UnionPattern | ast.InlineData]:
    """Elements that hold in every solution; a nested group is joined."""
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
    """Inner group of a DISTINCT sub-select that projects some of its variables (algebra/rules/narrow_distinct.py)."""
    match group.elements:
        case (ast.SubSelect(ast.SelectQuery(projection, where, "DISTINCT", (), modifiers, None)),) if (
            modifiers == ast.Modifiers() and all(one.expression is None for one in projection or ())
        ):
            return where
    return group


def _seen(group: ast.Group, variable: str) -> ast.Group:
    """Inner group of a sub-select, if it projects the variable."""
    match group.elements:
        case (ast.SubSelect(ast.SelectQuery(projection)),) if projection is not None and all(
            one.variable.name != variable for one in projection
        ):
            return group
    return whole(group)


def _value(constant: ast.Iri | ast.Lit) -> str | None:
    """Constant in the N-Triples form of the store; None if the store rejects it."""
    try:
        term = term_of_constant(constant)
    except ValueError:
        return None
    return str(as_stored(term) if isinstance(term, Literal) and term.datatype != XSD_STRING else term)


def _ranges(filters: list[ast.Expression]) -> dict[str, PushdownCondition]:
    ranges: dict[str, PushdownCondition] = {}
    waiting = filters[::-1]
    while waiting:
        match waiting.pop():
            case ast.Binary("&&", left, right):
                waiting += [right, left]
            case ast.Binary(op, ast.Var(name), constant) if op in MIRRORED:
                _narrow(ranges, name, op, constant)
            case ast.Binary(op, constant, ast.Var(name)) if op in MIRRORED:
                _narrow(ranges, name, MIRRORED[op], constant)
    return ranges


def _narrow(ranges: dict[str, PushdownCondition], name: str, op: str, constant: ast.Expression) -> None:
    """Narrows a range by one comparison with a constant; `<` is read as `<=`."""
    bounds = _bounds(constant)
    if bounds is None:
        return
    lower, upper = bounds
    current = ranges.get(name, PushdownCondition(""))
    low, high = current.low, current.high
    if op in (">", ">=", "=") and math.isfinite(lower):
        low = lower if low is None else max(low, lower)
    if op in ("<", "<=", "=") and math.isfinite(upper):
        high = upper if high is None else min(high, upper)
    if (low, high) != (None, None):
        ranges[name] = PushdownCondition("", low=low, high=high)


def _bounds(constant: ast.Expression) -> tuple[float, float] | None:
    """Bounds of the doubles that some comparison takes for the constant; None if it is no number."""
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
    lower, upper = bounds
    return (lower, upper) if sign > 0 else (-upper + 0.0, -lower + 0.0)
