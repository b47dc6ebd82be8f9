"""Joins what the phases measured into one result, tables and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.hybrid import workload
from benchmarks.hybrid.engines import CONTENDERS, OURS
from benchmarks.hybrid.session import Session
from benchmarks.hybrid.summary import Times, answers, by_question, percentiles
from benchmarks.hybrid.verdicts import Verdict, cells, medians, of_answers, of_cells, two_hops
from benchmarks.hybrid.workload import SHAPES, Question

HOW = {
    "data": "made up from a seed; a paper's words come from its fields of study, so filters and words correlate",
    "times": "each question asked for the first time in its process, after passes over questions of the other half, "
    "five of them once more on the core of the run; files cached, engine pinned to one core (Fuseki: the server; its "
    "client has the other); from the ready question to papers, scores and DOIs in Python; per question the median over "
    "processes, then the quickest spelling",
    "answers": "against sets computed by numpy: complete, no paper that does not satisfy pattern and text, and the "
    "scores the best of the engine's own complete relation among the papers that do",
    "cpu": "what the engine's process used, which other work on the machine does not lengthen much",
    "fresh": "where true, no text repeats, also not in warming: constants stand in the text, names of variables and "
    "white space change each time, and no engine prepares a query; otherwise each engine has prepared the shape",
    "again": "asked once more in the same process",
    "cells": "one question each: shape, band of the words, filter, correlation of words and filter, k",
    "asked": "slow engines may have been asked fewer questions (`right of`): ratios of medians and cells are over "
    "those that both were asked, tables over those that each was",
    "short": "fewer rows than min(k, true papers)",
}


def of_size(session: Session, papers: int) -> tuple[dict[str, Any], list[Verdict], list[str]]:
    """Everything about one size."""
    path = session.data(papers).folder / "workload.json"
    if not path.exists():
        return {}, [], []
    questions = workload.read(path, session.half)
    runs = {
        name: [session.part(f"ask-{name}-{papers}-{number}") for number in range(session.passes)]
        for name in session.engines
    }
    times = {name: by_question(own) for name, own in runs.items()}
    times = {name: own for name, own in times.items() if own}
    found = cells(questions, times)
    systems, verdicts = {}, [*two_hops(questions, times.get(OURS, {}), papers), *medians(times, papers)]
    for name, own in runs.items():
        right = answers(own[0])
        systems[name] = {
            **_speeds(own), "answers": right,
            "load": session.part(f"load-{name}-{papers}") or "not in this run",
            "query_mb": own[0]["process"]["peak_rss_mb"] if own[0] else None,
            "open_s": own[0]["open_s"] if own[0] else None,
        }  # fmt: skip
        if own[0]:
            verdicts.append(of_answers(name, right, papers))
    verdicts.append(of_cells(found, papers))
    tables = {
        "shape": grouped(questions, times, lambda one: one.shape),
        "shape and band": grouped(questions, times, lambda one: f"{one.shape} {one.band}"),
        "band, filter and correlation": grouped(
            questions, times, lambda one: f"{one.band} {one.filter} {one.correlation}"
        ),
        "k": grouped(questions, times, lambda one: str(one.k)),
    }
    strategies = forced(session, papers, questions, times.get(OURS, {}))
    figures = {
        "systems": systems, "tables": tables, "strategies": strategies,
        "losing_cells": [cell.text() for cell in found if cell.ratio > 1],
        "cells": {cell.name: [round(cell.ours_ms, 3), cell.peer, round(cell.peer_ms, 3)] for cell in found},
    }  # fmt: skip
    return figures, verdicts, list(_lines(papers, systems, tables, strategies, found))


def _speeds(runs: list[Any]) -> dict[str, Any]:
    """Median and P99 of the ways to measure."""
    return {name: percentiles(list(by_question(runs, name).values())) for name in ("first", "again", "cpu")}


def grouped(
    questions: list[Question], times: Mapping[str, Times], key: Callable[[Question], str]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Group, engine: P50 and P99."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for group in dict.fromkeys(map(key, questions)):
        numbers = [one.number for one in questions if key(one) == group]
        found[group] = {
            name: percentiles([own[number] for number in numbers if number in own]) for name, own in times.items()
        }
    return found


def forced(session: Session, papers: int, questions: list[Question], planned: Times) -> dict[str, Any]:
    """Each strategy: over the questions that it answers, its P50 and P99 and the planner's; the same by shape."""
    found: dict[str, Any] = {}
    best: Times = {}
    shape_of = {one.number: one.shape for one in questions}
    for name in _strategies():
        run = session.part(f"forced-{name}-{papers}")
        times = by_question([run])
        if not times:
            continue
        common = sorted(times.keys() & planned.keys())
        for number in common:
            best[number] = min(times[number], best.get(number, times[number]))
        found[name] = {
            "answered": len(times), "asked": len(run["questions"]),
            "forced": percentiles([times[n] for n in common]), "planned": percentiles([planned[n] for n in common]),
            "wrong": answers(run)["faults"],
            "by_shape": {
                shape: percentiles([times[n] for n in common if shape_of[n] == shape]) for shape in SHAPES
            },
        }  # fmt: skip
    if best:
        ratios = sorted(planned[number] / best[number] for number in best)
        found["planned / best forced"] = percentiles(ratios)
    return found


