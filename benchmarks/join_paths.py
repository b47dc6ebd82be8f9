"""Joins of few rows by a nested loop beside sorted keys, and an OPTIONAL by a lookup beside a join, in turns.

    python -m benchmarks.join_paths [--papers 20000] [--rounds 400] [--seed 7]

Each pair is two ways to the same rows (operators/column_join.py, operators/left_join.py, graph/match/optional.py). The
other way is forced by a patch; the answers are compared. Microseconds, medians. The OPTIONALs are whole queries with a
known plan, on a graph in which each paper has an author, every third a DOI, and each a title.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any, cast
from unittest.mock import PropertyMock, patch

import numpy as np

from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.graph.match.optional import OptionalNode
from hybridkg.graph.projection import Prepared
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.operators import column_join
from hybridkg.operators.column_join import ColumnPairs
from hybridkg.operators.columns import IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.cost_model import CostModel
from hybridkg.store.oxigraph import OxigraphStore

SIDES = (1, 8, 32, 64, 128)
"""Rows of each side of a join."""

OPTIONALS = (10, 1_000, 20_000)
"""Rows of the left side of an OPTIONAL."""

PREFIX = "PREFIX : <http://example.org/> "
PLAIN = PREFIX + "SELECT ?p ?d { ?p :author :a$rows OPTIONAL { ?p :doi ?d } }"
RANKED = PREFIX + 'SELECT ?p ?d ?s { ?p MATCH "neural" AS ?s . ?p :author :a$rows OPTIONAL { ?p :doi ?d } }'

Way = Callable[[], AbstractContextManager[Any]]


def in_turns(ways: dict[str, tuple[Way, Callable[[], object]]], rounds: int) -> dict[str, float]:
    """The median microseconds of each way, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + rounds // 10):
        for name, (way, run) in ways.items():
            with way():
                started = time.perf_counter_ns()
                run()
                times[name].append((time.perf_counter_ns() - started) / 1e3)
    return {name: round(median(own[rounds // 10 :]), 1) for name, own in times.items()}


def joins(rounds: int, draw: np.random.Generator) -> dict[str, dict[str, float]]:
    """Joins of two sides that share half of their keys."""
    context = ExecutionContext(None, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price)
    figures = {}
    for size in SIDES:
        ids = [draw.permutation(2 * size)[:size].astype(np.uint32) for _ in range(2)]
        left, right = (InColumns({"x": IdColumn(own, cast(GraphIndex, None))}, size, context.made) for own in ids)

        def pairs(left: InColumns = left, right: InColumns = right) -> ColumnPairs:
            found = ColumnPairs.of(left, right, context)
            assert found is not None
            return found

        def limited(most: int) -> Way:
            return lambda: patch.object(column_join, "NESTED_LOOP_PAIRS", most)

        with limited(0)():
            want = pairs()
        with limited(size * size)():
            assert all(map(np.array_equal, (pairs().at_left, pairs().at_right), (want.at_left, want.at_right)))
        ways = {"nested loop": (limited(size * size), pairs), "sorted keys": (limited(0), pairs)}
        figures[f"{size} x {size}"] = in_turns(ways, 10 * rounds)
    return figures


def triples(papers: int) -> str:
    """The graph; author `a<n>` has n papers."""
    lines, at = [], 0
    for rows in OPTIONALS:
        for paper in range(at, min(at + rows, papers)):
            lines.append(f':p{paper} :author :a{rows} ; :title "neural networks {paper}" .')
            if paper % 3 == 0:
                lines.append(f':p{paper} :doi "10.1/{paper}" .')
        at += rows
    return "@prefix : <http://example.org/> .\n" + "\n".join(lines) + "\n"


def optionals(papers: int, rounds: int) -> dict[str, dict[str, float]]:
    """Whole queries with an OPTIONAL."""

    def joined() -> AbstractContextManager[Any]:
        return _Joined()

    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "papers.ttl").write_text(triples(papers))
        with KnowledgeBase.create(Path(folder) / "papers.kb") as kb:
            kb.load(Path(folder) / "papers.ttl", index=True)
            for kind, text in (("plain", PLAIN), ("ranked", RANKED)):
                for rows in OPTIONALS:
                    query = text.replace("$rows", str(rows)) + ("" if kind == "plain" else " RANK BY ?s LIMIT 1000")
                    found = kb.query(query)
                    with joined():
                        again = kb.query(query)
                    assert sorted(map(str, found.rows())) == sorted(map(str, again.rows()))

                    def asked(query: str = query) -> object:
                        return kb.query(query)

                    ways = {"lookup": (nullcontext, asked), "join": (joined, asked)}
                    figures[f"{kind}, {rows:,} rows"] = in_turns(ways, max(20, rounds // (1 + rows // 100)))
    return figures


class _Joined:
    """Forces the join."""

    def __enter__(self) -> None:
        self._patches = [
            patch.object(OptionalNode, "_lookup", new_callable=PropertyMock, return_value=None),
            patch.object(Prepared, "only_values", lambda *_: None),
        ]
        for one in self._patches:
            one.start()

    def __exit__(self, *_: object) -> None:
        for one in self._patches:
            one.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.join_paths", description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=sum(OPTIONALS), help="of the graph (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=400, help="of each query (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    options = parser.parse_args()
    figures = {
        "joins, us": joins(options.rounds, np.random.default_rng(options.seed)),
        "OPTIONAL, whole query, us": optionals(options.papers, options.rounds),
    }
    for part, cells in figures.items():
        print(part)
        for name, times in cells.items():
            print(f"  {name:24}", *(f"{way} {us:,.1f}" for way, us in times.items()))
    if not options.no_record:
        record("join_paths", {"papers": options.papers, "rounds": options.rounds, **figures}, seed=options.seed)


if __name__ == "__main__":
    main()
