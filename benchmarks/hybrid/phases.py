"""Data and workload, loading, asking, forced strategies, growth."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.hybrid import truth, workload, writing
from benchmarks.hybrid.engines import CONTENDERS, OURS
from benchmarks.hybrid.session import Session, say
from benchmarks.hybrid.summary import by_question, exponent, percentiles

TABLES_UP_TO = 1_000_000
"""Papers of the largest graph that peers load, so that has tables."""
REFERENCE_UP_TO = 100_000
"""Papers of the largest graph on which the reference strategy is a baseline."""


def make_data(session: Session) -> None:
    """Graphs, questions and what is true of them, unless they are there."""
    for papers in sorted({*session.sizes, *session.growth}):
        data = writing.write(session.scratch / str(papers), papers, tables=papers <= TABLES_UP_TO)
        questions = data.folder / "workload.json"
        made = workload.make(data.graph(), data.df())
        if not questions.exists() or workload.read(questions) != made or not (data.folder / "truth.npz").exists():
            workload.write(questions, made)
            truth.find(data.graph(), made).write(data.folder / "truth.npz")
        found = truth.Truth.read(data.folder / "truth.npz")
        session.keep(f"data-{papers}", {**data.about(), "workload": describe(made, found)})
        say(f"data of {papers:,} papers: {data.about()['triples']:,} triples")


def describe(questions: list[workload.Question], found: truth.Truth) -> dict[str, Any]:
    """By shape and filter: how many questions, and medians of how many papers satisfy pattern, text, and both."""
    groups: dict[str, list[int]] = {}
    for question in questions:
        groups.setdefault(f"{question.shape} {question.filter}", []).append(question.number)
    both = np.diff(found.starts)
    return {
        name: {
            "questions": len(numbers), "pattern": int(np.median(found.pattern[numbers])),
            "text": int(np.median(found.text[numbers])), "both": int(np.median(both[numbers])),
            "fewer_than_10": int((both[numbers] < 10).sum()),
        }
        for name, numbers in groups.items()
    }  # fmt: skip


def load_one(session: Session, engine: str, papers: int) -> None:
    """Loads one engine, in a process of its own."""
    contender = CONTENDERS[engine]
    answer, went = session.run(
        "load", contender.python(session.peers), engine=engine, folder=str(session.data(papers).folder)
    )
    session.keep(
        f"load-{engine}-{papers}", {**(answer or {"failed": f"exit code {went.code}"}), "process": went.figures()}
    )
    say(f"load {engine} {papers}: {answer}, {went}")


def load_all(session: Session) -> None:
    """All engines at all sizes, anew."""
    for papers in session.sizes:
        for engine in session.engines:
            reason = CONTENDERS[engine].absent(session.peers)
            if reason is None:
                load_one(session, engine, papers)
            else:
                session.keep(f"load-{engine}-{papers}", {"absent": reason})
                say(f"{engine} is left out: {reason}")


def ask_one(session: Session, engine: str, papers: int, **more: Any) -> dict[str, Any] | None:
    """One process of one engine."""
    arguments: dict[str, Any] = {
        "engine": engine, "folder": str(session.data(papers).folder), "half": session.half, "every": session.every,
        "warming": session.warming, "again": True, "checked": session.checked,
        "fresh": session.fresh, **more,
    }  # fmt: skip
    answer, went = session.run("ask", CONTENDERS[engine].python(session.peers), single=True, **arguments)
    say(f"asked {engine} {papers} {more}: {went}")
    return {**answer, "process": went.figures()} if answer is not None else None


def ask_all(session: Session) -> None:
    """Passes over the engines, each a fresh process; answers are checked in the first."""
    for papers in session.sizes:
        for number in range(session.passes):
            for engine in session.engines:
                if CONTENDERS[engine].absent(session.peers) is None:
                    more = {} if number == 0 else {"checked": 0, "again": False}
                    session.keep(f"ask-{engine}-{papers}-{number}", ask_one(session, engine, papers, **more))


def force(session: Session) -> None:
    """hybridkg with each strategy forced."""
    from hybridkg.interfaces.strategy import STRATEGIES

    for papers in session.sizes:
        for strategy in STRATEGIES.names():
            if strategy != "reference" or papers <= REFERENCE_UP_TO:
                more = {"strategy": strategy, "again": False, "every": max(session.every, 2)}
                session.keep(f"forced-{strategy}-{papers}", ask_one(session, OURS, papers, **more))


def grow(session: Session) -> None:
    """Load, size and latency of hybridkg by size."""
    points: dict[str, dict[str, float]] = {}
    for papers in session.growth:
        if papers not in session.sizes or session.part(f"load-{OURS}-{papers}") is None:
            load_one(session, OURS, papers)
        loaded = session.part(f"load-{OURS}-{papers}")
        if "seconds" not in loaded:
            continue
        asked = ask_one(session, OURS, papers, again=False, checked=0)
        if asked is None:
            continue
        times = by_question([asked])
        two_hop = {
            one.number for one in workload.read(session.data(papers).folder / "workload.json") if one.shape == "two_hop"
        }
        median, most = percentiles(list(times.values()))
        points[str(papers)] = {
            "triples": session.part(f"data-{papers}")["triples"],
            **{f"{stage}": value for stage, value in loaded["stages"].items()},
            "load_mb": loaded["process"]["peak_rss_mb"], "megabytes": loaded["megabytes"],
            "open_s": asked["open_s"], "query_mb": asked["process"]["peak_rss_mb"],
            "median_ms": median, "p99_ms": most,
            "two_hop_ms": percentiles([value for number, value in times.items() if number in two_hop])[0],
        }  # fmt: skip
        say(f"growth {papers}: {points[str(papers)]}")
    if len(points) > 1:
        names = next(iter(points.values()))
        sizes = [float(size) for size in points]
        exponents = {name: exponent(sizes, [point[name] for point in points.values()]) for name in names}
        notes = {size: how for size in points if (how := session.part(f"load-{OURS}-{size}")["process"].get("how"))}
        session.keep("growth", {"points": points, "exponents": exponents, "warming": session.warming, "notes": notes})
