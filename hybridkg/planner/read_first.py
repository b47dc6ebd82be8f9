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


def reads_first(operator: PhysicalOperator) -> bool:
    """Whether Oxigraph reads anything for an operator before its first row, whatever the parameters are."""
    fragment = _fragment_of(operator)
    if fragment is None or isinstance(fragment.pattern, DeclinedPattern):
        return fragment is not None
    pattern = fragment.pattern.template if isinstance(fragment.pattern, BoundPattern) else fragment.pattern
    return any(True for _ in _read_whole(pattern))


def _fragment_of(operator: PhysicalOperator) -> GraphFragment | None:
    fragment = operator.fragment if isinstance(operator, FragmentProbe | CountGroups | AnySolution) else operator
    return fragment if isinstance(fragment, GraphFragment) else None


def read_first(operator: PhysicalOperator, planning: PlannerContext) -> float:
    """Entries that Oxigraph reads for an operator before its first row, as those of an OPTIONAL or a sub-select."""
    fragment = _fragment_of(operator)
    if fragment is None or planning.graph is None:
        return 0.0
    if isinstance(fragment, FragmentTemplate):
        fragment = planning.bound_fragment(fragment.fragment)
    if isinstance(fragment.pattern, DeclinedPattern):
        return 0.0
    pattern, entries = fragment.pattern, 0.0
    values, shared = (pattern.values, pattern.template) if isinstance(pattern, BoundPattern) else (None, pattern)
    parts = planning.memoize_for_template(("read whole", id(shared)), lambda: (shared, tuple(_read_whole(shared))))
    for part in parts[1]:
        asked = part if values is None else BoundPattern(part, values)
        prepared = planning.graph.compile(asked)
        entries += 0.0 if prepared is None else max(prepared.size().estimate, prepared.work())
    return entries


def _read_whole(pattern: Pattern) -> Iterator[Pattern]:
    """The right sides of MINUS, OPTIONAL and EXISTS, and a side of a join with sub-selects.

    Oxigraph 0.5.13 asks an OPTIONAL for each row if it has one triple, or two that share a variable of their own, and
    an EXISTS if each of its triples has a variable of the row. It joins a sub-select, a MINUS, a group with OPTIONAL,
    or a UNION with one of them, by a hash table of the side that it takes to be smaller: that with a constant, or else
    what is beside it. A group with an OPTIONAL that comes first is not joined, but what comes after it.
    """
    match pattern:
        case Minus(left, right):
            yield from _read_whole(left)
            yield right
        case Join(parts):
            rest = tuple(part for part in parts if not _is_joined_by_hash(part))
            for place, part in enumerate(parts):
                is_first = place == 0 and isinstance(part, LeftJoin) and not any(map(_is_selective, rest))
                if part in rest or is_first:
                    yield from _read_whole(part)
                else:
                    yield part if not rest or _is_selective(part) else Join(rest)
        case LeftJoin(left, right, _):
            yield from _read_whole(left)
            yield from _read_whole(right) if _is_asked_for_rows(right, left) else (right,)
        case Union(branches):
            for branch in branches:
                yield from _read_whole(branch)
        case Exists(child, right, _):
            yield from _read_whole(child)
            yield from () if _is_asked_of_rows(right, _names(child)) else (right,)
        case Restrict(child, _) | Distinct(child, _, _):
            yield from _read_whole(child)


def _is_joined_by_hash(part: Pattern) -> bool:
    """Whether Oxigraph cannot ask a part of a join for one row of the others."""
    match part:
        case Distinct() | Minus() | LeftJoin():
            return True
        case Join(parts) | Union(parts):
            return any(map(_is_joined_by_hash, parts))
        case Restrict(child, _):
            return _is_joined_by_hash(child)
    return False


def _is_selective(part: Pattern) -> bool:
    """Whether a pattern has a triple with a constant, in each branch of a UNION."""
    match part:
        case Scan(subject, _, object_):
            return not (isinstance(subject, Variable) and isinstance(object_, Variable))
        case Join(parts):
            return any(map(_is_selective, parts))
        case Union(branches):
            return all(map(_is_selective, branches))
        case Minus(child, _) | Exists(child, _, _) | Restrict(child, _) | Distinct(child, _, _) | LeftJoin(child, _, _):
            return _is_selective(child)
    return True


def _is_asked_of_rows(part: Pattern, names: frozenset[str]) -> bool:
    """Whether each triple of an EXISTS has one of the variables of a row."""
    match part:
        case Scan():
            return not names.isdisjoint(_names(part))
        case Join(parts):
            return all(_is_asked_of_rows(one, names) for one in parts)
        case Restrict(child, _):
            return _is_asked_of_rows(child, names)
    return False


def _is_asked_for_rows(optional: Pattern, left: Pattern) -> bool:
    match optional:
        case Join((Scan() as one, Scan() as other)):
            return not _names(one) & _names(other) <= _names(left)
        case Restrict(child, _):
            return _is_asked_for_rows(child, left)
        case LeftJoin(one, other, _) | Union((one, other)):
            return _is_asked_for_rows(one, left) and _is_asked_for_rows(other, left)
    return not isinstance(optional, Join | Minus | Distinct)


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
