"""Does the reranker `features` beat the best fusion? FB15k-237 with DBpedia-Entity's topics, by paired tests.

    python -m benchmarks.rerank [--work FOLDER] [--top N,...] [--no-record]

The ranking that is reranked is a fusion of words and MiniLM's vectors whose family and share have been learned by the
training topics of each fold (benchmarks/vectors_quality.py: `zscore, learned` is the best of the fusions there). The
weights are learned by the same training topics (hybridkg/evaluation/tuning/features.py), the cost as well, by thirds of
them; the topics of the test part are seen by neither. Against are all fusions that have a mean. What else was tried
comes with it: boosted trees, other numbers of rows, and features left out. Some topics are asked of the knowledge base
by RERANK, too, and must give the same order. Quality does not depend on the machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fusion_folds import by_topic, chosen
from benchmarks.fusion_points import FIXED, Point
from benchmarks.models_figures import SEED, Values, compared, means
from benchmarks.models_systems import collections
from benchmarks.record import record
from benchmarks.vectors import encoders
from benchmarks.vectors_quality import (
    KEPT,
    MEASURES,
    OBJECTIVE,
    Judged,
    all_points,
    indexed,
    judged_by_share,
    learnable,
)
from hybridkg import KnowledgeBase
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.tuning.features import FeatureOutcome, FeatureTuning
from hybridkg.evaluation.tuning.folds import Fold, read_folds
from hybridkg.ranking.rerankers.feature_model import to_json

COLLECTION, ENCODER = "fb15k-dbpedia-entity", "minilm"
BASE = "zscore, learned"
TOPS = (50, 20, 100)
"""Rows that are reranked; the first is what is claimed, with all features."""

BOOSTED = "boosted trees"
"""The other learner, with all features of as many rows."""

GRAPH = ("triples from", "triples to", "linked", "types")

WITHOUT = {
    "without the graph": lambda name: name in GRAPH,
    "without fields": lambda name: name.partition(" ")[0] in ("field", "covered", "share", "length"),
    "without the first's vectors": lambda name: name == "like the first",
    "scores alone": lambda name: name.partition(" ")[0] not in ("score", "earlier"),
}
"""Which features are left out."""

VERIFIED = 5


class Reranking:
    """Weights learned in folds over the rows of the fusion that each fold has chosen."""

    def __init__(self, kb: KnowledgeBase, judged: Judged, points: Mapping[str, Point], top: int, work: Path):
        self.kb, self.judged, self.points, self.top, self.work = kb, judged, points, top, work
        self.rows: dict[Point, FeatureTuning] = {}

    def tuning(self, point: Point, topics: Any, qrels: Any) -> FeatureTuning:
        """The rows of a fusion, read once."""
        if point not in self.rows:
            self.rows[point] = FeatureTuning(self.kb, topics, qrels, _query(point), top=self.top)
        return self.rows[point]

    def learned(
        self, folds: Sequence[Fold], topics: Any, qrels: Any, learner: str, leaves_out: Any = None
    ) -> tuple[Run, list[FeatureOutcome]]:
        """Each topic by a model that has not seen it."""
        rankings: dict[str, Any] = {}
        outcomes: list[FeatureOutcome] = []
        for fold in folds:
            whole = self.tuning(self.points[fold.name], topics, qrels)
            kept = [name for name in whole.names if leaves_out is None or not leaves_out(name)]
            tuning = whole.only(kept).by(learner)
            (outcome,) = tuning.run([fold])
            outcomes.append(outcome)
            rankings |= {
                topic: own for topic, own in tuning.ranked([outcome], "r").rankings.items() if topic in fold.testing
            }
        return Run("features", rankings), outcomes

    def verify(self, run: Run, outcomes: Sequence[FeatureOutcome], folds: Sequence[Fold]) -> int:
        """Asks some topics as a user does; how many.

        Raises:
            SystemExit: another order.
        """
        folder = self.kb._snapshot.generation.path.parent / "models"
        folder.mkdir(exist_ok=True)
        asked = 0
        for fold, outcome in zip(folds, outcomes, strict=True):
            (folder / f"rerank-{fold.name}.json").write_text(to_json(outcome.model), encoding="utf-8")
            query = f"{_query(self.points[fold.name])} RERANK TOP {self.top} USING features(@rerank-{fold.name}.json)"
            for topic in fold.testing[: -(-VERIFIED // len(folds))]:
                rows = self.kb.query(query, params={"text": self.judged.topics[topic]}, limit=self.top)
                if [str(row["x"]) for row in rows] != run.documents(topic)[: self.top]:
                    raise SystemExit(f"RERANK gives another order of topic {topic} than the training")
                asked += 1
        return asked


def _query(point: Point) -> str:
    return point.query.replace("SELECT ?x {", "SELECT ?x ?t ?v {") + " AS ?fused"


def measured(work: Path, tops: Sequence[int]) -> dict[str, Any]:
    """All figures."""
    (collection,) = collections(work, (COLLECTION,))
    started = time.thread_time()
    with indexed(collection, ENCODER, encoders()[ENCODER]) as kb:
        judged = Judged(collection, kb)
        folds = read_folds(collection.folder / "folds.json", judged.qrels.grades)
        shares = {point: judged_by_share(judged, point) for point in all_points()}
        values: dict[str, Values] = {}
        for label, point in FIXED.items():
            values[label] = judged.evaluated(judged.ranked(dict.fromkeys(judged.topics, point)))
        points: dict[str, dict[str, Point]] = {}
        for label, some in learnable(shares).items():
            points[label] = chosen(some, folds)
            values[label] = judged.evaluated(judged.ranked(by_topic(points[label], folds)))
        base = values[BASE]
        print(f"{BASE}: {means(base)}", flush=True)
        topics, qrels = collection.topics, collection.qrels
        found: dict[str, Values] = {}
        learned: dict[str, Any] = {}
        asked = 0
        for top in tops:
            own = Reranking(kb, judged, points[BASE], top, work)
            plans: dict[str, tuple[str, Any]] = {f"features, top {top}": ("linear", None)}
            if top == tops[0]:
                plans |= {BOOSTED: ("boosted", None)}
                plans |= {label: ("linear", out) for label, out in WITHOUT.items()}
            for label, (learner, leaves_out) in plans.items():
                run, outcomes = own.learned(folds, topics, qrels, learner, leaves_out)
                found[label] = evaluate(qrels, run, [parse_measure(name) for name in MEASURES])
                learned[label] = {one.training.name: {"chosen": one.choice, **one.model.content()} for one in outcomes}
                print(label, means(found[label]), flush=True)
                if leaves_out is None:
                    asked += own.verify(run, outcomes, folds)
    claimed = f"features, top {tops[0]}"
    fusions = {label: own for label, own in values.items() if label != BASE}
    return {
        "topics": len(judged.qrels.grades),
        "means": {label: means(own) for label, own in (values | found).items()},
        "base": BASE,
        "base_in_folds": {fold: point.label for fold, point in points[BASE].items()},
        "claimed_against_base": _against(BASE, base, {claimed: found[claimed]}),
        "all_against_base": _against(BASE, base, found),
        "claimed_against_other_fusions": _against(claimed, found[claimed], fusions),
        "learned": {claimed: learned[claimed]},
        "chosen": {label: {fold: one["chosen"] for fold, one in own.items()} for label, own in learned.items()},
        "boosted_against_linear": _against(claimed, found[claimed], {BOOSTED: found[BOOSTED]}),
        "topics_asked_of_the_knowledge_base": asked,
        "cpu_s": round(time.thread_time() - started),
    }


def _against(name: str, baseline: Values, others: Mapping[str, Values]) -> dict[str, dict[str, Any]]:
    """Each against one, on the same topics."""
    values = {label: {OBJECTIVE: own[OBJECTIVE]} for label, own in ({name: baseline} | dict(others)).items()}
    rows = compared(values, tested=(OBJECTIVE,))
    kept = (*KEPT, "better", "same", "worse")
    return {label: {key: row[key] for key in kept} for label, row in rows.items()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rerank", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="keeps the collection and the knowledge base here (default: nowhere)")
    parser.add_argument("--top", default=",".join(map(str, TOPS)), help="rows to rerank (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    tops = [int(top) for top in options.top.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        found = measured(options.work or Path(temporary), tops)
    for part in ("all_against_base", "claimed_against_other_fusions", "boosted_against_linear"):
        for label, row in found[part].items():
            print(part, label, row)
    if not options.no_record:
        record("rerank", found, seed=SEED)


if __name__ == "__main__":
    main()
