"""The same law where sets are large enough for bitmaps, reductions and joins of enumerated parts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from generated_patterns import typed
from pyoxigraph import Quad, Store
from sampling import examples
from test_counts_equal_rows import check as check_counts
from test_patterns_equal_oxigraph import by_oxigraph, rows_of, truth

from hybridkg.errors import QueryLimitError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.match import join, run
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import (
    Closure,
    Exists,
    Join,
    LeftJoin,
    Minus,
    Opaque,
    Pattern,
    PredicatePath,
    Restrict,
    Scan,
    Test,
    Union,
    ValueComparison,
    Variable,
)
from hybridkg.interfaces.meter import ADJACENCY, Meter
from hybridkg.rdf.terms import NamedNode, Triple

NODES = [NamedNode(f"x:n{i:03}") for i in range(300)]
YEARS = typed("integer", *map(str, range(1990, 2020)))
LINKS = ["x:a", "x:b", "x:c"]


@pytest.fixture(scope="module")
def triples() -> list[Triple]:
    """Links from many to few, a value for most nodes, a class for some."""
    random = Random(7)
    made = []
    for node in NODES:
        for iri in LINKS:
            targets = [NODES[int(300 * random.random() ** 2)] for _ in range(random.randrange(4))]
            made += [Triple(node, NamedNode(iri), target) for target in targets]
        if random.random() < 0.9:
            made.append(Triple(node, NamedNode("x:year"), random.choice(YEARS)))
        if random.random() < 0.3:
            made.append(Triple(node, NamedNode("x:type"), NODES[0]))
    store = Store()
    store.extend([Quad(*triple) for triple in made])
    return [quad.triple for quad in store]  # type: ignore[misc]


def connected(random: Random, names: list[str], size: int) -> Pattern:
    """A join whose parts hang together, most often like a tree, with tests."""
    known = [names[0]]
    parts: list[Pattern] = []
    tests: list[Test] = []
    for i in range(size):
        here = random.choice(known)
        kind = random.random()
        if kind < 0.15:
            parts.append(Scan(Variable(here), PredicatePath("x:type"), NODES[0]))
        elif kind < 0.35:
            parts.append(Scan(Variable(here), PredicatePath("x:year"), Variable(f"{here}y{i}")))
            tests.append(ValueComparison(f"{here}y{i}", random.choice([">=", "<", "=", "!="]), random.choice(YEARS)))
        elif kind < 0.4:
            tests.append(Opaque(here, "STRENDS(STR(?x), '1')"))
        else:
            there = random.choice([name for name in names if name != here])
            path = PredicatePath(random.choice(LINKS))
            ends = [Variable(here), Variable(there)]
            random.shuffle(ends)
            if random.random() < 0.1:
                parts.append(Scan(ends[0], Closure(path, random.randrange(2), None), random.choice(NODES[:9])))
                known += [ends[0].name] if ends[0].name not in known else []
            else:
                parts.append(Scan(ends[0], path, ends[1]))
                known += [there] if there not in known else []
    bound = {name for part in parts for name in [part.subject.name, getattr(part.object, "name", "")]}  # type: ignore[union-attr]
    kept = tuple(test for test in tests if test.variable in bound)  # type: ignore[union-attr]
    return Restrict(Join(tuple(parts)), kept) if kept else Join(tuple(parts))


def nested(random: Random) -> Pattern:
    left = connected(random, ["s", "t", "u"], random.randrange(2, 6))
    right = connected(random, random.choice([["s", "v"], ["t", "w"], ["s", "t"]]), random.randrange(1, 3))
    kind = random.randrange(8)
    if kind == 0:
        return Exists(left, right, random.random() < 0.5)
    if kind == 1:
        return Minus(left, right)
    if kind == 2:
        return LeftJoin(left, right)
    if kind == 3:
        return Join((left, Union((right, connected(random, ["s", "v"], 1)))))
    return left


SEEDS = examples(20, 60)


@pytest.mark.parametrize("large", [50, 20_000])
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 20))])
def test_rows_and_candidates_are_those_of_oxigraph(
    triples: list[Triple], first: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join, "LARGE", large)
    index = Projection(columns_of(triples, NODES[:200]), truth, max_rows=20_000)
    filled = 0
    for seed in range(SEEDS * first, SEEDS * (first + 1)):
        random = Random(seed)
        pattern = nested(random)
        prepared = index.compile(pattern)
        assert prepared is not None
        names = list(prepared.variables)
        if not names or prepared.size().estimate > 3_000:
            continue
        try:
            table = prepared.rows(names, Meter())
        except QueryLimitError:
            continue
        for keys in ([], random.sample(names, 1), random.sample(names, min(2, len(names)))):
            check_counts(prepared, keys)
        found = rows_of(index, table)
        assert found == by_oxigraph(triples, pattern, names), pattern
        filled += table.size > 0
        for name in names:
            if name in prepared.node.certain:
                check_variable(prepared, name, table, random)
    assert filled > SEEDS // 6


def check_variable(prepared, name, table, random):
    column = table.column(name)
    want = np.unique(column)
    assert prepared.candidates(name, Meter()).tolist() == want.tolist()
    some = np.array(sorted(random.sample(range(330), random.choice([3, 40, 250]))), np.uint32)
    assert prepared.candidates(name, Meter(), some).tolist() == np.intersect1d(want, some).tolist()
    for other in table.variables:
        if other != name and other in prepared.node.certain:
            met = np.unique(column[np.isin(table.column(other), some)])
            assert prepared.candidates(name, Meter(), None, {other: some}).tolist() == met.tolist()
    bound = prepared.rows(table.variables, Meter(), {name: some})
    kept = np.isin(column, some)
    rows = Counter(zip(*(c[kept].tolist() for c in table.columns), strict=True))
    assert Counter(zip(*(c.tolist() for c in bound.columns), strict=True)) == rows


@pytest.mark.parametrize(
    "path", [Closure(Closure(PredicatePath("x:a"), 1, None), 1, None), Closure(PredicatePath("x:a"), 1, None)]
)
def test_an_estimate_does_not_follow_a_closure_to_its_end(path, monkeypatch):
    chain = [NamedNode(f"x:n{i:05}") for i in range(5_000)]
    projection = Projection(columns_of([Triple(a, NamedNode("x:a"), b) for a, b in pairwise(chain)]), truth)
    read = []
    monkeypatch.setattr(
        run.PatternRun, "read", lambda self, n: (read.append(n), self.meter.add(ADJACENCY, n), self.meter.check())
    )
    prepared = projection.compile(Scan(chain[10], path, Variable("x")))
    assert prepared is not None
    size = prepared.size("x")
    assert size.low <= 4_989 <= size.high
    assert sum(read) < 2_000
