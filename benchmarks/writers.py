"""A rank-free answer as JSON, from the query to the last byte: hybridkg beside Oxigraph's own query and serialiser.

    python -m benchmarks.writers [--rows 1000000]

Each side runs in processes of its own, by turns, over the same store; the output goes to /dev/null. Required: at most
2 times Oxigraph's time, and memory that does not grow with the rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.record import record

TURNS = 3
QUERY = "SELECT ?s ?o {{ ?s <http://e/p> ?o }} LIMIT {rows}"
MOST_TIMES = 2.0
MOST_GROWTH = 1.1


def write(engine: str, folder: Path, rows: int) -> dict[str, float]:
    """Seconds and peak megabytes of one answer, in this process."""
    with Path("/dev/null").open("w", encoding="utf-8") as out:
        if engine == "hybridkg":
            from hybridkg import KnowledgeBase
            from hybridkg.results.formats.sparql_json import write_json

            kb = KnowledgeBase.open(folder)
            started = time.perf_counter()
            write_json(kb.query(QUERY.format(rows=rows), timeout=0, max_rows=10 * rows, max_megabytes=20_000), out)
        else:
            import pyoxigraph

            current = (folder / "CURRENT").read_text().strip()
            store = pyoxigraph.Store.read_only(str(folder / current / "graph"))
            started = time.perf_counter()
            solutions = store.query(QUERY.format(rows=rows))
            assert isinstance(solutions, pyoxigraph.QuerySolutions)
            solutions.serialize(out.buffer, format=pyoxigraph.QueryResultsFormat.JSON)
        seconds = time.perf_counter() - started
    # Not ru_maxrss, which begins with that of the parent.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {"seconds": round(seconds, 3), "mb": round(int(status["VmHWM"].split()[0]) / 1024, 1)}


def measured(engine: str, folder: Path, rows: int) -> dict[str, float]:
    """`write` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.writers", "--one", engine, str(folder), "--rows", str(rows)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    """Makes a store of one triple a row, and measures both sides with a tenth of the rows and with all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writers")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(write(options.one[0], Path(options.one[1]), options.rows)))
        return
    from hybridkg import KnowledgeBase

    with tempfile.TemporaryDirectory() as temporary:
        path, folder = Path(temporary) / "rows.nt", Path(temporary) / "kb"
        with path.open("w") as out:
            out.writelines(f'<http://e/s{n}> <http://e/p> "the text of row {n}" .\n' for n in range(options.rows))
        KnowledgeBase.create(folder).load(path, index=False)
        figures: dict[str, dict[str, float]] = {}
        for rows in (options.rows // 10, options.rows):
            turns = [
                {engine: measured(engine, folder, rows) for engine in ("hybridkg", "oxigraph")} for _ in range(TURNS)
            ]
            for engine in ("hybridkg", "oxigraph"):
                figures[f"{engine}, {rows:,} rows"] = {
                    key: statistics.median(turn[engine][key] for turn in turns) for key in ("seconds", "mb")
                }
    large, small = (f"{options.rows:,} rows", f"{options.rows // 10:,} rows")
    times = figures[f"hybridkg, {large}"]["seconds"] / figures[f"oxigraph, {large}"]["seconds"]
    growth = figures[f"hybridkg, {large}"]["mb"] / figures[f"hybridkg, {small}"]["mb"]
    verdicts = [
        {"what": what, "figure": round(figure, 2), "bound": bound, "met": figure <= bound}
        for what, figure, bound in (
            (f"times Oxigraph's time, {large}", times, MOST_TIMES),
            (f"peak memory, {large} / {small}", growth, MOST_GROWTH),
        )
    ]
    print(json.dumps({**figures, "verdicts": verdicts}, indent=1))
    record("writers", {**figures, "verdicts": verdicts})


if __name__ == "__main__":
    main()
