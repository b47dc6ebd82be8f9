"""The projection: how fast it is built from statements and from the store, how large it is, how quickly it opens.

    python -m benchmarks.projection [--papers 500000] [--only fb15k|acl|mag ...] [--keep FOLDER]

Required: 400,000 triples/s from N-Quads, 150,000 from the store, at most 13 bytes for each triple between nodes, opened
in 0.3 s. Every measurement runs in a process of its own, with the kernels compiled beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.record import record

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
PIECE = 100_000
"""Bytes of statements that the builder is given at once, about what loading gives it."""


def knowledge_base(name: str, folder: Path, papers: int) -> Path:
    """A knowledge base with its index, which is made."""
    from hybridkg import KnowledgeBase

    if name == "fb15k":
        from hybridkg.datasets.building import make_dataset

        if not (folder / "fb15k").exists():
            make_dataset("fb15k-dbpedia-entity", DATA, folder / "fb15k")
        return folder / "fb15k" / "kb"
    path = folder / f"{name}.kb"
    if not (path / "CURRENT").exists():
        KnowledgeBase.create(path).load(_triples_of(name, folder, papers), index=True)
    return path


def _triples_of(name: str, folder: Path, papers: int) -> Path:
    if name == "mag":
        from benchmarks.hybrid.writing import write

        return write(folder / f"mag{papers}", papers, tables=False).triples
    target = folder / "acl.nt.gz"
    source = DATA / "acl-anthology" / "acl-anthology-2024-08-15.tar.xz"
    script = ROOT / "examples" / "acl_anthology.py"
    subprocess.run([sys.executable, str(script), str(source), str(target)], check=True, stdout=subprocess.DEVNULL)
    return target


def pieces(path: Path) -> Iterator[bytes]:
    """Whole lines of a file."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield (piece + file.readline()).rstrip(b"\n")


def from_statements(generation: Path, statements: Path, out: Path) -> dict[str, Any]:
    """Builds from N-Quads as they come while a graph is loaded."""
    from hybridkg.entities.node_table import NodeTable
    from hybridkg.graph.build.builder import ProjectionBuilder

    nodes = NodeTable.open(generation)
    started, cpu = time.perf_counter(), time.process_time()
    builder = ProjectionBuilder(out / "work", union_default_graph=False, stored=False)
    for piece in pieces(statements):
        builder.add(piece)
    about = builder.finish(out / "projection", nodes)
    return _rates(about["triples"], started, cpu)


def from_store(generation: Path, out: Path) -> dict[str, Any]:
    """Builds from the store."""
    from hybridkg.interfaces.progress import SILENT
    from hybridkg.kb.write.build_projection import build_projection
    from hybridkg.store.oxigraph import OxigraphStore

    for path in generation.glob("nodes.*"):
        shutil.copy(path, out)
    store = OxigraphStore.open(generation / "graph")
    started, cpu = time.perf_counter(), time.process_time()
    about = build_projection(out, store, SILENT, union_default_graph=False)
    return _rates(about["triples"], started, cpu)


def _rates(triples: int, started: float, cpu: float) -> dict[str, Any]:
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "triples_per_s": round(triples / seconds),
        "triples_per_cpu_s": round(triples / cpu),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def opened(generation: Path) -> dict[str, Any]:
    """Time to open, and bytes."""
    import numpy as np

    from hybridkg.entities.node_table import NodeTable
    from hybridkg.graph.stored_projection import open_columns

    nodes = NodeTable.open(generation)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        columns = open_columns(generation / "projection", nodes, union_default_graph=False)
        times.append(time.perf_counter() - started)
    triples, used = 0, []
    for predicate in columns.predicates.values():
        links = int((np.asarray(predicate.forward.targets) < columns.terms.n_nodes).sum())
        if links < predicate.triples:
            continue  # its objects are literals, or some of them
        triples += links
        for direction in (predicate.forward, predicate.backward):
            arrays = direction.keys, direction.offsets, direction.targets
            used += [(array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays]
    size = end = 0
    for first, last in sorted(used):  # what several have in common counts once
        size += max(0, last - max(first, end))
        end = max(end, last)
    files = {path.name: path.stat().st_size for path in sorted((generation / "projection").iterdir())}
    return {
        "open_ms_first_and_median": [round(times[0] * 1e3, 2), round(statistics.median(times) * 1e3, 2)],
        "triples_between_nodes": triples,
        "bytes_per_triple_between_nodes": round(size / max(1, triples), 2),
        "bytes": sum(files.values()),
        "files": files,
    }


def _in_process(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.projection", "--one", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _one(what: str, *paths: str) -> None:
    from hybridkg.graph.build import adjacency, nquads_reader, numbering

    for module in (nquads_reader, numbering, adjacency):
        module.KERNEL.load()
    with tempfile.TemporaryDirectory(dir=Path(paths[0]).parent.parent) as out:
        generation = Path(paths[0])
        match what:
            case "statements":
                print(json.dumps(from_statements(generation, Path(paths[1]), Path(out))))
            case "store":
                print(json.dumps(from_store(generation, Path(out))))
            case "open":
                print(json.dumps(opened(generation)))


def measure(name: str, folder: Path, papers: int, rounds: int) -> dict[str, Any]:
    """All figures of one graph."""
    from pyoxigraph import RdfFormat, Store

    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open(knowledge_base(name, folder, papers))
    generation, statements = kb._snapshot.generation.path, folder / f"{name}.nq"
    if not statements.exists():
        Store.read_only(str(generation / "graph")).dump(str(statements), RdfFormat.N_QUADS)
    found: dict[str, Any] = {"projection": kb._snapshot.projection_state, **_in_process("open", str(generation))}
    for what, *more in (("statements", str(statements)), ("store",)):
        done = [_in_process(what, str(generation), *more) for _ in range(rounds)]
        found[f"from_{what}"] = {"rounds": done, "best": max(one["triples_per_s"] for one in done)}
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--papers", type=int, default=500_000)
    options.add_argument("--only", nargs="+", choices=["fb15k", "acl", "mag"], default=["fb15k", "acl", "mag"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--keep", type=Path, help="folder for the files; default: a temporary one")
    options.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        _one(*chosen.one)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures: dict[str, Any] = {"load_average_before": os.getloadavg()}
        for name in chosen.only:
            figures[name] = measure(name, folder, chosen.papers, chosen.rounds)
            print(name, json.dumps(figures[name], indent=1), flush=True)
    record("projection", figures)


if __name__ == "__main__":
    main()
