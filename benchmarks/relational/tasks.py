"""What runs in a process of its own: `python -m benchmarks.relational.tasks TASK ENGINE OUT.jsonl ARGUMENTS-AS-JSON`.

Every line of OUT is written before and after a question, so that a process that is ended leaves what it has measured.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.hybrid.writing import Data
from benchmarks.relational.contract import Engine, Places, digest
from benchmarks.relational.engine_duckdb import matches_file
from benchmarks.relational.engines import CONTENDERS
from benchmarks.relational.groups_on_disk import groups_on_disk
from benchmarks.relational.rows import rows

LONG_MS = 500.0
"""A question that takes longer is asked in at most LONG_REPEATS repetitions, and not with a known shape."""
LONG_REPEATS = 2
MATCHES_S = 60.0
LARGE_BYTES = 1 << 16
"""An allocation for which freed memory is joined."""
FIRST, FRESH, AGAIN, KNOWN, COLD = "first", "fresh", "again", "known", "cold"

Say = Callable[[dict[str, Any]], None]


def load(engine: str, places: Places, say: Say) -> None:
    """Loads the data into one engine, unless it is there."""
    started = time.perf_counter()
    stages = CONTENDERS[engine].loaded(places)
    say({"stages": stages, "seconds": round(time.perf_counter() - started, 1)})


def settle() -> None:
    """Lets the allocator join the memory that earlier answers have freed.

    The C library joins freed pieces at the next large allocation, so the 300,000 terms of a long answer cost whichever
    question comes after it 7 ms. A new thread takes the arena of the last one that ended.
    """
    thread = threading.Thread(target=bytearray, args=(LARGE_BYTES,))
    thread.start()
    thread.join()


def timed(engine: Engine, text: str, keys: list[int], say: Say, **about: Any) -> float | None:
    """Asks a text and tells milliseconds, rows and digest, or why it failed."""
    try:
        ask = engine.ready(text)
        settle()
        say({**about, "begins": True})
        started = time.perf_counter()
        answer = ask()
        went = (time.perf_counter() - started) * 1e3
        rows = engine.plain(answer)
    except Exception as e:
        say({**about, "failed": f"{type(e).__name__}: {e}"[:300]})
        return None
    say({**about, "ms": round(went, 4), "rows": len(rows), "digest": digest(rows, keys), "sample": rows[:3]})
    return went


def opened(engine: str, places: Places, patience_s: float, say: Say) -> Engine:
    """The engine, on one core."""
    started = time.perf_counter()
    found = CONTENDERS[engine].opened(places, patience_s)
    say({"open_s": round(time.perf_counter() - started, 3)})
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return found


def ask(
    engine: str, places: Places, say: Say, *, texts: str, patience_s: float, repeats: int, start: int, skip: list[str]
) -> None:
    """Asks every question once to warm, then in turns: a fresh text, the same again, another of its known shape.

    Args:
        engine: its name.
        places: its files.
        say: writes a line.
        texts: file of the texts (question.texts).
        patience_s: for one question.
        repeats: of each question.
        start: the repetition to begin with: 0 warms.
        skip: names of questions that were too slow or failed.
    """
    language = CONTENDERS[engine].language
    questions = [
        (one["name"], one["keys"], one["texts"][language])
        for one in json.loads(Path(texts).read_text())
        if language in one["texts"] and one["name"] not in skip
    ]
    open_engine = opened(engine, places, patience_s, say)
    slow, failed = set[str](), set[str]()
    for repetition in range(start, repeats + 1):
        if repetition == 1:
            gc.collect()
            gc.freeze()
        for name, keys, own in questions:
            if name in failed or (name in slow and repetition > LONG_REPEATS):
                continue
            about = {"name": name, "repetition": repetition}
            fresh = own["fresh"][repetition]
            went = timed(open_engine, fresh, keys, say, **about, mode=FRESH if repetition else FIRST)
            if went is None:
                failed.add(name)
                continue
            if went > LONG_MS:
                slow.add(name)
            if repetition and not (name in slow and repetition > 1):
                timed(open_engine, fresh, keys, say, **about, mode=AGAIN)
                if own["known"] and name not in slow:
                    timed(open_engine, own["known"][repetition], keys, say, **about, mode=KNOWN)
    open_engine.close()
    say({"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000), "done": True})


def matches(engine: str, places: Places, say: Say, *, texts: str) -> None:
    """Writes what matches each text of the hybrid questions, as hybridkg scores it: the tables that DuckDB is given."""
    from hybridkg import KnowledgeBase

    languages = [one["texts"].get("sql", {}) for one in json.loads(Path(texts).read_text())]
    asked = {text for own in languages for mode in (FRESH, KNOWN) for text in own.get(mode, []) if text.startswith("'")}
    with KnowledgeBase.open(places.data.engines / "kb") as kb:
        for words in sorted({text[1:].partition("'|")[0] for text in asked}):
            file = matches_file(places, words)
            file.parent.mkdir(exist_ok=True)
            rows = kb.query("SELECT ?p ?s { ?p MATCH $words AS ?s }", {"words": words}, timeout=MATCHES_S).rows()
            file.write_text("".join(f"{row[0].value},{row[1].value}\n" for row in rows))
    say({"engine": engine, "done": True})


def cold(engine: str, places: Places, say: Say, *, texts: str, patience_s: float, name: str) -> None:
    """Asks one question in a process that has just opened its files, none of which the kernel has cached."""
    language = CONTENDERS[engine].language
    one = next(one for one in json.loads(Path(texts).read_text()) if one["name"] == name)
    open_engine = opened(engine, places, patience_s, say)
    timed(open_engine, one["texts"][language]["fresh"][0], one["keys"], say, name=name, repetition=0, mode=COLD)
    say({"done": True})


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task for task in (load, matches, ask, cold, rows, groups_on_disk)
}


def main(task: str, engine: str, out: str, arguments: str) -> None:
    """Runs a task."""
    given = json.loads(arguments)
    places = Places(Data(Path(given.pop("data"))), Path(given.pop("own")))
    with Path(out).open("a") as lines:

        def say(line: dict[str, Any]) -> None:
            lines.write(json.dumps(line) + "\n")
            lines.flush()

        TASKS[task](engine, places, say, **given)


if __name__ == "__main__":
    main(*sys.argv[1:])
