"""What runs in a process of its own: `python -m benchmarks.hybrid.tasks NAME ANSWER.json ARGUMENTS-AS-JSON`."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hybrid.checks import faults
from benchmarks.hybrid.contract import Engine, Found
from benchmarks.hybrid.engines import CONTENDERS
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.graph import SEED
from benchmarks.hybrid.truth import Truth
from benchmarks.hybrid.workload import Question, read
from benchmarks.hybrid.writing import Data
from benchmarks.text.memory import MB, family

SETTLING = 5
"""Warming questions that are asked once more on the core of the run: its caches are cold, as are those of a process
whose garbage has just been collected, and the first question would pay for both.
"""

HOPELESS = 4.0
"""A spelling that took so many times as long as another in every warming question of its kind is not asked."""


def load(engine: str, folder: str) -> dict[str, Any]:
    """Loads the data into one engine."""
    data, contender = Data(Path(folder)), CONTENDERS[engine]
    data.engines.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    stages = contender.loaded(data)
    whole = round(time.perf_counter() - started, 1)
    return {"seconds": whole, "stages": stages, "megabytes": round(contender.bytes(data) / MB, 1)}


def pin(processes: list[int], core: int) -> None:
    """Lets all threads of some processes and their children run on one core only; threads they start later, too."""
    for process in {one for root in processes for one in family(root)}:
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(thread.name), {core})


def kind(question: Question) -> str:
    """What decides which spelling is the quicker."""
    return f"{question.shape} {question.band} {question.filter}"


def timed(
    engine: Engine, question: Question, spelling: str, fresh: Iterator[int] | None = None
) -> tuple[float, float, list[Found]]:
    """Milliseconds by the clock, and of this process on a core, and the answer.

    With numbers of `fresh` texts, which never repeat, nothing is prepared.
    """
    ask = engine.asker(question, spelling, None if fresh is None else FreshText(next(fresh)))
    started, used = time.perf_counter(), time.process_time()
    answer = ask()
    used, ended = time.process_time() - used, time.perf_counter()
    return (ended - started) * 1e3, used * 1e3, answer


def some(questions: list[Question], every: int) -> list[Question]:
    """One in so many, the same each time; at random, as a fixed step would see one k or one correlation only."""
    picked = np.random.default_rng(SEED).permutation(len(questions))[: -(-len(questions) // every)]
    return [questions[at] for at in sorted(picked.tolist())]


def warm(
    engine: Engine, questions: list[Question], passes: int, fresh: Iterator[int] | None = None
) -> set[tuple[str, str]]:
    """Asks other questions, so that files are cached and code is compiled.

    Returns:
        (kind of question, spelling) that need not be asked.
    """
    times: dict[str, dict[str, list[float]]] = {}
    for number in range(passes):
        for question in questions:
            for spelling in engine.spellings:
                try:
                    went, _, _ = timed(engine, question, spelling, fresh)
                except Exception:
                    continue  # the question that counts will say so
                if number == passes - 1:
                    times.setdefault(kind(question), {}).setdefault(spelling, []).append(went)
    return {
        (of, spelling)
        for of, own in times.items()
        for spelling, found in own.items()
        if any(min(found) > HOPELESS * max(other) for other in own.values())
    }


def ask(
    engine: str,
    folder: str,
    half: str,
    every: int,
    warming: int,
    again: bool,
    checked: int,
    strategy: str = "",
    fresh: bool = False,
) -> dict[str, Any]:
    """Times the questions on one core, each for the first time, and checks the answers.

    Args:
        engine: its name.
        folder: of the data.
        half: of the workload; the other half warms.
        every: asks one of so many questions.
        warming: passes of the warming questions, of which one in three is asked.
        again: whether each question is asked once more.
        checked: own scores are checked in one of so many questions; 0 for none.
        strategy: for hybridkg.
        fresh: whether no text repeats and nothing is prepared.

    Returns:
        by number of the question: `first` and `again`, milliseconds by spelling; `cpu`, of the first asking, what the
        process used, which a busy machine does not lengthen much; `faults`, `returned` and `failed` by spelling;
        `true`, how many papers there are to find.
    """
    data = Data(Path(folder))
    opening = time.perf_counter()
    opened = CONTENDERS[engine].opened(data, strategy)
    opening = time.perf_counter() - opening
    workload = read(data.folder / "workload.json")
    questions = some([one for one in workload if one.half == half], every)
    numbers = count() if fresh else None
    others = [one for one in workload if one.half != half][::3]
    hopeless = warm(opened, others, warming, numbers)
    cores = sorted(os.sched_getaffinity(0))
    own_process = os.getpid() in opened.processes()
    pin(opened.processes(), cores[-1])
    if not own_process:
        pin([os.getpid()], cores[0])
        pin(opened.processes(), cores[-1])
    gc.collect()
    gc.freeze()
    warm(opened, others[:: max(1, len(others) // SETTLING)][:SETTLING], 1, numbers)
    rows, answers = dict[int, dict[str, Any]](), dict[tuple[int, str], list[Found]]()
    for which in ("first", "again") if again else ("first",):
        for question in questions:
            row = rows.setdefault(question.number, {"first": {}, "again": {}, "cpu": {}, "failed": {}})
            for spelling in opened.spellings:
                if (kind(question), spelling) in hopeless:
                    continue
                try:
                    row[which][spelling], used, answers[question.number, spelling] = timed(
                        opened, question, spelling, numbers
                    )
                except Exception as e:
                    row["failed"][spelling] = f"{type(e).__name__}: {e}"[:200]
                    continue
                if own_process and which == "first":
                    row["cpu"][spelling] = used
    os.sched_setaffinity(0, cores)
    check(data, opened, questions, answers, rows, checked)
    opened.close()
    return {"open_s": round(opening, 3), "questions": rows, "hopeless": sorted(map(" | ".join, hopeless))}


def check(
    data: Data,
    engine: Engine,
    questions: list[Question],
    answers: dict[tuple[int, str], list[Found]],
    rows: dict[int, dict[str, Any]],
    checked: int,
) -> None:
    """Adds `faults`, `returned` and `true` to the rows."""
    truth, graph = Truth.read(data.folder / "truth.npz"), data.graph()
    for at, question in enumerate(questions):
        true = truth.both(question.number)
        own = engine.scores(question.words) if checked and at % checked == 0 else None
        row = rows[question.number]
        row["faults"], row["returned"], row["true"], row["k"], row["own"] = (
            {},
            {},
            len(true),
            question.k,
            own is not None,
        )
        for spelling in engine.spellings:
            if (question.number, spelling) in answers:
                answer = answers[question.number, spelling]
                row["faults"][spelling] = faults(question, answer, true, graph, own)
                row["returned"][spelling] = len(answer)


TASKS: dict[str, Callable[..., Any]] = {task.__name__: task for task in (load, ask)}


def main(name: str, answer: str, arguments: str) -> None:
    """Runs a task and stores what it returns."""
    Path(answer).write_text(json.dumps(TASKS[name](**json.loads(arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
