"""Writers that are killed at random moments: the state is the one before or after the change, and whole.

    python -m benchmarks.durability.kills                       # 1,000 kills
    python -m benchmarks.durability.kills --kills 50 --no-record --seed 7

A process applies random changes (those of benchmarks.durability.sequences; in each fourth round six threads write
together, in group commits) and is killed by SIGKILL at a random moment of them. Then

- the knowledge base has the quads, documents, settings, index files and answers of the state before the change that
  was going on, or of the one after it: a copy of the knowledge base to which the same changes are applied has both.
  So every change that was acknowledged is there. Of threads, every acknowledged request is there, each other one is
  there as a whole or not at all, and the indexes are those of a build from scratch;
- `check(full=True)` finds nothing;
- another writer gets the lock without waiting, and after its commit the folder has no file that does not belong there.

Into every second knowledge base, commits write tails.

A run goes on where it was stopped: its counts are in the folder of --state.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import benchmarks.durability  # noqa: F401 - finds the modules of the tests
from benchmarks.durability.killed_writer import step_of, values_of
from benchmarks.durability.resumable import Resumable

import toy_encoder  # isort: skip
from changed_knowledge_base import PROFILES, Changing, drawn  # isort: skip
from generated_changes import Step  # isort: skip
from generated_profiles import HEADER  # isort: skip
from rebuilt import PROLOGUE, E, answer, assert_equals_rebuilt, documents_of, index_files, queries, quads_of  # isort: skip
from tails import WITH_TAILS, tails  # isort: skip

from hybridkg import KnowledgeBase  # isort: skip
from hybridkg.interfaces.encoder import ENCODERS  # isort: skip
from hybridkg.store.generations.place import GENERATION  # isort: skip

KILLS = 1_000
SEED = 20261126
MEMORY = Path("/dev/shm")
ROUNDS_OF_A_BASE = 20
"""Rounds that go on with one knowledge base, in which rubbish would gather."""

STEPS = 10
"""Steps of a writer; it is killed before it has done them."""

THREADS = 6
EACH = 30
"""Requests of a thread."""

QUERIES = 10
MARKER = f"{PROLOGUE} DELETE {{ ?s ?p ?o }} WHERE {{ ?s :round ?n ; ?p ?o }} ; INSERT DATA {{ :marker :round "
ENTRIES = {"kb.toml", "CURRENT", "LOCK", "cost.json", "ENGINES"}
"""What a folder may have beside generations, after a commit."""

WORK = {".text-work", ".vector-work"}
"""From these the next index step goes on; they stay as long as the indexes are behind."""

MAX_GENERATIONS = 2
MAX_FAILED = 20


@dataclass
class Counts(Resumable):
    """What the kills have found.

    Attributes:
        rounds: those that are done.
        outcomes: of kills inside a change: the state before it or after it, or the same where it changes nothing;
            `between` of kills between two changes.
        inside: kills inside a change, by its kind.
        left: entries of the folder that a killed writer has left.
        failed: what was wrong, by round.
    """

    rounds: int = 0
    kills: int = 0
    seconds: float = 0.0
    acknowledged: int = 0
    idle: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)


class Writer:
    """The running benchmarks.durability.killed_writer."""

    def __init__(self, log: Path):
        self._errors = log.open("ab")
        environment = {**os.environ, "HYBRIDKG_COMPILE": "off", "TMPDIR": str(log.parent)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.durability.killed_writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )

    def begin(self, **wanted: Any) -> int:
        """Begins a job; returns the id of its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def status(self) -> int:
        """Waits for the end of the process."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        """Ends the program."""
        self._process.communicate()
        self._errors.close()


@dataclass
class Base:
    """A knowledge base, and the steps that are still to be applied to it."""

    folder: Path
    index: bool | None
    steps: list[Step]
    tails: bool
    """Whether commits write tails."""

    @property
    def path(self) -> Path:
        return self.folder / "kb"


def new_base(folder: Path, seed: int, *, tails: bool = False) -> Base:
    """The knowledge base of a seed, with steps for all its rounds."""
    folder.mkdir()
    count = STEPS * ROUNDS_OF_A_BASE
    changing, steps = drawn(seed, folder, count, count)
    changing.kb.close()
    (folder / "other.ttl").write_text(HEADER + PROFILES["rest"])  # whole before any writer can be killed
    return Base(folder, changing.index, steps, tails)


def state_of(kb: KnowledgeBase, seed: int) -> tuple[Any, ...]:
    """Everything that must be as before or as after."""
    pool = queries(kb)
    pool = Random(seed).sample(pool, min(QUERIES, len(pool)))
    snapshot = kb._snapshot
    answers = [(query, answer(kb, query)) for query in pool]
    behind, settings = snapshot.generation.behind(), kb._folder.config
    return quads_of(kb), documents_of(kb), behind, settings, snapshot.quads, index_files(kb), answers


def lines_of(log: Path) -> list[list[str]]:
    """The events of a writer."""
    return [line.split(" ") for line in log.read_text().splitlines()] if log.exists() else []


class Kills:
    """The rounds of a run.

    Args:
        scratch: folder for everything.
        seed: of the run.
        counts: of the rounds that are done.
    """

    def __init__(self, scratch: Path, seed: int, counts: Counts):
        self.scratch, self.random, self.seed = scratch, Random(seed), seed
        self.counts = counts
        self._step_s = 0.1
        self._writer = Writer(scratch / "writer.log")

    def close(self) -> None:
        self._writer.close()

    def prepare(self) -> None:
        """Has the writer import what its jobs need, by a job that ends by itself."""
        base = new_base(self.scratch / "first", self.seed)
        steps = [values_of(step) for step in base.steps[:STEPS]]
        self._writer.begin(
            folder=str(base.folder),
            log=str(self.scratch / "first.log"),
            job={"steps": steps, "index": None, "ends": True},
            modules=str(self.scratch / "modules"),
        )
        self._writer.status()
        shutil.rmtree(base.folder)
        ends = [float(event[2]) for event in lines_of(self.scratch / "first.log") if event[0] in ("begin", "done")]
        self._step_s = (ends[-1] - ends[0]) / STEPS

    def run(self, kills: int, state: Path) -> None:
        """Bases with all their rounds, until so many writers have been killed in their work; saves after each."""
        counts = self.counts
        while counts.kills < kills and len(counts.failed) < MAX_FAILED:
            begin, first = time.monotonic(), counts.rounds
            self.random = Random(f"{self.seed} {first}")
            with_tails = first // ROUNDS_OF_A_BASE % 2 > 0
            base = new_base(self.scratch / "base", self.seed + first, tails=with_tails)
            for round_ in range(first, first + ROUNDS_OF_A_BASE):
                try:
                    with tails() if base.tails else nullcontext():
                        self._round(base, round_)
                except Exception as e:
                    self._failed(base, round_, e)
                    break
            for folder in ("base", "twin", "fresh"):
                shutil.rmtree(self.scratch / folder, ignore_errors=True)
            counts.rounds += ROUNDS_OF_A_BASE
            counts.seconds += time.monotonic() - begin
            counts.save(state)
            print(f"{counts.kills} kills, {len(counts.failed)} failed: {dict(counts.outcomes)}", flush=True)

    def _round(self, base: Base, round_: int) -> None:
        if round_ % 4 == 3:
            self._threads(base, round_)
        else:
            self._steps(base, round_, round_ % ROUNDS_OF_A_BASE)

    def _failed(self, base: Base, round_: int, error: Exception) -> None:
        """Keeps the knowledge base of a round that found something; the other rounds of its base are left out."""
        traceback.print_exc()
        lines = str(error).splitlines()
        self.counts.failed[str(round_)] = f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
        kept = Path(tempfile.gettempdir()) / f"hybridkg-killed-{self.seed}-{round_}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(base.folder, kept)
        print(f"FAILED: round {round_} of --seed {self.seed}; the knowledge base is in {kept}", flush=True)

    # --- a round --------------------------------------------------------------------------------

    def _killed(self, base: Base, job: dict[str, Any], seconds: float) -> tuple[list[list[str]], bool]:
        """Kills a writer of a job after some time; returns its events, and whether it was at work."""
        log = self.scratch / "events"
        log.unlink(missing_ok=True)
        process = self._writer.begin(folder=str(base.folder), log=str(log), job=job)
        until = time.monotonic() + 60
        while not lines_of(log) and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        if self._writer.status() != -signal.SIGKILL:
            raise RuntimeError("the writer ended by itself")
        events = lines_of(log)
        for event in events:
            if event[0] == "error":
                raise RuntimeError(f"the writer failed: {' '.join(event)}")
        at_work = bool(events) and events[-1][0] != "idle"
        self.counts.kills += at_work
        self.counts.idle += not at_work
        self.counts.left.update(sorted({_kind_of(entry.name, base.path) for entry in base.path.iterdir()} - {""}))
        return events, at_work

    def _steps(self, base: Base, round_: int, part: int) -> None:
        """A round of one thread with steps of every kind."""
        steps = base.steps[part * STEPS : (part + 1) * STEPS]
        twin = self.scratch / "twin"
        shutil.copytree(base.path, twin)
        job = {"steps": [values_of(step) for step in steps], "index": base.index, "tails": base.tails}
        events, _ = self._killed(base, job, self.random.uniform(0, 3 * self._step_s))
        begun = sum(event[0] == "begin" for event in events)
        done = sum(event[0] == "done" for event in events)
        self._learn(events)
        self.counts.acknowledged += done
        with KnowledgeBase.open(base.path) as kb:
            found = state_of(kb, round_)
            _check(kb)
        changing = Changing(base.folder, KnowledgeBase.open(twin), base.index)
        try:
            for step in steps[:done]:
                changing.run(step_of(values_of(step)))
            before = state_of(changing.kb, round_)
            outcome = "between"
            if begun > done:
                self.counts.inside[steps[done].kind] += 1
                changing.run(step_of(values_of(steps[done])))
                after = state_of(changing.kb, round_)
                outcome = "same" if before == after else "before" if found == before else "after"
                _equal(found, before if found == before else after)
            else:
                _equal(found, before)
        finally:
            changing.kb.close()
        self.counts.outcomes[outcome] += 1
        shutil.rmtree(twin)
        self._go_on(base, round_)

    def _threads(self, base: Base, round_: int) -> None:
        """A round of threads whose requests share commits."""
        with KnowledgeBase.open(base.path) as kb:
            if kb._snapshot.generation.behind():
                kb.index()
            before, documents = quads_of(kb), documents_of(kb)
        job = {"threads": THREADS, "each": EACH, "round": round_, "tails": base.tails}
        events, _ = self._killed(base, job, self.random.uniform(0, 6 * self._step_s))
        begun = {event[1] for event in events if event[0] == "begin"}
        done = {event[1] for event in events if event[0] == "done"}
        self.counts.acknowledged += len(done)
        with KnowledgeBase.open(base.path) as kb:
            found = quads_of(kb) - before
            assert before <= quads_of(kb)
            assert documents_of(kb) == documents
            by_request = Counter(str(quad.subject).removeprefix(f"<{E}r{round_}t").rstrip(">") for quad in found)
            there = {name.replace("n", ".") for name in by_request}
            assert set(by_request.values()) <= {2}, by_request
            assert done <= there, f"acknowledged and lost: {sorted(done - there)}"
            assert there <= begun, f"never asked for: {sorted(there - begun)}"
            assert len(there - done) <= THREADS
            pool = queries(kb)
            fresh = self.scratch / "fresh"
            assert not kb._snapshot.generation.behind()
            leave_out = WITH_TAILS if base.tails else ()
            pool = Random(round_).sample(pool, min(QUERIES, len(pool)))
            assert_equals_rebuilt(kb, fresh, leave_out=leave_out, pool=pool)
            shutil.rmtree(fresh)
            _check(kb)
        self.counts.inside["threads"] += bool(begun - done)
        self.counts.outcomes["after, of threads" if there - done else "before, of threads"] += bool(begun - done)
        self.counts.outcomes["between"] += not begun - done
        self._go_on(base, round_)

    def _go_on(self, base: Base, round_: int) -> None:
        """Another writer goes on, without waiting, and the rubbish of the killed one is gone."""
        with KnowledgeBase.open(base.path) as kb:
            assert kb.update(f"{MARKER} {round_} }}", wait=0).added
            allowed = ENTRIES | (WORK if kb._snapshot.generation.behind() else set())
        names = {entry.name for entry in base.path.iterdir()}
        generations = {name for name in names if GENERATION.fullmatch(name)}
        assert names - generations <= allowed, f"left behind: {sorted(names - generations - allowed)}"
        assert len(generations) <= MAX_GENERATIONS, f"left behind: {sorted(generations)}"

    def _learn(self, events: list[list[str]]) -> None:
        """Follows how long a step takes on this machine at this time; one that was killed would have taken longer."""
        begins = {event[1]: float(event[2]) for event in events if event[0] == "begin"}
        ends = {event[1]: float(event[2]) for event in events if event[0] == "done"}
        for name, begin in begins.items():
            taken = ends.get(name, time.monotonic()) - begin
            if name in ends or taken > self._step_s:
                self._step_s = 0.9 * self._step_s + 0.1 * taken


def _kind_of(name: str, path: Path) -> str:
    """What a killed writer has left, without its number; empty for what belongs there."""
    if GENERATION.fullmatch(name):
        return "a generation that CURRENT does not name" if name > (path / "CURRENT").read_text().strip() else ""
    return "" if name in ENTRIES else name.rstrip("0123456789")


def _check(kb: KnowledgeBase) -> None:
    report = kb.check(full=True)
    assert report.ok, str(report)


def _equal(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    names = ("quads", "documents", "stale indexes", "settings", "count of quads", "index files", "answers")
    other = [name for name, one, two in zip(names, found, wanted, strict=True) if one != two]
    assert not other, f"neither the state before nor the one after: {other}"


def main() -> None:
    """Kills, and records a whole run."""
    from benchmarks.record import record

    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.kills", description=about)
    parser.add_argument("--kills", type=int, default=KILLS, help="writers to kill (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--scratch", type=Path, help="folder for the knowledge bases; default: in memory")
    parser.add_argument("--state", type=Path, default=Path(tempfile.gettempdir()), help="folder of the counts so far")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    chosen = parser.parse_args()
    ENCODERS._builtin[toy_encoder.NAME] = f"{toy_encoder.__name__}:Toy"
    scratch = Path(tempfile.mkdtemp(dir=chosen.scratch or (MEMORY if MEMORY.is_dir() else None)))
    state = chosen.state / f"kills-{chosen.seed}.json"
    counts = Counts.open(state)
    kills = Kills(scratch, chosen.seed, counts)
    try:
        kills.prepare()
        kills.run(chosen.kills, state)
    finally:
        kills.close()
        shutil.rmtree(scratch, ignore_errors=True)
    figures = {
        "rounds": counts.rounds,
        "kills": counts.kills,
        "acknowledged_before_a_kill": counts.acknowledged,
        "killed_after_the_last_step": counts.idle,
        "outcomes": dict(counts.outcomes.most_common()),
        "killed_inside": dict(counts.inside.most_common()),
        "left_until_the_next_writer": dict(counts.left.most_common()),
        "failed": counts.failed,
        "seconds": round(counts.seconds),
    }
    if chosen.no_record or counts.kills < KILLS:
        print(json.dumps(figures, indent=2))
    else:
        record("durability_kills", figures, seed=chosen.seed)
    sys.exit(1 if counts.failed else 0)


if __name__ == "__main__":
    main()
