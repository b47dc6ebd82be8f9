"""The thirteen models of DBpedia-Entity v2's Table 2 on what is at hand, and published runs measured again.

    python -m benchmarks.table2 /tmp/table2 --shared ../shared/data

makes the two samples of DBpedia (index A and B) and FB15k-237 with its 240 queries in the folder, where they are not
there yet, runs four of the experiments in examples/experiments, each with its report in NAME.results, and stores
their figures in benchmarks/results/table2.json. An interrupted run goes on. On two free cores: some 40 minutes, nearly
all of them for what is learned on FB15k-237.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.record import record

if TYPE_CHECKING:
    from hybridkg.evaluation.experiment import ExperimentOutcome

EXPERIMENTS = Path(__file__).parents[1] / "examples" / "experiments"
DBPEDIA = "dbpedia-entity-v2"

MADE = {
    "a": (DBPEDIA, "--dumps", "{shared}/dbpedia-rdf-samples", "--collection", f"{{shared}}/{DBPEDIA}", "--index", "A"),
    "b": (DBPEDIA, "--dumps", "{shared}/dbpedia-rdf-samples", "--collection", f"{{shared}}/{DBPEDIA}", "--index", "B"),
    "fb15k-dbpedia-entity": ("fb15k-dbpedia-entity", "--from", "{shared}"),
}
"""What `hybridkg dataset` makes."""

UNPACKED = {"geeer-runs": f"{DBPEDIA}/geeer-embert-runs.tar.xz", "elr-runs": f"{DBPEDIA}/elr-v1/runs.tar.xz"}

NAMES = {
    "published_runs_v2": "dbpedia-entity-v2-runs",
    "published_runs_v1": "dbpedia-entity-v1-runs",
    "sample": "dbpedia-entity-v2",
    "fb15k_237": "fb15k-table2",
}
"""Experiments, in the order in which they run, by their names in the results."""


def make(folder: Path, shared: Path) -> None:
    """Collections and runs, where they are not there yet."""
    for name, words in MADE.items():
        if not (folder / name).exists():
            command = [sys.executable, "-m", "hybridkg", "dataset", *words, "--out", str(folder / name)]
            subprocess.run([word.format(shared=shared) for word in command], check=True)
    for name, archive in UNPACKED.items():
        if not (folder / name).exists():
            with tarfile.open(shared / archive) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
                tar.extractall(folder / name)


def written(name: str, folder: Path, shared: Path) -> Path:
    """A copy of an experiment whose paths lead to what is in the folder."""
    text = (EXPERIMENTS / f"{name}.toml").read_text(encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(text.replace('"../../../shared/data/', f'"{shared}/').replace('"../../', '"'), encoding="utf-8")
    return path


def figures_of(outcome: ExperimentOutcome) -> dict[str, Any]:
    """What is stored of an experiment."""
    told = outcome.to_json()
    means, comparison = outcome.means(), outcome.comparison
    systems = {}
    for name, one in outcome.runs.items():
        latency, seconds = one.latency(), [own.get("cpu_seconds") for own in one.learned.values()]
        systems[name] = {
            **{measure: round(value, 4) for measure, value in means[name].items()},
            "ms_median": None if latency is None else round(latency[0], 1),
            "seconds": None if one.took is None else one.took.seconds,
            "cpu_seconds": None if one.took is None else one.took.cpu_seconds,
            "training_cpu_seconds": round(sum(seconds), 1) if seconds and None not in seconds else None,
        }
    return {
        "title": told["title"],
        "topics": told["topics"],
        "categories": {name: len(topics) for name, topics in outcome.report.groups().items()},
        "surroundings": outcome.surroundings,
        "systems": systems,
        "tests": None if comparison is None else comparison.method(),
        "against": outcome.baseline,
        "comparisons": [
            {
                "system": row.run,
                "measure": row.measure,
                "n": row.topics,
                **{key: round(getattr(row, key), 4) for key in ("difference", "low", "high", "effect")},
                **{key: float(f"{getattr(row, key):.2g}") for key in ("p", "holm_p")},
                "wins_ties_losses": f"{row.wins}/{row.ties}/{row.losses}",
            }
            for row in (() if comparison is None else comparison.comparisons)
        ],
        "verdicts": {
            verdict: sum(one["verdict"] == verdict for one in told["expected"]) for verdict in ("OK", "close", "off")
        },
        "expected": [
            {**one, "found": round(one["found"], 4)} for one in told["expected"]
        ],
        "notes": outcome.notes(),
    }  # fmt: skip


def main() -> None:
    """Makes, runs, stores."""
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.evaluation.experiment import Experiment
    from hybridkg.evaluation.experiment.report import write_report

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    folder, shared = given.folder.resolve(), given.shared.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    make(folder, shared)
    os.chdir(folder)  # where the experiment on DBpedia looks for its files of links
    figures = {}
    for name, file in NAMES.items():
        out = folder / f"{file}.results"
        experiment = Experiment.read(written(file, folder, shared))
        outcome = experiment.run(out, jobs=given.jobs, progress=TerminalProgress())
        write_report(outcome, out)
        figures[name] = figures_of(outcome)
        print(f"{file}: {out / 'report.html'}", file=sys.stderr)
    record("table2", figures, seed=0)


if __name__ == "__main__":
    main()
