"""RERANK TOP 50 USING features behind the queries of `ask` and behind the fusion, with features of the question.

    python -m benchmarks.ask.reranked --out /tmp/stark-data --questions /tmp/made [--only acl] [--train N]
    python -m benchmarks.ask.reranked table

OUT and the questions are those of `python -m benchmarks.ask`. The weights of a reranker (linear, RankSVM) are learned
from the first --train questions of the split train. Their rows and features come from readings that were not learned
from them: the models of `ask` are learned from the other thirds of train (cross-fitting). At most --most questions of
val and of test are read with models of all of train. `ask-default` has no learned models.

For each base, `scores` reads the scores of a row and its place, and `question` these and the features of the question
(`constraints`, `paths 1` to `paths 3`). `fusion` is reranked by the readings of `ask-default`, as RERANK in a query
does, and `fusion-learned` by those of `ask`. With --bases, only these are measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.ask.grading import DEPTH, MEASURES, learned, measures
from benchmarks.ask.questions import read_gold
from benchmarks.record import RESULTS, record
from benchmarks.stark_data.__main__ import DATA
from benchmarks.stark_data.report import TITLES
from hybridkg import KnowledgeBase
from hybridkg.asking.emit import fusion_query
from hybridkg.asking.interpret import surroundings
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.satisfied import slot_columns
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.significance import holm, randomisation_test
from hybridkg.evaluation.synthesis.synthesise import SynthesisedQuestion
from hybridkg.evaluation.tuning.features import FeatureTuning
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.judged_rows import JudgedRows, judged, rows_of
from hybridkg.interfaces.reranker import QUESTION_FEATURES
from hybridkg.kb.asking import answered, interpreted
from hybridkg.kb.snapshot import snapshot_of

TOP = 50
PARTS = 3
"""Parts of train in the cross-fitting."""


class RowReader:
    """The rows of questions in one knowledge base."""

    def __init__(self, kb: KnowledgeBase):
        self.kb, self.base = kb, snapshot_of(kb).asked
        self._readings: dict[tuple[int, int], Interpretation] = {}

    def rows(self, question: SynthesisedQuestion, weights: QuestionWeights, *, fused: bool) -> JudgedRows:
        """Rows of the soft query, or of the plain fusion of words and vectors."""
        reading = self._reading(question, weights)
        around = surroundings(question.text, self.base, {}, DEPTH)
        query = fusion_query(question.text, around) if fused else reading.query
        grades = dict.fromkeys(question.answers, 1)
        found = rows_of(self.kb, answered(self.kb, query), question.text, grades, TOP)
        scores = {name: found.candidates.scores.get(name, np.full(len(found.candidates), np.nan)) for name in SCORES}
        around_rows = replace(found.around, question=lambda text, ids: slot_columns(reading.slots, ids, self.base))
        found = replace(found, candidates=replace(found.candidates, scores=scores), around=around_rows)
        return judged(found, FEATURES)[1]

    def _reading(self, question: SynthesisedQuestion, weights: QuestionWeights) -> Interpretation:
        key = question.number, id(weights)
        if key not in self._readings:
            self._readings[key] = interpreted(self.kb, question.text, limit=DEPTH, weights=weights)
        return self._readings[key]


SCORES = ("rank", "t", "v")
"""Scores of a row, in both kinds of query; one that a query lacks is 0."""


KINDS = {
    "scores": (*(f"score {name}" for name in SCORES), "earlier"),
    "question": (*(f"score {name}" for name in SCORES), "earlier", *QUESTION_FEATURES),
}
"""The features of each reranker."""

FEATURES = KINDS["question"]


BASES = {
    "ask": (True, False), "ask-default": (False, False), "fusion": (False, True), "fusion-learned": (True, True)
}  # fmt: skip
"""Whether the readings have learned models, and whether the rows are those of the fusion."""


def graded(folder: Path, stored: Path, bases: Sequence[str], train: int, most: int) -> dict[str, Any]:
    """The figures of some bases in one knowledge base."""
    questions = read_gold(stored)
    by_split = {name: [one for one in questions if one.split == name] for name in ("train", "val", "test")}
    with KnowledgeBase.open(folder / "made" / "kb") as kb:
        reader = RowReader(kb)
        chosen = [*by_split["train"][:train], *by_split["val"][:most], *by_split["test"][:most]]
        fixed = dict.fromkeys((one.number for one in chosen), DEFAULT_WEIGHTS)
        own = cross_fitted(kb, by_split["train"], chosen) if any(BASES[name][0] for name in bases) else fixed
        found: dict[str, Any] = {
            "train": len(by_split["train"][:train]), "val": len(by_split["val"][:most]),
            "test": len(by_split["test"][:most]),
        }  # fmt: skip
        for name in bases:
            is_learned, fused = BASES[name]
            weights = own if is_learned else fixed
            read = {str(one.number): reader.rows(one, weights[one.number], fused=fused) for one in chosen}
            found[name] = of_base(read, chosen)
    return found


def cross_fitted(
    kb: KnowledgeBase, train: Sequence[SynthesisedQuestion], chosen: Sequence[SynthesisedQuestion]
) -> dict[int, QuestionWeights]:
    """Weights for each chosen question that were not learned from it: of the other thirds, or of all of train."""
    whole, parts = learned(kb, train), [train[part::PARTS] for part in range(PARTS)]
    fitted: dict[int, QuestionWeights] = {}
    for part, held_out in enumerate(parts):
        others = learned(kb, [one for at, some in enumerate(parts) if at != part for one in some])
        fitted |= {one.number: others for one in held_out}
    return {one.number: fitted.get(one.number, whole) for one in chosen}


def of_base(read: dict[str, JudgedRows], questions: Sequence[SynthesisedQuestion]) -> dict[str, Any]:
    """Means of the base and of its rerankers in val and test, weights, and tests against the base."""
    qrels = Qrels({str(one.number): dict.fromkeys(one.answers, 1) for one in questions})
    tuning = FeatureTuning.of_rows(FEATURES, read, qrels, measure="mrr")
    splits = {split: [one for one in questions if one.split == split] for split in ("train", "val", "test")}
    ids = {split: tuple(str(one.number) for one in some) for split, some in splits.items()}
    fold = Fold("all", ids["train"], (*ids["val"], *ids["test"]))
    rankings = {"base": {topic: [node for node, _ in own.documents] for topic, own in read.items()}}
    models: dict[str, Any] = {}
    for kind, features in KINDS.items():
        own_tuning = tuning.only(features)
        (outcome,) = some = own_tuning.run([fold])
        run = own_tuning.ranked(some, kind)
        rankings[kind] = {topic: [node for node, _ in ranked] for topic, ranked in run.rankings.items()}
        weighed = sorted(outcome.model.content()["weights"].items(), key=lambda one: -abs(one[1]))
        models[kind] = {"cost": outcome.choice, "weights": {name: round(value, 3) for name, value in weighed}}
    found: dict[str, Any] = {"models": models}
    for split in ("val", "test"):
        values = {
            kind: [measures(own[str(one.number)], one.answers) for one in splits[split]]
            for kind, own in rankings.items()
        }
        found[split] = {
            "means": {kind: {m: round(mean(v[m] for v in own), 3) for m in MEASURES} for kind, own in values.items()},
            "against_base": against(values),
        }
    return found


def against(values: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Difference of each reranker to the base with the p of a randomisation test, by Holm over all of these."""
    gains = {
        f"{kind} {name}": np.array([own[name] - before[name] for own, before in zip(some, values["base"], strict=True)])
        for kind, some in values.items() if kind != "base" for name in MEASURES
    }  # fmt: skip
    p = {key: 1.0 if not some.any() else randomisation_test(some, seed=1).p for key, some in gains.items()}
    corrected = dict(zip(p, holm(list(p.values())), strict=True))
    return {
        key: {"gain": round(float(some.mean()), 3), "p_holm": float(f"{corrected[key]:.2g}")}
        for key, some in gains.items()
    }


