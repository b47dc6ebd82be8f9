"""Half an hour of updates, documents, loads, queries and checks beside one another: does anything grow, or slow down?

    python -m benchmarks.durability.soak                                  # 30 minutes
    python -m benchmarks.durability.soak --minutes 3 --no-record          # on a busy machine

One process has two threads that update, one that changes documents (so that their segments merge), one that replaces a
named graph by a file, three that query, one of them in a knowledge base of its own that it refreshes, and one that
checks. Beside it, a process updates and waits for its turn, and another one opens the knowledge base, queries, and
closes it. Every change replaces what is there, so the size stays.

Each minute has the least memory, open files and disk that were taken at any of its moments, and the latencies of
queries and commits. The first minute warms up. Of the others, the median of the last third is compared with that of the
first third: `flat` says whether it stays below LIMITS. Latencies depend on what else the machine does, so each minute
also has the time of a fixed piece of work in another process, and the limits of latencies grow with it.

At the end no acknowledged change may be missing, `check(full=True)` must find nothing, and the indexes must be those of
a build from scratch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import benchmarks.durability  # noqa: F401 - finds the modules of the tests

from rebuilt import assert_equals_rebuilt  # isort: skip

from hybridkg import KnowledgeBase  # isort: skip

MINUTES = 30
SEED = 20261127
ENTITIES = 2_000
DOCUMENTS = 400
WORDS = (
    *("red", "blue", "deep", "old", "slow", "grey", "fish", "boat", "whale"),
    *("sea", "space", "ship", "crew", "fog", "moon", "storm", "island", "light"),
)
PREFIXES = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
WAIT = 120.0
"""Seconds that a commit waits for the other writers."""

PAUSE = {"update": 0.2, "documents": 0.5, "replace": 5.0, "query": 0.05, "check": 20.0, "process": 2.0}
"""Seconds between two actions of a thread or a process."""

MOMENTS = 2.0
"""Seconds between two looks at what the process and the knowledge base take."""

FULL_CHECK_EVERY = 5

LIMITS = {
    "anonymous_mb": (1.10, 10.0),
    "resident_mb": (1.15, 20.0),
    "open_files": (1.05, 20.0),
    "threads": (1.0, 2.0),
    "disk_mb": (1.15, 5.0),
    "files": (1.10, 20.0),
    "query_p50_ms": (1.20, 1.0),
    "query_p99_ms": (1.50, 10.0),
    "commit_p50_ms": (1.20, 10.0),
    "commit_p99_ms": (1.50, 100.0),
}
"""(factor, addition): the last third may be this many times the first, or this much more, whichever is larger."""

YARDSTICK = """import time
times = []
for _ in range(9):
    begin = time.perf_counter()
    sum(number * number for number in range(400_000))
    times.append(time.perf_counter() - begin)
