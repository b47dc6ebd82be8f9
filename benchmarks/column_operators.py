"""Own operators over columns of ids beside DuckDB over the same arrays: group, distinct, best ten, sort, join.

    pip install duckdb pyarrow
    python -m benchmarks.column_operators [--rows 100000,1000000] [--rounds 7] [--seed 7]

Whether a library should do what does not depend on the order of the projection (docs/architecture.md, decision on
columns). Both get numpy arrays and give numpy arrays, on one core, in turn; DuckDB reads them as Arrow tables without a
copy. The answers are compared.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.record import record
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.operators.column_groups import ColumnGroups
from hybridkg.operators.column_join import ColumnPairs
from hybridkg.operators.columns import IdColumn, InColumns, NumberColumn
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.mixed_numbers import whole
from hybridkg.operators.order_rows import _sorted
from hybridkg.operators.partition import partition
from hybridkg.planner.cost_model import CostModel
from hybridkg.query import ast

Array = NDArray[Any]
BEST = 10


@dataclass(frozen=True)
class Data:
    """Columns `a`, `b` (ids, 1 value for 20 rows and for 100) and `n` (integers); `keys` has each `a` once."""

    a: Array
    b: Array
    n: Array
    keys: Array

    @classmethod
    def drawn(cls, rows: int, seed: int) -> Data:
        draw = np.random.default_rng(seed)
        a, b = draw.integers(0, rows // 20, rows, np.uint32), draw.integers(0, rows // 100, rows, np.uint32)
        return cls(a, b, draw.integers(0, 1000, rows), draw.permutation(rows // 20).astype(np.uint32))


class Own:
    """The operators of hybridkg."""

    def __init__(self, data: Data):
        self._data, self._context = data, cast(ExecutionContext, _Unbounded())
        graph = cast(GraphIndex, _Nodes())
        columns = {"a": IdColumn(data.a, graph), "b": IdColumn(data.b, graph)}
        self._rows = InColumns(
            {**columns, "n": NumberColumn(data.n.astype(np.float64), whole)}, len(data.a), lambda *_: []
        )
        keys = {"a": IdColumn(data.keys, graph), "k": NumberColumn(np.arange(len(data.keys), dtype=np.float64), whole)}
        self._keys = InColumns(keys, len(data.keys), lambda *_: [])

    def group(self) -> float:
        groups = ColumnGroups.of(self._rows, ("a", "b"), summed_by=None, only_exact=True)
        made = groups.computed([("c", ast.Aggregate("COUNT", None))], lambda *_: [])
        assert made is not None
        counts = cast(NumberColumn, made.columns["c"]).numbers
        return len(counts) + float((counts**2).sum())

    def distinct(self) -> float:
        return float(len(partition([self._data.a, self._data.b], len(self._data.a))[1]))

    def best(self) -> float:
        return float(self._data.n[_sorted([-self._data.n], len(self._data.n), BEST)[:BEST]].sum())

    def sort(self) -> float:
        order = _sorted([self._data.b, self._data.a], len(self._data.a), None)
        return float(self._data.a[order][:: max(1, len(order) // 100)].sum())

    def join(self) -> float:
        pairs = ColumnPairs.of(self._rows, self._keys, self._context)
        assert pairs is not None
        joined = pairs.merged()
        return float(cast(NumberColumn, joined.columns["k"]).numbers.sum())


class DuckDb:
    """DuckDB on one thread."""

    def __init__(self, data: Data):
        import duckdb
        import pyarrow as pa

        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.register("t", pa.table({"a": data.a, "b": data.b, "n": data.n}))
        self._connection.register("u", pa.table({"a": data.keys, "k": np.arange(len(data.keys))}))

    def _asked(self, sql: str) -> dict[str, Array]:
        return cast(dict[str, Array], self._connection.execute(sql).fetchnumpy())

    def group(self) -> float:
        counts = self._asked("SELECT a, b, COUNT(*) AS c FROM t GROUP BY a, b")["c"]
        return len(counts) + float((counts.astype(np.float64) ** 2).sum())

    def distinct(self) -> float:
        return float(len(self._asked("SELECT DISTINCT a, b FROM t")["a"]))

    def best(self) -> float:
        return float(self._asked("SELECT a, b, n FROM t ORDER BY n DESC LIMIT 10")["n"].sum())

    def sort(self) -> float:
        a = self._asked("SELECT a, b, n FROM t ORDER BY b, a")["a"]
        return float(a[:: max(1, len(a) // 100)].sum())

    def join(self) -> float:
        return float(self._asked("SELECT t.a, b, n, k FROM t JOIN u ON t.a = u.a")["k"].sum())


class _Nodes:
    """In place of a projection: all ids are nodes."""

    n_nodes = 1 << 31


class _Unbounded:
    """In place of the context of a run: nothing is limited."""

    price = CostModel().price

    def allow(self, rows: int) -> None: ...

    def expect(self, us: float) -> None: ...

    def hold(self, rows: int, width: int) -> None: ...

    @property
    def meter(self) -> Any:
        from hybridkg.interfaces.meter import Meter

        return Meter()


QUESTIONS = ("group", "distinct", "best", "sort", "join")


def timed(ask: Callable[[], float]) -> tuple[float, float]:
    """(milliseconds, answer)."""
    started = time.perf_counter()
    answer = ask()
    return (time.perf_counter() - started) * 1e3, answer


def main() -> None:
    """Measures, prints and stores."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rows", default="100000,1000000", help="sizes, separated by commas (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="of each question (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the data (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for rows in map(int, given.rows.split(",")):
        data = Data.drawn(rows, given.seed)
        engines = {"hybridkg": Own(data), "duckdb": DuckDb(data)}
        print(f"\n{rows:,} rows, ms\n\n| operator | hybridkg | DuckDB | ratio |\n|---|--:|--:|--:|")
        for question in QUESTIONS:
            took: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(given.rounds + 1):
                answers = set()
                for name, engine in engines.items():
                    ms, answer = timed(getattr(engine, question))
                    took[name].append(ms)
                    answers.add(answer)
                assert len(answers) == 1, (question, answers)
            own, other = (median(took[name][1:]) for name in engines)
            print(f"| {question} | {own:.3g} | {other:.3g} | {own / other:.2f} |")
            figures.setdefault(str(rows), {})[question] = {"hybridkg": round(own, 3), "duckdb": round(other, 3)}
    if not given.no_record:
        import duckdb

        record(
            "column_operators",
            {"rounds": given.rounds, "seed": given.seed, "duckdb": duckdb.__version__, "ms": figures},
        )


if __name__ == "__main__":
    main()