def table(data: dict[str, Any], split: str = "test") -> str:
    """The stored figures of a split as Markdown; ▲ and ▼ are p < .05 against the base."""
    lines = ["| data | base | reranked by | " + " | ".join(MEASURES) + " |", "|---|---|---|" + "--:|" * len(MEASURES)]
    for name, own in data.items():
        for base in [base for base in BASES if base in own]:
            found = own[base][split]
            for kind, values in found["means"].items():
                cells = []
                for measure in MEASURES:
                    test = found["against_base"].get(f"{kind} {measure}", {"p_holm": 1.0, "gain": 0.0})
                    sign = "" if test["p_holm"] >= 0.05 else " ▲" if test["gain"] > 0 else " ▼"
                    cells.append(f"{values[measure]:.3f}{sign}")
                shown = "" if kind == "base" else f"`{kind}`"
                lines.append(f"| {TITLES[name]} | {base} | {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Learns, measures and records; or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["table"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--only", action="append", choices=list(DATA))
    parser.add_argument("--bases", default=",".join(BASES), help=f"some of {', '.join(BASES)}")
    parser.add_argument("--train", type=int, default=300)
    parser.add_argument("--most", type=int, default=300)
    given = parser.parse_args()
    path = RESULTS / "ask_reranked.json"
    found: dict[str, Any] = json.loads(path.read_text())["data"] if path.exists() else {}
    if given.part == "table":
        print(table(found))
        return
    if given.out is None or given.questions is None:
        parser.error("--out and --questions are needed")
    for name in given.only or list(DATA):
        stored = given.questions / name / "gold.jsonl"
        bases = given.bases.split(",")
        found[name] = found.get(name, {}) | graded(given.out / name, stored, bases, given.train, given.most)
        record("ask_reranked", {"data": {name: found[name] for name in DATA if name in found}}, seed=1)


if __name__ == "__main__":
    main()
