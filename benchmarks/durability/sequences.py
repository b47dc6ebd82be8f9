"""Generated sequences of changes, each against a knowledge base that is built from scratch.

    python -m benchmarks.durability.sequences --workers 2                      # 10,000 of them
    python -m benchmarks.durability.sequences --seeds 4711 4712 --no-record    # one again, with its steps

A sequence is a knowledge base of a random profile (paths, rest fields, classes, languages), with the default graph or
the union of all, blank nodes, triple terms, and vectors in half of them. 3 to 8 steps change it: update requests,
loads, replaced and removed files, documents, transactions, failing ones too, reopenings, index steps, other profiles.
At the end, and in a third of them once before, every file of its indexes is compared with those of a build from the
same quads and documents, and so are rows, their order and the bits of their scores in a sample of the queries of
tests/properties/rebuilt.py; in every 25th sequence in all of them. In sequences of odd seeds, commits write tails, and
the files that have another form then are not compared.

Workers are processes that take chunks of the seeds. A sequence depends on its seed alone, so the figures are the same
for any number of them. Each stays on one processor: Oxigraph starts 180 threads whenever it opens a store, 22 times in
a sequence, and moving them between two processors takes a tenth of the processor time.

A run goes on where it was stopped: the state of each chunk is in the scratch folder. A sequence that fails is printed
with the command that repeats it, and the run goes on.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any

import benchmarks.durability  # noqa: F401 - finds the modules of the tests
from benchmarks.durability.resumable import Resumable

import pytest  # isort: skip
import toy_encoder  # isort: skip
from changed_knowledge_base import Changing, drawn  # isort: skip
from generated_changes import Step  # isort: skip
from rebuilt import assert_equals_rebuilt, queries  # isort: skip
from tails import WITH_TAILS, tails  # isort: skip

SEQUENCES = 10_000
STEPS = (3, 8)
QUERIES = 12
"""Queries of a comparison; files are compared in each."""

MIDDLE_SHARE = 3
"""One of so many sequences is also compared in its middle."""

ALL_QUERIES_EVERY = 25
SAVE_EVERY = 20
CHUNK = 250
"""Sequences that a worker takes at once."""

MEMORY = Path("/dev/shm")


class StoppedRunError(Exception):
    """The process that started the workers has ended."""


@dataclass
class Counts(Resumable):
    """What a run has done.

    Attributes:
        sequences: those that are done.
        compared: comparisons with a build from scratch.
        steps: by kind; those of a transaction count as one.
        commits: by how the indexes came along: followed, behind, or why they were built anew.
        seconds: of the workers together, as time passes.
        cpu_seconds: of their processors.
        failed: seeds with the first line of what was wrong.
    """

    sequences: int = 0
    compared: int = 0
    queries: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    steps: Counter[str] = field(default_factory=Counter)
    commits: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def together(cls, parts: Iterable[Counts]) -> Counts:
        """The counts of parts of a run."""
        total = cls()
        for part in parts:
            for name in (one.name for one in fields(cls)):
                ours, theirs = getattr(total, name), getattr(part, name)
                setattr(total, name, ours | theirs if name == "failed" else ours + theirs)
        return total


def examine(seed: int, folder: Path, counts: Counts, show: Callable[[str], None]) -> None:
    """Runs one sequence. Raises what is wrong with it."""
    with tails() if seed % 2 else nullcontext():
        _examine(seed, folder, counts, show)


def _examine(seed: int, folder: Path, counts: Counts, show: Callable[[str], None]) -> None:
    changing, steps = drawn(seed, folder, *STEPS)
    own = Random(seed + 1)
    middle = own.randrange(MIDDLE_SHARE * len(steps))
    try:
        for number, step in enumerate(steps):
            show(f"{number}: {_shown(step)}")
            changing.run(step)
            counts.steps[step.kind] += 1
            if number == middle and not changing.kb._snapshot.generation.behind():
                _compare(changing, folder / "middle", QUERIES, own, counts, bool(seed % 2))
        if changing.kb._snapshot.generation.behind():
            changing.kb.index()
        every = seed % ALL_QUERIES_EVERY == 0
        _compare(changing, folder / "end", sys.maxsize if every else QUERIES, own, counts, bool(seed % 2))
        if every:
            changing.kb.verify()
        counts.commits.update(changing.commits)
    finally:
        changing.kb.close()


def _compare(changing: Changing, folder: Path, size: int, own: Random, counts: Counts, leaves_tails: bool) -> None:
    pool: Sequence[str] = queries(changing.kb)
    pool = own.sample(pool, min(size, len(pool)))
    assert_equals_rebuilt(changing.kb, folder, leave_out=WITH_TAILS if leaves_tails else (), pool=pool)
    counts.compared += 1
    counts.queries += len(pool)
    shutil.rmtree(folder)


def _shown(step: Step) -> str:
    return f"{step.kind} {step.what!r}{' ranked' if step.ranked else ''}"


def run(first: int, end: int, scratch: Path) -> Counts:
    """Runs the sequences of the seeds from `first` to before `end`; those that the state in `scratch` has are done."""
    state = scratch / f"sequences-{first}-{end}.json"
    counts = Counts.open(state)
    show = print if end - first == 1 else lambda _: None
    files = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    begin, before = time.monotonic(), counts.seconds
    cpu_begin, cpu_before = time.process_time(), counts.cpu_seconds
    parent = multiprocessing.parent_process()
    try:
        with pytest.MonkeyPatch.context() as patch:
            toy_encoder.register(patch)
            for seed in range(first + counts.sequences, end):
                if parent is not None and not parent.is_alive():
                    raise StoppedRunError
                folder = files / str(seed)
                folder.mkdir()
                try:
                    examine(seed, folder, counts, show)
                except Exception as e:
                    lines = str(e).splitlines()
                    counts.failed[str(seed)] = f"{type(e).__name__}: {lines[0] if lines else ''}"[:300]
                    traceback.print_exc()
                    print(f"FAILED: python -m benchmarks.durability.sequences --seeds {seed} {seed + 1} --no-record")
                shutil.rmtree(folder, ignore_errors=True)
                counts.sequences += 1
                counts.seconds = before + time.monotonic() - begin
                counts.cpu_seconds = cpu_before + time.process_time() - cpu_begin
                if counts.sequences % SAVE_EVERY == 0 or seed + 1 == end:
                    counts.save(state)
                    rate = counts.sequences / counts.seconds
                    print(f"{seed + 1}: {len(counts.failed)} failed, {rate:.2f} a second", flush=True)
                if not gc.get_freeze_count():  # the modules are loaded: full collections leave their objects alone
                    gc.collect()
                    gc.freeze()
    finally:
        shutil.rmtree(files, ignore_errors=True)
    return counts


def run_in_chunks(first: int, end: int, scratch: Path, workers: int) -> Counts:
    """The same in chunks, by so many processes."""
    starts = range(first, end, CHUNK)
    ends = [min(start + CHUNK, end) for start in starts]
    context = multiprocessing.get_context("spawn")
    places = context.SimpleQueue()
    for worker in range(workers):
        places.put(worker)
    with ProcessPoolExecutor(workers, context, _stay_on_one_processor, (places,)) as pool:
        return Counts.together(pool.map(_chunk, starts, ends, [scratch] * len(starts)))


def _chunk(first: int, end: int, scratch: Path) -> Counts:
    """`run` in a worker, which ends when the process that started it has."""
    try:
        return run(first, end, scratch)
    except StoppedRunError:
        os._exit(1)  # a pool would send the error to nobody, and wait for another chunk


def _stay_on_one_processor(places: Any) -> None:
    """Begins a worker; `places` has the number of each."""
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[places.get() % len(processors)]})


def figures(counts: Counts, first: int, end: int) -> dict[str, Any]:
    """The figures of a whole run."""
    return {
        "seeds": [first, end],
        "sequences": counts.sequences,
        "compared_with_a_build_from_scratch": counts.compared,
        "queries_compared": counts.queries,
        "steps": dict(counts.steps.most_common()),
        "commits": dict(counts.commits.most_common()),
        "failed": counts.failed,
        "seconds": round(counts.seconds),
        "cpu_seconds": round(counts.cpu_seconds),
    }


def main() -> None:
    """Runs, and records a whole run."""
    from benchmarks.record import record

    about = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.sequences", description=about)
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FROM", "TO"), default=(0, SEQUENCES))
    parser.add_argument(
        "--scratch", type=Path, default=Path(tempfile.gettempdir()), help="folder for the state of the run"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    chosen = parser.parse_args()
    first, end = chosen.seeds
    if end - first == 1:
        (chosen.scratch / f"sequences-{first}-{end}.json").unlink(missing_ok=True)
        counts = run(first, end, chosen.scratch)
    else:
        counts = run_in_chunks(first, end, chosen.scratch, chosen.workers)
    if chosen.no_record:
        print(json.dumps(figures(counts, first, end), indent=2))
    else:
        record("durability_sequences", figures(counts, first, end), seed=first)
    sys.exit(1 if counts.failed else 0)


if __name__ == "__main__":
    main()
