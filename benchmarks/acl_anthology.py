"""The ACL Anthology end to end: convert, load, index, query; rates, peak memory, latencies, cold starts.

    python -m benchmarks.acl_anthology [SOURCE.tar.xz] [--keep FOLDER]

Every stage runs as its own process, so that its peak memory is its own.
Latencies are medians of 7 runs in one warm process; cold starts are medians
of 5 whole `hybridkg query` processes with the kernels compiled beforehand.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT.parent / "shared" / "data" / "acl-anthology" / "acl-anthology-2024-08-15.tar.xz"
TOP_10 = 'SELECT ?p ?s {{ ?p MATCH "{words}" AS ?s }} RANK BY ?s LIMIT 10'
WORDS = {
    "rare": "zeugma",
    "middle": "low-resource dialogue",
    "common": "language model translation",
    "six": "neural machine translation for low resource languages",
}


def stage(*command: str) -> dict[str, float]:
    """Runs a process; wall time in s, and its peak resident memory in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return {"seconds": round(time.perf_counter() - started, 2), "peak_mib": round(usage.ru_maxrss / 1024)}


def median_ms(run: Any, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append((time.perf_counter() - started) * 1e3)
    return round(statistics.median(times), 2)


def warm(kb_path: Path) -> dict[str, Any]:
    """Latencies in one process."""
    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open(kb_path)
    found: dict[str, Any] = {"top10_ms": {}, "example_ms": {}, "example_rows": {}, "reference_ms": {}}
    for _ in range(30):  # the compiled kernel takes over once enough postings have been read
        kb.query(TOP_10.format(words=WORDS["common"]))
    for name, words in WORDS.items():
        text = TOP_10.format(words=words)
        kb.query(text)
        found["top10_ms"][name] = median_ms(lambda text=text: kb.query(text), 7)
    examples = {path.stem: path.read_text() for path in sorted((ROOT / "examples" / "acl").glob("*.hq"))}
    for name, text in examples.items():
        found["example_rows"][name] = len(kb.query(text))
        found["example_ms"][name] = median_ms(lambda text=text: kb.query(text), 7)
    for name, text in examples.items():  # behind the others: it leaves a process of a gigabyte
        found["reference_ms"][name] = median_ms(lambda text=text: kb.query(text, strategy="reference"), 1)
    found["process_peak_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--keep", type=Path, help="folder for the files; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        triples, kb_path = folder / "acl.nt.gz", folder / "acl.kb"
        hybridkg = [sys.executable, "-m", "hybridkg"]
        figures: dict[str, Any] = {}
        figures["convert"] = stage(
            sys.executable, str(ROOT / "examples" / "acl_anthology.py"), str(arguments.source), str(triples)
        )
        figures["load"] = stage(*hybridkg, "load", str(kb_path), str(triples), "--no-index")
        figures["index"] = stage(*hybridkg, "index", str(kb_path), "--profile", "acl")
        from hybridkg import KnowledgeBase

        stats = KnowledgeBase.open(kb_path).stats()
        figures["triples"] = stats["triples"]
        figures["load"]["triples_per_s"] = round(stats["triples"] / figures["load"]["seconds"])
        figures["stats"] = {name: stats[name] for name in ("entities", "bytes", "fields")}
        figures["warm"] = warm(kb_path)
        query = [*hybridkg, "query", str(kb_path), TOP_10.format(words=WORDS["common"])]
        figures["cold_query_s"] = statistics.median(stage(*query)["seconds"] for _ in range(5))
        figures["help_s"] = statistics.median(stage(*hybridkg, "--help")["seconds"] for _ in range(5))
        figures["import_s"] = statistics.median(
            stage(sys.executable, "-c", "import hybridkg")["seconds"] for _ in range(5)
        )
        figures["import_knowledge_base_s"] = statistics.median(
            stage(sys.executable, "-c", "from hybridkg import KnowledgeBase")["seconds"] for _ in range(5)
        )
        figures["python_start_s"] = statistics.median(stage(sys.executable, "-c", "")["seconds"] for _ in range(5))
    record("acl_anthology", figures)


if __name__ == "__main__":
    main()
