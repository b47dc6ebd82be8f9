"""Pattern cardinality from statistics alone: solutions, and distinct values of a variable, for a remote graph.

The assumptions are those of graph/match/join_cardinality.py: parts are independent, the smaller value set of a variable
is contained in the larger (Selinger et al., SIGMOD 1979), and a value with d neighbours on average has one in a set of
share s with probability 1 - (1 - s)^d. Bounds hold without assumptions.
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
    AnyScan,
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
    TextOrder,
    Union,
    Values,
    Variable,
)
from hybridkg.interfaces.statistics import GraphStatistics
from hybridkg.rdf.terms import RDF_TYPE, NamedNode

DOUBT_SHARE = 0.1
"""The assumed selectivity of a test without a histogram."""

DEPTH = 6
"""The maximum distance, in triple patterns, from the estimated variable."""

MAX_SCANS = 32
"""The maximum number of parts of a join: the cost grows with its square. Larger joins have no estimate."""

MAX_LOOKUPS = 200
"""Variables and nested parts that one estimate visits: 2 to 20 ms. Beyond it, variables count as free, and parts as not
restrictive."""


def values_of(pattern: Pattern, variable: str, statistics: GraphStatistics) -> Cardinality | None:
    """The number of distinct values of a variable in the solutions of a pattern.

    It is None without an estimate: for longer paths, or if a part may leave the variable unbound.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> a, b, c, p, q = (NamedNode(f"e:{x}") for x in "abcpq")
    >>> statistics = collect(columns_of([Triple(a, p, c), Triple(b, p, c), Triple(b, q, a)]))
    >>> values_of(Scan(Variable("x"), PredicatePath("e:p"), c), "x", statistics)
    Cardinality(low=2.0, estimate=2.0, high=2.0)
    """
    return _Estimation(statistics).values(pattern, variable)


def rows_of(pattern: Pattern, statistics: GraphStatistics) -> float | None:
    """The estimated number of solutions of a pattern; None without an estimate.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> from hybridkg.graph.statistics.collect import collect
    >>> a, b, c, p, q = (NamedNode(f"e:{x}") for x in "abcpq")
    >>> statistics = collect(columns_of([Triple(a, p, b), Triple(a, p, c), Triple(b, q, a), Triple(c, q, a)]))
    >>> x, y = Variable("x"), Variable("y")
    >>> rows_of(Join((Scan(x, PredicatePath("e:p"), y), Scan(y, PredicatePath("e:q"), a))), statistics)
    2.0
    """
    return _counted(pattern, _Estimation(statistics), lambda joined: joined.rows())


def least_read(pattern: Pattern, statistics: GraphStatistics) -> float | None:
    """The estimated minimum of triples read: those of the most selective part; None without an estimate."""
    return _counted(pattern, _Estimation(statistics), lambda joined: joined.least_pairs())


def _counted(pattern: Pattern, estimation: _Estimation, count: Callable[[_FlatJoin], float]) -> float | None:
    match pattern:
        case Scan() | Join() | Restrict():
            joined = estimation.joined(pattern)
            return None if joined is None else count(joined)
        case Values(_, rows):
            return float(len(rows))
        case Union(branches):
            counts = [_counted(branch, estimation, count) for branch in branches]
            return None if None in counts else sum(one for one in counts if one is not None)
        case LeftJoin(left) | Minus(left) | Exists(left) | Distinct(left):
            return _counted(left, estimation, count)
        case AnyScan():
            return None


def _union(branches: Sequence[Cardinality | None]) -> Cardinality | None:
    sizes = [size for size in branches if size is not None]
    if len(sizes) < len(branches) or not sizes:
        return None
    low, high = max(size.low for size in sizes), sum(size.high for size in sizes)
    return Cardinality(low, sum(size.estimate for size in sizes), high)


@dataclass
class _Estimation:
    """One estimation: the cached estimates of parts, and its budget of visits.

    `sizes` are by `id` of the part, and variable; `joins` are flattened joins by `id`.
    """

    statistics: GraphStatistics
    budget: int = MAX_LOOKUPS
    sizes: dict[tuple[int, str], Cardinality | None] = field(default_factory=dict)
    joins: dict[int, _FlatJoin | None] = field(default_factory=dict)

    def take(self) -> bool:
        self.budget -= 1
        return self.budget >= 0

    def values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """The values of a variable; with a spent budget, from the triple patterns of each join alone."""
        key = (id(pattern), variable)
        if key not in self.sizes:
            self.sizes[key] = self._values(pattern, variable)
        return self.sizes[key]

    def nested(self, pattern: Pattern, variable: str) -> Cardinality | None:
        """`values` of an optional part; None with a spent budget."""
        cached = (id(pattern), variable) in self.sizes
        return self.values(pattern, variable) if cached or self.take() else None

    def joined(self, pattern: Scan | Join | Restrict) -> _FlatJoin | None:
        if id(pattern) not in self.joins:
            self.joins[id(pattern)] = _FlatJoin.of(pattern, self)
        return self.joins[id(pattern)]

    def _values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        match pattern:
            case Scan() | Join() | Restrict():
                joined = self.joined(pattern)
                return None if joined is None else joined.size(variable)
            case Values(variables, rows) if variable in variables:
                terms = {row[variables.index(variable)] for row in rows}
                return None if None in terms else Cardinality(*[float(len(terms))] * 3)
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
        """The selectivity of the right side on the values of the left one."""
        right = self.nested(pattern.right, variable)
        share = (
            0.5
            if right is None
            else min(1.0, right.estimate / max(float(self.statistics.subjects), left.estimate, 1.0))
        )
        return share if isinstance(pattern, Exists) and not pattern.negated else 1.0 - share


class _Edge(NamedTuple):
    """A triple pattern with one predicate."""

    subject: Slot
    predicate: str
    object: Slot

    def near(self, variable: str) -> tuple[bool, Slot]:
        forward = self.subject == Variable(variable)
        return forward, self.object if forward else self.subject

    def has(self, variable: str) -> bool:
        return Variable(variable) in (self.subject, self.object)


@dataclass
class _FlatJoin:
    """A flattened join: triple patterns, tests by variable, and other parts."""

    estimation: _Estimation
    edges: list[_Edge] = field(default_factory=list)
    tests: dict[str, list[Test]] = field(default_factory=dict)
    others: list[Pattern] = field(default_factory=list)

    @classmethod
    def of(cls, pattern: Pattern, estimation: _Estimation) -> _FlatJoin | None:
        """The flattened join; None if a predicate is a path or a variable, or there are too many parts."""
        joined, waiting = cls(estimation), [pattern]
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
                case Scan() | AnyScan():
                    return None
                case _:
                    joined.others.append(part)
            if len(joined.edges) + len(joined.others) > MAX_SCANS:
                return None
        return joined

    @property
    def statistics(self) -> GraphStatistics:
        return self.estimation.statistics

    def size(self, variable: str) -> Cardinality | None:
        """The values of a variable; None if no part binds it."""
        size = self._values(variable, None, frozenset(), tested=True)
        if size is None:
            return None
        low = self._lower_bound(variable, self.edges[0]) if len(self.edges) == 1 and not self.others else 0.0
        return Cardinality(min(low, size.high), min(max(size.estimate, low), size.high), size.high)

    def rows(self) -> float:
        """The estimated solutions of the triple patterns; other parts count as one for each."""
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
        return min(map(self._pairs, self.edges), default=0.0)

    def _pairs(self, edge: _Edge) -> float:
        """The estimated triples of a triple pattern with its constants and tests."""
        is_open = [isinstance(end, Variable) for end in edge[::2]]
        if not all(is_open):
            return self._constant(edge, forward=is_open[0]).estimate if any(is_open) else 1.0
        assert isinstance(edge.object, Variable)
        if edge.object.name in self.tests:
            triples = passing(edge.predicate, self.tests[edge.object.name], self.statistics)
            if triples is not None:
                return triples.estimate
        return self.statistics.triples_of(edge.predicate).estimate

    def _lower_bound(self, variable: str, edge: _Edge) -> float:
        """A lower bound on the values of a variable in a single triple pattern with tests of the other end."""
        forward, other = edge.near(variable)
        tested = self.tests.keys() - ({other.name} if isinstance(other, Variable) else set())
        if tested or edge.subject == edge.object:
            return 0.0
        if not isinstance(other, Variable):
            return self._constant(edge, forward).low
        if other.name not in self.tests:
            return self._ends(edge.predicate, forward).low
        triples = passing(edge.predicate, self.tests[other.name], self.statistics) if forward else None
        return 0.0 if triples is None else ceil(triples.low / max(self._max_degree(edge.predicate, outward=True), 1.0))

    def _values(self, variable: str, via: _Edge | None, seen: frozenset[str], *, tested: bool) -> Cardinality | None:
        """The values of a variable from all parts except the edge `via`, and optionally its tests; lower bound 0."""
        sizes, universe, high = list[float](), 1.0, inf
        for edge in self.edges:
            if not edge.has(variable):
                continue
            forward, other_end = edge.near(variable)
            ends = self._ends(edge.predicate, forward)
            universe = max(universe, ends.estimate)
            if edge is via:
                continue
            if edge.subject == edge.object:
                own = Cardinality(0.0, ends.estimate * DOUBT_SHARE, ends.high)
            elif isinstance(other_end, Variable):
                own = self._by_edge(edge, other_end.name, forward, seen | {variable})
            else:
                own = self._constant(edge, forward)
            sizes.append(own.estimate)
            high = min(high, own.high)
        for other in self.others:
            nested = self.estimation.nested(other, variable)
            if nested is not None:
                sizes.append(nested.estimate)
                high = min(high, nested.high)
                universe = max(universe, nested.estimate)
        if not sizes:
            return None
        estimate = universe
        for size in sizes:
            estimate *= min(1.0, size / universe)
        if tested:
            estimate *= DOUBT_SHARE ** len(self.tests.get(variable, ()))
        return Cardinality(0.0, min(estimate, high), high)

    def _by_edge(self, edge: _Edge, other: str, forward: bool, seen: frozenset[str]) -> Cardinality:
        """The values of one end of an edge, given those that the rest of the join leaves to the other end."""
        mine, theirs = self._ends(edge.predicate, forward), self._ends(edge.predicate, not forward)
        if not self.estimation.take() or other in seen or len(seen) > DEPTH:
            return mine
        pairs = self.statistics.triples_of(edge.predicate).estimate
        share, high = 1.0, mine.high
        rest = self._values(other, edge, seen, tested=False)
        if rest is not None:
            share = min(1.0, rest.estimate / max(theirs.estimate, 1.0))
            high = min(high, rest.high * self._max_degree(edge.predicate, outward=not forward))
        if other in self.tests:
            triples = passing(edge.predicate, self.tests[other], self.statistics) if forward else None
            if triples is None:
                share *= DOUBT_SHARE
            else:
                share *= min(1.0, triples.estimate / max(pairs, 1.0))
                high = min(high, triples.high)
        if share >= 1.0 or mine.estimate == 0:
            return Cardinality(0.0, mine.estimate, high)
        estimate = min(mine.estimate * (1.0 - (1.0 - share) ** (pairs / mine.estimate)), share * pairs)
        return Cardinality(0.0, min(estimate, high), high)

    def _constant(self, edge: _Edge, forward: bool) -> Cardinality:
        iri, statistics = edge.predicate, self.statistics
        if not forward:
            predicate = statistics.predicate(iri)
            triples = statistics.triples_of(iri)
            mean = triples.estimate if predicate is None else predicate.triples / predicate.subjects
            high = self._max_degree(iri, outward=True)
            return Cardinality(0.0, min(mean, high), high)
        assert not isinstance(edge.object, Variable | TermParameter)
        if iri == RDF_TYPE and isinstance(edge.object, NamedNode):
            return statistics.instances(edge.object.value)
        return statistics.having(iri, edge.object)

    def _ends(self, iri: str, forward: bool) -> Cardinality:
        predicate, triples = self.statistics.predicate(iri), self.statistics.triples_of(iri)
        if predicate is None:
            return triples
        count = float(predicate.subjects if forward else predicate.objects)
        return Cardinality(count, count, triples.high if triples.high == inf else count)

    def _max_degree(self, iri: str, *, outward: bool) -> float:
        """The maximum number of triples of one subject (outward) or object."""
        predicate, triples = self.statistics.predicate(iri), self.statistics.triples_of(iri)
        if predicate is None or triples.high == inf:
            return triples.high
        return float((predicate.outward if outward else predicate.inward).most)


def _by_variable(tests: Sequence[Test]) -> Iterator[tuple[str, Test]]:
    for test in tests:
        match test:
            case AllOf(inner):
                yield from _by_variable(inner)
            case AnyOf(inner):
                yield from ((name, test) for name, _ in list(_by_variable(inner))[:1])
            case Same(left) | TextOrder(left):
                yield left, test
            case _:
                yield test.variable, test
