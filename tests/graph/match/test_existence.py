"""The law of existence: a pattern has a solution exactly where it has a row, and many solutions are not listed."""

from __future__ import annotations

from random import Random

import pytest
from generated_patterns import Maker
from sampling import examples
from test_counts_equal_rows import complete, connected, scan
from test_patterns_equal_oxigraph import projection

from hybridkg.graph.match import existence
from hybridkg.interfaces.graph_index import Join, Pattern, Restrict, Same
from hybridkg.interfaces.meter import Meter

pytestmark = pytest.mark.quick


def check(maker: Maker, pattern: Pattern) -> bool | None:
    """Whether the pattern has a solution; None where the projection declines it."""
    prepared = projection(maker.graph()).compile(pattern)
    if prepared is None:
        return None
    has_any = prepared.has_any(Meter())
    assert has_any == (prepared.rows([], Meter()).size > 0), pattern
    assert prepared.any_work() >= 0
    return has_any


SEEDS = examples(100, 500)


@pytest.mark.parametrize("few", [-1, existence.FEW_SOLUTIONS])
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 20))])
def test_thousands_of_patterns_have_a_solution_where_they_have_a_row(
    first: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(existence, "FEW_SOLUTIONS", few)  # -1: blocks, even of small patterns
    monkeypatch.setattr(existence, "FIRST_BLOCK", 1)
    monkeypatch.setattr(existence, "GROWTH", 2)
    found = []
    for seed in range(SEEDS * first, SEEDS * (first + 1)):
        random = Random(seed)
        maker = Maker(random)
        found += [check(maker, maker.pattern()), check(maker, connected(random))]
    assert found.count(True) > SEEDS // 5
    assert found.count(False) > SEEDS // 5


def test_a_pattern_with_many_solutions_reads_a_block_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existence, "FEW_SOLUTIONS", 100)
    monkeypatch.setattr(existence, "FIRST_BLOCK", 1)
    prepared = complete(30).compile(Join((scan("a", "x:p", "b"), scan("b", "x:q", "c"))))
    assert prepared is not None
    meter = Meter()
    assert prepared.has_any(meter)
    assert meter.counts["adjacency"] < 2_000  # of 27,000 solutions
    assert prepared.any_work() < prepared.work() / 20


def test_a_pattern_without_solutions_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existence, "FEW_SOLUTIONS", 10)
    monkeypatch.setattr(existence, "FIRST_BLOCK", 1)
    loop = Restrict(Join((scan("a", "x:p", "b"), scan("b", "x:p", "c"))), (Same("a", "c"),))
    prepared = complete(20).compile(loop)
    assert prepared is not None
    assert not prepared.has_any(Meter())
