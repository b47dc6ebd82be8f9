"""The law of counts: they are the groups of the rows, for every pattern and all keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from generated_patterns import NODES, PREDICATES, Maker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples
from test_patterns_equal_oxigraph import projection, truth

from hybridkg.errors import QueryLimitError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.columns import Adjacency
from hybridkg.graph.match import any_predicate_counting, join_counting
from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.grouping import grouped
from hybridkg.graph.match.relations import Side
from hybridkg.graph.match.weights import MAX_COUNT
from hybridkg.graph.projection import Prepared, Projection
from hybridkg.interfaces.graph_index import (
    UNBOUND,
    AllOf,
    AnyOf,
    CountTable,
    Ids,
    Join,
    LeftJoin,
    Pattern,
    PredicatePath,
    Restrict,
    Same,
    Scan,
    Test,
    Variable,
)
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.terms import NamedNode, Triple

pytestmark = pytest.mark.quick


@pytest.fixture(params=["numpy", "kernels"])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All loops are compiled, or none is."""
    module = KERNEL.load()
    assert module is not None
    monkeypatch.setattr(KERNEL, "for_work", lambda work: module if request.param == "kernels" else None)


def check(prepared: Prepared, keys: Sequence[str], bound: Mapping[str, Ids] | None = None) -> None:
    """Fails where the counts of a pattern are not the groups of its rows, or not in order."""
    table = prepared.rows(keys, Meter(), bound)
    columns = [column.tolist() for column in table.columns]
    wanted = sorted(Counter(zip(*columns, strict=True)).items()) if keys else [((), table.size)]
    meter = Meter()
    found = prepared.counts(keys, meter, bound)
    assert listed(found) == wanted
    assert found.variables == tuple(keys)
    assert found.counts.dtype == np.int64
    assert all(column.dtype == np.uint32 for column in found.columns)
    again = Meter()
    prepared.counts(keys, again, bound)
    assert again.counts == meter.counts
    assert prepared.counts_work(keys) >= 0


def listed(found: CountTable) -> list[tuple[tuple[int, ...], int]]:
    rows = zip(*(column.tolist() for column in found.columns), strict=True) if found.columns else [()]
    return list(zip(rows, found.counts.tolist(), strict=True))


def check_any(maker: Maker, pattern: Pattern, random: Random) -> bool:
    """Whether the projection accepts a pattern; its counts by several keys, and with some ids."""
    prepared = projection(maker.graph()).compile(pattern)
    if prepared is None:
        return False
    names = [*prepared.variables, "unknown"]
    for size in (0, 1, 1, 2, random.randrange(len(names) + 1)):
        check(prepared, random.sample(names, min(size, len(names))))
    certain = sorted(prepared.node.certain)
    if certain:
        some = np.array(sorted(random.sample(range(14), random.choice([1, 4, 9]))), np.uint32)
        restricted = random.sample(certain, random.randrange(1, len(certain) + 1))
        check(
            prepared,
            random.sample(names, random.randrange(3) if len(names) > 2 else 0),
            dict.fromkeys(restricted, some),
        )
    return True


@settings(max_examples=examples(12, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_counts_are_the_groups_of_the_rows(random: Random) -> None:
    maker = Maker(random)
    check_any(maker, maker.pattern(), random)


@pytest.mark.parametrize("test", [AnyOf(()), AllOf(())])
@pytest.mark.parametrize("keys", [(), ("a",), ("a", "b")])
def test_a_test_without_variables_counts_all_solutions_or_none(keys: tuple[str, ...], test: Test) -> None:
    """`FILTER(!BOUND(?a))` of a certain ?a is one that nothing passes."""
    graph = [Triple(NODES[at], NamedNode(PREDICATES[0]), NODES[at - 1]) for at in range(1, 4)]
    scan = Scan(Variable("a"), PredicatePath(PREDICATES[0]), Variable("b"))
    prepared = projection(graph).compile(Restrict(scan, (test,)))
    assert prepared is not None
    assert prepared.counts((), Meter()).counts.tolist() == [3 if isinstance(test, AllOf) else 0]
    check(prepared, keys)


SEEDS = examples(80, 500)
"""Patterns of a slice: `--exhaustive` runs forty slices of all of them."""


@pytest.mark.parametrize("distributed", [0, 1_000])
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 40))])
@pytest.mark.usefixtures("compiled")
def test_counts_of_thousands_of_patterns_are_the_groups_of_their_rows(
    first: int, distributed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(any_predicate_counting, "MIN_DISTRIBUTED", distributed)  # 0: each predicate by itself
    accepted = 0
    for seed in range(SEEDS * first, SEEDS * (first + 1)):
        random = Random(seed)
        maker = Maker(random)
        accepted += check_any(maker, maker.pattern(), random)
    assert accepted > SEEDS * 0.6


def connected(random: Random) -> Pattern:
    """A join of links between a few variables: trees, cycles, several components, with tests of two variables."""
    names = "stuvwx"[: random.randrange(2, 7)]
    parts: list[Pattern] = []
    for i in range(random.randrange(1, 6)):
        here = random.choice(names[: i + 1])
        ends = [Variable(here), random.choice([Variable(random.choice(names)), *NODES[: random.randrange(2)]])]
        random.shuffle(ends)
        parts.append(Scan(ends[0], PredicatePath(random.choice(PREDICATES[: random.randrange(1, 4)])), ends[1]))
    bound = sorted({slot.name for part in parts for slot in (part.subject, part.object) if isinstance(slot, Variable)})
    tests: list[Test] = []
    while len(bound) > 1 and random.random() < 0.4:
        tests.append(Same(*random.sample(bound, 2), random.random() < 0.8))
    pattern: Pattern = Restrict(Join(tuple(parts)), tuple(tests)) if tests else Join(tuple(parts))
    while bound and random.random() < 0.2:
        ends = [Variable(random.choice(bound)), Variable(random.choice("yz"))]
        random.shuffle(ends)
        pattern = LeftJoin(pattern, Scan(ends[0], PredicatePath(random.choice(PREDICATES)), ends[1]))
    return pattern


def test_joins_that_are_listed_in_blocks_have_the_same_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_counting, "BLOCK_ROWS", 3)
    for seed in range(examples(60, 300)):
        random = Random(seed)
        assert check_any(Maker(random), connected(random), random)


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 40))])
@pytest.mark.usefixtures("compiled")
def test_counts_of_thousands_of_joins_are_the_groups_of_their_rows(first: int) -> None:
    for seed in range(SEEDS * first, SEEDS * (first + 1)):
        random = Random(seed)
        assert check_any(Maker(random), connected(random), random)