print(sorted(times)[4])"""
"""Seconds of a fixed piece of work, by how much the machine has to do."""

QUERIES = (
    'SELECT ?x ?s { ?x MATCH "red fish" AS ?s } RANK BY ?s LIMIT 10',
    'SELECT ?x ?s { ?x MATCH "+sea boat" USING lm AS ?s . ?x :year ?y FILTER(?y > 1990) } RANK BY ?s LIMIT 10',
    'SELECT ?x ?y ?s { ?x MATCH "grey whale" AS ?s . ?x :next ?y . ?y :next ?z } RANK BY ?s LIMIT 10',
    'SELECT ?x ?s { ?x MATCH "slow fog" ON (review) AS ?s } RANK BY ?s LIMIT 10',
    r'SELECT ?x ?s { ?x MATCH "\"deep sea\" moo*" USING mlm AS ?s } RANK BY ?s LIMIT 5',
    "SELECT ?y (COUNT(?x) AS ?n) { ?x :year ?y } GROUP BY ?y ORDER BY DESC(?n) ?y LIMIT 5",
    "SELECT ?a ?b { ?a :next/:next ?b ; :year 2000 } ORDER BY ?a ?b LIMIT 10",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g",
)


class Words:
    """Draws texts and requests of a thread."""

    def __init__(self, seed: int):
        self.random = Random(seed)

    def text(self) -> str:
        """Three to eight words."""
        return " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(3, 8)))

    def entity(self, among: int = ENTITIES) -> str:
        """The local name of one."""
        return f"e{self.random.randrange(among)}"

    def triples(self, number: int) -> str:
        """An entity in Turtle."""
        return (
            f':e{number} rdfs:label "{self.text()}" ; :year {self.random.randint(1980, 2020)} ; '
            f":next :{self.entity()} ; a :{self.random.choice(('Film', 'Person'))} ."
        )

    def update(self, writer: str, number: int) -> str:
        """A change of some entities, and the number of the request of this writer, in place of the earlier one."""
        subject = self.entity()
        change = self.random.choice(
            (
                f'DELETE {{ :{subject} rdfs:label ?l }} INSERT {{ :{subject} rdfs:label "{self.text()}" }} '
                f"WHERE {{ :{subject} rdfs:label ?l }}",
                f"DELETE {{ :{subject} :next ?n }} INSERT {{ :{subject} :next :{self.entity()} }} "
                f"WHERE {{ :{subject} :next ?n }}",
                f"DELETE {{ :{subject} :year ?y }} INSERT {{ :{subject} :year {self.random.randint(1980, 2020)} }} "
                f"WHERE {{ :{subject} :year ?y }}",
                f'DELETE {{ ?x :shelf ?o }} INSERT {{ ?x :shelf "{self.random.choice(WORDS)}" }} '
                f'WHERE {{ ?x MATCH "{self.random.choice(WORDS)} ship" AS ?s OPTIONAL {{ ?x :shelf ?o }} }} '
                "RANK BY ?s LIMIT 3",
            )
        )
        return (
            f"{PREFIXES} {change} ; DELETE {{ :{writer} :last ?n }} INSERT {{ :{writer} :last {number} }} "
            f"WHERE {{ OPTIONAL {{ :{writer} :last ?n }} }}"
        )


def made(folder: Path, seed: int) -> KnowledgeBase:
    """The knowledge base of the soak."""
    words = Words(seed)
    prefixes = "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    (folder / "data.ttl").write_text(prefixes + "\n".join(words.triples(number) for number in range(ENTITIES)))
    lines = [{"id": f"http://e/e{number}", "review": words.text()} for number in range(DOCUMENTS)]
    (folder / "documents.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kb = KnowledgeBase.create(folder / "kb")
    kb.load(folder / "data.ttl", text=folder / "documents.jsonl", index=True)
    return kb


# --- what is measured ---------------------------------------------------------------------------


@dataclass
class Latencies:
    """Milliseconds of the actions since the last `taken`, by kind."""

    found: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        """Measures a block that succeeds."""
        begin = time.perf_counter()
        yield
        taken = 1e3 * (time.perf_counter() - begin)
        with self.lock:
            self.found.setdefault(kind, []).append(taken)

    def taken(self) -> dict[str, list[float]]:
        """What has been measured, and begins anew."""
        with self.lock:
            found, self.found = self.found, {}
        return found


def counted(folder: Path) -> dict[str, float]:
    """What this process and the knowledge base take at this moment."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    blocks: dict[int, int] = {}
    for parent, folders, files in os.walk(folder):  # which goes on where a writer removes a folder meanwhile
        for name in (*folders, *files):
            with suppress(OSError):
                about = os.lstat(f"{parent}/{name}")
                blocks[about.st_ino] = 512 * about.st_blocks
    return {
        "resident_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "anonymous_mb": round(int(status["RssAnon"].split()[0]) / 1024, 1),
        "open_files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - entries may go while they are listed
        "threads": int(status["Threads"]),
        "disk_mb": round(sum(blocks.values()) / 1e6, 2),
        "files": len(blocks),
    }


def sample(moments: Sequence[dict[str, float]], latencies: dict[str, list[float]]) -> dict[str, float]:
    """The figures of a minute: the least that was taken at its moments, and its latencies.

    A generation lives as long as a query reads it, so at one moment there are up to twice as many files as at another.
    What grows is what is never released.
    """
    yardstick = subprocess.run([sys.executable, "-c", YARDSTICK], check=True, capture_output=True, text=True).stdout
    figures = {"yardstick_ms": round(1e3 * float(yardstick), 2)}
    figures |= {name: min(moment[name] for moment in moments) for name in moments[0]}
    for kind, times in sorted(latencies.items()):
        figures[f"{kind}_count"] = len(times)
        figures[f"{kind}_p50_ms"] = round(statistics.median(times), 2)
        figures[f"{kind}_p99_ms"] = round(sorted(times)[min(len(times) - 1, int(0.99 * len(times)))], 2)
    return figures


