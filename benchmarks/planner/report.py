"""Regret, baselines, ablations and verdicts out of what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.planner.grid import PATTERNS
from benchmarks.planner.measure import Measured, switched
from benchmarks.planner.plans import Run

Cost = Callable[[Run], float]

NEAR_BEST = 1.2
P99_BOUND, MAX_BOUND, PLANNING_MS, TIME_P90 = 2.0, 4.0, 0.3, 1.5

EXACT_UNDER, FILTER_UNDER = 0.02, 0.2
"""The fixed thresholds of Vespa: candidates are scored one by one under 2 % of the entities, ranked as a mask under
20 %, and beyond that the text goes first. They are told the true size of the candidate set."""

FILTER_FIRST = ("filter_first", "bind_join")
FILTERED_TOPK = ("filtered_topk", "filter_first", "bind_join")
RANK_FIRST = ("rank_first", "threshold", "rank_join", "bind_join")
BASELINES: dict[str, Callable[[Measured, int], tuple[str, ...]]] = {
    "always filter_first": lambda one, entities: FILTER_FIRST,
    "always filtered_topk": lambda one, entities: FILTERED_TOPK,
    "always rank first": lambda one, entities: RANK_FIRST,
    "always bind_join": lambda one, entities: ("bind_join",),
    "thresholds 2 %, 20 %": lambda one, entities: _by_thresholds(one.candidates / max(entities, 1)),
}
"""Strategies in the order of preference; the first that applies is taken."""


def work(run: Run) -> float:
    """Priced counters, microseconds."""
    return run.us


def time_of(run: Run) -> float:
    """Median time, milliseconds."""
    return run.ms


def _by_thresholds(share: float) -> tuple[str, ...]:
    if share < 0:  # nobody has looked for candidates: ranked relations on several variables
        return RANK_FIRST
    return FILTER_FIRST if share < EXACT_UNDER else FILTERED_TOPK if share < FILTER_UNDER else RANK_FIRST


def best(one: Measured, cost: Cost) -> float:
    """The least that a forced plan takes."""
    return min(map(cost, one.forced.values()))


def regret(one: Measured, cost: Cost) -> float:
    """Of the planner's own plan; below 1 where it switched to its advantage."""
    return cost(one.chosen) / best(one, cost)


@dataclass(frozen=True)
class Regrets:
    """Some regrets, summed up."""

    n: int
    p50: float
    p90: float
    p99: float
    max: float
    near: float
    total: float

    @classmethod
    def of(cls, found: Sequence[float], taken: Sequence[float], least: Sequence[float]) -> Regrets:
        """Of regrets, and of the costs that they are ratios of."""
        p50, p90, p99 = np.percentile(found, [50, 90, 99])
        near = float(np.mean(np.asarray(found) <= NEAR_BEST))
        numbers = (p50, p90, p99, max(found), near, sum(taken) / sum(least))
        return cls(len(found), *(round(float(number), 3) for number in numbers))

    def line(self, name: str) -> str:
        """A row of a table."""
        numbers = f"{self.p50:7.2f} {self.p90:7.2f} {self.p99:7.2f} {self.max:8.2f}"
        return f"{name:24}{self.n:6} {numbers} {100 * self.near:6.0f} % {self.total:8.2f}"


HEAD = f"{'':24}{'n':>6} {'P50':>7} {'P90':>7} {'P99':>7} {'max':>8} {'<= 1.2':>8} {'sum':>8}"


def of_planner(found: Sequence[Measured], cost: Cost) -> Regrets:
    """Of the planner's choices."""
    least = [best(one, cost) for one in found]
    taken = [cost(one.chosen) for one in found]
    return Regrets.of([a / b for a, b in zip(taken, least, strict=True)], taken, least)


def of_baseline(found: Sequence[Measured], name: str, entities: int, cost: Cost) -> Regrets:
    """Of a rule."""
    least = [best(one, cost) for one in found]
    taken = []
    for one in found:
        order = BASELINES[name](one, entities)
        taken.append(cost(next(one.forced[strategy] for strategy in (*order, *one.forced) if strategy in one.forced)))
    return Regrets.of([a / b for a, b in zip(taken, least, strict=True)], taken, least)


def of_ablation(found: Sequence[Measured], name: str) -> Regrets:
    """Of the planner with other sizes, in work."""
    least = [best(one, work) for one in found]
    taken = [one.ablated[name][1] for one in found]
    return Regrets.of([a / b for a, b in zip(taken, least, strict=True)], taken, least)


def tables(found: Sequence[Measured], entities: int) -> dict[str, dict[str, Regrets]]:
    """By table, the rows."""
    timed = all(one.chosen.ms for one in found)
    shapes = [shape for shape in PATTERNS if any(one.question.shape == shape for one in found)]
    result: dict[str, dict[str, Regrets]] = {}
    for title, cost in (("work", work), *((("time", time_of),) if timed else ())):
        rows = {shape: of_planner([one for one in found if one.question.shape == shape], cost) for shape in shapes}
        rows["all"] = of_planner(found, cost)
        result[title] = rows | {name: of_baseline(found, name, entities, cost) for name in BASELINES}
    if found[0].ablated:
        result["ablations, work"] = {name: of_ablation(found, name) for name in found[0].ablated}
    return result


