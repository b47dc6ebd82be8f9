"""How long each model takes for the best 10, as ratios to bm25f measured in turn with it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.elastic import drawn_queries
from benchmarks.models_figures import SEED
from benchmarks.models_systems import SYSTEMS, Collection, System
from hybridkg import KnowledgeBase
from hybridkg.interfaces.text_index import FieldChoice, TextIndex, TextQuery

QUERIES = 60
REPEATS = 3
SHOWN = 10
UNIT = "bm25f"


def speed(collection: Collection) -> dict[str, Any]:
    """On topics drawn from a judged collection; elr finds its own links."""
    texts = list(collection.topics.texts.values())
    drawn = np.random.default_rng(SEED).permutation(len(texts))[:QUERIES]
    systems = {**SYSTEMS, "elr, own links": System("elr", base="fsdm")}
    queries = {name: next(iter(collection.questions(system).values())) for name, system in systems.items()}
    return timed(collection.text, queries, [texts[i] for i in drawn])


def anthology_speed(path: Path) -> dict[str, Any]:
    """On words that stand near each other in the Anthology."""
    with KnowledgeBase.open(path) as kb:
        profile, index = kb._snapshot.profile, kb._snapshot.text
        assert profile is not None
        assert index is not None
        one = tuple(FieldChoice(field.name, max(1.0, field.weight)) for field in profile.indexed_fields())
        queries = {}
        for name, system in SYSTEMS.items():
            query = TextQuery("", syntax=False, model=system.model, arguments=system.arguments)
            queries[name] = query._replace(fields=one) if system.model == "combined_fields" else query
        return timed(index, queries, drawn_queries(kb, np.random.default_rng(SEED), QUERIES // 2))


def timed(index: TextIndex, queries: Mapping[str, TextQuery], texts: list[str]) -> dict[str, Any]:
    """Of each text the shortest of some runs, warm, the models in turn; then the median over the texts."""
    times: dict[str, list[float]] = {name: [] for name in queries}
    for text in texts:
        asked = {name: query._replace(text=text) for name, query in queries.items()}
        best = dict.fromkeys(queries, float("inf"))
        for repeat in range(REPEATS + 1):
            for name, query in asked.items():
                started = time.perf_counter()
                index.topk(query, SHOWN)
                if repeat:
                    best[name] = min(best[name], (time.perf_counter() - started) * 1e3)
        for name, milliseconds in best.items():
            times[name].append(milliseconds)
    unit = statistics.median(times[UNIT])
    return {
        "queries": len(texts),
        "words_in_a_query": statistics.median(len(text.split()) for text in texts),
        "provisional": True,
        "median_ms": {name: round(statistics.median(own), 3) for name, own in times.items()},
        f"times_{UNIT}": {name: round(statistics.median(own) / unit, 2) for name, own in times.items()},
    }
