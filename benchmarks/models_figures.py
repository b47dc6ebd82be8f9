"""What benchmarks/models.py says of runs: means, groups of topics, and paired tests against one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.models_systems import Collection
from hybridkg.evaluation.comparison import ComparisonReport, compare_values
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.run import Run

SEED = 20261121
MEASURES = ("map@100", "map@1000", "ndcg@10", "ndcg@100", "judged@10", "condensed-ndcg@10")
TESTED = ("ndcg@10", "map@100")

Values = Mapping[str, Mapping[str, float]]
"""measure -> topic -> value."""


def evaluated(collection: Collection, run: Run) -> dict[str, dict[str, float]]:
    """Every measure of a run."""
    return evaluate(collection.qrels, run, [parse_measure(name) for name in MEASURES])


def means(values: Values, topics: list[str] | None = None) -> dict[str, float]:
    """Means, rounded."""
    return {measure: round(mean(own, topics), 4) for measure, own in values.items()}


def compared(
    values: Mapping[str, Values], by: Mapping[str, str] | None = None, tested: tuple[str, ...] = TESTED
) -> dict[str, dict[str, Any]]:
    """Every system but the first against the first: `SYSTEM, MEASURE[, GROUP]` -> difference, interval, p-values."""
    small = {name: {measure: own[measure] for measure in tested} for name, own in values.items()}
    reports: dict[str, ComparisonReport] = {
        test: compare_values(small, categories=by, test=test, seed=SEED) for test in ("t", "randomisation")
    }
    rows = {}
    for t, r in zip(reports["t"].comparisons, reports["randomisation"].comparisons, strict=True):
        key = f"{r.run}, {r.measure}" + (f", {r.group}" if by is not None else "")
        rows[key] = {
            "topics": r.topics,
            "baseline": round(r.baseline_mean, 4),
            "mean": round(r.mean, 4),
            "difference": round(r.difference, 4),
            "interval_95": [round(r.low, 4), round(r.high, 4)],
            "p_t": t.p,
            "p_t_holm": t.holm_p,
            "p_randomisation": r.p,
            "p_randomisation_holm": r.holm_p,
            "better": r.wins,
            "same": r.ties,
            "worse": r.losses,
        }
    return rows


def by_category(collection: Collection, values: Mapping[str, Values]) -> dict[str, dict[str, dict[str, float]]]:
    """The means of every system for each category of topics."""
    categories = collection.categories or {}
    groups = {
        group: [topic for topic in collection.qrels.grades if categories.get(topic) == group]
        for group in sorted(set(categories.values()))
    }
    return {group: {name: means(own, topics) for name, own in values.items()} for group, topics in groups.items()}
