"""What tuning is worth, and what it costs: cross-validated bm25f, mlm and fsdm against flat bm25 and the defaults.

    python -m benchmarks.tuning FB15K CACM [--models bm25f,mlm,fsdm]

Both are folders made by `hybridkg dataset`. Every topic is ranked by a model that has not seen it. On FB15k-237 a
model is learned for each category and fold, as in DBpedia-Entity v2; CACM has no categories. Times are of CPU, which
does not depend on what else the machine does; wall-clock seconds of the whole stand beside them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.record import record
from hybridkg.evaluation.categories import read_categories
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import read_qrels
from hybridkg.evaluation.ranking import query_of, rank
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.significance import bootstrap_interval, holm, randomisation_test, t_test
from hybridkg.evaluation.topics import read_topics
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.evaluation.tuning.training import Settings
from hybridkg.evaluation.tuning.tune import Tuning
from hybridkg.interfaces.text_index import TextQuery
from hybridkg.kb import KnowledgeBase

MEASURES = ("ndcg@10", "map@100")
RESTARTS = {"bm25f": 5, "mlm": 3, "fsdm": 1}
FIXED = {"bm25f": {"form": "galago"}}


def measure(folder: Path, models: list[str], kept: Path) -> dict[str, Any]:
    """Figures of one collection."""
    topics, qrels = read_topics(folder / "topics.tsv"), read_qrels(folder / "qrels.txt")
    categories = read_categories(folder / "categories.tsv") if (folder / "categories.tsv").exists() else None
    measures = [parse_measure(name) for name in MEASURES]
    kb = KnowledgeBase.open(folder / "kb")

    def values(run: Run) -> dict[str, dict[str, float]]:
        return evaluate(qrels, run, measures)

    found: dict[str, Any] = {}
    flat = values(rank(kb, topics, TextQuery("", model="bm25")))
    systems = {"bm25": flat}
    for model in models:
        settings = Settings(model, fixed=FIXED.get(model, {}), restarts=RESTARTS[model])
        started, cpu = time.perf_counter(), time.process_time()
        tuning = Tuning(kb, topics, qrels, settings)
        folds = read_folds(folder / "folds.json", tuning.topics)
        report = tuning.run(folds, categories, jobs=2, keep=kept / f"{folder.name}-{model}")
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        systems[f"{model} default"] = values(rank(kb, topics, query_of(report.defaults)))
        systems[f"{model} tuned"] = values(tuning.ranked(report, model))
        learned = [outcome.learned for outcome in report.outcomes]
        found[model] = {
            "trainings": len(learned),
            "restarts": settings.restarts,
            "points": sum(one.evaluations for one in learned),
            "cpu_seconds_in_training": round(sum(one.cpu for one in learned), 1),
            "cpu_seconds_of_this_process": round(cpu, 1),
            "wall_seconds_of_this_process": round(wall, 1),
            "kept_from_before": sum(outcome.kept for outcome in report.outcomes),
            "training_ndcg@10": {
                "default": _weighted([(o.learned.default, len(o.training.training)) for o in report.outcomes]),
                "tuned": _weighted([(o.learned.value, len(o.training.training)) for o in report.outcomes]),
            },
        }
    return {
        "topics": len(qrels),
        "means": {name: {m: round(mean(value), 4) for m, value in system.items()} for name, system in systems.items()},
        "by_category": _by_category(systems, categories),
        "tuning": found,
        "differences": _differences(systems, models),
    }


def _weighted(pairs: list[tuple[float, int]]) -> float:
    return round(sum(value * n for value, n in pairs) / sum(n for _, n in pairs), 4)


def _by_category(systems: Any, categories: dict[str, str] | None) -> dict[str, Any]:
    groups = sorted(set((categories or {}).values()))
    return {
        group: {
            name: round(mean({t: v for t, v in s["ndcg@10"].items() if categories and categories[t] == group}), 4)
            for name, s in systems.items()
        }
        for group in groups
    }


def _differences(systems: Any, models: list[str]) -> list[dict[str, Any]]:
    """Tuned against flat bm25 and against its own defaults; Holm's correction over all of a collection."""
    pairs = [(f"{m} tuned", base, name) for m in models for base in ("bm25", f"{m} default") for name in MEASURES]
    rows = []
    for tuned, base, name in pairs:
        differences = [value - systems[base][name][t] for t, value in systems[tuned][name].items()]
        low, high = bootstrap_interval(differences)
        rows.append({
            "system": tuned, "against": base, "measure": name,
            "difference": round(sum(differences) / len(differences), 4),
            "interval_95": [round(low, 4), round(high, 4)],
            "better": sum(d > 0 for d in differences), "worse": sum(d < 0 for d in differences),
            "p_randomisation": randomisation_test(differences).p, "p_t_test": t_test(differences).p,
        })  # fmt: skip
    for row, corrected in zip(rows, holm([row["p_randomisation"] for row in rows]), strict=True):
        row["p_randomisation_holm"] = corrected
    return rows


def main() -> None:
    """Measures and stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--models", default="bm25f,mlm,fsdm")
    parser.add_argument("--keep", type=Path, help="folder of finished trainings, to go on with")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.keep or Path(scratch)
        record(
            "tuning",
            {folder.name: measure(folder, arguments.models.split(","), kept) for folder in arguments.folders},
            seed=0,
        )


if __name__ == "__main__":
    main()
