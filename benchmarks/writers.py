"""A rank-free answer as JSON, from the query to the last byte: hybridkg beside Oxigraph's own query and serialiser.

    python -m benchmarks.writers [--rows 1000000]

Each side runs in processes of its own, by turns, over the same store; the output goes to /dev/null. Required: at most
2 times Oxigraph's time, and memory that does not grow with the rows. Oxigraph's own memory grows with the part of the
store that it has read, because RocksDB caches it, so two figures show the growth with the rows: the memory of hybridkg
beyond Oxigraph's for a tenth of the rows and for all, and that for three times the rows of the same triples.
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
REPEATS = 3
"""Times that the last query returns every row."""

MOST_TIMES = 2.0
MOST_GROWTH = 1.1
MOST_GROWTH_MB = 5.0


def query(rows: int, repeats: int) -> str:
    """The query for a number of triples, each returned `repeats` times."""
    each = "{ ?s <http://e/p> ?o }"
    return f"SELECT ?s ?o {{ {' UNION '.join([each] * repeats)} }} LIMIT {rows * repeats}"


def write(engine: str, folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """Seconds, those of the processor among them, and peak megabytes of one answer, in this process."""
    with Path("/dev/null").open("w", encoding="utf-8") as out:
        if engine == "hybridkg":
            from hybridkg import KnowledgeBase

            kb = KnowledgeBase.open(folder)
            started, processor = time.perf_counter(), time.process_time()
            with kb.stream(query(rows, repeats)) as result:
                result.write(out, "json")
        else:
            import pyoxigraph

            current = (folder / "CURRENT").read_text().strip()
            store = pyoxigraph.Store.read_only(str(folder / current / "graph"))
            started, processor = time.perf_counter(), time.process_time()
            solutions = store.query(query(rows, repeats))
            assert isinstance(solutions, pyoxigraph.QuerySolutions)
            solutions.serialize(out.buffer, format=pyoxigraph.QueryResultsFormat.JSON)
        seconds, processor = time.perf_counter() - started, time.process_time() - processor
    # Not ru_maxrss, which begins with that of the parent.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(processor, 3),
        "mb": round(int(status["VmHWM"].split()[0]) / 1024, 1),
    }


def measured(engine: str, folder: Path, rows: int, repeats: int = 1) -> dict[str, float]:
    """`write` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.writers", "--one", engine, str(folder)]
    command += ["--rows", str(rows), "--repeats", str(repeats)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    """Makes a store of one triple a row, and measures both sides with a tenth of the rows, with all, and with more."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writers")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(write(options.one[0], Path(options.one[1]), options.rows, options.repeats)))
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
                    key: statistics.median(turn[engine][key] for turn in turns)
                    for key in ("seconds", "cpu_seconds", "mb")
                }
        for engine in ("hybridkg", "oxigraph"):
            figures[f"{engine}, {REPEATS * options.rows:,} rows"] = measured(engine, folder, options.rows, REPEATS)
    more, large, small = (f"{rows:,} rows" for rows in (REPEATS * options.rows, options.rows, options.rows // 10))
    times, cpu_times = (
        figures[f"hybridkg, {large}"][key] / figures[f"oxigraph, {large}"][key] for key in ("seconds", "cpu_seconds")
    )
    beyond = {size: figures[f"hybridkg, {size}"]["mb"] - figures[f"oxigraph, {size}"]["mb"] for size in (large, small)}
    growth = figures[f"hybridkg, {more}"]["mb"] / figures[f"hybridkg, {large}"]["mb"]
    verdicts = [
        {"what": what, "figure": round(figure, 2), "bound": bound, "met": figure <= bound}
        for what, figure, bound in (
            (f"times Oxigraph's time, {large}", times, MOST_TIMES),
            (f"times Oxigraph's processor time, {large}", cpu_times, MOST_TIMES),
            (f"MB beyond Oxigraph, {large} - {small}", beyond[large] - beyond[small], MOST_GROWTH_MB),
            (f"peak memory, {more} / {large}", growth, MOST_GROWTH),
        )
    ]
    print(json.dumps({**figures, "verdicts": verdicts}, indent=1))
    record("writers", {**figures, "verdicts": verdicts})


if __name__ == "__main__":
    main()
