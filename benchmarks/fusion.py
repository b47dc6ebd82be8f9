"""The best k of fused text and vector lists: read together up to an error, against every survivor compared exactly.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.fusion KB

KB is a knowledge base of the ACL Anthology (examples/acl_anthology.py) with `encoder = "lsa"`. Each question is asked
by `threshold` and by `filter_first`, which scores all that survive in arrays, and once by `reference`, which makes a
row of each. Processor time of the thread, the least of three; the rows of all three must be the same.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.record import record
from hybridkg import KnowledgeBase

ACL = "PREFIX acl: <https://w3id.org/hybridkg/acl#> "
TEXTS = (
    "neural machine translation for low resource languages",
    "question answering over knowledge graphs",
    "speech recognition errors",
    "coreference resolution with transformers",
)
OPTIONAL = "?x NEAR $text AS ?v OPTIONAL { ?x MATCH $text AS ?t }"
GROUPS = {
    "everyone": OPTIONAL,
    "both lists": "?x MATCH $text AS ?t . ?x NEAR $text AS ?v",
    "papers": f"?x a acl:Paper . {OPTIONAL}",
    "papers of a year": f"?x acl:year 2020 . {OPTIONAL}",
    "at a venue": f"?x acl:venue ?venue . ?venue acl:acronym 'EMNLP' . {OPTIONAL}",
}
FUSIONS = ("rrf(?t, ?v)", "isr(?t, ?v)", "minmax(?t) + minmax(?v)", "tmm(?t) + tmm(?v)", "0.1 * ?t + ?v")
DEPTHS = (10, 100)
REPEATS = 3
ROWS_OF_ALL = "everyone", "rrf(?t, ?v)", 10
"""The question that is asked of `reference`, too: it takes seconds."""


def milliseconds(kb: KnowledgeBase, query: str, text: str, strategy: str | None) -> tuple[float, list[Any]]:
    """(the least processor time, the rows)."""
    times, rows = [], []
    for _ in range(REPEATS):
        started = time.thread_time()
        result = kb.query(query, params={"text": text}, strategy=strategy)
        times.append((time.thread_time() - started) * 1e3)
        rows = [tuple(row.to_python().values()) for row in result]
    return min(times), rows


def work(kb: KnowledgeBase, query: str, strategy: str) -> dict[str, int]:
    """Units of work of the first text."""
    run = kb.explain(query, {"text": TEXTS[0]}, strategy=strategy, analyze=True)
    found: dict[str, int] = run.to_json()["work"]
    return found


def measured(kb: KnowledgeBase, group: str, fusion: str, k: int) -> dict[str, Any]:
    """One way to ask, over all texts."""
    query = f"{ACL} SELECT ?x ?t ?v ?rank {{ {GROUPS[group]} }} RANK BY {fusion} AS ?rank LIMIT {k}"
    ways: Sequence[str] = ("threshold", "filter_first")
    times: dict[str, list[float]] = {way: [] for way in (*ways, "chosen")}
    for text in TEXTS:
        answers = []
        for way, own in times.items():
            ms, rows = milliseconds(kb, query, text, None if way == "chosen" else way)
            own.append(ms)
            answers.append(rows)
        assert all(rows == answers[0] for rows in answers), (query, text)
    found: dict[str, Any] = {"group": group, "fusion": fusion, "k": k}
    found |= {f"{way}_ms": round(statistics.median(own), 2) for way, own in times.items()}
    ratios = [b / a for a, b in zip(times["threshold"], times["filter_first"], strict=True)]
    found["filter_first_over_threshold"] = round(statistics.median(ratios), 2)
    found["work"] = {way: work(kb, query, way) for way in ways}
    if (group, fusion, k) == ROWS_OF_ALL:
        started = time.thread_time()
        rows = [
            tuple(row.to_python().values()) for row in kb.query(query, params={"text": TEXTS[0]}, strategy="reference")
        ]
        found["every_row_made_ms"] = round((time.thread_time() - started) * 1e3)
        assert rows == milliseconds(kb, query, TEXTS[0], "threshold")[1]
    return found


def main(folder: str) -> None:
    """Asks all and stores the figures."""
    with KnowledgeBase.open(folder) as kb:
        vectors = kb.query("SELECT ?x ?v { ?x NEAR $text AS ?v } RANK BY ?v LIMIT 1", params={"text": TEXTS[0]})
        assert len(vectors) == 1, "the knowledge base has no vectors"
        asked = [measured(kb, group, fusion, k) for group in GROUPS for fusion in FUSIONS for k in DEPTHS]
    record("fusion", {"texts": len(TEXTS), "questions": asked})


if __name__ == "__main__":
    main(sys.argv[1])
