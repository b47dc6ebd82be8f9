"""The graph over vectors: how quick and how complete it is, without and with filters, beside LanceDB and Kuzu.

    python -m benchmarks.vectors_filtered [PART ...] [--full] [--work FOLDER] [--peers PYTHON] [--no-record]

The parts:
    hnsw       the best ten of all: milliseconds and recall@10; how long the graph took
    filtered   the best ten of those that pass a filter: shape, share and way (benchmarks/vectors_made.py)
    selector   the same questions with the filter applied on the way through the graph (FAISS's IDSelector), which
               hybridkg does not do: where candidates are so many that the graph may answer at all
    peers      the same questions asked of LanceDB and Kuzu: their index, their defaults, in processes of their own

50,000 vectors of 384 numbers; 500,000 with --full. Recall counts who is at least as near as the true tenth. Ours is
asked with the candidates at hand, as the planner asks it; `flat` is the exact index. A peer finds its candidates
itself, so its milliseconds hold more than ours; its recall is comparable. What is not asked again stays in the results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, record
from benchmarks.vectors_made import SHAPES, SHARES, WAYS, Filter, Mixture, Values, filters
from hybridkg.config.settings import Config
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.text_index import Ids
from hybridkg.interfaces.vector_index import Encoded, VectorIndex, VectorQuery
from hybridkg.vector.index.codes import KERNEL as CODES
from hybridkg.vector.index.flat import FlatIndex
from hybridkg.vector.index.hnsw import MIN_SHARE, Hnsw, HnswIndex
from hybridkg.vector.index.hnsw_graph import FILE
from hybridkg.vector.index.similarity import KERNEL as SIMILARITY

SEED, DIMENSIONS, K = 9, 384, 10
SMALL, FULL = 50_000, 500_000
UNFILTERED, PER_CELL = 200, 15
"""Questions: without a filter, and for each kind of filter."""

SELECTOR_BREADTHS = (64, 256, 1_024)

PEERS_PYTHON = Path("/tmp/hybrid-peers/bin/python")
PEERS = ("lancedb", "kuzu")
TIME_FOR_A_PEER = 3600


class Made:
    """Stands for an encoder: the vectors are drawn."""

    name, dimensions = "made/1", DIMENSIONS

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Nobody asks for them."""
        raise NotImplementedError

    queries = passages


class Bench:
    """The vectors, their index and the questions.

    Args:
        work: where they are, or will be.
        n: how many vectors.
    """

    def __init__(self, work: Path, n: int):
        self.n, self.folder = n, work / f"hnsw-{n}"
        if not (self.folder / "built.json").exists():
            self._build()
        self.built: dict[str, Any] = json.loads((self.folder / "built.json").read_text())
        self.hnsw = HnswIndex(self.folder, lambda node: None, lambda ids: ids)
        self.flat = FlatIndex(self.folder, lambda node: None, lambda ids: ids)
        self.values = Values.of(iter(np.array_split(self.flat.vectors, 25)), n, DIMENSIONS, SEED)
        self.queries = next(Mixture(self._clusters, DIMENSIONS, SEED).drawn(UNFILTERED))
        warm = VectorQuery(vector=tuple(map(float, self.queries[0])))
        assert SIMILARITY.load() is not None
        assert CODES.load() is not None
        self.flat.topk(warm, K)
        self.hnsw.topk(warm, K)

    @property
    def _clusters(self) -> int:
        return int(self.n**0.5) // 2

    def _build(self) -> None:
        def batches() -> Iterator[Encoded]:
            first, mixture = 0, Mixture(self._clusters, DIMENSIONS, SEED)
            next(mixture.drawn(UNFILTERED))  # the questions: of the same clusters, and not among the vectors
            for part in mixture.drawn(self.n):
                yield Encoded(np.arange(first, first + len(part), dtype=np.uint32), part)
                first += len(part)

        self.folder.mkdir(parents=True, exist_ok=True)
        started, cpu = time.perf_counter(), time.process_time()
        counts = Hnsw(self.folder, Config(), SEED).build(self.folder, Made(), "lsa", batches(), SILENT, hashed=False)
        counts["build_s"] = round(time.perf_counter() - started, 1)
        counts["build_cpu_s"] = round(time.process_time() - cpu, 1)
        (self.folder / "built.json").write_text(json.dumps(counts))

    def questions(self) -> Iterator[tuple[str, Vectors, Filter]]:
        """(name of the cell, query, filter)."""
        random = np.random.default_rng(SEED)
        for shape in SHAPES:
            for way in WAYS:
                for share in SHARES:
                    for query in self.queries[random.choice(len(self.queries), PER_CELL, replace=False)]:
                        name = f"{shape}, {way}, {share:g}"
                        yield name, query, filters(query, self.values, shape, way, share, random)

    def recall(self, query: Vectors, found: Ids, among: Ids | None) -> float:
        """Share of the best ten, or of all where there are fewer, that are found."""
        asked = VectorQuery(vector=tuple(map(float, query)))
        best = self.flat.topk(asked, K, among)[1]
        own = self.flat.score(asked, found)
        return float((own >= best[-1]).sum() / len(best)) if len(best) else 1.0