def printed(by_table: dict[str, dict[str, Regrets]]) -> Iterator[str]:
    """The tables for people."""
    for title, rows in by_table.items():
        yield from ("", f"regret in {title}", HEAD)
        yield from (row.line(name) for name, row in rows.items())


def worst(found: Sequence[Measured], cost: Cost, most: int) -> Iterator[str]:
    """The questions that were decided worst, with all their plans."""
    for one in sorted(found, key=lambda one: -regret(one, cost))[:most]:
        question, chosen = one.question, one.chosen
        yield ""
        yield (
            f"{regret(one, cost):6.2f}  {question.cell}: {question.words!r} {question.more!r} {question.constants} "
            f"-> {chosen.strategy}{' (switched)' if chosen.told.get('switched') else ''}"
        )
        for name, run in {"chosen": chosen, **one.forced}.items():
            counts = ", ".join(f"{kind} {n}" for kind, n in run.counts.items())
            yield f"        {name:14} {run.us:9.0f} us, est. {run.est_us:9.0f}, {run.ms:8.2f} ms: {counts} {run.told}"


def strategies(found: Sequence[Measured]) -> dict[str, dict[str, int]]:
    """By shape, how often each strategy was chosen; and how often it gave up."""
    shapes = dict.fromkeys(one.question.shape for one in found)
    chosen = {
        shape: dict(Counter(one.chosen.strategy for one in found if one.question.shape == shape)) for shape in shapes
    }
    return {**chosen, "switched": dict(switched(list(found)))}


def priced_and_timed(found: Sequence[Measured]) -> dict[str, Any]:
    """How well priced work says what takes time: by strategy, correlation of logarithms and the ratio of both."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for one in found:
        for name, run in one.forced.items():
            pairs.setdefault(name, []).append((run.us, run.ms * 1e3))
    rows = {}
    for name, of_strategy in {**pairs, "all": [pair for own in pairs.values() for pair in own]}.items():
        us, measured = np.log(np.array(of_strategy)).T
        ratio = np.exp(measured - us)
        low, middle, high = np.percentile(ratio, [10, 50, 90])
        rows[name] = {
            "runs": len(ratio),
            "correlation": round(float(np.corrcoef(us, measured)[0, 1]), 3) if len(ratio) > 2 else None,
            "time_over_work": [round(float(number), 2) for number in (low, middle, high)],
        }
    return rows


def to_json(found: Sequence[Measured], entities: int) -> dict[str, Any]:
    """Everything, for the record."""
    timed = all(one.chosen.ms for one in found)
    return {
        "questions": len(found),
        "regret": {
            title: {name: asdict(row) for name, row in rows.items()} for title, rows in tables(found, entities).items()
        },
        "chosen": strategies(found),
        **({"time_and_work": priced_and_timed(found)} if timed else {}),
        "planning_ms": round(float(np.median([one.planning_ms for one in found])), 3) if timed else None,
        "planning_unprepared_ms": round(float(np.median([one.unprepared_ms for one in found])), 3) if timed else None,
        "planning_between_all_plans_ms": round(float(np.median([one.between_ms for one in found])), 3)
        if timed
        else None,
        "worst": [
            {
                "regret": round(regret(one, work), 3),
                "cell": one.question.cell,
                "chosen": one.chosen.strategy,
                "switched": bool(one.chosen.told.get("switched")),
                "work_us": {name: round(run.us) for name, run in one.forced.items()},
            }
            for one in sorted(found, key=lambda one: -regret(one, work))[:10]
        ],
        "verdicts": [
            {"what": what, "figure": figure, "bound": bound, "met": met} for what, figure, bound, met in verdicts(found)
        ],
    }


def planning_ms(found: Sequence[Measured]) -> dict[str, float]:
    """Medians of the three ways in which it was timed."""
    times = {
        "planning_ms": [one.planning_ms for one in found],
        "planning_unprepared_ms": [one.unprepared_ms for one in found],
        "planning_between_all_plans_ms": [one.between_ms for one in found],
    }
    return {name: round(float(np.median(ms)), 3) for name, ms in times.items()}


def verdicts(found: Sequence[Measured]) -> list[tuple[str, float, float, bool]]:
    """What, its figure, its bound, whether it is reached."""
    in_work = of_planner(found, work)
    lines = [("work, P99", in_work.p99, P99_BOUND), ("work, max", in_work.max, MAX_BOUND)]
    if all(one.chosen.ms for one in found):
        lines += [
            ("planning, median, ms", planning_ms(found)["planning_ms"], PLANNING_MS),
            ("time, P90", of_planner(found, time_of).p90, TIME_P90),
        ]
    lines.append(("questions with other rows", float(sum(bool(one.differing) for one in found)), 0.0))
    return [(what, figure, bound, figure <= bound) for what, figure, bound in lines]
