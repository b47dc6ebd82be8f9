"""How many solutions a pattern has, and how many values they give a variable, by the statistics of the graph alone.

For a graph that lies elsewhere, without columns here to count in. What is assumed is what the projection assumes of
joins (graph/match/join_cardinality.py): parts are independent, the values of a variable in a smaller set are contained in the
larger one (Selinger et al., SIGMOD 1979), and a value with d neighbours on average has one in a set of share s with
probability 1 - (1 - s)^d. Bounds hold whatever depends on what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import NamedTuple

from hybridkg.graph.statistics.number_ranges import passing
from hybridkg.interfaces.graph_index import (
    AllOf,
    AnyOf,
    Cardinality,
    Distinct,
    Exists,
    InversePath,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    PredicatePath,
    Restrict,
    Same,
    Scan,
    Slot,
    TermParameter,
    Test,
    Union,
    Values,
    Variable,
)
from hybridkg.interfaces.statistics import GraphStatistics
from hybridkg.rdf.terms import RDF_TYPE, NamedNode

DOUBT_SHARE = 0.1
"""So many of the values that a test is about are taken to pass it, where no histogram says how many."""

DEPTH = 6
"""How many triple patterns away from a variable are looked at."""

MAX_SCANS = 32
"""A join of more triple patterns is not looked at: what hangs on what is followed anew from each of them."""

MAX_LOOKUPS = 200
"""Variables and nested parts that are looked at for one variable, in all parts together: 2 to 20 ms. Where there are
more, the last variables are taken to be free, and the last parts to leave what the others give.
"""


def values_of(pattern: Pattern, variable: str, known: GraphStatistics) -> Cardinality | None:
    """How many distinct values a variable has in the solutions of a pattern.

    Args:
        pattern: as the projection would be asked it.
        variable: without `?`.
        known: of the graph that is asked.

    Returns:
        None where statistics say nothing: of longer paths, or where a part may leave the variable unbound.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> a, b, c, p, q = (NamedNode(f"e:{x}") for x in "abcpq")
    >>> known = collect(columns_of([Triple(a, p, c), Triple(b, p, c), Triple(b, q, a)]))
    >>> values_of(Scan(Variable("x"), Link("e:p"), c), "x", known)
    Size(low=2.0, guess=2.0, high=2.0)
    """
    return _Looks(known).values(pattern, variable)


def rows_of(pattern: Pattern, known: GraphStatistics) -> float | None:
    """About how many solutions a pattern has; None where statistics say nothing.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> a, b, c, p, q = (NamedNode(f"e:{x}") for x in "abcpq")
    >>> known = collect(columns_of([Triple(a, p, b), Triple(a, p, c), Triple(b, q, a), Triple(c, q, a)]))
    >>> rows_of(Join((Scan(Variable("x"), Link("e:p"), Variable("y")), Scan(Variable("y"), Link("e:q"), a))), known)
    2.0
    """
    return _counted(pattern, _Looks(known), lambda joined: joined.rows())


def least_read(pattern: Pattern, known: GraphStatistics) -> float | None:
    """About how many triples an engine reads at least to find a pattern: those that it had best begin with; None where
    statistics say nothing.
    """
    return _counted(pattern, _Looks(known), lambda joined: joined.least_pairs())


def _counted(pattern: Pattern, looks: _Looks, count: Callable[[_Joined], float]) -> float | None:
    match pattern:
        case Scan() | Join() | Restrict():
            joined = looks.joined(pattern)
            return None if joined is None else count(joined)
        case Values(_, rows):
            return float(len(rows))
        case Union(branches):
            found = [_counted(branch, looks, count) for branch in branches]
            return None if None in found else sum(one for one in found if one is not None)
        case LeftJoin(left) | Minus(left) | Exists(left) | Distinct(left):
            return _counted(left, looks, count)


def _union(found: Sequence[Cardinality | None]) -> Cardinality | None:
    sizes = [size for size in found if size is not None]
    if len(sizes) < len(found) or not sizes:
        return None
    low, high = max(size.low for size in sizes), sum(size.high for size in sizes)
    return Cardinality(low, sum(size.estimate for size in sizes), high)


@dataclass
class _Looks:
    """One estimate: what it has found of the parts of a pattern, and how many looks it has left.

    Args:
        known: of the graph.
        left: looks that it may still take.
        found: sizes by part, by its place in memory, and variable.
        flat: the parts of joins, by the place of the join in memory.
    """

    known: GraphStatistics
    left: int = MAX_LOOKUPS
    found: dict[tuple[int, str], Cardinality | None] = field(default_factory=dict)
    flat: dict[int, _Joined | None] = field(default_factory=dict)

    def take(self) -> bool:
        """Takes a look; False where none is left."""
        self.left -= 1
        return self.left >= 0

    def values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """Of the values of a variable. Without looks that are left, of each join what its triple patterns say alone."""
        at = (id(pattern), variable)
        if at not in self.found:
            self.found[at] = self._values(pattern, variable)
        return self.found[at]

    def nested(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """The same of a part of which nothing has to be known."""
        at = (id(pattern), variable)
        return self.values(pattern, variable) if at in self.found or self.take() else None

    def joined(self, pattern: Scan | Join | Restrict) -> _Joined | None:
        """The parts of a join; None where it is not looked at."""
        if id(pattern) not in self.flat:
            self.flat[id(pattern)] = _Joined.of(pattern, self)
        return self.flat[id(pattern)]

    def _values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        match pattern:
            case Scan() | Join() | Restrict():
                joined = self.joined(pattern)
                return None if joined is None else joined.size(variable)
            case Values(variables, rows) if variable in variables:
                found = {row[variables.index(variable)] for row in rows}
                return None if None in found else Cardinality(*[float(len(found))] * 3)
            case Union(branches):
                return _union([self.values(branch, variable) for branch in branches])
            case LeftJoin(left, _):
                return self.values(left, variable)
            case Minus(left) | Exists(left):
                size = self.values(left, variable)
                if size is None:
                    return None
                return Cardinality(0.0, size.estimate * self._passing(pattern, variable, size), size.high)
            case Distinct(child, variables) if variable in variables:
                return self.values(child, variable)
        return None

    def _passing(self, pattern: Minus | Exists, variable: str, left: Cardinality) -> float:
        """The share of the values of the left side that the right one leaves."""
        right = self.nested(pattern.right, variable)
        share = 0.5 if right is None else min(1.0, right.estimate / max(float(self.known.subjects), left.estimate, 1.0))
        return share if isinstance(pattern, Exists) and not pattern.negated else 1.0 - share


class _Edge(NamedTuple):
    """A triple pattern with one predicate."""

    subject: Slot
    predicate: str
    object: Slot

    def near(self, variable: str) -> tuple[bool, Slot]:
        """Whether a variable is the subject, and what is at the other end."""
        forward = self.subject == Variable(variable)
        return forward, self.object if forward else self.subject

    def has(self, variable: str) -> bool:
        """Whether a variable is at one of its ends."""
        return Variable(variable) in (self.subject, self.object)


@dataclass
class _Joined:
    """Parts of a pattern that all have to hold.

    Args:
        looks: the estimate that it is part of.
        edges: the triple patterns.
        tests: of values, by variable.
        others: further parts.
    """

    looks: _Looks
    edges: list[_Edge] = field(default_factory=list)
    tests: dict[str, list[Test]] = field(default_factory=dict)
    others: list[Pattern] = field(default_factory=list)

    @classmethod
    def of(cls, pattern: Pattern, looks: _Looks) -> _Joined | None:
        """None where a path is longer than a predicate, or there are too many parts."""
        joined, waiting = cls(looks), [pattern]
        while waiting:
            match part := waiting.pop():
                case Join(parts):
                    waiting += parts
                case Restrict(child, tests):
                    waiting.append(child)
                    for variable, test in _by_variable(tests):
                        joined.tests.setdefault(variable, []).append(test)
                case Scan(subject, PredicatePath(predicate), object_):
                    joined.edges.append(_Edge(subject, predicate, object_))
                case Scan(subject, InversePath(PredicatePath(predicate)), object_):
                    joined.edges.append(_Edge(object_, predicate, subject))
                case Scan():
                    return None
                case _:
                    joined.others.append(part)
            if len(joined.edges) + len(joined.others) > MAX_SCANS:
                return None
        return joined

    @property
    def known(self) -> GraphStatistics:
        """Of the graph."""
        return self.looks.known

    def size(self, variable: str) -> Cardinality | None:
        """Of the values of a variable; None where no part binds it."""
        found = self._values(variable, None, frozenset(), tested=True)
        if found is None:
            return None
        low = self._least(variable, self.edges[0]) if len(self.edges) == 1 and not self.others else 0.0
        return Cardinality(min(low, found.high), min(max(found.estimate, low), found.high), found.high)

    def rows(self) -> float:
        """About how many solutions; of parts that are no triple patterns, as if they had one for each."""
        rows, domains = 1.0, dict[str, float]()
        for edge in self.edges:
            rows *= self._pairs(edge)
            for forward, end in ((True, edge.subject), (False, edge.object)):
                if isinstance(end, Variable):
                    domain = max(1.0, self._ends(edge.predicate, forward).estimate)
                    if end.name in domains:
                        rows /= max(domain, domains[end.name])
                    domains[end.name] = max(domain, domains.get(end.name, 1.0))
        return rows

    def least_pairs(self) -> float:
        """Triples of the triple pattern that has the fewest."""
        return min(map(self._pairs, self.edges), default=0.0)

    def _pairs(self, edge: _Edge) -> float:
        """About how many triples a triple pattern has, by its constants and tests."""
        is_open = [isinstance(end, Variable) for end in edge[::2]]
        if not all(is_open):
            return self._constant(edge, forward=is_open[0]).estimate if any(is_open) else 1.0
        assert isinstance(edge.object, Variable)
        if edge.object.name in self.tests:
            triples = passing(edge.predicate, self.tests[edge.object.name], self.known)
            if triples is not None:
                return triples.estimate
        return self.known.triples_of(edge.predicate).estimate

    def _least(self, variable: str, edge: _Edge) -> float:
        """How many values a single triple pattern gives a variable at least, by tests of the other end."""
        forward, far = edge.near(variable)
        tested = self.tests.keys() - ({far.name} if isinstance(far, Variable) else set())
        if tested or edge.subject == edge.object:
            return 0.0
        if not isinstance(far, Variable):
            return self._constant(edge, forward).low
        if far.name not in self.tests:
            return self._ends(edge.predicate, forward).low
        triples = passing(edge.predicate, self.tests[far.name], self.known) if forward else None
        return 0.0 if triples is None else ceil(triples.low / max(self._most(edge.predicate, outward=True), 1.0))

    def _values(self, variable: str, via: _Edge | None, seen: frozenset[str], *, tested: bool) -> Cardinality | None:
        """By all that hangs on a variable but an edge, and perhaps its tests; the lower bound is left at 0."""
        sizes, universe, high = list[float](), 1.0, inf
        for edge in self.edges:
            if not edge.has(variable):
                continue
            forward, far = edge.near(variable)
            ends = self._ends(edge.predicate, forward)
            universe = max(universe, ends.estimate)
            if edge is via:
                continue
            if edge.subject == edge.object:
                own = Cardinality(0.0, ends.estimate * DOUBT_SHARE, ends.high)
            elif isinstance(far, Variable):
                own = self._by_edge(edge, far.name, forward, seen | {variable})
            else:
                own = self._constant(edge, forward)
            sizes.append(own.estimate)
            high = min(high, own.high)
        for other in self.others:
            found = self.looks.nested(other, variable)
            if found is not None:
                sizes.append(found.estimate)
                high = min(high, found.high)
                universe = max(universe, found.estimate)
        if not sizes:
            return None
        guess = universe
        for size in sizes:
            guess *= min(1.0, size / universe)
        if tested:
            guess *= DOUBT_SHARE ** len(self.tests.get(variable, ()))
        return Cardinality(0.0, min(guess, high), high)

    def _by_edge(self, edge: _Edge, far: str, forward: bool, seen: frozenset[str]) -> Cardinality:
        """How many values of its near end an edge leaves, by what the rest leaves of the far end."""
        mine, theirs = self._ends(edge.predicate, forward), self._ends(edge.predicate, not forward)
        if not self.looks.take() or far in seen or len(seen) > DEPTH:
            return mine
        pairs = self.known.triples_of(edge.predicate).estimate
        share, high = 1.0, mine.high
        rest = self._values(far, edge, seen, tested=False)
        if rest is not None:
            share = min(1.0, rest.estimate / max(theirs.estimate, 1.0))
            high = min(high, rest.high * self._most(edge.predicate, outward=not forward))
        if far in self.tests:
            triples = passing(edge.predicate, self.tests[far], self.known) if forward else None
            if triples is None:
                share *= DOUBT_SHARE
            else:
                share *= min(1.0, triples.estimate / max(pairs, 1.0))
                high = min(high, triples.high)
        if share >= 1.0 or mine.estimate == 0:
            return Cardinality(0.0, mine.estimate, high)
        guess = min(mine.estimate * (1.0 - (1.0 - share) ** (pairs / mine.estimate)), share * pairs)
        return Cardinality(0.0, min(guess, high), high)

    def _constant(self, edge: _Edge, forward: bool) -> Cardinality:
        """How many values an edge has at one end for a constant at the other."""
        iri, known = edge.predicate, self.known
        if not forward:
            found = known.predicate(iri)
            triples = known.triples_of(iri)
            mean = triples.estimate if found is None else found.triples / found.subjects
            most = self._most(iri, outward=True)
            return Cardinality(0.0, min(mean, most), most)
        assert not isinstance(edge.object, Variable | TermParameter)
        if iri == RDF_TYPE and isinstance(edge.object, NamedNode):
            return known.instances(edge.object.value)
        return known.having(iri, edge.object)

    def _ends(self, iri: str, forward: bool) -> Cardinality:
        """Distinct subjects of a predicate, or objects."""
        found, triples = self.known.predicate(iri), self.known.triples_of(iri)
        if found is None:
            return triples
        count = float(found.subjects if forward else found.objects)
        return Cardinality(count, count, triples.high if triples.high == inf else count)

    def _most(self, iri: str, *, outward: bool) -> float:
        """Triples that one end of a predicate has at most."""
        found, triples = self.known.predicate(iri), self.known.triples_of(iri)
        if found is None or triples.high == inf:
            return triples.high
        return float((found.outward if outward else found.inward).most)


def _by_variable(tests: Sequence[Test]) -> Iterator[tuple[str, Test]]:
    for test in tests:
        match test:
            case AllOf(inner):
                yield from _by_variable(inner)
            case AnyOf(inner):
                yield from ((name, test) for name, _ in list(_by_variable(inner))[:1])
            case Same(left):
                yield left, test
            case _:
                yield test.variable, test
