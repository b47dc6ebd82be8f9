"""How long the planner takes, in the order in which a user asks: a question is planned, then run by the plan chosen."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from benchmarks.planner.grid import Question

PROCESSES = 7
"""Each asks every question once, because an index remembers the words it has looked up; odd, for the median."""


def planning_ms(kb: Path, questions: Sequence[Question]) -> list[tuple[float, float]]:
    """For each question, the median over processes: (prepared and for values not seen, as a text of its own)."""
    passes = []
    for _ in range(PROCESSES):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            passes.append(process.submit(one_pass, kb, questions).result())
    return [
        (median(prepared for prepared, _ in own), median(alone for _, alone in own))
        for own in zip(*passes, strict=True)
    ]


def one_pass(kb: Path, questions: Sequence[Question]) -> list[tuple[float, float]]:
    """All questions once, in this process."""
    from benchmarks.planner.plans import Plans
    from hybridkg.kb import KnowledgeBase

    found = []
    with KnowledgeBase.open(kb) as opened:
        plans = Plans(opened)
        for question in questions:
            found.append(plans.planning_ms(question))
            plans.run(plans.chosen(plans.logical(question)))
    return found
