"""What runs in a process of its own: `python -m benchmarks.text.tasks NAME ANSWER.json ARGUMENTS-AS-JSON`."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.text import ours, peers
from benchmarks.text.corpus import Corpus
from benchmarks.text.memory import MB, resident
from benchmarks.text.queries import KS, Cell, read_cells
from hybridkg.interfaces.text_index import IndexRequest

FEWEST = 10
"""Questions of a cell that are asked however long they take."""


def build_ours(scratch: str, entities: int, kind: str, folder: str) -> dict[str, Any]:
    """Builds one of hybridkg's indexes."""
    return ours.build(Corpus(Path(scratch)), entities, kind, Path(folder))


def build_peer(scratch: str, entities: int, peer: str, folder: str) -> dict[str, Any]:
    """Builds a peer's index, unless it is there."""
    building = {"tantivy": peers.build_tantivy, "bm25s": peers.build_bm25s}[peer]
    try:
        building(Corpus(Path(scratch)), entities, Path(folder))
    except ModuleNotFoundError as e:
        return {"failed": str(e)}
    about: dict[str, Any] = json.loads((Path(folder) / "done.json").read_text())
    return about


def opening(folder: str, text: str) -> dict[str, float]:
    """Time to open an index, imports apart, and to answer a first question, kernels loaded and pages touched."""
    from hybridkg.text.index import EmbeddedTextIndex

    started = time.perf_counter()
    index = EmbeddedTextIndex.open(Path(folder))
    opened = time.perf_counter()
    index.topk(ours.question(text, "bm25f"), 10)
    return {"open_s": opened - started, "first_question_s": time.perf_counter() - opened}


def open_engines(engine: str, folder: str) -> dict[str, peers.Ask]:
    """How to ask an engine: a peer in one of its ways, or a model of ours."""
    if engine.startswith("tantivy"):
        return {engine: peers.open_tantivy(Path(folder))[engine]}
    if engine == "bm25s":
        return peers.open_bm25s(Path(folder))
    return ours.open_models(Path(folder), (engine,))


def timed(ask: peers.Ask, cell: Cell, budget_s: float) -> list[float]:
    """Milliseconds of each question; fewer of them, but not under FEWEST, where the time is up."""
    times: list[float] = []
    until = time.perf_counter() + budget_s
    for text in cell.texts:
        started = time.perf_counter()
        ask(text, cell.k)
        ended = time.perf_counter()
        times.append((ended - started) * 1e3)
        if ended > until and len(times) >= FEWEST:
            break
    return times


def asking(
    engine: str, folder: str, cells: str, skipped: list[str], budget_s: float, again: bool
) -> dict[str, dict[str, Any]]:
    """Times every cell on one core, each text for the first time; then, if wanted, each text of the cell once more.

    Returns:
        for each way to ask and cell: `first` and `again`, milliseconds in the order of the questions, the second
        empty where the first took more than half the budget; and where k is 10 `best`, the ids of three answers.
    """
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    cached(Path(folder))
    asked = read_cells(Path(cells))
    answers: dict[str, Any] = {}
    for name, ask in open_engines(engine, folder).items():
        for cell in asked:
            for text in cell.before:
                ask(text, cell.k)
        gc.collect()
        gc.freeze()
        found: dict[str, dict[str, Any]] = {}
        for cell in asked:
            if f"{name} {cell.name}" not in skipped:
                first = timed(ask, cell, budget_s)
                quick = again and sum(first) < budget_s * 500
                second = timed(ask, cell, budget_s) if quick else []
                best = [[int(i) for i in ask(text, 10)[0]] for text in cell.texts[:3]] if again and cell.k == 10 else []
                found[cell.name] = {"first": first, "again": second, "best": best}
        answers[name] = found
    return answers


