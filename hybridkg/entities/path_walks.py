"""Walks along property paths from many nodes at once, one step of a path after another.

The ends are those of SPARQL 1.1, section 18.4, as sets. Each step is a batch of lookups, so the time is proportional to
the triples on the way: Oxigraph may start the join of a path at its unbound side, which reads the whole graph.
tests/entities/test_path_walks.py compares both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.entities.profile.paths import (
    Path,
    Repeat,
    Sequence,
    ShaclAlternative,
    ShaclInverse,
    ShaclPredicate,
)
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.rdf.terms import Term

Terms: TypeAlias = dict[Term, None]
"""A set of terms in a deterministic order."""


class TooManyNodesError(Exception):
    """A walk has reached more nodes than it may."""


@dataclass(frozen=True)
class SteppedPredicate:
    """One predicate in a path.

    Args:
        iri: the predicate.
        inverted: whether the step leads from the object to the subject.
        before: the parts of the path that lead from its start to this step; empty for a first step.
    """

    iri: str
    inverted: bool
    before: tuple[Path, ...]


def inverse_of(path: Path) -> Path:
    """The path from the ends to the starts.

    >>> a, b = ShaclPredicate("x:a"), ShaclPredicate("x:b")
    >>> inverse_of(Sequence((a, ShaclInverse(b))))
    Sequence(parts=(ShaclPredicate(iri='x:b'), ShaclInverse(path=ShaclPredicate(iri='x:a'))))
    """
    match path:
        case ShaclPredicate():
            return ShaclInverse(path)
        case Sequence(parts):
            return Sequence(tuple(map(inverse_of, reversed(parts))))
        case ShaclAlternative(parts):
            return ShaclAlternative(tuple(map(inverse_of, parts)))
        case ShaclInverse(inner):
            return inner
        case Repeat(inner, mark):
            return Repeat(inverse_of(inner), mark)


def steps_of(path: Path) -> Iterator[SteppedPredicate]:
    """Every predicate in a path, with the part of the path before it, from left to right.

    >>> a, b = ShaclPredicate("x:a"), ShaclPredicate("x:b")
    >>> [(step.iri, step.before) for step in steps_of(Sequence((Repeat(a, "+"), b)))]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('x:a', (Repeat(path=ShaclPredicate(iri='x:a'), mark='*'),)),
     ('x:b', (Repeat(path=ShaclPredicate(iri='x:a'), mark='+'),))]
    """
    match path:
        case ShaclPredicate(iri):
            yield SteppedPredicate(iri, False, ())
        case ShaclInverse(ShaclPredicate(iri)):
            yield SteppedPredicate(iri, True, ())
        case ShaclInverse(inner):
            yield from steps_of(inverse_of(inner))
        case Sequence(parts):
            for i, part in enumerate(parts):
                for step in steps_of(part):
                    yield SteppedPredicate(step.iri, step.inverted, parts[:i] + step.before)
        case ShaclAlternative(parts):
            for part in parts:
                yield from steps_of(part)
        case Repeat(inner, mark):
            before = () if mark == "?" else (Repeat(inner, "*"),)
            for step in steps_of(inner):
                yield SteppedPredicate(step.iri, step.inverted, before + step.before)


def starts_of(parts: tuple[Path, ...], ends: Iterable[Term], triples: TripleLookups, most: int) -> Terms:
    """All terms from which a sequence of paths leads to one of the ends; the ends themselves for no part.

    Raises:
        TooManyNodesError: a part leads from more than `most` terms.
    """
    return _reached(inverse_of(Sequence(parts)), dict.fromkeys(ends), triples, most)


def _reached(path: Path, starts: Terms, triples: TripleLookups, most: int) -> Terms:
    """The ends of a path from all starts together."""
    match path:
        case ShaclPredicate(iri):
            return _limited((end for _, _, end in triples.outgoing(starts, (iri,))), most)
        case ShaclInverse(ShaclPredicate(iri)):
            return _limited((start for start, _, _ in triples.incoming(starts, (iri,))), most)
        case ShaclInverse(inner):
            return _reached(inverse_of(inner), starts, triples, most)
        case Sequence(parts):
            for part in parts:
                starts = _reached(part, starts, triples, most)
            return starts
        case ShaclAlternative(parts):
            return _limited((end for part in parts for end in _reached(part, starts, triples, most)), most)
        case Repeat(inner, mark):
            found = _reached(inner, starts, triples, most)
            new = dict(found) if mark != "?" else {}
            while new:
                new = {end: None for end in _reached(inner, new, triples, most) if end not in found}
                found |= new
                if len(found) > most:
                    raise TooManyNodesError
            return found if mark == "+" else starts | found


def _limited(terms: Iterable[Term], most: int) -> Terms:
    found: Terms = {}
    for term in terms:
        found[term] = None
        if len(found) > most:
            raise TooManyNodesError
    return found


def ends_of(path: Path, starts: Iterable[Term], triples: TripleLookups) -> dict[Term, Terms]:
    """The ends of a path from each start.

    A path that may be empty leads from every start to itself, also from one that is not in the graph.

    Returns:
        start -> ends; starts without an end may be missing. Memory: all pairs.
    """
    found: dict[Term, Terms] = {}
    match path:
        case ShaclPredicate(iri):
            for subject, _, end in triples.outgoing(starts, (iri,)):
                found.setdefault(subject, {})[end] = None
        case ShaclInverse(ShaclPredicate(iri)):
            for subject, _, start in triples.incoming(starts, (iri,)):
                found.setdefault(start, {})[subject] = None
        case ShaclInverse(inner):
            return ends_of(inverse_of(inner), starts, triples)
        case Sequence(parts):
            found = {start: {start: None} for start in starts}
            for part in parts:
                steps = ends_of(part, {middle: None for ends in found.values() for middle in ends}, triples)
                found = {start: _union(steps, middles) for start, middles in found.items()}
        case ShaclAlternative(parts):
            starts = list(starts)
            for part in parts:
                for start, ends in ends_of(part, starts, triples).items():
                    found.setdefault(start, {}).update(ends)
        case Repeat(inner, mark):
            return _repeated(inner, mark, dict.fromkeys(starts), triples)
    return found


def _union(steps: Mapping[Term, Terms], terms: Iterable[Term]) -> Terms:
    return {end: None for term in terms for end in steps.get(term, ())}


def _repeated(inner: Path, mark: str, starts: Terms, triples: TripleLookups) -> dict[Term, Terms]:
    steps = ends_of(inner, starts, triples)
    if mark == "?":
        return {start: {start: None} | steps.get(start, {}) for start in starts}
    seen, new = dict(starts), _union(steps, starts)
    while new := {end: None for end in new if end not in seen}:
        seen |= new
        more = ends_of(inner, new, triples)
        steps |= more
        new = _union(more, new)
    return {start: _closure(steps, start, {start: None} if mark == "*" else {}) for start in starts}


def _closure(steps: Mapping[Term, Terms], start: Term, found: Terms) -> Terms:
    """`found` and the terms in one or more steps from a start."""
    waiting = list(steps.get(start, ()))
    while waiting:
        term = waiting.pop()
        if term not in found:
            found[term] = None
            waiting += steps.get(term, ())
    return found
