"""Every question of a grid by every plan: what each took, and what the planner would have chosen."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from math import exp
from pathlib import Path
from typing import Any

from benchmarks.planner.grid import Question
from benchmarks.planner.plans import CHOSEN, SLOW_S, Plans, Run, answer, times_size, true_size
from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Cardinality, PreparedPattern
from hybridkg.planner.choose import choose

FACTORS = {f"selectivity x e^{power}": exp(power) for power in (-2, -1, 1, 2)}
"""Ablations: the estimated size of the candidate set is wrong by so much."""

ORACLE = "true selectivity"
"""Ablation: the planner knows how large the candidate set is."""

REFERENCE_EVERY = 10
"""One question in so many is asked of the slow reference as well."""


@dataclass(frozen=True)
class Measured:
    """One question.

    Args:
        question: of the grid.
        forced: by strategy.
        chosen: the planner's own.
        ablated: by ablation, the strategy chosen and its priced work.
        planning_ms: to plan the prepared query for values that it has not seen (planning.py).
        unprepared_ms: to plan it as a text of its own, its words looked up already.
        between_ms: the first of these, right after every plan of the question before has run.
        candidates: true size of the candidate set of ?p; -1 where no plan has looked for it.
        rows: of the answer.
        differing: plans whose answer is another one.
    """

    question: Question
    forced: dict[str, Run]
    chosen: Run
    ablated: dict[str, tuple[str, float]]
    planning_ms: float
    unprepared_ms: float
    between_ms: float
    candidates: int
    rows: int
    differing: list[str] = field(default_factory=list)


def measure(
    plans: Plans, question: Question, planned_ms: tuple[float, float] | None, *, ablated: bool, reference: bool
) -> Measured:
    """One question by all plans; timed where it is known how long planning takes."""
    timed = planned_ms is not None
    planning_ms, unprepared_ms = planned_ms or (0.0, 0.0)
    between_ms = plans.planning_ms(question)[0] if timed else 0.0
    logical = plans.logical(question)
    every = {CHOSEN: plans.chosen(logical), **plans.forced(logical)}
    runs: dict[str, Run] = {}
    rows: dict[str, list[tuple[str, ...]]] = {}
    slow: dict[str, bool] = {}
    for name, plan in every.items():
        started = plans.clock()
        runs[name], solutions = plans.run(plan)
        slow[name] = plans.clock() - started > SLOW_S
        rows[name] = _answer(question, solutions)
    if reference:
        plan = choose(logical, plans.planning(), "reference")
        rows["reference"] = _answer(question, plans.run(plan)[1])
    ms = plans.times_ms(question, every, slow) if timed else {}
    runs = {name: Run(**{**asdict(run), "ms": ms.get(name, 0.0)}) for name, run in runs.items()}
    first = rows[next(iter(runs))]
    chosen = runs.pop(CHOSEN)
    found = [run.told["candidates"] for run in runs.values() if "candidates" in run.told]
    return Measured(
        question=question,
        forced=runs,
        chosen=chosen,
        ablated=_ablated(plans, logical) if ablated else {},
        planning_ms=planning_ms,
        unprepared_ms=unprepared_ms,
        between_ms=between_ms,
        candidates=found[0] if found else -1,
        rows=len(first),
        differing=[name for name, own in rows.items() if own != first],
    )


def _answer(question: Question, solutions: Any) -> list[tuple[str, ...]]:
    """The rows in their order."""
    columns = tuple(name for name in question.columns if name in solutions.variables)
    return answer(solutions, columns)


def _ablated(plans: Plans, logical: Plan) -> dict[str, tuple[str, float]]:
    """By ablation, what would have been chosen and what that takes."""
    ways: dict[str, Callable[[PreparedPattern, str], Cardinality]] = {ORACLE: true_size}
    ways.update((name, times_size(factor)) for name, factor in FACTORS.items())
    found = {}
    for name, size_of in ways.items():
        plan = plans.chosen(logical, size_of)
        found[name] = plan.strategy, plans.run(plan)[0].us
    return found


def measure_all(
    plans: Plans,
    questions: Sequence[Question],
    planned_ms: Sequence[tuple[float, float]] = (),
    *,
    ablated: bool = True,
    reference: bool = True,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> list[Measured]:
    """All questions, with progress; timed where it is known how long planning takes."""
    found: list[Measured] = []
    started = time.perf_counter()
    for at, question in enumerate(questions):
        asked = reference and at % REFERENCE_EVERY == 0
        planned = planned_ms[at] if planned_ms else None
        found.append(measure(plans, question, planned, ablated=ablated, reference=asked))
        if len(found) % 100 == 0:
            say(f"{len(found):,} questions, {time.perf_counter() - started:.0f} s")
    return found


def keep(path: Path, found: list[Measured]) -> None:
    """As JSON, a line for each question."""
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in found))


def kept(path: Path) -> list[Measured]:
    """What `keep` wrote."""
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        row["question"] = Question(**row["question"])
        row["chosen"] = Run(**row["chosen"])
        row["forced"] = {name: Run(**run) for name, run in row["forced"].items()}
        row["ablated"] = {name: (strategy, us) for name, (strategy, us) in row["ablated"].items()}
        found.append(Measured(**row))
    return found


def switched(found: list[Measured]) -> Counter[str]:
    """By strategy, questions whose chosen plan gave up on its way."""
    return Counter(one.chosen.strategy for one in found if one.chosen.told.get("switched"))
