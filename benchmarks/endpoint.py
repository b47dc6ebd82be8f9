"""The same queries embedded, and with the graph at real SPARQL servers and the text in a real Elasticsearch.

    python -m benchmarks.endpoint KB [--queries DIR] [--servers oxigraph fuseki] [--text elasticsearch embedded]

KB is an embedded knowledge base with an index; it is only read. Its triples go into each server, and from there, by
`index`, into a knowledge base, which is asked with the projection and without (`projection` in kb.toml). Every query
must have the rows of the embedded one with the same scores, bit for bit, in the same order where the query gives one.
The SPARQL server is killed in the middle of the export, Elasticsearch in the middle of taking the text, and both once
more when all is indexed: nothing may be lost. Times are medians over rounds in which the knowledge bases take turns.
Needs 3 GB of disk for 2 million triples. A server that is not asked for keeps the figures of the stored result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.record import RESULTS, record
from hybridkg import KnowledgeBase
from hybridkg.config.settings import Config, ElasticSettings, EndpointSettings
from hybridkg.errors import EndpointError, TextServerError
from hybridkg.results.result_set import ResultSet
from hybridkg.store.endpoint.export import WORK
from hybridkg.store.generations.folder import Folder
from hybridkg.store.oxigraph import OxigraphStore

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "servers"))

import elastic_server  # noqa: E402 - of the tests
from elastic_server import ElasticServer  # noqa: E402

Figures: TypeAlias = dict[str, Any]
FUSEKI = Path(os.environ.get("HYBRIDKG_SERVER_SCRIPTS", ROOT.parent / "shared" / "servers")) / "fuseki"
OXIGRAPH = Path(sys.executable).parent / "oxigraph"
PATHS = {"oxigraph": "/query", "fuseki": "/ds"}
TEXTS = ("elasticsearch", "embedded")
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
    """A Progress that kills a server once, when a stage of the work has come so far.

    Args:
        stage: beginning of its name.
        after: items of that stage.
        kill: ends the server.
    """

    def __init__(self, stage: str, after: int, kill: Callable[[], None]):
        self._stage, self._left, self._kill = stage, after, kill
        self._counts = self._killed = False

    def start(self, name: str, size: int | None) -> None:
        self._counts = name.startswith(self._stage)

    def advance(self, size: int, items: int) -> None:
        self._left -= items if self._counts else 0
        if self._left <= 0 and not self._killed:
            self._killed = True
            self._kill()

    def done(self, items: int) -> None:
        pass


Death: TypeAlias = tuple[KilledInTheMiddle, Callable[[], object]]


def rows(result: ResultSet, text: str) -> list[str] | bool:
    if result.boolean is not None:
        return result.boolean
    found = [" ".join(str(row[name]) for name in row) for row in result]
    return found if "RANK BY" in text or "ORDER BY" in text else sorted(found)


def far_kb(path: Path, config: Config, deaths: dict[str, Death]) -> Figures:
    """Indexes the graph of a server; what that took.

    Args:
        path: for the knowledge base.
        config: its settings.
        deaths: by name, what kills a server on the way, and what starts it again; `index` has to fail, and to go on.
    """
    Folder.create(path, config)
    kb, found = KnowledgeBase.open(path), dict[str, Any]()
    for name, (progress, start) in deaths.items():
        try:
            kb.index(progress=progress)
        except (EndpointError, TextServerError) as error:
            found[f"{name}_killed"] = {"said": str(error).partition("\n")[0], "pages_kept": pages(path)}
        else:
            raise SystemExit(f"{name} was killed, and index did not notice")
        start()
    began = time.perf_counter()
    report = kb.index()
    about = kb._snapshot.generation.manifest.endpoint
    found |= {"index_s": round(time.perf_counter() - began, 1), "exported": report.exported}
    kb.close()
    return found | {name: about[name] for name in ("longest", "is_capped", "round_trip_us", "row_us")}


def pages(path: Path) -> int:
    """Files of an interrupted export."""
    return len(list((path / WORK).glob("*.nt")))


def at_server(server: Server, elastic: ElasticServer, here: KnowledgeBase, options: argparse.Namespace) -> Figures:
    """One SPARQL server: indexed for each place of the text, and asked with the projection and without."""
    like, counts, found = here._snapshot.config, here.stats(), dict[str, Any]()
    kbs = {"embedded": here}
    with ExitStack() as stack:
        for text in options.text:
            path = options.work / f"{server.name}-{text}.kb"
            config = Config(
                profile=like.profile, graph=server.url, text=text, endpoint=EndpointSettings(timeout=600),
                elasticsearch=ElasticSettings(url=elastic.url, alias=path.stem),
            )  # fmt: skip
            graph = KilledInTheMiddle("exporting", counts["triples"] // 2, server.kill)
            deaths: dict[str, Death] = {server.name: (graph, server.start)}
            if text == "elasticsearch":
                taking = KilledInTheMiddle("indexing text", counts["entities"] // 2, elastic.kill)
                deaths[text] = taking, elastic.start
            found[f"text {text}"] = far_kb(path, config, deaths)
            print(server.name, text, found[f"text {text}"], file=sys.stderr, flush=True)
            stack.callback(KnowledgeBase.remove, path)
            kbs[f"projection, text {text}"] = stack.enter_context(KnowledgeBase.open(path))
            Folder.open(path).configure(replace(config, endpoint=replace(config.endpoint, projection="none")))
            kbs[f"no projection, text {text}"] = stack.enter_context(KnowledgeBase.open(path))
        elastic.kill()
        server.kill()
        elastic.start()
        server.start()
        found["queries"] = {}
        for path in sorted(options.queries.glob("*.hq")):
            found["queries"][path.stem] = compared(kbs, path.read_text(encoding="utf-8"), options.rounds)
            print(server.name, path.stem, found["queries"][path.stem], file=sys.stderr, flush=True)
    found["all_rows_the_same"] = all(one["same"] for of in found["queries"].values() for one in of.values())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kb", type=Path)
    parser.add_argument("--queries", type=Path, default=ROOT / "examples" / "acl")
    parser.add_argument("--servers", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--text", nargs="+", choices=TEXTS, default=list(TEXTS), help="where the text is")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, help="folder for the servers' data; default: a temporary one")
    options = parser.parse_args()
    figures: Figures = {
        "queries": str(options.queries), "rounds": options.rounds,
        "compared": "every cell of every row, scores to the last bit, in the order of the query", "servers": {},
    }  # fmt: skip
    with ExitStack() as stack:
        here = stack.enter_context(KnowledgeBase.open(options.kb))
        options.work = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.work)))
        triples = options.work / "graph.nt"
        figures["triples"] = written(here, triples)
        elastic_server.JAVA_OPTIONS = []  # tests compile less, to start sooner
        elastic = ElasticServer(heap="1g")
        stack.callback(elastic.stop)
        elastic.start()
        for name in options.servers:
            with running(name, options.work, triples) as server:
                figures["servers"][name] = at_server(server, elastic, here, options)
    record("endpoint", {**figures, "servers": {**measured_before(), **figures["servers"]}})
    if not all(found["all_rows_the_same"] for found in figures["servers"].values()):
        raise SystemExit("rows differ")


def measured_before() -> Figures:
    """The servers of the stored result, so that one can be measured again alone."""
    path = RESULTS / "endpoint.json"
    stored: Figures = json.loads(path.read_text(encoding="utf-8"))["servers"] if path.is_file() else {}
    return stored


def written(kb: KnowledgeBase, file: Path) -> int:
    """Writes the graph as N-Triples; how many there are."""
    store, n = kb._snapshot.store, 0
    assert isinstance(store, OxigraphStore)
    with file.open("w", encoding="utf-8") as out:
        for quad in store.quads():
            out.write(f"{quad.subject} {quad.predicate} {quad.object} .\n")
            n += 1
    return n


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