def cached(folder: Path) -> None:
    """Reads all files once, so that none is read from the disk while the clock runs."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            while file.read(1 << 22):
                pass


def together(folder: str, cells: str) -> dict[str, Any]:
    """The best 10 of all such questions: one after the other, and all in one call, which may use all cores."""
    index = ours.open_index(Path(folder))
    asked = [cell for cell in read_cells(Path(cells)) if cell.k == 10]
    for cell in asked:
        index.batch([IndexRequest(ours.question(text, "bm25f"), 10) for text in cell.before])
    questions = [IndexRequest(ours.question(text, "bm25f"), 10) for cell in asked for text in cell.texts]
    started = time.perf_counter()
    single = [index.topk(question.query, 10) for question in questions]
    between = time.perf_counter()
    batch = index.batch(questions)
    ended = time.perf_counter()
    same = all(all(map(same_bytes, a, b)) for a, b in zip(single, batch, strict=True))
    return {
        "questions": len(questions), "cores": len(os.sched_getaffinity(0)), "same": same,
        "one_by_one_s": round(between - started, 3), "together_s": round(ended - between, 3),
    }  # fmt: skip


def answering(folder: str, cells: str, shares: dict[str, int]) -> dict[str, Any]:
    """Answers the first questions of every cell with every model; a digest of the answers, and the memory.

    Args:
        folder: of the index.
        cells: the file of questions.
        shares: model -> questions of each cell, at most.
    """
    index = ours.open_index(Path(folder))
    digests: dict[str, str] = {}
    anonymous = {"open": resident(os.getpid())[1]}
    for model, share in shares.items():
        found, answered, started = hashlib.sha256(), 0, time.perf_counter()
        for cell in read_cells(Path(cells)):
            for text in cell.texts[:share]:
                ids, scores = index.topk(ours.question(text, model), cell.k)
                found.update(ids.tobytes() + scores.tobytes())
                answered += 1
        digests[model] = f"{answered} answers {found.hexdigest()[:16]}"
        anonymous[model] = resident(os.getpid())[1]
        print(f"{model}: {answered} answers, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return {"answers": digests, "anonymous_mb_after": {name: round(size / MB, 1) for name, size in anonymous.items()}}


def comparing(folder: str, cells: str, model: str, budget_s: float) -> dict[str, Any]:
    """Whether `topk` is what sorting the complete relation gives, in ids and in every bit of the scores.

    Goes over the cells question by question, so that all cells are seen where the time is up early.
    """
    from hybridkg.text.index.stored_fields import best

    index = ours.open_index(Path(folder))
    asked = read_cells(Path(cells))
    texts = [cell.texts[i] for i in range(max(len(c.texts) for c in asked)) for cell in asked if i < len(cell.texts)]
    until = time.perf_counter() + budget_s
    examples: list[str] = []
    questions = differing = tied = 0
    for text in texts:
        query = ours.question(text, model)
        complete = index.score_all(query)
        questions += 1
        tied += len(np.unique(complete[1])) < len(complete[1])
        for k in KS:
            given = index.topk(query, k)
            if not all(map(same_bytes, best(*complete, k, None), given)):
                differing += 1
                examples.append(f"k = {k}: {text}")
        if time.perf_counter() > until:
            break
    return {
        "questions": questions, "of": len(texts), "rankings": questions * len(KS), "differing": differing,
        "questions_with_ties": int(tied), "examples": examples[:3],
    }  # fmt: skip


def anthology(folder: str) -> dict[str, Any]:
    """The same index on real text."""
    from benchmarks.text.anthology import measure

    return measure(Path(folder) / "anthology")


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays are of one type, one shape and the same bits."""
    return a.dtype == b.dtype and a.shape == b.shape and bool(a.tobytes() == b.tobytes())


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task for task in (build_ours, build_peer, opening, asking, together, answering, comparing, anthology)
}


def main(name: str, answer: str, arguments: str) -> None:
    """Runs a task and stores what it returns."""
    Path(answer).write_text(json.dumps(TASKS[name](**json.loads(arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
