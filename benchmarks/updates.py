"""Commits with every index following, beside Fuseki with jena-text: seconds of one, and commits a second of threads.

    python -m benchmarks.updates                                  # 100,000 papers
    python -m benchmarks.updates --sizes 500000 --scratch DIR
    python -m benchmarks.updates --sizes 2000 --no-record         # rough figures, on a busy machine

The graph is that of benchmarks/hybrid. A commit adds keywords to papers, one
triple each, and is on the disk and found by its words before the call returns:
that is checked after each, in both systems. hybridkg commits in this process,
Fuseki over kept HTTP connections. Both are open at once and commit in turns, so
that a machine whose speed changes is as fast for the one as for the other.
`everything` is the load and index of the whole graph. Put the scratch folder on
a disk: in memory, nothing waits for it.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.hybrid import peer_fuseki
from benchmarks.hybrid.graph import SEED
from benchmarks.hybrid.writing import BASE, Data, write
from benchmarks.record import record

SIZES = (1, 100, 10_000)
"""Triples of a commit."""

REPEATS = {1: 15, 100: 15, 10_000: 15}
"""Rounds of each size: a commit of each system; the first is not counted."""

PAUSE_S = 0.5
"""Between two commits, so that what one system does after its answer is not timed in the other."""

THREADS = (1, 64)
EACH = {1: 16, 64: 4}
"""Commits of each thread."""

Change = Callable[[str], None]
Count = Callable[[str], int]


@dataclass(frozen=True)
class System:
    """An opened system.

    Args:
        everything_s: seconds that the load and index of the graph took.
        change: runs an update request; it is found when this returns.
        count: papers that a word finds.
        about: what else is told of it, filled while it runs.
    """

    everything_s: float
    change: Change
    count: Count
    about: dict[str, Any] = field(default_factory=dict)


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


def measured(systems: dict[str, System], papers: int) -> dict[str, dict[str, Any]]:
    """By system, seconds of commits of each size, and commits a second of threads."""
    requests = Requests(papers)
    figures: dict[str, dict[str, Any]] = {
        name: {"everything_s": round(systems[name].everything_s, 2)} for name in systems
    }
    for triples in SIZES:
        for name, seconds in _in_turns(systems, requests, triples).items():
            figures[name][f"commit_{triples}_s"] = round(statistics.median(seconds), 4)
            figures[name][f"commits_of_{triples}_s"] = [round(one, 4) for one in seconds]
            print(f"  {name}, {triples:,} triples: {figures[name][f'commit_{triples}_s']} s", flush=True)
    for threads in THREADS:
        for name, system in systems.items():
            figures[name][f"threads_{threads}_per_s"] = rate = round(_rate(system.change, requests, threads), 2)
            print(f"  {name}, {threads} threads: {rate} commits a second", flush=True)
    for name, system in systems.items():
        ratio = system.everything_s / figures[name]["commit_100_s"]
        figures[name] |= {"everything_by_commit_100": round(ratio, 1), **system.about}
    return figures


def _in_turns(systems: dict[str, System], requests: Requests, triples: int) -> dict[str, list[float]]:
    """Seconds of the commits of each system; each round begins with another one."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    order = list(systems)
    for _ in range(REPEATS[triples] + 1):
        text, word, found = requests.next(triples)
        for name in order:
            time.sleep(PAUSE_S)
            begin = time.perf_counter()
            systems[name].change(text)
            seconds[name].append(time.perf_counter() - begin)
            if (has := systems[name].count(word)) != found:
                raise RuntimeError(f"{name}: {has} papers have the word of a commit of {triples}, not {found}")
        order.append(order.pop(0))
    return {name: own[1:] for name, own in seconds.items()}


