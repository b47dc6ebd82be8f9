"""Figures and bounds of the engine's benchmarks in two checkouts, measured in turns on one machine.

    git worktree add --detach /tmp/before COMMIT
    python -m benchmarks.before_after --before /tmp/before --scratch DIR [--turns 2] [--only prepared planner]

Each benchmark runs in a process of its own, in the older checkout and in this one by turns, with one Python. The result
has each figure of both, the ratio of their best turns, and each verdict of both. A verdict that is met before and not
after is a regression; the program then exits with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
RUNS = {
    "prepared": ("prepared", ["benchmarks.prepared"]),
    "planner": (
        "planner_small",
        ["benchmarks.planner", "--papers", "20000", "--cells", "6", "--record", "planner_small"],
    ),
    "planner_large": (
        "planner_large",
        ["benchmarks.planner", "--papers", "100000", "--cells", "6", "--record", "planner_large"],
    ),
    "text": (
        "text_small",
        [
            *("benchmarks.text", "--sizes", "500000", "--questions", "20", "--passes", "1", "--budget", "0.5"),
            *("--same-budget", "5", "--corpus", "--build", "--peers", "--open", "--memory", "--same", "--latency"),
            *("--report", "--record", "text_small"),
        ],
    ),
    "text_dbpedia": (
        "text_small",
        [
            *("benchmarks.text", "--sizes", "4600000", "--questions", "20", "--passes", "1", "--budget", "0.6"),
            *("--same-budget", "10", "--corpus", "--build", "--peers", "--open", "--memory", "--same", "--latency"),
            *("--report", "--record", "text_small"),
        ],
    ),
    "text_dbpedia_latency": (
        "text_small",
        [
            *("benchmarks.text", "--sizes", "4600000", "--questions", "20", "--passes", "1", "--budget", "0.6"),
            *("--latency", "--report", "--record", "text_small"),
        ],
    ),
    "hybrid": (
        "hybrid_small",
        [
            *("benchmarks.hybrid", "--sizes", "100000", "--every", "3", "--passes", "1", "--data", "--load", "--ask"),
            *("--report", "--record", "hybrid_small"),
        ],
    ),
    "hybrid_large": (
        "hybrid_small",
        [
            *("benchmarks.hybrid", "--sizes", "500000", "--engines", "hybridkg", "--data", "--load", "--ask"),
            *("--report", "--record", "hybrid_small"),
        ],
    ),
}
"""Benchmark -> (name of its stored result, how it is run)."""

WITH_SCRATCH = ("text", "text_dbpedia", "text_dbpedia_latency", "hybrid", "hybrid_large")


def run(checkout: Path, name: str, scratch: Path) -> dict[str, Any]:
    """The result that a benchmark stores when it runs in a checkout."""
    result, command = RUNS[name]
    # Both sides of `text` build the same bytes, so they share the corpus.
    own = scratch / (name.removesuffix("_latency") if name.startswith("text") else f"{name}-{checkout.name}")
    extra = (
        ["--scratch", str(own)] if name in WITH_SCRATCH else ["--data", str(own)] if name.startswith("planner") else []
    )
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    stored = checkout / "benchmarks" / "results" / f"{result}.json"
    subprocess.run(
        [sys.executable, "-m", *command, *extra], cwd=checkout, env=environment, check=True, stdout=sys.stderr
    )
    found: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8"))
    if result != name or name == "planner_large":  # such a run is no result of its own
        stored.unlink()
    return found


def numbers(found: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """(path, figure) of every time in a result; a text `median / P90` counts by its median."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key not in ("machine", "unit_costs", "prices", "data", "corpus"):
                yield from numbers(value, f"{path}/{key}" if path else key)
    elif isinstance(found, int | float) and not isinstance(found, bool) and path.endswith(("_us", "_ms", "/ms", "/us")):
        yield path, float(found)
    elif isinstance(found, list) and path.endswith(("/first", "/again")) and isinstance(found[0], float):
        yield f"{path}/median_ms", found[0]  # (median, P99) of a system in `hybrid`
    elif (
        isinstance(found, str)
        and "/again/" in path
        and (median := found.partition(" / ")[0]).replace(".", "").isdigit()
    ):
        yield path, float(median)


def verdicts(found: Any) -> Iterator[tuple[str, bool, str]]:
    """(what, whether it is met, as it is said) of every verdict in a result."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key == "verdicts" and isinstance(value, dict):
                yield from ((what, said.startswith("ok"), said) for what, said in value.items())
            elif key == "verdicts":
                yield from ((one["what"], one["met"], f"{one['figure']:g}, bound {one['bound']:g}") for one in value)
            else:
                yield from verdicts(value)


def compared(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """Both sides of a benchmark: best figures, their ratios, and verdicts that are met in any turn."""
    best = [{}, {}]  # type: list[dict[str, float]]
    met = [{}, {}]  # type: list[dict[str, tuple[bool, str]]]
    for side, turns in enumerate((before, after)):
        for turn in turns:
            for path, figure in numbers(turn):
                best[side][path] = min(figure, best[side].get(path, figure))
            for what, is_met, said in verdicts(turn):
                if what not in met[side] or is_met > met[side][what][0]:
                    met[side][what] = is_met, said
    figures = {
        path: {"before": figure, "after": best[1][path], "ratio": round(best[1][path] / figure, 3) if figure else None}
        for path, figure in best[0].items()
        if path in best[1]
    }
    judged = {what: {"before": met[0][what][1], "after": met[1][what][1]} for what in met[0] if what in met[1]}
    lost = [what for what in met[0] if what in met[1] and met[0][what][0] and not met[1][what][0]]
    return {"verdicts": judged, "lost": lost, "figures": figures}


def main() -> None:
    """Runs both sides by turns, and stores the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after")
    parser.add_argument("--before", type=Path, required=True, help="the older checkout")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for data and indexes")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=sorted(RUNS), default=sorted(RUNS))
    parser.add_argument("--record", default="before_after")
    options = parser.parse_args()
    sides = (options.before.resolve(), ROOT)
    commits = [
        subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=side, capture_output=True, text=True, check=True
        ).stdout.strip()
        for side in sides
    ]
    stored = ROOT / "benchmarks" / "results" / f"{options.record}.json"
    found: dict[str, Any] = {}
    if stored.exists():  # the benchmarks of earlier calls stay
        kept = json.loads(stored.read_text(encoding="utf-8"))
        found = {name: kept[name] for name in RUNS if name in kept}
    for name in options.only:
        turns: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
        for turn in range(options.turns):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                turns[side].append(run(sides[side], name, options.scratch))
        found[name] = {"before": commits[0], "after": commits[1], "turns": options.turns, **compared(*turns)}
        record(options.record, found)
    if lost := {name: found[name]["lost"] for name in options.only if found[name]["lost"]}:
        raise SystemExit(f"met before, not after: {lost}")


if __name__ == "__main__":
    main()
