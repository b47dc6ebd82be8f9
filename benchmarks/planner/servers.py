"""How far the planner is from the best forced plan with the text in Elasticsearch and the graph at an endpoint.

    python -m benchmarks.planner.servers [--servers oxigraph fuseki] [--projection export none] [--papers N] [--cells N]

The grid of `benchmarks.planner`, the half for judging, against real servers: a condition that the profile lists goes
into Elasticsearch (bind_join), or ids of the graph do (filter_first, filtered_topk), or the best of the text are looked
up in the graph (rank_first, threshold, rank_join). Vectors are in Elasticsearch, too. Unit costs are those that `index`
measures. Each question is run by every plan that applies; times are on the wall, medians of turns, with the planning of
each plan, in which an endpoint may be asked how patterns begin. All plans must have the rows of the first, but for
NEAR, whose index on a server overlooks a few. The other half is asked first, untimed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.endpoint import PATHS, ElasticServer, elastic_server, running
from benchmarks.hybrid import writing
from benchmarks.hybrid.graph import SEED
from benchmarks.planner import grid, measure, plans, prices, report
from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.config.settings import Config, ElasticSettings, EndpointSettings
from hybridkg.store.generations.folder import Folder

PROFILE = "profile.ttl"
FILTERS = "    hk:filters ( mag:year mag:field mag:venue ) ;\n    hk:fields ("
BOUND = 1.5
"""Times the best forced plan."""

REPEATS = 9
"""Turns of each plan: the servers have moments of their own."""

WARM_UPS = 2
"""Times that the questions for tuning are asked before those for judging."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--papers", type=int, default=50_000)
    parser.add_argument("--cells", type=int, default=6, help="of each shape")
    parser.add_argument("--servers", nargs="+", choices=PATHS, default=["oxigraph"])
    parser.add_argument("--projection", nargs="+", choices=("export", "none"), default=["export", "none"])
    parser.add_argument("--data", type=Path, help="folder for the graph; default: a temporary one")
    parser.add_argument("--record", default="planner_servers", help="name of the result")
    return parser.parse_args()


def indexed(folder: Path, url: str, elastic: str, projection: str, alias: str, profile: Path) -> KnowledgeBase:
    """A knowledge base over both servers."""
    settings = ElasticSettings(url=elastic, alias=alias)
    endpoint = EndpointSettings(projection=projection, timeout=600)
    config = Config(
        profile=str(profile), graph=url, text="elasticsearch", elasticsearch=settings, endpoint=endpoint,
        encoder="lsa", vectors="elasticsearch",
    )  # fmt: skip
    Folder.create(folder, config)
    kb = KnowledgeBase.open(folder)
    kb.index()
    return kb


def warm_up(asked: plans.Plans, questions: Sequence[grid.Question]) -> None:
    """Asks other questions of the same shapes: a JVM compiles for a while what is asked often, on the same cores."""
    for _ in range(WARM_UPS):
        for question in questions:
            for plan in asked.forced(asked.logical(question)).values():
                asked.run(plan)


def judged(
    kb: KnowledgeBase, questions: Sequence[grid.Question], others: Sequence[grid.Question], kept: Path
) -> dict[str, Any]:
    """Every question by every plan, after the others; what the planner chose, and what would have been best."""
    asked = plans.Plans(kb, clock=time.perf_counter, repeats=REPEATS, planned_too=True)
    warm_up(asked, others)
    found = measure.measure_all(asked, questions, [(0.0, 0.0)] * len(questions), ablated=False, reference=False)
    measure.keep(kept, found)
    ratios = [report.regret(one, report.time_of) for one in found]
    print(*report.printed(report.tables(found, len(kb._snapshot.nodes or ()))), sep="\n")
    print(*report.worst(found, report.time_of, 20), sep="\n", flush=True)
    return {
        "questions": len(found),
        "differing": [f"{one.question.cell}: {', '.join(one.differing)}" for one in found if one.differing],
        "ratio": {
            "p50": round(float(np.percentile(ratios, 50)), 2), "p90": round(float(np.percentile(ratios, 90)), 2),
            "p99": round(float(np.percentile(ratios, 99)), 2), "max": round(max(ratios), 2),
            f"within_{BOUND}": round(float(np.mean(np.asarray(ratios) <= BOUND)), 3),
            "sum_chosen_over_sum_best": round(
                sum(one.chosen.ms for one in found) / sum(report.best(one, report.time_of) for one in found), 3
            ),
        },
        "baselines_sum_over_sum_best": {
            name: report.of_baseline(found, name, 0, report.time_of).total
            for name in report.BASELINES if name != "thresholds 2 %, 20 %"
        },
        "unit_costs": prices.fitted(found, asked.cost),
        "cells": [
            {
                "cell": one.question.cell, "rows": one.rows, "chosen": one.chosen.strategy,
                "switched": bool(one.chosen.told.get("switched")), "ratio": round(ratio, 2),
                "chosen_ms": round(one.chosen.ms, 2),
                "forced_ms": {name: round(run.ms, 2) for name, run in one.forced.items()},
                "expected_ms": {name: round(run.est_us / 1e3, 2) for name, run in one.forced.items()},
            }
            for one, ratio in zip(found, ratios, strict=True)
        ],
    }  # fmt: skip


def main() -> None:
    """Runs the benchmark."""
    options = arguments()
    figures: dict[str, Any] = {"papers": options.papers, "servers": {}}
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = writing.write((options.data or temporary) / str(options.papers), options.papers, tables=False)
        profile = temporary / PROFILE
        profile.write_text(writing.PROFILE.replace("    hk:fields (", FILTERS))
        both = grid.make(data.graph(), data.df(), options.cells, shapes=tuple(grid.PATTERNS))
        questions = [one for one in both if one.half == grid.HALVES[-1]]
        others = [one for one in both if one.half != grid.HALVES[-1]]
        elastic_server.JAVA_OPTIONS = []  # tests compile less, to start sooner
        elastic = ElasticServer(heap="1g")
        stack.callback(elastic.stop)
        elastic.start()
        for name in options.servers:
            with running(name, temporary, data.triples) as server:
                found = figures["servers"][name] = dict[str, Any]()
                for projection in options.projection:
                    folder = temporary / f"{name}-{projection}.kb"
                    kb = indexed(folder, server.url, elastic.url, projection, f"{name}-{projection}", profile)
                    with kb:
                        print(f"\n== {name}, projection {projection}", flush=True)
                        print({one["name"]: one["us"] for one in kb.cost()["unit_costs"]}, flush=True)
                        kept = data.folder / f"planner-{name}-{projection}.jsonl"
                        found[projection] = judged(kb, questions, others, kept)
                    KnowledgeBase.remove(folder)
    record(options.record, figures, seed=SEED)
    for name, by_projection in figures["servers"].items():
        for projection, own in by_projection.items():
            print(name, projection, own["ratio"], "differing:", own["differing"] or "nothing", file=sys.stderr)


if __name__ == "__main__":
    main()
