"""What a query costs beside its own work, once its text is known: parameters put in, and everything around the run.

    python -m benchmarks.prepared

Each query of the list is asked warm, RUNS times, with other values for its parameters each time and with the same.
`fill` is the query and its logical plan for new values; `full` is the same by parse, check, bind and rewrite;
`around` is kb.query without the choice of a plan and without the run. Microseconds, medians and the 10th
percentile, which a busy machine disturbs less. Required: fill under 100 us, around under 150 us.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
RUNS = 1000
PREFIX = "PREFIX f: <http://example.org/films/> "
QUERIES = {
    "one MATCH": "SELECT ?film ?s { ?film MATCH $words AS ?s } RANK BY ?s LIMIT 10",
    "two hops and a filter": PREFIX + "SELECT ?film ?s { ?film MATCH $words AS ?s . ?film f:director ?d . "
    "?film f:year ?y FILTER(?y > $year) } RANK BY ?s LIMIT 10",
    "optional, union, two texts": PREFIX + "SELECT ?film ?s ?t { { ?film MATCH $words AS ?s } UNION "
    "{ ?film f:director ?d . ?d MATCH $words AS ?t } OPTIONAL { ?film f:year ?y FILTER(?y > $year) } } "
    "RANK BY ?s + 0.5 * ?t LIMIT 10",
    "no text": PREFIX + "SELECT ?film { ?film f:year $year }",
}


def values(text: str, numbers: Iterator[int]) -> dict[str, Any]:
    """Parameters that no earlier query had."""
    n = next(numbers)
    return {name: value for name, value in (("words", f"space crew{n}"), ("year", n)) if f"${name}" in text}


def microseconds(action: Callable[[], object], runs: int = RUNS) -> dict[str, float]:
    """Median and 10th percentile of warm runs."""
    times = []
    for _ in range(runs + 50):
        started = time.perf_counter_ns()
        action()
        times.append((time.perf_counter_ns() - started) / 1e3)
    return summary(times[50:])


def summary(times: list[float]) -> dict[str, float]:
    return {"median_us": round(statistics.median(times), 1), "p10_us": round(sorted(times)[len(times) // 10], 1)}


def around(kb: Any, text: str, parameters: Callable[[], dict[str, Any]]) -> dict[str, float]:
    """kb.query without `choose` and without the run of the plan."""
    import hybridkg.kb.query_session as module

    inside = 0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal inside
            started = time.perf_counter_ns()
            try:
                return function(*arguments)
            finally:
                inside += time.perf_counter_ns() - started

        return call

    times = []
    with (
        patch.object(module, "choose", timed(module.choose)),
        patch.object(module.QuerySession, "run", timed(module.QuerySession.run)),
    ):
        for _ in range(RUNS + 50):
            given, inside = parameters(), 0
            started = time.perf_counter_ns()
            kb.query(text, given)
            times.append((time.perf_counter_ns() - started - inside) / 1e3)
    return summary(times[50:])


def costs(kb: Any, text: str) -> dict[str, Any]:
    """Every figure of one query."""
    from hybridkg.kb.parsed_query import ParsedQuery

    numbers = itertools.count()
    known = ParsedQuery(text)

    def fill() -> None:
        request = known.request(values(text, numbers))
        _ = request.logical

    def full() -> None:
        _ = ParsedQuery(text)._planned(values(text, numbers), None).logical

    same = values(text, numbers)
    return {
        "fill": microseconds(fill),
        "full": microseconds(full, RUNS // 5),
        "around, other values": around(kb, text, lambda: values(text, numbers)),
        "around, same values": around(kb, text, lambda: same),
        "whole, other values": microseconds(lambda: kb.query(text, values(text, numbers))),
        "whole, same values": microseconds(lambda: kb.query(text, same)),
    }


def main() -> None:
    from hybridkg import KnowledgeBase

    with tempfile.TemporaryDirectory() as folder:
        kb = KnowledgeBase.create(Path(folder) / "films.kb")
        kb.load(ROOT / "examples" / "films.ttl", index=True)
        figures = {name: costs(kb, text) for name, text in QUERIES.items()}
        kb.close()
    print(json.dumps(figures, indent=1))
    record("prepared", figures)


if __name__ == "__main__":
    main()