def test_rows_and_counts_are_the_same_with_and_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    module = KERNEL.load()
    for seed in range(examples(60, 300)):
        random = Random(seed)
        prepared = projection(Maker(random).graph()).compile(connected(random))
        assert prepared is not None
        keys, found = random.sample(prepared.variables, min(2, len(prepared.variables))), []
        for kernel in (None, module):
            monkeypatch.setattr(KERNEL, "for_work", lambda work, kernel=kernel: kernel)
            meter = Meter()
            table, counts = prepared.rows(prepared.variables, meter), prepared.counts(keys, meter)
            found.append(([column.tolist() for column in table.columns], listed(counts), meter.counts))
        assert found[0] == found[1]


# --- what it must not do -------------------------------------------------------------


def scan(subject: str, predicate: str, target: str) -> Scan:
    return Scan(Variable(subject), PredicatePath(predicate), Variable(target))


def complete(size: int) -> Projection:
    """Links from each of some nodes to each of as many others, x:p, and back, x:q."""
    left, right = ([NamedNode(f"x:{side}{i:03}") for i in range(size)] for side in "lr")
    triples = [Triple(a, NamedNode("x:p"), b) for a in left for b in right]
    return Projection(columns_of([*triples, *(Triple(b, NamedNode("x:q"), a) for a, _, b in triples)]), truth, 1_000)


@pytest.mark.usefixtures("compiled")
def test_a_count_is_exact_far_beyond_what_could_be_listed() -> None:
    names = [f"v{i}" for i in range(12)]
    steps = [scan(a, "x:" + "pq"[i % 2], b) for i, (a, b) in enumerate(pairwise(names))]
    prepared = complete(30).compile(Join(tuple(steps)))
    assert prepared is not None
    assert prepared.counts([], Meter()).counts.tolist() == [30**12]
    by_end = prepared.counts(["v0"], Meter())
    assert by_end.counts.tolist() == [30**11] * 30


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("keys", [[], ["v0"], ["v1"]])
def test_a_count_beyond_64_bits_is_an_error_and_not_another_number(keys: list[str]) -> None:
    names = [f"v{i}" for i in range(15)]
    steps = [scan(a, "x:" + "pq"[i % 2], b) for i, (a, b) in enumerate(pairwise(names))]
    prepared = complete(30).compile(Join(tuple(steps)))
    assert prepared is not None
    assert MAX_COUNT < 30**15
    with pytest.raises(QueryLimitError, match="a number of solutions exceeds"):
        prepared.counts(keys, Meter())


def test_counts_of_a_product_are_multiplied() -> None:
    prepared = complete(5).compile(Join((scan("a", "x:p", "b"), scan("c", "x:q", "d"))))
    assert prepared is not None
    assert prepared.counts([], Meter()).counts.tolist() == [625]
    assert prepared.counts(["a", "d"], Meter()).counts.tolist() == [25] * 25


def test_counting_reads_degrees_and_not_pairs() -> None:
    prepared = complete(30).compile(Join((scan("p", "x:p", "a"), scan("p", "x:p", "b"))))
    assert prepared is not None
    meter = Meter()
    assert prepared.counts([], meter).counts.tolist() == [27_000]
    assert meter.counts == {"adjacency": 30}  # the degrees of both edges are the same
    assert prepared.counts_work([]) == 60


def test_groups_by_keys_whose_combinations_exceed_64_bits() -> None:
    draw = np.random.default_rng(5)
    columns = [draw.permutation(1 << 16).astype(np.uint32) for _ in range(4)]  # 2 ** 64 combinations
    twice = [np.append(column, column) for column in columns]
    found, counts = grouped(twice, 1 << 17, None, 1)
    order = np.argsort(columns[0])
    assert [column.tolist() for column in found] == [column[order].tolist() for column in columns]
    assert set(counts.tolist()) == {2}


@pytest.mark.usefixtures("compiled")
def test_targets_and_runs_of_any_ids_are_those_of_the_keys() -> None:
    """Also of ids below the first key, behind the last one and in any order."""
    keys, ids = np.arange(5, 9, dtype=np.uint32), np.array([9, 5, 4, 0, 8, 7, 5, 2**32 - 1], np.uint32)
    several = Side(Adjacency(keys, np.array([0, 1, 1, 3, 4], np.uint32), np.array([3, 1, 2, 9], np.uint32)))
    starts, counts = several.rows(ids)
    runs = [several.targets[a : a + n].tolist() for a, n in zip(starts.tolist(), counts.tolist(), strict=True)]
    assert runs == [[], [3], [], [], [9], [1, 2], [3], []]
    single = Side(Adjacency(keys, np.arange(5, dtype=np.uint32), np.array([7, 7, 6, 0], np.uint32)))
    assert single.lookup(ids).tolist() == [UNBOUND, 7, UNBOUND, UNBOUND, 0, 6, 7, UNBOUND]
