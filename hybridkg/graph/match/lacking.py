"""The predicates that keep the projection from answering a pattern, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass

from hybridkg.interfaces.graph_index import AnyScan, AskedPattern, BoundPattern, Closure, PredicatePath


def lacking(pattern: AskedPattern, omitted: AbstractSet[str]) -> tuple[str, ...]:
    """The predicates of a pattern that are `omitted` in part, sorted.

    They are all of `omitted` where the pattern has a variable as predicate, or a path of length zero, which links the
    terms of every triple with themselves.

    >>> from hybridkg.interfaces.graph_index import Scan, Variable
    >>> scan = Scan(Variable("r"), PredicatePath("e:reifies"), Variable("t"))
    >>> lacking(scan, {"e:reifies", "e:label"}), lacking(scan, {"e:label"})
    (('e:reifies',), ())
    """
    found: set[str] = set()
    for part in _parts(pattern.template if isinstance(pattern, BoundPattern) else pattern):
        if isinstance(part, AnyScan) or (isinstance(part, Closure) and part.least == 0):
            return tuple(sorted(omitted))
        if isinstance(part, PredicatePath):
            found.add(part.predicate)
    return tuple(sorted(found & omitted))


def _parts(pattern: object) -> Iterator[object]:
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif is_dataclass(part):
            yield part
            waiting += [getattr(part, field.name) for field in fields(part)]
