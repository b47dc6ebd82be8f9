"""End-to-end loading rates: from the call to the durable switch of CURRENT, checksums and fsync included.

    python -m benchmarks.loading [--statements 600000] [--rounds 3]

Writes benchmarks/results/loading.json. Required: 100,000 triples/s without blank nodes, 60,000 with.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.record import record

SEED = 20261121
CASES = {
    "N-Triples": ("a.nt", False, False),
    "N-Triples, blank nodes": ("b.nt", True, False),
    "N-Quads in 5 graphs": ("c.nq", False, True),
    "N-Quads in 5 graphs, blank nodes": ("d.nq", True, True),
    "Turtle .gz": ("e.ttl.gz", False, False),
    "Turtle .gz, blank nodes": ("f.ttl.gz", True, False),
}


def lines(n: int, *, blank: bool, graphs: bool) -> Iterator[str]:
    """`n` statements over n/6 subjects; with `blank`, a third of the subjects and a quarter of the objects."""
    rng = random.Random(SEED)
    for i in range(n):
        subject = f"<http://example.org/entity/{rng.randrange(n // 6)}>"
        if blank and i % 3 == 0:
            subject = f"_:b{rng.randrange(n // 6)}"
        match i % 4:
            case 0:
                target = f'"label of the thing number {rng.randrange(n)}"@en'
            case 1:
                target = f'"{rng.randrange(2000)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            case 2 if blank:
                target = f"_:b{rng.randrange(n // 6)}"
            case _:
                target = f"<http://example.org/entity/{rng.randrange(n // 6)}>"
        graph = f" <http://example.org/graph/{i % 5}>" if graphs else ""
        yield f"{subject} <http://example.org/p{rng.randrange(20)}> {target}{graph} .\n"


def write(folder: Path, n: int) -> None:
    """Writes the input of every case."""
    for name, blank, graphs in CASES.values():
        text = "".join(lines(n, blank=blank, graphs=graphs)).encode()
        (folder / name).write_bytes(gzip.compress(text, 6) if name.endswith("gz") else text)


def measure(path: Path) -> dict[str, float]:
    """One load into a new knowledge base; run in a process of its own, so that the memory is its own."""
    from hybridkg.store.generations.folder import Folder
    from hybridkg.store.loading import load

    with tempfile.TemporaryDirectory() as base:
        folder = Folder.create(Path(base) / "kb")
        start, cpu = time.perf_counter(), time.process_time()
        with folder.building() as building:
            count = load(building, [path])[0]
        seconds = time.perf_counter() - start
        return {
            "statements": count.statements,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
            "statements_per_second": round(count.statements / seconds),
            "disk_mb": round(folder.current().bytes() / 1e6, 1),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--statements", type=int, default=600_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one)))
        return
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as base:
        write(Path(base), chosen.statements)
        for case, (name, _, _) in CASES.items():
            command = [sys.executable, "-m", "benchmarks.loading", "--one", str(Path(base) / name)]
            rounds = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(chosen.rounds)
            ]
            rates = [found["statements_per_second"] for found in rounds]
            results[case] = {"median_statements_per_second": statistics.median(rates), "rounds": rounds}
            print(f"{case:34} {statistics.median(rates):>9,.0f} /s   {rates}", flush=True)
    record("loading", {"load_average": os.getloadavg(), "statements_per_s": results}, seed=SEED)


if __name__ == "__main__":
    main()
