"""The reading of Oxigraph that comes before the first row of a pattern, whatever LIMIT is above it."""

from __future__ import annotations

from collections.abc import Iterator

from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import (
    BoundPattern,
    Distinct,
    Exists,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    Restrict,
    Scan,
    Union,
    Variable,
)
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import FragmentProbe
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.planner.plan_template import FragmentTemplate
from hybridkg.planner.planner_context import PlannerContext


def read_first(operator: PhysicalOperator, planning: PlannerContext) -> float:
    """Entries that Oxigraph reads for an operator before its first row: those of MINUS, OPTIONAL and sub-selects."""
    fragment = operator.fragment if isinstance(operator, FragmentProbe | CountGroups | AnySolution) else operator
    if not isinstance(fragment, GraphFragment) or planning.graph is None:
        return 0.0
    if isinstance(fragment, FragmentTemplate):
        fragment = planning.bound_fragment(fragment.fragment)
    if isinstance(fragment.pattern, DeclinedPattern):
        return 0.0
    pattern, entries = fragment.pattern, 0.0
    for part in _read_whole(pattern.template if isinstance(pattern, BoundPattern) else pattern):
        asked = BoundPattern(part, pattern.values) if isinstance(pattern, BoundPattern) else part
        prepared = planning.graph.compile(asked)
        entries += 0.0 if prepared is None else max(prepared.size().estimate, prepared.work())
    return entries


def _read_whole(pattern: Pattern) -> Iterator[Pattern]:
    """The right sides of MINUS and OPTIONAL, and the sub-selects that are joined with something.

    Oxigraph 0.5.13 asks an OPTIONAL for each row if it has one triple, or two that share a variable of their own.
    """
    match pattern:
        case Minus(left, right):
            yield from _read_whole(left)
            yield right
        case Join(parts):
            for part in parts:
                if isinstance(part, Distinct):
                    yield part
                else:
                    yield from _read_whole(part)
        case LeftJoin(left, right, _):
            yield from _read_whole(left)
            yield from _read_whole(right) if _is_asked_for_rows(right, left) else (right,)
        case Union(branches):
            for branch in branches:
                yield from _read_whole(branch)
        case Exists(child, _, _) | Restrict(child, _) | Distinct(child, _, _):
            yield from _read_whole(child)


def _is_asked_for_rows(optional: Pattern, left: Pattern) -> bool:
    match optional:
        case Join((Scan() as one, Scan() as other)):
            return not _names(one) & _names(other) <= _names(left)
        case Restrict(child, _):
            return _is_asked_for_rows(child, left)
    return not isinstance(optional, Join)


def _names(pattern: Pattern) -> frozenset[str]:
    """Variables of the triples of a pattern."""
    match pattern:
        case Scan(subject, _, object_):
            return frozenset(slot.name for slot in (subject, object_) if isinstance(slot, Variable))
        case Join(parts) | Union(parts):
            return frozenset().union(*map(_names, parts))
        case LeftJoin(left, right, _):
            return _names(left) | _names(right)
        case Minus(child, _) | Exists(child, _, _) | Restrict(child, _) | Distinct(child, _, _):
            return _names(child)
    return frozenset()
