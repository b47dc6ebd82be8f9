"""Orders, ranks and runs of keys are those of numpy's sorting."""

from __future__ import annotations

import numpy as np
import pytest
from sampling import examples

from hybridkg.operators.id_sets import places
from hybridkg.operators.partition import FEW, dense, lexical_order, radix_order, runs

pytestmark = pytest.mark.quick

DOUBLES = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, 1e-300]


def keys_of(draw: np.random.Generator, size: int) -> np.ndarray:
    kinds = (
        lambda: draw.integers(0, 5, size),
        lambda: draw.integers(-3, 4, size),
        lambda: draw.integers(0, 1 << 32, size, np.uint32),
        lambda: draw.integers(-(1 << 62), 1 << 62, size),
        lambda: draw.choice(DOUBLES, size),
        lambda: draw.choice([np.nan, *DOUBLES], size),
        lambda: draw.normal(size=size),
        lambda: np.zeros(size, np.int8),
    )
    return kinds[draw.integers(len(kinds))]()


@pytest.mark.parametrize("seed", range(examples(10, 100)))
def test_the_order_of_several_keys_is_the_stable_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(20):
        size = int(draw.choice([1, 5, FEW - 1, FEW + 1, 200, 1000]))
        keys = [keys_of(draw, size) for _ in range(draw.integers(1, 4))]
        order = lexical_order(keys)
        assert order.tolist() == np.lexsort(keys[::-1]).tolist()
        assert lexical_order([key[order] for key in keys]).tolist() == list(range(size))


@pytest.mark.parametrize("bits", [1, 16, 17, 40, 64])
def test_keys_of_any_width_are_sorted_16_bits_at_a_time(bits: int) -> None:
    keys = np.random.default_rng(bits).integers(0, (1 << bits) - 1, 500, np.uint64, endpoint=True)
    assert radix_order(keys, bits).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("seed", range(10))
def test_dense_numbers_are_the_ranks_of_distinct_keys(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for high in (3, 10_000, 1 << 62):
        keys = draw.integers(-high, high, 300)
        assert dense(keys).tolist() == np.unique(keys, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("high", [40, 5_000, 1 << 31])
def test_runs_are_those_of_a_binary_search(seed: int, high: int) -> None:
    draw = np.random.default_rng(seed)
    ordered = np.sort(draw.integers(high // 4, high // 2, 100).astype(np.uint32))
    wanted = np.append(draw.integers(0, high, 100), ordered[:20]).astype(np.uint32)
    first, lengths = runs(ordered, wanted)
    want = ordered.searchsorted(wanted, "right") - ordered.searchsorted(wanted)
    assert lengths.tolist() == want.tolist()
    found = lengths > 0
    assert first[found].tolist() == ordered.searchsorted(wanted)[found].tolist()


def test_places_in_a_set_of_many() -> None:
    draw = np.random.default_rng(3)
    members = np.unique(draw.integers(0, 20_000, 9_000).astype(np.uint32))
    ids = draw.choice(members, 10_000)
    assert places(ids, members).tolist() == members.searchsorted(ids).tolist()
