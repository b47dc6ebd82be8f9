"""Commits with every index following, beside Fuseki with jena-text: seconds of one, and commits a second of threads.

    python -m benchmarks.updates                                  # 100,000 papers
    python -m benchmarks.updates --sizes 500000 --scratch DIR
    python -m benchmarks.updates --sizes 2000 --no-record         # rough figures, on a busy machine

The graph is that of benchmarks/hybrid. A commit adds keywords to papers, one
triple each, and is on the disk and found by its words before the call returns:
that is checked after each, in both systems. hybridkg commits in this process,
Fuseki over kept HTTP connections. `everything` is the load and index of the
whole graph. Put the scratch folder on a disk: in memory, nothing waits for it.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.hybrid import peer_fuseki
from benchmarks.hybrid.graph import SEED
from benchmarks.hybrid.writing import BASE, Data, write
from benchmarks.record import record

SIZES = (1, 100, 10_000)
"""Triples of a commit."""

REPEATS = {1: 15, 100: 15, 10_000: 5}
"""Commits of each size, of which the median counts; the first is not counted."""

THREADS = (1, 64)
EACH = {1: 16, 64: 4}
"""Commits of each thread."""

Change = Callable[[str], None]
Count = Callable[[str], int]


class Requests:
    """Update requests that add texts with a word of their own.

    Args:
        papers: of the graph.
    """

    def __init__(self, papers: int):
        self._papers, self._made = papers, 0
        self._lock = threading.Lock()

    def next(self, triples: int) -> tuple[str, str, int]:
        """(request, its word, papers that have the word after it)."""
        with self._lock:
            self._made += 1
            made = self._made
        word = "xq" + "".join(chr(ord("a") + int(digit)) for digit in str(made))
        first = made * 7919
        lines = [
            f'<{BASE}p{(first + n) % self._papers}> <{BASE}keywords> "{word} neural {n // self._papers} x{made}" .'
            for n in range(triples)
        ]
        return f"INSERT DATA {{ {' '.join(lines)} }}", word, min(triples, self._papers)


def measured(change: Change, count: Count, papers: int) -> dict[str, Any]:
    """Seconds of commits of each size, and commits a second of threads."""
    requests, figures = Requests(papers), dict[str, Any]()
    for triples in SIZES:
        seconds = []
        for _ in range(REPEATS[triples] + 1):
            text, word, found = requests.next(triples)
            begin = time.perf_counter()
            change(text)
            seconds.append(time.perf_counter() - begin)
            if count(word) != found:
                raise RuntimeError(f"{count(word)} papers have the word of a commit of {triples}, not {found}")
        figures[f"commit_{triples}_s"] = round(statistics.median(seconds[1:]), 4)
        print(f"  {triples:,} triples: {figures[f'commit_{triples}_s']} s", flush=True)
    for threads in THREADS:
        figures[f"threads_{threads}_per_s"] = round(_rate(change, requests, threads), 2)
        print(f"  {threads} threads: {figures[f'threads_{threads}_per_s']} commits a second", flush=True)
    return figures


def _rate(change: Change, requests: Requests, threads: int) -> float:
    errors: list[BaseException] = []
    texts = [[requests.next(1)[0] for _ in range(EACH[threads])] for _ in range(threads)]

    def run(own: list[str]) -> None:
        try:
            for text in own:
                change(text)
        except BaseException as e:
            errors.append(e)

    workers = [threading.Thread(target=run, args=[own]) for own in texts]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    taken = time.perf_counter() - begin
    if errors:
        raise errors[0]
    return threads * EACH[threads] / taken


# --- the systems -----------------------------------------------------------------------------


def ours(data: Data) -> dict[str, Any]:
    """hybridkg in this process."""
    from hybridkg import KnowledgeBase

    folder = data.engines / "updates.kb"
    if folder.exists():
        KnowledgeBase.remove(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    kb = KnowledgeBase.create(folder)
    kb.load(data.triples, profile=data.profile, index=True)
    everything = time.perf_counter() - begin
    print(f"  everything: {everything:.1f} s", flush=True)
    anew: list[str] = []

    def change(text: str) -> None:
        report = kb.update(text, wait=600)
        if report.is_behind:
            raise RuntimeError("the indexes have not followed")
        if report.rebuilt:
            anew.append(report.rebuilt)

    with kb:
        figures = measured(
            change, lambda word: len(kb.query("SELECT ?p { ?p MATCH $word }", {"word": word})), data.papers
        )
    ratio = round(everything / figures["commit_100_s"], 1)
    return {"everything_s": round(everything, 2), **figures, "everything_by_commit_100": ratio, "built_anew": anew}


def fuseki(data: Data) -> dict[str, Any]:
    """Fuseki with TDB2 and jena-text, each thread with a connection of its own."""
    begin = time.perf_counter()
    peer_fuseki.load(data)
    everything = time.perf_counter() - begin
    print(f"  everything: {everything:.1f} s", flush=True)
    config = data.engines / "fuseki" / "config.ttl"
    asked = "fuseki:endpoint [ fuseki:operation fuseki:query ] ;"
    text = config.read_text()
    config.write_text(text.replace(asked, f"{asked} fuseki:endpoint [ fuseki:operation fuseki:update ] ;"))
    own = threading.local()
    with _running(data) as server:

        def change(request: str) -> None:
            if not hasattr(own, "http"):
                own.http = http.client.HTTPConnection("127.0.0.1", server._http.port, timeout=600)
            own.http.request("POST", "/ds", request.encode(), {"Content-Type": "application/sparql-update"})
            response = own.http.getresponse()
            body = response.read()
            if response.status >= http.client.BAD_REQUEST:
                raise RuntimeError(f"{response.status}: {body[:300]!r}")

        figures = measured(change, lambda word: len(server.scores(word)), data.papers)
    ratio = round(everything / figures["commit_100_s"], 1)
    return {"everything_s": round(everything, 2), **figures, "everything_by_commit_100": ratio}


@contextmanager
def _running(data: Data) -> Iterator[peer_fuseki.Fuseki]:
    server = peer_fuseki.open(data)
    try:
        yield server
    finally:
        server.close()


SYSTEMS: dict[str, Callable[[Data], dict[str, Any]]] = {"hybridkg": ours, "fuseki": fuseki}


def main() -> None:
    """Runs the systems on each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updates", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000", help="papers, separated by commas (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for data and engines, on a disk; default: a temporary one")
    parser.add_argument("--engines", default=",".join(SYSTEMS), help="names (default: %(default)s)")
    parser.add_argument("--record", default="updates", help="name of the stored results (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    arguments = parser.parse_args()
    sizes: dict[str, dict[str, Any]] = {}
    left_out = {}
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        for papers in map(int, arguments.sizes.split(",")):
            data = write(scratch / f"papers-{papers}", papers, tables=False)
            of_size: dict[str, Any] = {"triples": data.about()["triples"]}
            for name in arguments.engines.split(","):
                if name == "fuseki" and (why := peer_fuseki.absent()):
                    left_out[name] = why
                    continue
                print(f"{name}, {papers:,} papers", flush=True)
                of_size[name] = SYSTEMS[name](data)
            sizes[str(papers)] = of_size
    figures = {"sizes": sizes, "left_out": left_out, "commits": REPEATS, "commits_of_a_thread": EACH}
    if arguments.no_record:
        print(figures)
    else:
        record(arguments.record, figures, seed=SEED)


if __name__ == "__main__":
    main()
