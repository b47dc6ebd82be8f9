"""Patterns evaluated over Python terms, by their definitions: slow, obvious, the oracle's twin.

A test of a value is decided by Oxigraph, one value at a time, so that what is compared is the algebra.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyoxigraph as ox

from hybridkg.interfaces import graph_index as g
from hybridkg.rdf.terms import Term, Triple

Solution = dict[str, Term]
Pairs = set[tuple[Term, Term]]


class SlowGraph:
    """The triples that a query sees.

    Args:
        triples: as the store gives them back.
    """

    def __init__(self, triples: Iterable[Triple]):
        self.links: dict[str, Pairs] = {}
        self.terms: set[Term] = set()
        for triple in triples:
            self.links.setdefault(triple.predicate.value, set()).add((triple.subject, triple.object))
            self.terms |= {triple.subject, triple.object}

    def solutions(self, pattern: g.Pattern) -> list[Solution]:
        match pattern:
            case g.Scan(subject, path, target):
                return [
                    solution for pair in self.pairs(path) if (solution := bound_to((subject, target), pair)) is not None
                ]
            case g.AnyScan(subject, predicate, target):
                return [
                    solution
                    for iri, pairs in self.links.items()
                    for pair in pairs
                    if (solution := bound_to((subject, predicate, target), (pair[0], ox.NamedNode(iri), pair[1])))
                    is not None
                ]
            case g.Values(variables, rows):
                return [{n: t for n, t in zip(variables, row, strict=True) if t is not None} for row in rows]
            case g.Join(parts):
                found: list[Solution] = [{}]
                for part in parts:
                    found = joined(found, self.solutions(part))
                return found
            case g.LeftJoin(left, right, tests):
                found, others = [], self.solutions(right)
                for solution in self.solutions(left):
                    extended = [m for m in joined([solution], others) if all(true(test, m) for test in tests)]
                    found += extended or [solution]
                return found
            case g.Union(branches):
                return [solution for branch in branches for solution in self.solutions(branch)]
            case g.Minus(left, right):
                others = self.solutions(right)
                return [
                    s for s in self.solutions(left) if not any(s.keys() & o.keys() and confirm(s, o) for o in others)
                ]
            case g.Exists(left, right, negated):
                others = self.solutions(right)
                return [s for s in self.solutions(left) if any(confirm(s, o) for o in others) != negated]
            case g.Restrict(child, tests):
                return [s for s in self.solutions(child) if all(true(test, s) for test in tests)]
            case g.Distinct(child, variables, distinct):
                cut = [{n: t for n, t in s.items() if n in variables} for s in self.solutions(child)]
                return [dict(s) for s in dict.fromkeys(frozenset(s.items()) for s in cut)] if distinct else cut
        raise TypeError(pattern)

    def pairs(self, path: g.Path) -> Pairs:
        match path:
            case g.PredicatePath(predicate):
                return self.links.get(predicate, set())
            case g.InversePath(inner):
                return {(b, a) for a, b in self.pairs(inner)}
            case g.AlternativePath(paths):
                return set().union(*map(self.pairs, paths))
            case g.Steps(paths):
                found = self.pairs(paths[0])
                for step in paths[1:]:
                    found = composed(found, self.pairs(step))
                return found
            case g.Closure(inner, least, most):
                once = self.pairs(inner)
                found = set(once)
                while most is None and not (more := composed(found, once)) <= found:
                    found |= more
                return found | {(term, term) for term in self.terms} if least == 0 else found
        raise TypeError(path)


def composed(first: Pairs, second: Pairs) -> Pairs:
    return {(a, c) for a, b in first for start, c in second if start == b}


def bound_to(slots: tuple[g.Slot, ...], terms: tuple[Term, ...]) -> Solution | None:
    solution: Solution = {}
    for slot, term in zip(slots, terms, strict=True):
        if not isinstance(slot, g.Variable):
            if slot != term:
                return None
        elif solution.setdefault(slot.name, term) != term:
            return None
    return solution


def confirm(left: Solution, right: Solution) -> bool:
    return all(right.get(name, term) == term for name, term in left.items())


def joined(left: list[Solution], right: list[Solution]) -> list[Solution]:
    return [{**s, **o} for s in left for o in right if confirm(s, o)]


def true(test: g.Test, solution: Solution) -> bool:
    match test:
        case g.ValueComparison(variable, op, constant):
            return variable in solution and holds(f"?x {op} {constant}", solution[variable])
        case g.StringTest(function, variable, argument):
            return variable in solution and holds(f"{function}(?x, {argument})", solution[variable])
        case g.CasedComparison(function, variable, op, constant):
            return variable in solution and holds(f"{function}(?x) {op} {constant}", solution[variable])
        case g.Opaque(variable, expression):
            return variable in solution and holds(expression, solution[variable])
        case g.Same(left, right, negated):
            return left in solution and right in solution and (solution[left] == solution[right]) != negated
        case g.AnyOf(tests):
            return any(true(inner, solution) for inner in tests)
        case g.AllOf(tests):
            return all(true(inner, solution) for inner in tests)
    raise TypeError(test)


@lru_cache(100_000)
def holds(expression: str, term: Term) -> bool:
    """Whether an expression over ?x is true of a term that is in a graph.

    Not by substitution: Oxigraph 0.5.13 says that a constant NaN equals itself, and that a substituted variable is
    not BOUND.
    """
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("e:e"), ox.NamedNode("e:e"), term))
    return bool(store.query(f"ASK {{ ?s <e:e> ?x FILTER({expression}) }}"))
