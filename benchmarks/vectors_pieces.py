"""Several vectors of an entity: what chunks and fields do for the ranking, and what an exact search over them takes.

    python -m benchmarks.vectors_pieces [PART ...] [--work FOLDER] [--encoders NAME,...] [--collections NAME,...]
                                        [--entities N] [--no-record]

The parts:
    exact      the best ten of entities with one to nine vectors each, by aggregate, beside as many plain vectors
    quality    NEAR over whole entities, chunks and fields, by aggregate, on judged collections, with paired tests
               against whole entities; what a work folder holds is not encoded again
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models_figures import SEED, compared, evaluated, means
from benchmarks.models_systems import Collection, collections
from benchmarks.record import record
from benchmarks.vectors import REPEATS, K, Made, encoders, set_config, times
from hybridkg import KnowledgeBase
from hybridkg.config.settings import Config, EncodingSettings
from hybridkg.evaluation.run import Run
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index.aggregates import BEST_OF
from hybridkg.vector.index.codes import KERNEL as CODES
from hybridkg.vector.index.flat import Flat
from hybridkg.vector.index.flat_files import FlatWriter
from hybridkg.vector.index.similarity import KERNEL

DIMENSIONS = 384

WHATS = {
    "entity": EncodingSettings(),
    **{f"chunks, {name}": EncodingSettings(what="chunks", aggregate=name) for name in BEST_OF},
    **{f"fields, {name}": EncodingSettings(what="fields", aggregate=name) for name in BEST_OF},
}

NEAR = "SELECT ?x { ?x NEAR $text AS ?v } RANK BY ?v"


def exact(work: Path, entities: int) -> dict[str, Any]:
    """Milliseconds of the best ten: of all, of a tenth, and of the complete relation; five vectors an entity."""
    random = np.random.default_rng(SEED)
    ids = np.repeat(np.arange(entities, dtype=np.uint32), random.integers(1, 10, entities))
    assert KERNEL.load() is not None
    assert CODES.load() is not None
    queries = [VectorQuery(vector=tuple(map(float, random.standard_normal(DIMENSIONS)))) for _ in range(REPEATS)]
    among = np.sort(random.choice(entities, entities // 10, replace=False)).astype(np.uint32)
    found: dict[str, Any] = {"entities": entities, "vectors": len(ids)}
    for name in ("plain", *BEST_OF):
        folder = work / name
        folder.mkdir(parents=True, exist_ok=True)
        draw = np.random.default_rng(SEED)
        encoding = EncodingSettings() if name == "plain" else EncodingSettings(what="chunks", aggregate=name)
        with FlatWriter(folder, Made(DIMENSIONS), encoding=encoding) as writer:
            for first in range(0, len(ids), 50_000):
                own = ids[first : first + 50_000]
                vectors = unit(draw.standard_normal((len(own), DIMENSIONS), dtype=np.float32))
                rows = np.arange(first, first + len(own), dtype=np.uint32)
                writer.add(rows if name == "plain" else own, vectors, None, np.stack([rows, rows + 1], axis=1))
            writer.finish("lsa")
        index = Flat(folder, Config()).open(folder, lambda node: None, lambda some: some)
        taking_part = np.flatnonzero(np.isin(ids, among)).astype(np.uint32) if name == "plain" else among
        index.topk(queries[0], K)  # the pages of the file
        found[name] = {
            "all": times(queries, lambda query, index=index: index.topk(query, K)),
            "a tenth": times(queries, lambda query, index=index, some=taking_part: index.topk(query, K, some)),
            "estimates": times(queries[:5], index.estimates),
            "complete relation": times(queries[:5], index.score_all),
        }
        print(name, found[name], flush=True)
        shutil.rmtree(folder)
    return found


def quality(collection: Collection, name: str, encoder: str) -> dict[str, Any]:
    """NEAR with one encoder, over what has a vector in turn."""
    folder = collection.folder / f"kb-{name}-pieces"
    if not folder.exists():
        encoded = collection.folder / f"kb-{name}"
        shutil.copytree(encoded if encoded.exists() else collection.folder / "kb", folder)
    values, vectors = {}, {}
    for label, encoding in WHATS.items():
        set_config(folder, encoder, encoding)
        with KnowledgeBase.open(folder) as kb:
            started = time.process_time()
            kb.index()
            assert kb._snapshot.vectors is not None
            vectors[label] = kb._snapshot.vectors.about() | {"index_cpu_s": round(time.process_time() - started)}
            started = time.thread_time()
            values[label] = evaluated(collection, topics_run(collection, kb, label, NEAR))
            took = (time.thread_time() - started) / len(collection.topics.texts) * 1e3
        print(collection.name, name, label, means(values[label]), vectors[label], f"{took:.1f} ms", flush=True)
    return {
        "vectors": vectors,
        "means": {label: means(own) for label, own in values.items()},
        "against_entity": compared(values),
        "settings": {label: asdict(own) for label, own in WHATS.items()},
    }


def topics_run(collection: Collection, kb: KnowledgeBase, name: str, query: str) -> Run:
    """What a query finds for each topic, 1,000 rows at most."""
    prepared = kb.prepare(query)
    rankings = {}
    for topic, text in collection.topics.texts.items():
        result = prepared.query({"text": text}, limit=1_000)
        rankings[topic] = tuple((str(row["x"]), row.rank_score) for row in result)
    return Run(name, rankings)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vectors_pieces", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="exact, quality; default: all")
    parser.add_argument("--work", type=Path, help="keeps collections and knowledge bases here (default: nowhere)")
    parser.add_argument("--encoders", default="lsa,minilm", help="lsa, minilm, model2vec (default: %(default)s)")
    parser.add_argument("--collections", default="cranfield", help="default: %(default)s")
    parser.add_argument("--entities", type=int, default=100_000, help="made-up ones (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    parts = options.parts or ["exact", "quality"]
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        figures: dict[str, Any] = {"load": [round(load, 2) for load in os.getloadavg()]}
        if "exact" in parts:
            figures["exact"] = exact(work / "vectors-pieces", options.entities)
        if "quality" in parts:
            figures["quality"] = {
                collection.name: {
                    name: quality(collection, name, encoders()[name]) for name in options.encoders.split(",")
                }
                for collection in collections(work, tuple(options.collections.split(",")))
            }
    if not options.no_record:
        record("vectors_pieces", figures, seed=SEED)


if __name__ == "__main__":
    main()