def compared(minutes: Sequence[dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Medians of the first and the last third of the minutes, without the first one, and whether they are flat."""
    warm = minutes[1:] if len(minutes) > 3 else minutes
    third = max(1, len(warm) // 3)

    def medians(name: str) -> tuple[float, float]:
        first, last = ([one[name] for one in part if name in one] for part in (warm[:third], warm[-third:]))
        return statistics.median(first), statistics.median(last)

    before, after = medians("yardstick_ms")
    found: dict[str, dict[str, Any]] = {"yardstick_ms": {"first_third": before, "last_third": after}}
    for name, (factor, addition) in LIMITS.items():
        first, last = medians(name)
        limit = max(factor * first, first + addition) * (max(1.0, after / before) if name.endswith("_ms") else 1.0)
        found[name] = {"first_third": first, "last_third": last, "limit": round(limit, 2), "flat": last <= limit}
    return found


# --- what is done -------------------------------------------------------------------------------


class Soak:
    """The threads of a run.

    Args:
        folder: for the knowledge base, which is there, and files to load.
        seed: of the run.
    """

    def __init__(self, folder: Path, kb: KnowledgeBase, seed: int):
        self.folder, self.kb, self.seed = folder, kb, seed
        self.latencies = Latencies()
        self.done = Counter[str]()
        self.last: dict[str, int] = {}
        self.errors: list[str] = []
        self._stop = threading.Event()

    def start(self) -> list[threading.Thread]:
        """Starts everything; returns the threads."""
        jobs: list[tuple[str, Callable[[Words, int], None]]] = [
            ("update", self._updating("w0")),
            ("update", self._updating("w1")),
            ("documents", self._change_documents),
            ("replace", self._replace),
            ("query", self._querying(self.kb)),
            ("query", self._querying(self.kb)),
            ("query", self._querying(None)),
            ("check", self._check),
        ]
        threads = [
            threading.Thread(target=self._repeat, args=[kind, job, Words(self.seed + number)], name=kind)
            for number, (kind, job) in enumerate(jobs, 1)
        ]
        for thread in threads:
            thread.start()
        return threads

    def stop(self) -> None:
        """Lets each thread end what it does."""
        self._stop.set()

    def _repeat(self, kind: str, job: Callable[[Words, int], None], words: Words) -> None:
        number = 0
        while not self._stop.wait(PAUSE[kind] * words.random.uniform(0.5, 1.5)):
            try:
                job(words, number)
                self.done[kind] += 1
            except Exception as e:
                self.errors.append(f"{kind}: {type(e).__name__}: {e}"[:300])
                traceback.print_exc()
            number += 1

    def _updating(self, writer: str) -> Callable[[Words, int], None]:
        def update(words: Words, number: int) -> None:
            with self.latencies.of("commit"):
                report = self.kb.update(words.update(writer, number), wait=WAIT)
            self.last[writer] = number
            if report.rebuilt or report.is_behind:
                raise RuntimeError(f"the indexes have not followed: {report.rebuilt}")

        return update

    def _change_documents(self, words: Words, number: int) -> None:
        """Texts of some documents in place of others; each tenth time one is removed, and comes again."""
        names = {words.entity(DOCUMENTS) for _ in range(3)}
        with self.latencies.of("document_commit"), self.kb.transaction(wait=WAIT) as t:
            for name in sorted(names):
                if number % 10 == 9:
                    t.delete_text(f"http://e/{name}")
                else:
                    t.text(f"http://e/{name}", review=[words.text(), f"d{number}"])
        self.done["documents changed"] += t.report.documents if t.report is not None else 0

    def _replace(self, words: Words, _: int) -> None:
        """A file in place of a named graph."""
        path = self.folder / "graph.nt"
        lines = [
            f'<http://e/{words.entity()}> <http://e/seen> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
            for n in range(50)
        ]
        path.write_text("\n".join(lines) + "\n")
        with self.latencies.of("replace"):
            self.kb.load(path, replace="http://e/seen-graph", wait=WAIT)

    def _querying(self, kb: KnowledgeBase | None) -> Callable[[Words, int], None]:
        """With None, in a knowledge base of its own, which is refreshed before each query, and sees what is done."""
        own = KnowledgeBase.open(self.folder / "kb") if kb is None else kb

        def query(words: Words, _: int) -> None:
            known = dict(self.last) if kb is None else {}
            if kb is None:
                own.refresh()
            with self.latencies.of("query"):
                rows = list(own.query(PREFIXES + words.random.choice(QUERIES)))
            self.done["rows"] += len(rows)
            for writer, last in known.items():
                (row,) = own.query(f"{PREFIXES} SELECT ?n {{ :{writer} :last ?n }}")
                if row["n"].toPython() < last:
                    raise RuntimeError(f"the commit {last} of {writer} has been acknowledged, and is not there")

        return query

    def _check(self, words: Words, number: int) -> None:
        report = self.kb.check(full=number % FULL_CHECK_EVERY == 0)
        if not report.ok:
            raise RuntimeError(str(report))


def beside(path: Path, role: str, seed: int) -> None:
    """A process of its own, until its input ends: `writer` updates, `reader` opens, queries, and closes."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    words, number = Words(seed), 0
    kb = KnowledgeBase.open(path)
    while not ended.wait(PAUSE["process"] * words.random.uniform(0.5, 1.5)):
        if role == "writer":
            kb.update(words.update("other", number), wait=WAIT)
            print(number, flush=True)
        else:
            with KnowledgeBase.open(path) as other:
                print(len(list(other.query(PREFIXES + words.random.choice(QUERIES)))), flush=True)
        number += 1
    kb.close()


def run(folder: Path, minutes: float, seed: int) -> dict[str, Any]:
    """The soak, and its figures."""
    kb = made(folder, seed)
    soak = Soak(folder, kb, seed)
    others = {
        role: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.durability.soak", "--beside", str(folder / "kb"), role, str(seed)],
            stdin=subprocess.PIPE,
            stdout=(folder / f"{role}.log").open("w"),
        )
        for role in ("writer", "reader")
    }
    samples: list[dict[str, float]] = []
    threads = soak.start()
    begin = time.monotonic()
    try:
        while (left := begin + 60 * minutes - time.monotonic()) > 1:
            moments, end = list[dict[str, float]](), time.monotonic() + min(60, left)
            while not moments or time.monotonic() < end:
                time.sleep(MOMENTS)
                moments.append(counted(folder / "kb"))
            samples.append(sample(moments, soak.latencies.taken()))
            print(len(samples), json.dumps(samples[-1]), flush=True)
    finally:
        soak.stop()
        for process in others.values():
            process.communicate()
        for thread in threads:
            thread.join()
    for role, process in others.items():
        if process.returncode:
            soak.errors.append(f"the {role} beside it ended with {process.returncode}")
        soak.done[f"{role} beside it"] = len((folder / f"{role}.log").read_text().splitlines())
    soak.last["other"] = soak.done["writer beside it"] - 1
    with kb:
        _examine_end(soak)
        about = kb.stats()
    return {
        "minutes": minutes,
        "commits": int(about["generation"]),
        "done": dict(soak.done.most_common()),
        "errors": soak.errors[:50],
        "thirds": compared(samples),
        "limits": {name: list(limit) for name, limit in LIMITS.items()},
        "each_minute": samples,
    }


def _examine_end(soak: Soak) -> None:
    """Adds to the errors what is not as it must be."""
    kb = soak.kb
    kb.refresh()
    try:
        for writer, last in soak.last.items():
            (row,) = kb.query(f"{PREFIXES} SELECT ?n {{ :{writer} :last ?n }}")
            assert row["n"].toPython() == last, f"{writer}: {row['n']} is there, and {last} was acknowledged"
        report = kb.check(full=True)
        assert report.ok, str(report)
        assert_equals_rebuilt(kb, soak.folder / "fresh", pool=[*QUERIES])
    except Exception as e:
        soak.errors.append(f"at the end: {type(e).__name__}: {e}"[:300])
        traceback.print_exc()


def main() -> None:
    """Runs, and records a whole run."""
    from benchmarks.record import record

    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.soak", description=about)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--scratch", type=Path, help="folder on a disk; default: a temporary one")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    parser.add_argument("--beside", nargs=3, metavar=("KB", "ROLE", "SEED"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.beside:
        path, role, seed = chosen.beside
        beside(Path(path), role, int(seed) + (1_000 if role == "writer" else 2_000))
        return
    folder = Path(tempfile.mkdtemp(dir=chosen.scratch))
    try:
        figures = run(folder, chosen.minutes, chosen.seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures["flat"] = all(one.get("flat", True) for one in figures["thirds"].values())
    if chosen.no_record or chosen.minutes < MINUTES:
        print(json.dumps({name: figures[name] for name in figures if name != "each_minute"}, indent=2))
    else:
        record("durability_soak", figures, seed=chosen.seed)
    print("flat" if figures["flat"] else "NOT FLAT", f"{len(figures['errors'])} errors")
    sys.exit(1 if figures["errors"] or not figures["flat"] else 0)


if __name__ == "__main__":
    main()
