"""Static properties of a pattern: its size, its variables, the variables that every solution binds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hybridkg.interfaces.graph_index import (
    AllOf,
    AlternativePath,
    AnyOf,
    AnyScan,
    Closure,
    Distinct,
    Exists,
    InversePath,
    Join,
    LeftJoin,
    Minus,
    Path,
    Pattern,
    Restrict,
    Same,
    Scan,
    Steps,
    Test,
    TextOrder,
    Union,
    Values,
    Variable,
)

MAX_PARTS = 2_000
"""Patterns and tests in one pattern; the store answers larger ones. 200 joined UNIONs have 601, and take 0.3 s."""

MAX_DEPTH = 40
"""The maximum nesting depth of a pattern."""


class PatternDeclined(Exception):  # noqa: N818 - not an error: the store answers instead
    """The projection cannot answer the pattern."""


def measure(pattern: Pattern) -> None:
    """Checks the size of a pattern, without recursion.

    Raises:
        PatternDeclined: it has more than MAX_PARTS parts, or they are nested deeper than MAX_DEPTH.
    """
    waiting: list[tuple[Pattern | Test, int]] = [(pattern, 0)]
    parts = 0
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        if parts + len(waiting) > MAX_PARTS or depth > MAX_DEPTH:
            raise PatternDeclined
        if isinstance(part, Scan | AnyScan):
            continue
        inner: Sequence[Pattern | Test] = ()
        match part:
            case Join() | Union() | Minus() | Exists() | Distinct():
                inner = parts_of(part)
            case AnyOf(several) | AllOf(several):
                inner = several
            case LeftJoin(left, right, tests):
                inner = (left, right, *tests)
            case Restrict(child, tests):
                inner = (child, *tests)
        waiting += [(one, depth + 1) for one in inner]


def occurrences(pattern: Pattern) -> Counter[str]:
    counts: Counter[str] = Counter()
    waiting: list[Pattern] = [pattern]
    while waiting:
        part = waiting.pop()
        match part:
            case Scan(subject, _, object_):
                counts.update(slot.name for slot in (subject, object_) if isinstance(slot, Variable))
            case AnyScan(subject, predicate, object_):
                counts.update(slot.name for slot in (subject, predicate, object_) if isinstance(slot, Variable))
            case Values(variables):
                counts.update(variables)
            case _:
                waiting += parts_of(part)
    return counts


def predicates_of(pattern: Pattern) -> set[str]:
    """The variables that are a predicate somewhere."""
    if isinstance(pattern, AnyScan):
        return {pattern.predicate.name}
    return set().union(*map(predicates_of, parts_of(pattern)))


def variables_of_test(test: Test) -> frozenset[str]:
    match test:
        case Same(left, right) | TextOrder(left, _, right):
            return frozenset((left, right))
        case AnyOf(tests) | AllOf(tests):
            return frozenset().union(*(variables_of_test(inner) for inner in tests))
        case _:
            return frozenset((test.variable,))


def certain_of(pattern: Pattern) -> frozenset[str]:
    match pattern:
        case Scan(subject, _, object_):
            return frozenset(slot.name for slot in (subject, object_) if isinstance(slot, Variable))
        case AnyScan(subject, predicate, object_):
            return frozenset(slot.name for slot in (subject, predicate, object_) if isinstance(slot, Variable))
        case Values(variables, rows):
            return frozenset(name for i, name in enumerate(variables) if all(row[i] is not None for row in rows))
        case Join(parts):
            return frozenset().union(*(certain_of(part) for part in parts))
        case Union(branches):
            return frozenset.intersection(*(certain_of(branch) for branch in branches)) if branches else frozenset()
        case LeftJoin(left) | Minus(left) | Exists(left):
            return certain_of(left)
        case Restrict(child):
            return certain_of(child)
        case Distinct(child, variables):
            return certain_of(child) & frozenset(variables)
    raise PatternDeclined


def parts_of(pattern: Pattern) -> Sequence[Pattern]:
    match pattern:
        case Join(several) | Union(several):
            return several
        case LeftJoin(left, right) | Minus(left, right) | Exists(left, right):
            return (left, right)
        case Restrict(child) | Distinct(child):
            return (child,)
    return ()


def may_be_empty(path: Path) -> bool:
    """Whether a path has length zero for some pairs, so that it links a term with itself."""
    match path:
        case Closure(inner, least):
            return least == 0 or may_be_empty(inner)
        case InversePath(inner):
            return may_be_empty(inner)
        case AlternativePath(paths):
            return any(may_be_empty(inner) for inner in paths)
        case Steps(paths):
            return all(may_be_empty(inner) for inner in paths)
    return False