def hnsw(bench: Bench) -> dict[str, Any]:
    """The best ten of all, by graph and exactly."""
    found: dict[str, Any] = {"vectors": bench.n, **bench.built}
    asked: list[tuple[str, Vectors, Ids | None]] = [("all", query, None) for query in bench.queries]
    for name, index in (("hnsw", bench.hnsw), ("flat", bench.flat)):
        found[name] = _measured(bench, asked, _ask(index))["all"]
    return found


def filtered(bench: Bench) -> dict[str, Any]:
    """The best ten of those that pass."""
    asked = [(name, query, one.passing(bench.values)) for name, query, one in bench.questions()]
    found: dict[str, Any] = {"vectors": bench.n}
    for name, index in (("hnsw", bench.hnsw), ("flat", bench.flat)):
        found[name] = _measured(bench, asked, _ask(index))
    for name, own in found["hnsw"].items():
        own["by_graph"] = sum(
            not bench.hnsw.is_exact(VectorQuery(vector=(1.0,)), K, len(among))
            for cell, _, among in asked
            if cell == name
        )
    return found


def _ask(index: VectorIndex) -> Callable[[Vectors, Ids | None], Ids]:
    return lambda query, among: index.topk(VectorQuery(vector=tuple(map(float, query))), K, among)[0]


def _measured(
    bench: Bench, asked: Sequence[tuple[str, Vectors, Ids | None]], ask: Callable[[Vectors, Ids | None], Ids]
) -> dict[str, dict[str, float]]:
    cells: dict[str, list[tuple[float, float, int]]] = {}
    for name, query, among in asked:
        ask(query, among)
        started, cpu = time.perf_counter(), time.thread_time()
        found = ask(query, among)
        spent, cpu = time.perf_counter() - started, time.thread_time() - cpu
        cells.setdefault(name, []).append((bench.recall(query, found, among), spent * 1e3, cpu * 1e3))
    return {
        name: {
            "recall@10": round(float(np.mean([recall for recall, _, _ in own])), 4),
            "ms_p50": round(float(np.median([spent for _, spent, _ in own])), 3),
            "cpu_ms_p50": round(float(np.median([cpu for _, _, cpu in own])), 3),
        }
        for name, own in cells.items()
    }


