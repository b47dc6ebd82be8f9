"""The thirteen models of DBpedia-Entity v2 over a dataset made from dumps: what a topic takes, and in how much memory.

    python -m benchmarks.dbpedia_models DATASET --work DIR [--topics 100] [--record]

Asks what examples/experiments/dbpedia-entity-v2.toml asks, all of one index, for every n-th topic. Models that are
learned there have equal weights here, because the judgements tell nothing of entities that are made up; LTR is
learned. Made-up entities cannot tell which model is good either: only times are stored.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.record import record

ROWS = (
    "BM25", "PRMS", "MLM-all", "LM", "SDM", "LTR", "LM+ELR", "SDM+ELR", "MLM-CA", "BM25-CA", "FSDM", "BM25F-CA",
    "FSDM+ELR",
)  # fmt: skip

FIELDS = "names^1, categories^1, similar^1, attributes^1, related^1"

LEARNED = {
    "mlm": "mlm(mu=1500)",
    "bm25": "bm25(k1=1.2, b=0.8)",
    "fsdm": "fsdm(mu=1500)",
    "bm25f": "bm25f(form=galago)",
    "elr": "elr(base=fsdm, mu=1500, links=@links/tagme.tsv)",
}
"""What stands for a model that is learned."""

EXPERIMENT = Path(__file__).parents[1] / "examples/experiments/dbpedia-entity-v2.toml"


HEAD = """\
kb = "kb"
topics = "topics-some.tsv"
qrels = "qrels.txt"
folds = "folds.json"
measures = ["ndcg@10"]
"""


def experiment(text: str) -> str:
    """The experiment over one dataset, beside it, with nothing to tune; JSON's texts and lists are TOML's."""
    lines = [HEAD]
    for name, system in tomllib.loads(text)["systems"].items():
        lines.append(f"[systems.{json.dumps(name)}]")
        if system.get("hidden"):
            lines.append("hidden = true")
        if "learn" in system:
            lines.append(f"learn = {{ features = {json.dumps(system['learn']['features'])} }}")
            continue
        query = system.get("query") or _untuned(system["tune"]["model"])
        lines.append(f"query = {json.dumps(query.replace('@a/', '@'))}")
    return "\n".join(lines) + "\n"


def _untuned(model: str) -> str:
    fields = "" if model == "bm25" else f" ON ({FIELDS})"
    return f"SELECT ?e {{ ?e MATCH $text{fields} USING {LEARNED[model]} AS ?s }} RANK BY ?s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--record", action="store_true", help="stores what was measured")
    chosen = parser.parse_args()
    dataset = chosen.dataset.resolve()
    chosen.work.mkdir(parents=True, exist_ok=True)
    for name in ("kb", "folds.json", "qrels.txt"):
        link = chosen.work / name
        if not link.exists():
            link.symlink_to(dataset / name)
    lines = (dataset / "topics-stopped.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    step = max(1, len(lines) // chosen.topics)
    (chosen.work / "topics-some.tsv").write_text("".join(lines[::step][: chosen.topics]), encoding="utf-8")
    (chosen.work / "models.toml").write_text(experiment(EXPERIMENT.read_text(encoding="utf-8")), encoding="utf-8")
    began = time.perf_counter()
    work = chosen.work.resolve()
    # In the folder of the dataset, where files that queries name are looked for.
    subprocess.run([sys.executable, "-m", "hybridkg", "run", str(work / "models.toml")], check=True, cwd=dataset)
    minutes = (time.perf_counter() - began) / 60
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    manifest = json.loads((chosen.work / "models.results/manifest.json").read_text(encoding="utf-8"))
    figures: dict[str, Any] = {"minutes": round(minutes, 1), "most_megabytes": most, "milliseconds": {}}
    for name in ROWS:
        topics = manifest["systems"][name].get("topics") or {}
        times = sorted(one["ms"] for one in topics.values() if one.get("ms") is not None)
        if times:
            p90 = times[int(0.9 * (len(times) - 1))]
            figures["milliseconds"][name] = {
                "topics": len(times),
                "median": round(median(times), 1),
                "p90": round(p90, 1),
            }
    if chosen.record:
        kept = {"entities": len_of(dataset), "topics": min(chosen.topics, len(lines)), "depth": manifest["depth"]}
        record("dbpedia_models", {**kept, **figures})
    else:
        print(json.dumps(figures, indent=2))


def len_of(dataset: Path) -> int:
    """Entities of a dataset."""
    return int(tomllib.loads((dataset / "dataset.toml").read_text(encoding="utf-8"))["counts"]["entities"])


if __name__ == "__main__":
    main()
