"""What a query costs before it runs: the parser's tables, then parse, check, plan and warnings of every example.

    python -m benchmarks.language

Medians of 200 warm runs in one process; the tables are read in new processes, once from the cache and once
built anew. Required: parse + check + plan of a 10-line query under 3 ms, tables from the cache under 50 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
RUNS = 200
LOADING = """
import time
from hybridkg.query import tables
started = time.perf_counter()
tables.load()
print(time.perf_counter() - started)
"""


def median_ms(action: Callable[[], object]) -> float:
    """The median of RUNS runs after one that warms up."""
    action()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return round(statistics.median(times) * 1e3, 3)


def table_loading_ms() -> dict[str, float]:
    """Reading the tables in a new process: without a cache, and with one; medians of 7."""
    found: dict[str, list[float]] = {"built": [], "from_cache": []}
    for _ in range(7):
        with tempfile.TemporaryDirectory() as home:
            for kind in ("built", "from_cache"):
                environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"}
                done = subprocess.run(
                    [sys.executable, "-c", LOADING], check=True, capture_output=True, text=True, env=environment
                )
                found[kind].append(float(done.stdout))
    return {kind: round(statistics.median(times) * 1e3, 1) for kind, times in found.items()}


def costs(text: str) -> dict[str, float]:
    """ms of each step for one query."""
    from hybridkg.kb.parsed_query import ParsedQuery
    from hybridkg.query.checks.check import check
    from hybridkg.query.parser import parse
    from hybridkg.query.warnings import advise

    query = parse(text)
    return {
        "lines": len(text.splitlines()),
        "parse": median_ms(lambda: parse(text)),
        "check": median_ms(lambda: check(query)),
        "parse_check_plan": median_ms(lambda: ParsedQuery(text).request().logical),
        "warnings": median_ms(lambda: advise(query)),
    }


def main() -> None:
    from hybridkg.query.diagnostics import HELP

    examples = sorted((ROOT / "examples").rglob("*.hq"))
    figures = {
        "tables_ms": table_loading_ms(),
        "queries_ms": {path.relative_to(ROOT / "examples").as_posix(): costs(path.read_text()) for path in examples},
        "help_entries": len(HELP),
        "malformed_examples": sum(len(entry.examples) for entry in HELP),
    }
    slowest = max(figures["queries_ms"].values(), key=lambda one: one["parse_check_plan"])
    figures["slowest_ms"] = slowest["parse_check_plan"]
    print(json.dumps({name: figures[name] for name in ("tables_ms", "slowest_ms", "help_entries")}, indent=1))
    record("language", figures)


if __name__ == "__main__":
    main()
