"""Vectors: how quick an exact search is, and when lsa helps to rank.

    python -m benchmarks.vectors [PART ...] [--work FOLDER] [--vectors N] [--dimensions N] [--no-record]

The parts:
    exact      NEAR over made-up vectors, all of them and those of candidate sets; scores against float64 of numpy
    quality    text, lsa and their fusions on three judged collections, with paired tests

Quality does not depend on the machine. A fusion is the query that a user writes: NEAR and an OPTIONAL MATCH in RANK BY,
over every entity that has a vector.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models_figures import SEED, compared, evaluated, means
from benchmarks.models_systems import COLLECTIONS, Collection, collections
from benchmarks.record import record
from hybridkg.evaluation.run import Run
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.vector.codes import KERNEL as CODES
from hybridkg.vector.flat import FlatIndex, FlatWriter
from hybridkg.vector.lsa import unit
from hybridkg.vector.similarity import KERNEL

CANDIDATES = (100, 1_000, 10_000, 100_000)
REPEATS = 25
K = 10

QUERIES = {
    "text": "SELECT ?x { ?x MATCH $text AS ?t } RANK BY ?t",
    "lsa": "SELECT ?x { ?x NEAR $text AS ?v } RANK BY ?v",
    "rrf(text, lsa)": "SELECT ?x { ?x NEAR $text AS ?v OPTIONAL { ?x MATCH $text AS ?t } } RANK BY rrf(?t, ?v)",
    "rrf(text^4, lsa)": "SELECT ?x { ?x NEAR $text AS ?v OPTIONAL { ?x MATCH $text AS ?t } } RANK BY rrf(?t^4, ?v)",
    "minmax(text) + minmax(lsa)": (
        "SELECT ?x { ?x NEAR $text AS ?v OPTIONAL { ?x MATCH $text AS ?t } } RANK BY minmax(?t) + minmax(?v)"
    ),
}
"""What is asked; 1,000 rows at most."""


class _Made:
    """Stands for an encoder: the vectors are random."""

    name = "random"

    def __init__(self, dimensions: int):
        self.dimensions = dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Nobody asks for them: the vectors are drawn, not encoded."""
        raise NotImplementedError

    queries = passages


def exact(folder: Path, entities: int, dimensions: int) -> dict[str, Any]:
    """Milliseconds of the best 10, and how far similarities are from float64 sums."""
    random = np.random.default_rng(SEED)
    with FlatWriter(folder, _Made(dimensions)) as writer:
        for first in range(0, entities, 50_000):
            ids = np.arange(first, min(first + 50_000, entities), dtype=np.uint32)
            writer.add(ids, unit(random.standard_normal((len(ids), dimensions), dtype=np.float32)))
        writer.finish("lsa")
    index = FlatIndex(folder, lambda node: None, lambda ids: ids)
    assert KERNEL.load() is not None
    assert CODES.load() is not None
    queries = [
        VectorQuery(vector=tuple(map(float, random.standard_normal(dimensions).astype(np.float32))))
        for _ in range(REPEATS)
    ]
    index.topk(queries[0], K)  # the pages of the file
    found: dict[str, Any] = {
        "all": _times(queries, lambda query: index.topk(query, K)),
        "all, complete relation": _times(queries[:5], index.matching),
    }
    for size in CANDIDATES:
        among = np.sort(random.choice(entities, min(size, entities), replace=False)).astype(np.uint32)
        found[f"{size:,} candidates"] = _times(queries, lambda query, among=among: index.topk(query, K, among))
    return {"entities": entities, "dimensions": dimensions, "ms": found, "largest_error": _error(index, queries[0])}


def _times(queries: list[VectorQuery], ask: Callable[[VectorQuery], object]) -> dict[str, float]:
    times = []
    for query in queries:
        started = time.perf_counter()
        ask(query)
        times.append((time.perf_counter() - started) * 1e3)
    return {"p50": round(float(np.median(times)), 3), "p99": round(float(np.percentile(times, 99)), 3)}


def _error(index: FlatIndex, query: VectorQuery) -> float:
    ids, scores = index.topk(query, 1_000)
    wide = np.array(query.vector) / np.linalg.norm(query.vector)
    rows = index._vectors[ids][:, : len(wide)].astype(np.float64)
    return float(np.abs(rows @ wide.astype(np.float32).astype(np.float64) - scores).max())


def quality(collection: Collection) -> dict[str, Any]:
    """The systems of QUERIES on a judged collection, whose knowledge base gets vectors."""
    toml = collection.folder / "kb" / "kb.toml"
    if 'encoder = "lsa"' not in (text := toml.read_text()):
        lines = [line for line in text.splitlines() if not line.startswith("encoder")]
        toml.write_text("\n".join(['encoder = "lsa"', *lines, ""]))
    collection.kb.index()
    vectors = collection.kb.snapshot.vectors
    assert vectors is not None
    values, seconds = {}, {}
    for name, query in QUERIES.items():
        started = time.thread_time()
        values[name] = evaluated(collection, _run(collection, name, query))
        seconds[name] = round((time.thread_time() - started) / len(collection.topics.texts) * 1e3, 1)
        print(collection.name, name, means(values[name]), seconds[name], "ms", flush=True)
    return {
        "vectors": vectors.about(),
        "means": {name: means(own) for name, own in values.items()},
        "against_text": compared(values),
        "cpu_ms_per_topic": seconds,
    }


def _run(collection: Collection, name: str, query: str) -> Run:
    prepared = collection.kb.prepare(query)
    rankings = {}
    for topic, text in collection.topics.texts.items():
        result = prepared.query({"text": text}, limit=1_000)
        rankings[topic] = tuple((str(row["x"]), row.rank_score) for row in result)
    return Run(name, rankings)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="exact, quality; default: both")
    parser.add_argument("--work", type=Path, help="folder for vectors and collections; default: a temporary one")
    parser.add_argument("--vectors", type=int, default=500_000, help="made-up vectors (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, default=384, help="of them (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    parts = options.parts or ["exact", "quality"]
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        figures: dict[str, Any] = {"load": [round(load, 2) for load in os.getloadavg()]}
        if "exact" in parts:
            folder = work / "vectors"
            folder.mkdir(parents=True, exist_ok=True)
            figures["exact"] = exact(folder, options.vectors, options.dimensions)
            print(figures["exact"], flush=True)
        if "quality" in parts:
            figures["quality"] = {one.name: quality(one) for one in collections(work, COLLECTIONS)}
    if not options.no_record:
        record("vectors", figures, seed=SEED)


if __name__ == "__main__":
    main()