def _strategies() -> list[str]:
    from hybridkg.interfaces.strategy import STRATEGIES

    return STRATEGIES.names()


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} / {pair[1]:.1f}"


def _lines(
    papers: int, systems: dict[str, Any], tables: dict[str, Any], strategies: dict[str, Any], found: list[Any]
) -> Iterator[str]:
    yield f"\n{papers:,} papers: P50 / P99 in ms of the first asking"
    yield f"{'':26}{'first':>18}{'cpu':>18}{'right':>12}{'short':>7}{'load s':>9}{'MB':>8}{'query MB':>10}"
    for name, own in systems.items():
        load, right = own["load"], own["answers"]
        seconds, size = (load.get("seconds", "-"), load.get("megabytes", "-")) if isinstance(load, dict) else ("-", "-")
        yield (
            f"{name:26}{_pair(own['first']):>18}{_pair(own['cpu']):>18}{right['right']:>6} of {right['questions']:<3}"
            f"{right['short']:>6}{seconds:>9}{size:>8}{own['query_mb'] or '-':>10}"
        )
    for table in ("shape", "shape and band"):
        yield f"\nby {table}"
        yield f"{'':22}" + "".join(f"{name[:18]:>20}" for name in systems)
        for group, own in tables[table].items():
            yield f"{group:22}" + "".join(f"{_pair(own[name]) if name in own else '-':>20}" for name in systems)
    if strategies:
        yield "\nforced strategies: answered, P50 / P99; the planner on the same questions"
    for name, own in strategies.items():
        if isinstance(own, dict):
            answered = f"{own['answered']} of {own['asked']}"
            yield f"{name:22}{answered:>12}{_pair(own['forced']):>20}{_pair(own['planned']):>20}"
        else:
            yield f"{name}: {_pair(own)}"
    yield f"\n{sum(cell.ratio > 1 for cell in found)} of {len(found)} cells lose"
    yield from (f"  {cell.ratio:.2f}  {cell.text()}" for cell in found[:30] if cell.ratio > 1)


def join(session: Session) -> tuple[dict[str, Any], list[str]]:
    """All parts as one result, and what to print."""
    sizes, verdicts, lines = {}, list[Verdict](), list[str]()
    for papers in session.sizes:
        figures, own, text = of_size(session, papers)
        sizes[str(papers)] = figures
        verdicts += own
        lines += text
    growth = session.part("growth")
    if growth:
        lines += ["\ngrowth", *(f"{size:>10} {point}" for size, point in growth["points"].items())]
        lines.append(f"exponents  {growth['exponents']}")
    lines += ["\nverdicts", *(verdict.line() for verdict in verdicts)]
    data = {str(n): session.part(f"data-{n}") for n in sorted({*session.sizes, *session.growth})}
    result = {
        "run": session.name, "fresh": session.fresh, "how": HOW, "half": session.half, "every": session.every,
        "passes": session.passes,
        "absent": {name: why for name in session.engines if (why := CONTENDERS[name].absent(session.peers))},
        "verdicts": {v.what: f"{v.word}: {v.figure}; bound {v.bound}" for v in verdicts},
        "data": data, "sizes": sizes, "growth": growth,
    }  # fmt: skip
    return result, lines
