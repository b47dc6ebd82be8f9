"""How long it takes to tune BM25F-CA: five fields, five folds, four categories, on FB15k-237.

    python -m benchmarks.tuning [--work FOLDER]

20 trainings, each with five climbs over ten parameters, with two at once; nothing is kept from before. What tuning
is worth is measured by benchmarks/models.py. The collection is made by `hybridkg dataset` in --work, or found there.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.models_systems import Collection, collections
from benchmarks.record import record
from hybridkg.evaluation.tuning.folds import read_folds
from hybridkg.evaluation.tuning.training import Settings
from hybridkg.evaluation.tuning.tune import Tuning

SETTINGS = Settings("bm25f", fixed={"form": "galago"})


def measure(collection: Collection) -> dict[str, Any]:
    """Seconds from the open knowledge base to the learned parameters, and what they are worth."""
    load = os.getloadavg()[0]
    started, cpu = time.perf_counter(), time.process_time()
    tuning = Tuning(collection.kb, collection.topics, collection.qrels, SETTINGS)
    folds = read_folds(collection.folder / "folds.json", tuning.topics)
    report = tuning.run(folds, collection.categories, jobs=2)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    told = report.to_json()
    return {
        "topics": len(tuning.topics),
        "trainings": len(report.outcomes),
        "restarts": SETTINGS.restarts,
        "points": sum(outcome.learned.evaluations for outcome in report.outcomes),
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "load_average_before": round(load, 1),
        "test_ndcg@10": told["test"],
    }


def main() -> None:
    """Measures and stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="folder of the collection; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = {c.name: measure(c) for c in collections(arguments.work or Path(scratch), ("fb15k-dbpedia-entity",))}
    record("tuning", found, seed=SETTINGS.seed)
    print(found)


if __name__ == "__main__":
    main()