def compared(ours: dict[str, Any], peer: dict[str, Any]) -> dict[str, Any]:
    """What a commit takes, in multiples of a peer: of the medians, and quartiles of the rounds."""
    ratios: dict[str, Any] = {}
    for triples in SIZES:
        rounds = [a / b for a, b in zip(ours[f"commits_of_{triples}_s"], peer[f"commits_of_{triples}_s"], strict=True)]
        ratios[f"commit_{triples}"] = round(ours[f"commit_{triples}_s"] / peer[f"commit_{triples}_s"], 3)
        ratios[f"commit_{triples}_quartiles"] = [round(q, 3) for q in statistics.quantiles(rounds, n=4)]
    return ratios


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


@contextmanager
def ours(data: Data) -> Iterator[System]:
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
    anew: list[str] = []

    def change(text: str) -> None:
        report = kb.update(text, wait=600)
        if report.is_behind:
            raise RuntimeError("the indexes have not followed")
        if report.rebuilt:
            anew.append(report.rebuilt)

    def count(word: str) -> int:
        return len(kb.query("SELECT ?p { ?p MATCH $word }", {"word": word}))

    with kb:
        yield System(everything, change, count, {"built_anew": anew})


@contextmanager
def fuseki(data: Data) -> Iterator[System]:
    """Fuseki with TDB2 and jena-text, each thread with a connection of its own."""
    begin = time.perf_counter()
    peer_fuseki.load(data)
    everything = time.perf_counter() - begin
    config = data.engines / "fuseki" / "config.ttl"
    asked = "fuseki:endpoint [ fuseki:operation fuseki:query ] ;"
    text = config.read_text()
    config.write_text(text.replace(asked, f"{asked} fuseki:endpoint [ fuseki:operation fuseki:update ] ;"))
    own = threading.local()
    server = peer_fuseki.open(data)

    def change(request: str) -> None:
        if not hasattr(own, "http"):
            own.http = http.client.HTTPConnection("127.0.0.1", server._http.port, timeout=600)
        own.http.request("POST", "/ds", request.encode(), {"Content-Type": "application/sparql-update"})
        response = own.http.getresponse()
        body = response.read()
        if response.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")

    try:
        yield System(everything, change, lambda word: len(server.scores(word)))
    finally:
        server.close()


SYSTEMS: dict[str, Callable[[Data], AbstractContextManager[System]]] = {"hybridkg": ours, "fuseki": fuseki}


def of_size(data: Data, names: list[str]) -> dict[str, Any]:
    """Figures of systems over one graph, all open at once."""
    with ExitStack() as opened:
        systems: dict[str, System] = {}
        for name in names:
            print(f"{name}, {data.papers:,} papers", flush=True)
            systems[name] = opened.enter_context(SYSTEMS[name](data))
            print(f"  everything: {systems[name].everything_s:.1f} s", flush=True)
        figures: dict[str, Any] = {"triples": data.about()["triples"], **measured(systems, data.papers)}
    if {"hybridkg", "fuseki"} <= systems.keys():
        figures["by_fuseki"] = compared(figures["hybridkg"], figures["fuseki"])
        print(f"  multiples of fuseki: {figures['by_fuseki']}", flush=True)
    return figures


def main() -> None:
    """Runs the systems on each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updates", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000", help="papers, separated by commas (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for data and engines, on a disk; default: a temporary one")
    parser.add_argument("--engines", default=",".join(SYSTEMS), help="names (default: %(default)s)")
    parser.add_argument("--record", default="updates", help="name of the stored results (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    arguments = parser.parse_args()
    names, left_out = arguments.engines.split(","), {}
    if "fuseki" in names and (why := peer_fuseki.absent()):
        names.remove("fuseki")
        left_out["fuseki"] = why
    sizes: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        for papers in map(int, arguments.sizes.split(",")):
            sizes[str(papers)] = of_size(write(scratch / f"papers-{papers}", papers, tables=False), names)
    figures = {"sizes": sizes, "left_out": left_out, "rounds": REPEATS, "commits_of_a_thread": EACH}
    if arguments.no_record:
        print(figures)
    else:
        record(arguments.record, figures, seed=SEED)


if __name__ == "__main__":
    main()
