"""Corpus, building, opening, memory, and pruned beside exhaustive."""

from __future__ import annotations

import shutil
import statistics
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.text import ours
from benchmarks.text.memory import GB, forget
from benchmarks.text.queries import describe, read_cells
from benchmarks.text.session import Session, say

BUILD_LIMIT = 6 * GB
QUERY_LIMIT = 2 * GB
OPENINGS = 7
SHARES = {"bm25f": 1_000_000, "bm25": 10, "lm": 10, "mlm": 10, "fsdm": 3}
"""Questions of each cell that are asked for the memory."""


def make_corpus(session: Session) -> None:
    """The text, and how often each word occurs in the collections of each size."""
    session.corpus.write(max(*session.sizes, *session.growth))
    session.corpus.frequencies([*session.sizes, *session.growth])
    about = session.corpus.about()
    bands = {str(n): describe(session.corpus.df(n), n) for n in session.sizes}
    vocabulary = {str(n): int((session.corpus.df(n) > 0).sum()) for n in session.sizes}
    session.keep("corpus", {**about, "distinct_words": vocabulary, "bands": bands})


def build_one(session: Session, entities: int, kind: str, limit: int | None = None) -> dict[str, Any]:
    """Builds an index of ours in a process of its own."""
    folder = session.folder(kind, entities)
    answer, went = session.run(
        "build_ours", limit, scratch=str(session.scratch), entities=entities, kind=kind, folder=str(folder)
    )
    if answer is None:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"built {kind} {entities}: {went}")
    return {**(answer or {}), "process": went.figures()}


def build_all(session: Session, *, flat: bool) -> None:
    """The index of each size, inside the limit of the issue; the flat one too, if wanted."""
    for entities in session.sizes:
        built = build_one(session, entities, ours.FIVE, BUILD_LIMIT)
        if "build_s" not in built:
            built = {**build_one(session, entities, ours.FIVE), "failed_inside_the_limit": built["process"]}
        session.keep(f"build-five-{entities}", built)
    if flat:
        for entities in session.sizes:
            session.keep(f"build-flat-{entities}", build_one(session, entities, ours.FLAT))
    smallest = min(session.sizes)
    session.keep("reading", {"entities": smallest, "seconds": ours.reading(session.corpus, smallest)})
    digests = []
    for _ in range(2):
        build_one(session, session.small, ours.FIVE)
        digests.append(ours.digest(session.folder(ours.FIVE, session.small)))
    session.keep("deterministic", {"entities": session.small, "digests": digests})


def build_peers(session: Session) -> None:
    """The peers' indexes, unless they are there."""
    for entities in session.sizes:
        for peer in ("tantivy", "bm25s"):
            folder = session.folder(peer, entities)
            answer, went = session.run(
                "build_peer", scratch=str(session.scratch), entities=entities, peer=peer, folder=str(folder)
            )
            session.keep(f"build-{peer}-{entities}", answer or {"failed": went.figures()})


def measure_opening(session: Session) -> None:
    """Fresh processes, the files in the page cache."""
    for entities in session.sizes:
        folder = session.folder(ours.FIVE, entities)
        text = read_cells(session.cells(entities))[0].texts[0]
        found = []
        for _ in range(OPENINGS):
            run, _ = session.run("opening", folder=str(folder), text=text)
            if run is None:
                break
            found.append(run)
        figures = {
            name: round(statistics.median(run[name] for run in found), 4)
            for name in ("open_s", "first_question_s")
            if found
        }
        session.keep(f"open-{entities}", {**figures, "processes": len(found)})
        say(f"open {entities}: {figures}")


def measure_memory(session: Session) -> None:
    """All questions, free and inside a cgroup; the second with the files' pages dropped, so it is charged for them."""
    for entities in session.sizes:
        folder, cells = session.folder(ours.FIVE, entities), session.cells(entities)
        figures: dict[str, Any] = {}
        for name, limit in (("free", None), ("limited", QUERY_LIMIT)):
            if limit:
                forget(folder)
            answer, went = session.run("answering", limit, folder=str(folder), cells=str(cells), shares=SHARES)
            figures[name] = {**(answer or {}), "process": went.figures()}
            say(f"memory {entities} {name}: {went}")
        session.keep(f"memory-{entities}", figures)


def compare(session: Session, budget_s: float) -> None:
    """`topk` beside the sorted complete relation, two models at a time, as nothing is timed; and a batch.

    Args:
        session: the run.
        budget_s: of each model but bm25f, all of whose questions are compared.
    """
    for entities in session.sizes:
        folder, cells = str(session.folder(ours.FIVE, entities)), str(session.cells(entities))

        def one(model: str, folder: str = folder, cells: str = cells, at: int = entities) -> Any:
            budget = budget_s if model != "bm25f" else 1e9
            answer, went = session.run("comparing", folder=folder, cells=cells, model=model, budget_s=budget)
            say(f"pruned = exhaustive {at} {model}: {answer or went}")
            return answer

        with ThreadPoolExecutor(2) as pool:
            figures = dict(zip(ours.MODELS, pool.map(one, ours.MODELS), strict=True))
        session.keep(f"same-{entities}", figures)
        session.keep(f"batch-{entities}", session.run("together", folder=folder, cells=cells)[0])
