"""What a query costs beside its own work, once its text is known: parameters put in, and everything around the run.

    python -m benchmarks.prepared

Each query of the list is asked warm, RUNS times, with other values for its parameters each time and with the same.
`fill` is the query and its logical plan for new values; `full` is the same by parse, check, bind and rewrite;
`around` is kb.query without the choice of a plan and without the run. `known shape` is kb.query of a text that has not
been asked before, with constants in the text and names of variables of its own, of a shape that has; `new shape` is the
same after all caches of texts and plans have been emptied. Microseconds, medians and the 10th percentile, which a busy
machine disturbs less. Required: fill under 100 us, around under 150 us; over `whole, other values`: known shape at most
250 us, new shape at most 1,000 us.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
RUNS = 1000
LOADS_KERNELS = 500
"""Queries after which every kernel that they can use is being loaded."""
KERNELS_S = 120.0
"""Seconds to wait for kernels that are compiled or loaded in the background."""
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


def microseconds(
    action: Callable[..., object], runs: int = RUNS, before: Callable[[], object] | None = None
) -> dict[str, float]:
    """Median and 10th percentile of warm runs; `before` gives the argument of each, and is not timed."""
    times = []
    for _ in range(runs + 50):
        arguments = () if before is None else (before(),)
        started = time.perf_counter_ns()
        action(*arguments)
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
    from hybridkg.kb import shared_text
    from hybridkg.kb.parsed_query import ParsedQuery

    numbers = itertools.count()
    known = ParsedQuery(text)

    def fill() -> None:
        request = known.request(values(text, numbers))
        _ = request.logical

    def full() -> None:
        _ = ParsedQuery(text)._planned(values(text, numbers), None).logical

    def fresh() -> str:
        number = next(numbers)
        inline = text.replace("$words", f'"space crew{number}"').replace("$year", str(number))
        return re.sub(r"\?(\w+)", rf"?\g<1>{number}", inline)

    def forget() -> str:
        for cache in (shared_text._TEXTS, shared_text._FIXED, shared_text._SHARED):
            cache._items.clear()
        kb._session = None
        kb._current_session()
        return fresh()

    same = values(text, numbers)
    return {
        "fill": microseconds(fill),
        "full": microseconds(full, RUNS // 5),
        "around, other values": around(kb, text, lambda: values(text, numbers)),
        "around, same values": around(kb, text, lambda: same),
        "whole, other values": microseconds(lambda: kb.query(text, values(text, numbers))),
        "whole, same values": microseconds(lambda: kb.query(text, same)),
        "whole, known shape": microseconds(kb.query, before=fresh),
        "whole, new shape": microseconds(kb.query, RUNS // 5, before=forget),
    }


def verdicts(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """What is required of every query."""
    rows = []
    for what, bound, of in (
        ("fill, us", 100, lambda own: own["fill"]["median_us"]),
        (
            "around, us",
            150,
            lambda own: max(own[f"around, {which} values"]["median_us"] for which in ("other", "same")),
        ),
        ("known shape over prepared, us", 250, lambda own: over(own, "whole, known shape")),
        ("new shape over prepared, us", 1_000, lambda own: over(own, "whole, new shape")),
    ):
        name, own = max(figures.items(), key=lambda item: of(item[1]))
        figure = round(of(own), 1)
        rows.append({"what": f"{what}: {name}", "figure": figure, "bound": bound, "met": figure <= bound})
    return rows


def over(own: dict[str, Any], which: str) -> float:
    return float(own[which]["median_us"] - own["whole, other values"]["median_us"])


def wait_for_kernels(kb: Any) -> None:
    """Asks each query until the threads that load kernels have ended: they compete for the interpreter's lock."""
    numbers = itertools.count()
    for text in QUERIES.values():
        for _ in range(LOADS_KERNELS):
            kb.query(text, values(text, numbers))
    deadline = time.monotonic() + KERNELS_S
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.05)


def main() -> None:
    from hybridkg import KnowledgeBase

    with tempfile.TemporaryDirectory() as folder:
        kb = KnowledgeBase.create(Path(folder) / "films.kb")
        kb.load(ROOT / "examples" / "films.ttl", index=True)
        wait_for_kernels(kb)
        figures = {name: costs(kb, text) for name, text in QUERIES.items()}
        kb.close()
    judged = verdicts(figures)
    print(json.dumps({**figures, "verdicts": judged}, indent=1))
    record("prepared", {**figures, "verdicts": judged})


if __name__ == "__main__":
    main()
