"""The same queries with the graph embedded and at real SPARQL servers: rows, order, times, what an export takes.

    python -m benchmarks.endpoint KB [--queries examples/acl] [--servers oxigraph fuseki] [--rounds 5]

KB is an embedded knowledge base with an index; it is only read. Its triples go into each server, and from there, by
`index`, into two knowledge bases: with the projection, and without. Every query must have the rows of the embedded one,
in the same order where the query gives one. In the middle of the export the server is killed and started again.
Times are medians over rounds in which the knowledge bases take turns. Needs 2 GB of disk for 2 million triples.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.config import Config, EndpointSettings
from hybridkg.errors import EndpointError
from hybridkg.results.result_set import ResultSet
from hybridkg.store.endpoint.export import WORK
from hybridkg.store.generations import Folder
from hybridkg.store.oxigraph import OxigraphStore

ROOT = Path(__file__).resolve().parent.parent
FUSEKI = Path(os.environ.get("HYBRIDKG_SERVER_SCRIPTS", ROOT.parent / "shared" / "servers")) / "fuseki"
OXIGRAPH = Path(sys.executable).parent / "oxigraph"
PATHS = {"oxigraph": "/query", "fuseki": "/ds"}
READY_S = 180


class Server:
    """One server with the triples of a file, on disk."""

    def __init__(self, name: str, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.name, self._folder = name, folder / name
        self._folder.mkdir()
        self.url = f"http://127.0.0.1:{self._port}{PATHS[name]}"
        self._process: subprocess.Popen[bytes] | None = None

    def _run(self, command: list[str], wait: bool) -> subprocess.Popen[bytes]:
        own = {**os.environ, "JAVA_OPTS": "-Xmx1g", "FUSEKI_BASE": str(self._folder)}
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(command, env=own, stdout=log, stderr=log, cwd=self._folder)
        if wait and process.wait():
            raise SystemExit(f"failed: {command}; see {self._folder / 'log'}")
        return process

    def load(self, triples: Path) -> None:
        data = str(self._folder / "data")
        if self.name == "oxigraph":
            self._run([str(OXIGRAPH), "load", "--location", data, "--file", str(triples)], wait=True)
        else:
            self._run([str(FUSEKI), "--main", "tdb2.tdbloader", "--loc", data, str(triples)], wait=True)

    def start(self) -> None:
        data, port = str(self._folder / "data"), str(self._port)
        if self.name == "oxigraph":
            command = [str(OXIGRAPH), "serve-read-only", "--location", data, "--bind", f"127.0.0.1:{port}"]
        else:
            command = [str(FUSEKI), "--localhost", "--port", port, "--loc", data, "/ds"]
        self._process = self._run(command, wait=False)
        until = time.monotonic() + READY_S
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(f"{self.url}?query=ASK%7B%7D", timeout=5).read()
                return
            time.sleep(0.2)
        raise SystemExit(f"{self.name} does not start; see {self._folder / 'log'}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def running(name: str, folder: Path, triples: Path) -> Iterator[Server]:
    server = Server(name, folder)
    try:
        server.load(triples)
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder / name, ignore_errors=True)


class KilledInTheMiddle:
    """A Progress that kills the server once, when a part of the export has been read."""

    def __init__(self, server: Server, after: int):
        self._server, self._left = server, after

    def start(self, name: str, size: int | None) -> None:
        pass

    def advance(self, size: int, items: int) -> None:
        self._left -= items
        if self._left <= 0:
            self._server.kill()

    def done(self, items: int) -> None:
        pass


def rows(result: ResultSet, text: str) -> list[str] | bool:
    if result.boolean is not None:
        return result.boolean
    found = [" ".join(str(row[name]) for name in row) for row in result]
    return found if "RANK BY" in text or "ORDER BY" in text else sorted(found)


def far_kb(server: Server, path: Path, like: KnowledgeBase, projection: str, triples: int) -> dict[str, Any]:
    """Indexes the graph of a server; what that took. With the projection, it is interrupted by the server's death."""
    Folder.create(path, Config(
        profile=like.snapshot.config.profile, graph=server.url,
        endpoint=EndpointSettings(projection=projection, timeout=600),
    ))  # fmt: skip
    kb, found = KnowledgeBase.open(path), {}
    if projection == "export":
        try:
            kb.index(progress=KilledInTheMiddle(server, triples // 2))
        except EndpointError:
            found["pages_kept_after_kill"] = len(list((path / WORK).glob("*.nt")))
        server.start()
    began = time.perf_counter()
    counts = kb.index()
    about = kb.snapshot.generation.manifest.endpoint
    found |= {"index_s": round(time.perf_counter() - began, 1), "exported": counts["exported"]}
    return found | {name: about[name] for name in ("longest", "is_capped", "round_trip_us", "row_us")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kb", type=Path)
    parser.add_argument("--queries", type=Path, default=ROOT / "examples" / "acl")
    parser.add_argument("--servers", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, help="folder for the servers' data; default: a temporary one")
    arguments = parser.parse_args()
    here = KnowledgeBase.open(arguments.kb)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(arguments.queries.glob("*.hq"))}
    figures: dict[str, Any] = {"queries": str(arguments.queries), "rounds": arguments.rounds, "servers": {}}
    with tempfile.TemporaryDirectory(dir=arguments.work) as temporary:
        work = Path(temporary)
        store = here.snapshot.store
        assert isinstance(store, OxigraphStore)
        n = 0
        with (work / "graph.nt").open("w", encoding="utf-8") as out:
            for quad in store.quads():
                out.write(f"{quad.subject} {quad.predicate} {quad.object} .\n")
                n += 1
        figures["triples"] = n
        for name in arguments.servers:
            with running(name, work, work / "graph.nt") as server:
                kbs = {"embedded": here}
                found: dict[str, Any] = {}
                for projection in ("export", "none"):
                    path = work / f"{name}-{projection}.kb"
                    found[projection] = far_kb(server, path, here, projection, n)
                    kbs[projection] = KnowledgeBase.open(path)
                found["queries"] = {query: compared(kbs, text, arguments.rounds) for query, text in texts.items()}
                found["all_rows_the_same"] = all(one["same"] for of in found["queries"].values() for one in of.values())
                figures["servers"][name] = found
                for kb in list(kbs)[1:]:
                    kbs[kb].close()
                    shutil.rmtree(work / f"{name}-{kb}.kb")
    record("endpoint", figures)
    if not all(found["all_rows_the_same"] for found in figures["servers"].values()):
        raise SystemExit("rows differ")


def compared(kbs: dict[str, KnowledgeBase], text: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Rows and median times of a query, by knowledge base."""
    took: dict[str, list[float]] = {name: [] for name in kbs}
    answers: dict[str, Any] = {}
    strategies: dict[str, str] = {}
    for _ in range(rounds + 1):
        for name, kb in kbs.items():
            began = time.perf_counter()
            result = kb.query(text)
            took[name].append(1e3 * (time.perf_counter() - began))
            answers[name], strategies[name] = rows(result, text), result.strategy
    return {
        name: {
            "rows": len(answer) if isinstance(answer, list) else answer,
            "same": answer == answers["embedded"],
            "median_ms": round(median(took[name][1:]), 2),
            "strategy": strategies[name],
        }
        for name, answer in answers.items()
    }


if __name__ == "__main__":
    main()