def selector(bench: Bench) -> dict[str, Any]:
    """What FAISS finds of those that pass where it looks at others only on the way, by how many it keeps in view."""
    import faiss

    graph = faiss.read_index(str(bench.folder / FILE), faiss.IO_FLAG_MMAP_IFC)
    passing = [(name, query, one.passing(bench.values)) for name, query, one in bench.questions()]
    asked = [(name, query, among) for name, query, among in passing if len(among) >= MIN_SHARE * bench.n]
    found: dict[str, Any] = {"vectors": bench.n}
    for breadth in SELECTOR_BREADTHS:

        def ask(query: Vectors, among: Ids | None, breadth: int = breadth) -> Ids:
            bits = np.zeros(bench.n, bool)
            bits[among] = True
            chosen = faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))
            parameters = faiss.SearchParametersHNSW(efSearch=breadth, sel=chosen)
            (rows,) = graph.search(query[None], breadth, params=parameters)[1]
            ids = bench.hnsw.ids[rows[rows >= 0]]
            scores = bench.flat.score(VectorQuery(vector=tuple(map(float, query))), ids)
            return ids[np.argsort(-scores, kind="stable")[:K]]

        found[f"{breadth:,} looked at"] = _measured(bench, asked, ask)
    return found


def peers(bench: Bench, python: Path, work: Path) -> dict[str, Any]:
    """What LanceDB and Kuzu answer to the same questions."""
    folder = work / f"peers-{bench.n}"
    folder.mkdir(exist_ok=True)
    asked = list(bench.questions())
    np.save(folder / "vectors.npy", bench.flat.vectors[:, :DIMENSIONS])
    np.save(folder / "values.npy", np.concatenate([bench.values.own, bench.values.place], axis=1))
    np.save(folder / "queries.npy", np.stack([*bench.queries, *(query for _, query, _ in asked)]))
    conditions = [{"shape": one.shape, "conditions": one.conditions} for _, _, one in asked]
    (folder / "filters.json").write_text(json.dumps([None] * len(bench.queries) + conditions))
    cells = ["all"] * len(bench.queries) + [name for name, _, _ in asked]
    among = [None] * len(bench.queries) + [one.passing(bench.values) for _, _, one in asked]
    found: dict[str, Any] = {"vectors": bench.n}
    for peer in PEERS:
        command = [str(python), str(Path(__file__).with_name("vectors_peer.py")), peer, str(folder)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=TIME_FOR_A_PEER, check=False)
        if ran.returncode:
            found[peer] = {"cannot": ran.stderr.strip().splitlines()[-1:]}
            continue
        answered = json.loads((folder / f"{peer}.json").read_text())
        own: dict[str, list[tuple[float, float]]] = {}
        for cell, query, passing, answer in zip(
            cells, np.load(folder / "queries.npy"), among, answered["answers"], strict=True
        ):
            if answer is not None:
                ids = np.array(answer["ids"], np.uint32)
                own.setdefault(cell, []).append((bench.recall(query, ids, passing), answer["ms"]))
        found[peer] = {
            "about": answered["about"],
            **{
                cell: {
                    "recall@10": round(float(np.mean([recall for recall, _ in some])), 4),
                    "ms_p50": round(float(np.median([spent for _, spent in some])), 3),
                }
                for cell, some in own.items()
            },
        }
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vectors_filtered", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="hnsw, filtered, selector, peers; default: all")
    parser.add_argument("--full", action="store_true", help=f"{FULL:,} vectors instead of {SMALL:,}")
    parser.add_argument("--work", type=Path, help="folder for vectors and graphs; default: a temporary one")
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="their Python (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    parts = options.parts or ["hnsw", "filtered", "selector", "peers"]
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        bench = Bench(work, FULL if options.full else SMALL)
        found: dict[str, Any] = {"load": [round(load, 2) for load in os.getloadavg()]}
        if "hnsw" in parts:
            found["hnsw"] = hnsw(bench)
        if "filtered" in parts:
            found["filtered"] = filtered(bench)
        if "selector" in parts:
            found["selector"] = selector(bench)
        if "peers" in parts:
            found["peers"] = peers(bench, options.peers, work)
    if options.no_record:
        print(json.dumps(found, indent=1))
        return
    file = RESULTS / "vectors_filtered.json"
    before = json.loads(file.read_text())["sizes"] if file.exists() else {}
    before[f"{bench.n:,}"] = {**before.get(f"{bench.n:,}", {}), **found}
    record("vectors_filtered", {"sizes": before}, seed=SEED)


if __name__ == "__main__":
    main()
