"""A million rows of an IRI, an integer and a string: as an Arrow table, as a DataFrame, and streamed as CSV."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hybrid.writing import BASE
from benchmarks.relational.contract import Places
from benchmarks.relational.engine_duckdb import FILE
from benchmarks.relational.memory import AnonymousMemory, peak_mb

ROWS = 1_000_000
ARROW, PANDAS, STREAM = "arrow", "pandas", "stream"
FORMS = {
    "hybridkg": ((ARROW, ROWS), (PANDAS, ROWS), (STREAM, ROWS // 4), (STREAM, ROWS)),
    "duckdb": ((ARROW, ROWS), (PANDAS, ROWS)),
}
"""What each engine is asked for, and how many rows."""
SPARQL = (
    f"PREFIX : <{BASE}> SELECT ?a ?y ?t {{ ?p :author ?a ; :cites ?q . ?q :author ?b ; :year ?y ; :title ?t }} LIMIT "
)
SQL = (
    "SELECT w.author, q.year, q.title FROM written w JOIN cites c ON c.paper = w.paper JOIN written b "
    "ON b.paper = c.cited JOIN paper q ON q.id = c.cited LIMIT "
)
Say = Callable[[dict[str, Any]], None]


def rows(engine: str, places: Places, say: Say, *, form: str, limit: int, repeats: int) -> None:
    """Milliseconds from the text to the whole answer, the largest memory of the process before and after, and the
    largest anonymous memory: the more rows, the more pages of mapped files are resident.

    The first round warms; streaming has none, as its memory counts.
    """
    ask = _duckdb(places, form) if engine == "duckdb" else _hybridkg(places, form)
    times, got = list[float](), 0
    before, anonymous = peak_mb(), AnonymousMemory()
    for _ in range(1 if form == STREAM else repeats + 1):
        started = time.perf_counter()
        got = ask(limit)
        times.append(round((time.perf_counter() - started) * 1e3, 1))
        say({"round_ms": times[-1]})
    say({"ms": times if form == STREAM else times[1:], "first_ms": times[0], "rows": got, "before_mb": before})
    say({"peak_mb": peak_mb(), "anonymous_mb": anonymous.stop(), "done": True})


def _hybridkg(places: Places, form: str) -> Callable[[int], int]:
    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open(places.data.engines / "kb", warm_up=True)

    def stream(limit: int) -> int:
        with Path(os.devnull).open("w") as out, kb.stream(f"{SPARQL}{limit}", timeout=0) as result:
            result.write(out, "csv")
            return result.returned or 0

    def whole(limit: int) -> int:
        found = kb.query(f"{SPARQL}{limit}", timeout=0)
        return len(found.to_arrow() if form == ARROW else found.to_dataframe())

    return stream if form == STREAM else whole


def _duckdb(places: Places, form: str) -> Callable[[int], int]:
    connection = import_module("duckdb").connect(str(places.own / FILE), read_only=True, config={"threads": 1})

    def whole(limit: int) -> int:
        found = connection.sql(f"{SQL}{limit}")
        return len(found.to_arrow_table() if form == ARROW else found.df())

    return whole
