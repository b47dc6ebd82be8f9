"""Both ways to the best k of every question, and what it costs that one is chosen without trying.

`topk.every_is_quicker` chooses by constants fitted to what this measures: ways-N.json in the folder of the parts has
the features and both times of each question.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.text import ours
from benchmarks.text.queries import read_cells
from benchmarks.text.session import Session, say
from hybridkg.text.additive import Best
from hybridkg.text.embedded import topk
from hybridkg.text.embedded.plain import PlainQuery

MODELS = {ours.FIVE: ("bm25f", "lm", "mlm", "fsdm"), ours.FLAT: ("bm25f", "lm")}
AGAIN = 2
"""Each way is taken so often, and the mean counts."""


def both_ways(folder: str, cells: str, model: str, per_cell: int) -> list[dict[str, Any]]:
    """Ranks some questions of each cell both ways, on one core; those only that have the choice."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    index, asked, found = ours.open_index(Path(folder)), read_cells(Path(cells)), []
    for cell in asked:
        for text in cell.before:
            index.topk(ours.question(text, model), cell.k)
    for cell in asked:
        for text in cell.texts[:per_cell]:
            query = index._plain.read(ours.question(text, model))
            if query is not None and query.postings >= topk.FEWEST_POSTINGS:
                found.append({"cell": cell.name, **_one(index, query, cell.k)})
    return [one for one in found if "every_ms" in one]


def _one(index: Any, query: PlainQuery, k: int) -> dict[str, Any]:
    form, lists, packed, ranks, narrow = query.form, query.lists, index._lists.packed, index._ranks(), index._narrow
    common = index._peaks.of(query.words, form, query.fields)
    if not common:
        return {}
    best = Best(min(k, query.postings))

    def every() -> None:
        topk.every(form, lists, Best(len(best.ids)), packed, ranks, narrow)

    def pruned() -> None:
        topk.pruned(form, lists, Best(len(best.ids)), packed, index._peaks, common, query.fields, ranks, None, narrow)

    return {
        "terms": len(query.words), "common": len(common), "postings": query.postings, "k": len(best.ids),
        "every_ms": _mean(every), "pruned_ms": _mean(pruned),
        "every_is_chosen": topk.every_is_quicker(form, query.postings, len(best.ids), len(common)),
    }  # fmt: skip


def _mean(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(AGAIN):
        run()
    return (time.perf_counter() - started) / AGAIN * 1e3


def measure(session: Session) -> None:
    """Both ways of each model, and what the choice costs."""
    for entities in session.sizes:
        figures, rows = {}, {}
        for kind, models in MODELS.items():
            for model in models:
                name = model if kind == ours.FIVE else f"flat {model}"
                rows[name], _ = session.run(
                    "both_ways", single=True, folder=str(session.folder(kind, entities)),
                    cells=str(session.cells(entities)), model=model, per_cell=max(1, session.questions // 2),
                )  # fmt: skip
                if rows[name]:
                    figures[name] = summary(rows[name])
                    say(f"both ways {entities} {name}: {figures[name]}")
        session.keep(f"ways-{entities}", rows)
        session.keep(f"choice-{entities}", figures)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The time of all questions: by each way, by the one that is chosen, and by the better one."""
    chosen = sum(row["every_ms"] if row["every_is_chosen"] else row["pruned_ms"] for row in rows)
    better = sum(min(row["every_ms"], row["pruned_ms"]) for row in rows)
    return {
        "questions": len(rows),
        "every_ms": round(sum(row["every_ms"] for row in rows), 1),
        "pruned_ms": round(sum(row["pruned_ms"] for row in rows), 1),
        "chosen_ms": round(chosen, 1),
        "chosen_by_better": round(chosen / better, 3),
    }
