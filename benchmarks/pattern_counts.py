"""Counts and rows of whole-graph patterns beside loops over the same arrays, on the graph of pattern_match.

    python -m benchmarks.pattern_counts [--papers 100000] [--rounds 15]

The loops are compiled by numba and given the arrays (offsets by id, targets) ready made; the projection gets a compiled
pattern. Answers are compared. Both run in turn, so that other work on the machine slows both down.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.pattern_match import generated, scan
from benchmarks.record import record
from hybridkg.graph.columns import Adjacency, ProjectionColumns
from hybridkg.graph.match.weights import KERNEL
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.graph_index import Join, Pattern, Restrict, Same
from hybridkg.interfaces.meter import Meter

Array = NDArray[Any]


def by_id(side: Adjacency, n: int) -> tuple[Array, Array]:
    """(offsets by id, targets)."""
    degrees = np.zeros(n + 1, np.int64)
    degrees[side.keys.astype(np.int64) + 1] = np.diff(side.offsets.astype(np.int64))
    return degrees.cumsum(), side.targets


@njit
def squares(offsets: Array) -> int:
    total = 0
    for i in range(len(offsets) - 1):
        total += (offsets[i + 1] - offsets[i]) ** 2
    return total


@njit
def by_two(offsets: Array, targets: Array, column: Array, low: int, high: int, first: int, end: int) -> int:
    """Rows of the table of counts of two variables that are linked with each id."""
    counts = np.zeros((end - first) * (high - low), np.int64)
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            counts[(column[i] - first) * (high - low) + targets[j] - low] += 1
    n = 0
    for count in counts:
        n += count > 0
    return n


@njit
def same_value(offsets: Array, targets: Array, column: Array) -> int:
    total = 0
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            total += column[targets[j]] == column[i]
    return total


@njit
def triangles(offsets: Array, targets: Array) -> int:
    total = 0
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            p, q = offsets[i], offsets[targets[j]]
            p_end, q_end = offsets[i + 1], offsets[targets[j] + 1]
            while p < p_end and q < q_end:
                left, right = targets[p], targets[q]
                total += left == right
                p += left <= right
                q += right <= left
    return total


@njit
def weighted(offsets: Array, targets: Array, other: Array) -> Array:
    """For each id, the sum of the degrees of its neighbours."""
    sums = np.zeros(len(offsets) - 1, np.int64)
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            sums[i] += other[targets[j] + 1] - other[targets[j]]
    return sums


@njit
def star(offsets: Array, targets: Array, one: Array, two: Array) -> tuple[Array, Array, Array]:
    n = len(targets)
    a, b, c = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            a[j], b[j], c[j] = one[i], targets[j], two[i]
    return a, b, c


def cases(columns: ProjectionColumns) -> dict[str, tuple[Pattern, list[str], bool, Callable[[], Any]]]:
    """name -> (pattern, keys or columns, whether rows are listed, the loop, which returns a number to compare)."""
    n = columns.terms.n_terms
    side = lambda iri, direction: by_id(getattr(columns.predicates[f"m:{iri}"], direction), n)
    author, authored = side("author", "forward"), side("author", "backward")
    cites, cited, topic = side("cites", "forward"), side("cites", "backward"), side("topic", "forward")
    affiliated = side("affiliation", "backward")
    (year, years), (venue, venues) = side("year", "forward"), side("venue", "forward")
    yearly = side("year", "backward")[0]
    first, end = int(years.min()), int(years.max()) + 1
    low, high = int(topic[1].min()), int(topic[1].max()) + 1
    papers = len(years)
    year_of, venue_of = years[year[:papers]], venues[venue[:papers]]
    pairs = Join((scan("p", "author", "a"), scan("p", "author", "b")))
    stars = Join((scan("p", "year", "y"), scan("p", "topic", "t"), scan("p", "venue", "v")))
    return {
        "papers a year": (scan("p", "year", "y"), ["y"], False, lambda: np.count_nonzero(np.diff(yearly))),
        "most cited": (scan("q", "cites", "p"), ["p"], False, lambda: np.count_nonzero(np.diff(cited[0]))),
        "pairs of co-authors": (pairs, [], False, lambda: squares(author[0])),
        "pairs of different co-authors": (
            Restrict(pairs, (Same("a", "b", True),)), [], False, lambda: squares(author[0]) - len(author[1]),
        ),
        "co-authors of each": (pairs, ["a"], False, lambda: np.count_nonzero(weighted(*authored, author[0]))),
        "papers of each institution": (
            Join((scan("p", "author", "a"), scan("a", "affiliation", "i"))), ["i"], False,
            lambda: np.count_nonzero(weighted(*affiliated, authored[0])),
        ),
        "papers by year and topic": (
            Join((scan("p", "year", "y"), scan("p", "topic", "t"))), ["y", "t"], False,
            lambda: by_two(topic[0][: papers + 1], topic[1], year_of, low, high, first, end),
        ),
        "citations within a venue": (
            Join((scan("p", "cites", "q"), scan("p", "venue", "v"), scan("q", "venue", "v"))), [], False,
            lambda: same_value(cites[0][: papers + 1], cites[1], venue_of),
        ),
        "three that cite each other": (
            Join((scan("p", "cites", "q"), scan("q", "cites", "r"), scan("p", "cites", "r"))), [], False,
            lambda: triangles(*cites),
        ),
        "rows of a star, single-valued": (
            Join((scan("p", "year", "y"), scan("p", "venue", "v"))), ["p", "y", "v"], True,
            lambda: len(np.stack((np.arange(papers, dtype=np.uint32), year_of, venue_of))[0]),
        ),
        "rows of a star": (stars, ["y", "t", "v"], True, lambda: len(star(*topic, year_of, venue_of)[0])),
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--papers", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    columns = generated(given.papers, given.seed)
    index = Projection(columns, lambda expression, values: [False] * len(values), max_rows=100_000_000)
    if KERNEL.load() is None:
        raise SystemExit("there is no numba")
    figures: dict[str, Any] = {"papers": given.papers, "triples": sum(p.triples for p in columns.predicates.values())}
    for name, (pattern, keys, listed, loop) in cases(columns).items():
        prepared = index.compile(pattern)
        assert prepared is not None
        ask = partial(prepared.rows if listed else prepared.counts, keys)
        best: dict[str, float] = {}
        for _ in range(given.rounds):
            for who, work in (("loop_ms", loop), ("best_ms", lambda ask=ask: ask(Meter()))):
                started = time.perf_counter()
                answer = work()
                best[who] = min(best.get(who, 1e9), (time.perf_counter() - started) * 1000)
                if who == "loop_ms":
                    wanted = int(answer)
        found = answer.size if listed else len(answer.counts) if keys else int(answer.counts[0])
        row = {"answer": found, "same": found == wanted} | {who: round(ms, 3) for who, ms in best.items()}
        row["ratio"] = round(best["best_ms"] / best["loop_ms"], 1)
        figures[name] = row
        print(name, row, flush=True)
    record("pattern_counts", figures, seed=given.seed)


if __name__ == "__main__":
    main()
