"""Loading of a CSV file beside the same triples as N-Triples, and beside morph-kgc.

    python -m benchmarks.tables [--rows 1000000] [--rounds 3]

Ten columns: an identifier, two short texts, two integers, a decimal, a date, a boolean, one or two genres and a text
of 25 words; 12.5 triples a row. Each load makes a new knowledge base without indexes in a process of its own, from the
call to the durable switch of CURRENT. `parts` has the shares: reading the CSV, the guess, the triples as text, and
Oxigraph's bulk loader for the same text by itself, which no load can avoid. morph-kgc takes part where
HYBRIDKG_MORPH_KGC names its Python; it writes the triples of the saved mapping to a file.

Writes benchmarks/results/tables.json. Required: CSV in at most the time of N-Triples divided by 1.5, with a peak of
memory that is no more than 1.5 times that of N-Triples.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import record

SEED = 20261126
WORDS = 5_000
GENRES = ("comedy", "drama", "noir", "space opera", "war", "western")
HEADER = ("imdb_id", "title", "year", "runtime", "rating", "released", "director", "genres", "color", "plot")


def write_csv(path: Path, rows: int) -> None:
    """Writes the table."""
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdefghijklmnoprstu", k=rng.randint(3, 9))) for _ in range(WORDS)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i in range(rows):
            writer.writerow(
                (
                    f"tt{i:07d}",
                    " ".join(rng.choices(words, k=4)).title(),
                    rng.randint(1920, 2024),
                    rng.randint(60, 200),
                    f"{rng.random() * 10:.1f}",
                    f"{rng.randint(1920, 2024)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
                    " ".join(rng.choices(words, k=2)).title(),
                    "|".join(sorted(rng.sample(GENRES, rng.randint(1, 2)))),
                    rng.choice(("true", "false")),
                    " ".join(rng.choices(words, k=25)),
                )
            )


def write_ntriples(table: Path, path: Path, mapping: Path) -> int:
    """Writes the mapping of the table and its triples; returns their number."""
    from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources

    found, count = guess_mapping(table), 0
    found.save(mapping)
    with path.open("wb") as file:
        for source in table_sources(opened_tables([table]), found):
            for text, number in source.lines():
                file.write(text)
                count += number
    return count


def load(folder: Path, *inputs: Path, **options: Any) -> int:
    """The triples of a load without indexes."""
    from hybridkg.kb import KnowledgeBase

    with tempfile.TemporaryDirectory(dir=folder) as base, KnowledgeBase.create(Path(base) / "kb") as kb:
        return kb.load(*inputs, index=False, **options).triples


def read_csv(folder: Path) -> int:
    """The cells of the table, as text."""
    from hybridkg.tables.inputs import opened_tables

    (table,) = opened_tables([folder / "films.csv"])
    return sum(batch.rows * len(batch.columns) for batch in table.batches())


def guess(folder: Path) -> int:
    """The columns of a guess."""
    from hybridkg.tables.inputs import guess_mapping

    return len(guess_mapping(folder / "films.csv").tables[0].properties)


def triples_as_text(folder: Path) -> int:
    """The triples of the table, as text that nobody keeps."""
    from hybridkg.tables.inputs import opened_tables, table_sources
    from hybridkg.tables.yarrrml_reader import read_yarrrml

    sources = table_sources(opened_tables([folder / "films.csv"]), read_yarrrml(folder / "films.yml"))
    return sum(number for source in sources for _, number in source.lines())


def oxigraph_alone(folder: Path) -> int:
    """The bytes of the N-Triples through the writing threads of a load, without parser and without a generation."""
    from pyoxigraph import Store

    from hybridkg.store.rdf_io.part_writer import PartWriter

    size = 0
    with tempfile.TemporaryDirectory(dir=folder) as base:
        store = Store(base)
        with PartWriter(store) as writer, (folder / "films.nt").open("rb") as file:
            while lines := file.readlines(1 << 20):
                writer.add(b"".join(lines), len(lines))
                size += len(lines)
        store.optimize()
        store.flush()
        del writer, store
    return size


def morph_kgc(folder: Path) -> int:
    """The bytes of the file that morph-kgc writes."""
    from hybridkg.tables.morph_kgc import materialized

    with tempfile.TemporaryDirectory(dir=folder) as work:
        return materialized(folder / "films.yml", [], Path(work), "the benchmark").stat().st_size


CASES: dict[str, Callable[[Path], int]] = {
    "N-Triples": lambda folder: load(folder, folder / "films.nt"),
    "CSV": lambda folder: load(folder, folder / "films.csv"),
    "CSV, mapping given": lambda folder: load(folder, folder / "films.csv", mapping=folder / "films.yml"),
    "morph-kgc, to a file": morph_kgc,
}
PARTS: dict[str, Callable[[Path], int]] = {
    "reading the CSV": read_csv,
    "guess": guess,
    "triples as text": triples_as_text,
    "Oxigraph alone": oxigraph_alone,
}


def measure(case: str, folder: Path) -> dict[str, float]:
    """One case; run in a process of its own."""
    import hybridkg.kb.knowledge_base  # noqa: F401 - imports are no part of a load

    start = time.perf_counter()
    result = (CASES | PARTS)[case](folder)
    seconds = time.perf_counter() - start
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "result": result,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, 3),
        "peak_mb": round(max(own.ru_maxrss, children.ru_maxrss) / 1000),
    }


def run(case: str, folder: Path) -> dict[str, float]:
    """The figures of a case in a new process."""
    command = [sys.executable, "-m", "benchmarks.tables", "--case", case, "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {name: statistics.median(one[name] for one in runs) for name in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measure(arguments.case, arguments.folder)))
        return
    from hybridkg.tables.morph_kgc import interpreter

    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        write_csv(folder / "films.csv", arguments.rows)
        triples = write_ntriples(folder / "films.csv", folder / "films.nt", folder / "films.yml")
        bytes_of = {name: (folder / name).stat().st_size for name in ("films.csv", "films.nt")}
        names = [name for name in (*CASES, *PARTS) if name != "morph-kgc, to a file" or interpreter()]
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        for _ in range(arguments.rounds):  # in turn, so that a slow moment hits all of them
            for name in names:
                runs[name].append(run(name, folder))
    found = {name: medians(runs[name]) for name in names}
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(runs["N-Triples"], runs["CSV"], strict=True)]
    record(
        "tables",
        {
            "rows": arguments.rows,
            "triples": triples,
            "rounds": arguments.rounds,
            "bytes": bytes_of,
            "loads": {name: found[name] for name in names if name in CASES},
            "parts": {name: found[name] for name in names if name in PARTS},
            "ntriples_seconds_by_csv_seconds": {
                "median": round(statistics.median(ratios), 3),
                "least": round(min(ratios), 3),
                "most": round(max(ratios), 3),
                "required": 1.5,
            },
        },
        seed=SEED,
    )


if __name__ == "__main__":
    main()
