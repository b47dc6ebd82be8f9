"""Times queries and their parts: `python -m benchmarks.cliffs.measure OUT.jsonl ARGUMENTS-AS-JSON`.

The sum of the parts is the time to read and plan a text, each complete text relation by the index, each graph pattern
by the projection, each alone, and the terms of the rows that come out.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.cliffs.anthology import of_anthology
from benchmarks.cliffs.grammar import Made, generated
from benchmarks.cliffs.schema import Schema, of_papers
from benchmarks.hybrid.writing import Data
from benchmarks.relational.matches import Matches

TIMES = 10.0
"""A query that takes more times the sum of its parts is a cliff."""
TEXT_MS = 1.0
"""To read and plan a fresh text; less would list queries over which nobody waits."""
CELL_MS = 0.001
MANY = 1_000
"""Entries of a relation over which the planner never takes the reference strategy."""
AGAIN = 3
"""So many other wordings of what looks like a cliff are asked; the median counts."""
WARMING = 40
WARMING_SEEDS = 10_000_000
"""Seeds of the queries that warm."""

Say = Callable[[dict[str, Any]], None]


class Clock:
    """An open knowledge base."""

    def __init__(self, kb: Path, limit_s: float):
        from hybridkg import KnowledgeBase

        self._kb = KnowledgeBase.open(kb, warm_up=True)
        self._limit_s = limit_s
        snapshot = self._kb._snapshot
        self._text: Any = snapshot.text
        self._graph: Any = snapshot.graph

    def query(self, text: str, strategy: str | None = None) -> dict[str, Any]:
        """Milliseconds, rows and strategy; `failed` with the kind of the error, `over` where it was stopped."""
        from hybridkg import HybridkgError, QueryLimitError, QueryStoppedError

        started = time.perf_counter()
        try:
            answer = self._kb.query(text, timeout=self._limit_s, strategy=strategy)
            cells = sum(map(len, answer.rows()))
        except (QueryStoppedError, QueryLimitError) as e:
            return {"ms": (time.perf_counter() - started) * 1e3, "over": type(e).__name__, "cells": 0}
        except HybridkgError as e:
            return {"failed": f"{type(e).__name__}: {e.message}"[:200]}
        went = (time.perf_counter() - started) * 1e3
        return {"ms": went, "rows": len(answer), "cells": cells, "strategy": answer.strategy}

    def schema(self, papers: Path | None) -> Schema:
        """Of the generated graph in a folder of benchmarks.hybrid; without one, of the Anthology."""
        if papers is None:
            return of_anthology(self._kb)
        data = Data(papers)
        return of_papers(data.graph(), Matches.of(data.df(), data.papers))

    def parts(self, schema: Schema, made: Made, cells: int) -> dict[str, float]:
        """Milliseconds by part; of a part the better of two."""
        found = {"text": TEXT_MS, "rows out": cells * CELL_MS}
        for words in made.matches:
            found[f"MATCH {words!r}"] = min(self._relation(words) for _ in range(2))
        for pattern in made.patterns:
            found[pattern] = min(self._pattern(schema.prefix, pattern) for _ in range(2))
        return found

    def matching(self, words: str) -> int:
        """Entries of a text relation."""
        from hybridkg.interfaces.text_index import TextQuery

        return len(self._text.score_all(TextQuery(words, syntax=False))[0])

    def plan(self, text: str) -> str:
        """The plan with estimates."""
        return str(self._kb.explain(text))

    def _relation(self, words: str) -> float:
        from hybridkg.interfaces.text_index import TextQuery

        started = time.perf_counter()
        self._text.score_all(TextQuery(words, syntax=False))
        return (time.perf_counter() - started) * 1e3

    def _pattern(self, prefix: str, pattern: str) -> float:
        from hybridkg.algebra.to_pattern import pattern_of
        from hybridkg.errors import QueryLimitError, QueryStoppedError
        from hybridkg.interfaces.meter import Meter
        from hybridkg.query.parser import parse

        group: Any = parse(f"{prefix}SELECT * {{ {pattern} }}").form
        prepared = self._graph.compile(pattern_of(group.where))
        started = time.perf_counter()
        with suppress(QueryLimitError, QueryStoppedError):  # alone it is as slow as that, and so may be the query
            prepared.rows(prepared.variables, Meter(time.monotonic() + self._limit_s, self._limit_s))
        return (time.perf_counter() - started) * 1e3

    def close(self) -> None:
        """Lets go of the files."""
        self._kb.close()


def measured(clock: Clock, schema: Schema, number: int, ranked: bool, strategies: bool) -> dict[str, Any]:
    """One query: its time, the sum of its parts, and of a cliff the plan and what other strategies take."""
    made = generated(schema, number, ranked=ranked)
    about: dict[str, Any] = {"number": number, "shape": made.shape, **clock.query(made.text)}
    if "failed" in about:
        return {**about, "text": made.text}
    parts = clock.parts(schema, made, about["cells"])
    total = sum(parts.values())
    if about.get("strategy") == "reference":
        about["reference_over_many"] = any(clock.matching(words) > MANY for words in made.matches)
    if about["ms"] > TIMES * total and "over" not in about:
        again = [clock.query(generated(schema, number, ranked=ranked, wording=at + 1).text) for at in range(AGAIN)]
        about["ms"] = statistics.median([one["ms"] for one in again if "ms" in one])
    about |= {"ms": round(about["ms"], 3), "sum_ms": round(total, 3), "ratio": round(about["ms"] / total, 2)}
    if about["ms"] > TIMES * total:
        about |= {"text": made.text, "parts": {name: round(ms, 3) for name, ms in parts.items()}}
        about["plan"] = clock.plan(made.text)
        if strategies and ranked:
            about["others"] = forced(clock, schema, number, about.get("strategy", ""))
    return about


def forced(clock: Clock, schema: Schema, number: int, chosen: str) -> dict[str, Any]:
    """Milliseconds of every other strategy that applies, each asked in another wording."""
    from hybridkg.interfaces.strategy import STRATEGIES

    found: dict[str, Any] = {}
    for at, name in enumerate(STRATEGIES.names()):
        if name not in (chosen, "reference"):
            text = generated(schema, number, ranked=True, wording=AGAIN + 1 + at).text
            answer = clock.query(text, strategy=name)
            found[name] = answer.get("over") or answer.get("failed") or round(answer["ms"], 3)
    return found


def main(out: str, arguments: str) -> None:
    """Asks the queries `first` to `end`, one in four without ranks."""
    given = json.loads(arguments)
    clock = Clock(Path(given["kb"]), given["limit_s"])
    schema = clock.schema(Path(given["papers"]) if given["papers"] else None)
    for number in range(WARMING_SEEDS, WARMING_SEEDS + WARMING):
        clock.query(generated(schema, number, ranked=number % 4 > 0).text)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    gc.collect()
    gc.freeze()
    with Path(out).open("a") as lines:

        def say(line: dict[str, Any]) -> None:
            lines.write(json.dumps(line) + "\n")
            lines.flush()

        for number in range(given["first"], given["end"]):
            say({"number": number, "begins": True})
            say(measured(clock, schema, number, number % 4 > 0, given["strategies"]))
        say({"done": True})
    clock.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
