"""When which vectors help to rank: text, encoders and their fusions on three judged collections, with paired tests.

    python -m benchmarks.vectors_quality [PART ...] [--work FOLDER] [--encoders NAME,...] [--collections NAME,...]
                                         [--no-record]

The parts:
    judge      everything: each list alone, FIXED fusions, and shares that are learned in folds
    table      no measuring: prints what is stored as Markdown, as in docs/vectors.md

A fusion is a query that a user writes (benchmarks/fusion_points.py). Both lists of a topic are read once and complete,
and fused in arrays by the functions that RANK BY calls; some topics are asked of the knowledge base as well, and must
give the same rows. A learned share is the one of SHARES that does best by NDCG@10 on the training topics of a fold,
and ranks the others: that of one family, or of all families at once. Quality does not depend on the machine, but for
the eighth digit of similarities of `lsa`. To encode takes minutes, and what a work folder holds is not encoded again.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fusion_folds import by_topic, chosen
from benchmarks.fusion_points import DEFAULT, FAMILIES, FIXED, GROUPS, Lists, Point, best
from benchmarks.models_figures import SEED, Values, compared, means
from benchmarks.models_systems import COLLECTIONS, Collection, collections
from benchmarks.record import RESULTS, record
from benchmarks.vectors import encoders, set_config
from hybridkg import KnowledgeBase
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.significance import t_test
from hybridkg.evaluation.tuning.collection import node_of
from hybridkg.evaluation.tuning.folds import Fold, read_folds
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.interfaces.vector_index import VectorQuery

DEPTH = 1_000
MEASURES = ("ndcg@10", "recall@100", "judged@10", "condensed-ndcg@10", "map@100")
TESTED = ("ndcg@10",)
OBJECTIVE = "ndcg@10"
KEPT = ("mean", "difference", "interval_95", "p_t", "p_t_holm", "p_randomisation", "p_randomisation_holm")
VERIFIED = 8
"""Topics of each fusion that are asked of the knowledge base, too."""

Ranked = Mapping[str, tuple[Ids, Scores]]
"""topic -> its entities and their scores, best first."""


class Judged:
    """The topics of a collection with both lists of each, and judgements by ids.

    Args:
        collection: with topics and judgements.
        kb: with text and vectors.
    """

    def __init__(self, collection: Collection, kb: KnowledgeBase):
        self.kb, self.topics = kb, collection.topics.texts
        snapshot = kb._snapshot
        text, vectors, nodes = snapshot.text, snapshot.vectors, snapshot.nodes
        assert text is not None
        assert vectors is not None
        assert nodes is not None
        self.text = {topic: text.score_all(TextQuery(own, syntax=False)) for topic, own in self.topics.items()}
        self.lists = {
            topic: Lists.of(own, self.text[topic], vectors.score_all(VectorQuery(text=own)))
            for topic, own in self.topics.items()
        }
        grades: dict[str, dict[str, int]] = {}
        for topic, of_topic in collection.qrels.grades.items():
            ids = nodes.find_many([node_of(document) for document in of_topic]).tolist()
            named = zip(of_topic.items(), ids, strict=True)
            grades[topic] = {str(id) if id >= 0 else document: grade for (document, grade), id in named}
        self.qrels = Qrels(grades)

    def evaluated(self, ranked: Ranked, measures: tuple[str, ...] = MEASURES) -> dict[str, dict[str, float]]:
        """measure -> topic -> value."""
        rankings = {
            topic: tuple(zip(map(str, ids.tolist()), scores.tolist(), strict=True))
            for topic, (ids, scores) in ranked.items()
        }
        return evaluate(self.qrels, Run("run", rankings), [parse_measure(name) for name in measures])

    def ranked(self, points: Mapping[str, Point], k: int = DEPTH) -> Ranked:
        """The best k of each topic by its point."""
        return {topic: best(*self.lists[topic].scores(point), k) for topic, point in points.items()}

    def alone(self) -> dict[str, Ranked]:
        """Text and vectors, each by itself."""
        return {
            "text": {topic: best(*own, DEPTH) for topic, own in self.text.items()},
            "vectors": {topic: best(own.ids, own.vector, DEPTH) for topic, own in self.lists.items()},
        }

    def verify(self, points: Mapping[str, Point]) -> int:
        """Asks some topics as a user does, and compares the rows; how many.

        Raises:
            SystemExit: other rows.
        """
        nodes = self.kb._snapshot.nodes
        assert nodes is not None
        step = max(1, len(points) // VERIFIED)
        some = dict(list(points.items())[::step][:VERIFIED])
        for topic, (ids, scores) in self.ranked(some, 100).items():
            rows = list(self.kb.query(some[topic].query, params={"text": self.topics[topic]}, limit=100))
            expected = [node.value for node in nodes.nodes(ids)]
            if [str(row["x"]) for row in rows] != expected or not np.allclose(
                [row.rank_score for row in rows], scores, rtol=1e-12, atol=1e-12
            ):
                raise SystemExit(f"{some[topic].query} of topic {topic} gives other rows than its formula in arrays")
        return len(some)


def judge(collection: Collection, name: str, encoder: str) -> dict[str, Any]:
    """All systems with the vectors of one encoder."""
    with indexed(collection, name, encoder) as kb:
        started = time.thread_time()
        judged = Judged(collection, kb)
        folds = read_folds(collection.folder / "folds.json", judged.qrels.grades)
        alone = judged.alone()
        values: dict[str, Values] = {
            "text": judged.evaluated(alone["text"]),
            name: judged.evaluated(alone["vectors"]),
        }
        asked = 0
        for label, point in FIXED.items():
            points = dict.fromkeys(judged.topics, point)
            values[label] = judged.evaluated(judged.ranked(points))
            asked += judged.verify(points)
        shares = {point: judged_by_share(judged, point) for point in all_points()}
        learned: dict[str, Any] = {}
        for label, some in learnable(shares).items():
            of_fold = chosen(some, folds)
            points = by_topic(of_fold, folds)
            values[label] = judged.evaluated(judged.ranked(points))
            asked += judged.verify(points)
            learned[label] = {"folds": {fold: point.label for fold, point in of_fold.items()}}
        assert kb._snapshot.vectors is not None
        single = max(("text", name), key=lambda system: means(values[system])[OBJECTIVE])
        everyone = {point: own for point, own in shares.items() if point.group == "everyone"}
        default = {point: own for point, own in everyone.items() if point.family == DEFAULT.family}
        lengths = {single: {OBJECTIVE: values[single][OBJECTIVE]}} | {
            f"{point.number:g}": {OBJECTIVE: own} for point, own in default.items()
        }
        found = {
            "topics": len(judged.qrels.grades),
            "vectors": kb._snapshot.vectors.about(),
            "means": {system: means(own) for system, own in values.items()},
            "better_single": single,
            "against_text": against("text", values),
            "against_better_single": against(single, values),
            "learned": learned,
            "by_length_against_better_single": against(single, lengths),
            "by_share": by_share(everyone),
            "by_share_p_t": by_share(everyone, values[single][OBJECTIVE]),
            "length_and_gain": length_and_gain(judged, values["text"][OBJECTIVE], values[name][OBJECTIVE]),
            "folds": sizes(folds),
            "topics_asked_of_the_knowledge_base": asked,
            "cpu_s": round(time.thread_time() - started),
        }
    print(collection.name, name, *(f"\n  {own} {system}" for system, own in found["means"].items()), flush=True)
    return found


def indexed(collection: Collection, name: str, encoder: str) -> KnowledgeBase:
    """A copy of the collection's knowledge base with vectors of an encoder."""
    folder = collection.folder / f"kb-{name}"
    if not folder.exists():
        shutil.copytree(collection.folder / "kb", folder)
    set_config(folder, encoder)
    kb = KnowledgeBase.open(folder)
    if kb._snapshot.vectors is None:
        kb.index()
    return kb


def all_points() -> list[Point]:
    """Everything that learning chooses from."""
    return [Point(family, number, group) for group in GROUPS for family, own in FAMILIES.items() for number in own]


def judged_by_share(judged: Judged, point: Point) -> dict[str, float]:
    """What the objective says of each topic."""
    ranked = judged.ranked(dict.fromkeys(judged.topics, point), 10)
    return judged.evaluated(ranked, (OBJECTIVE,))[OBJECTIVE]


def learnable(shares: Mapping[Point, Mapping[str, float]]) -> dict[str, dict[Point, Mapping[str, float]]]:
    """What a share is learned for: each family over everyone, and all families and groups at once."""
    found: dict[str, dict[Point, Mapping[str, float]]] = {}
    for family in FAMILIES:
        found[f"{family}, learned"] = {
            point: own for point, own in shares.items() if point.family == family and point.group == "everyone"
        }
    return found | {"any, learned": dict(shares)}


def by_share(
    shares: Mapping[Point, Mapping[str, float]], single: Mapping[str, float] | None = None
) -> dict[str, dict[str, float]]:
    """By family, number by number, over all topics: the mean of the objective; with `single` the p of its
    difference to that, with the sign of the difference. To be looked at: nothing is learned from it.
    """
    found: dict[str, dict[str, float]] = {}
    for point, own in shares.items():
        line = found.setdefault(point.family, {})
        mean = sum(own.values()) / len(own)
        if single is None:
            line[f"{point.number:g}"] = round(mean, 4)
        else:
            differences = np.array([own[topic] - single[topic] for topic in own])
            line[f"{point.number:g}"] = float(f"{math.copysign(t_test(differences).p, differences.mean()):.3g}")
    return found


def length_and_gain(judged: Judged, text: Mapping[str, float], vectors: Mapping[str, float]) -> dict[str, float]:
    """Whether vectors do more than words where questions are longer: Spearman's correlation over the topics."""
    from scipy.stats import spearmanr

    found = spearmanr([len(judged.topics[topic]) for topic in text], [vectors[topic] - text[topic] for topic in text])
    return {"spearman": round(float(found.statistic), 3), "p": float(f"{found.pvalue:.3g}")}


def against(baseline: str, values: Mapping[str, Values]) -> dict[str, dict[str, Any]]:
    """All others against one."""
    others = {system: own for system, own in values.items() if system != baseline}
    rows = compared({baseline: values[baseline], **others}, tested=TESTED)
    return {label: {key: row[key] for key in KEPT} for label, row in rows.items()}


def held_out(quality: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Whether the number of DEFAULT, chosen on some collections, does on the other what it should.

    Chosen is that whose greatest loss against the better single list is least, over the encoders and the collections
    but one; told is what it does on that one.

    >>> def of(*values): return {"lsa": {"better_single": "text", "means": {"text": {"ndcg@10": 0.5}},
    ...     "by_share": {DEFAULT.family: dict(zip("12", values))},
    ...     "by_length_against_better_single": {f"{n}, ndcg@10": n for n in "12"}}}
    >>> held_out({"a": of(0.3, 0.4), "b": of(0.5, 0.2), "c": of(0.6, 0.5)})["b"]
    {'chosen': '2', 'lsa': '2'}
    """
    found: dict[str, Any] = {}
    for name, own in quality.items():
        others = [one for other, by_encoder in quality.items() if other != name for one in by_encoder.values()]
        if not others:
            continue
        numbers = next(iter(own.values()))["by_share"][DEFAULT.family]

        def least(number: str, others: list[Any] = others) -> float:
            return min(one["by_share"][DEFAULT.family][number] - _better(one) for one in others)

        number = max(numbers, key=least)
        found[name] = {"chosen": number} | {
            encoder: one["by_length_against_better_single"][f"{number}, {OBJECTIVE}"] for encoder, one in own.items()
        }
    return found


def _better(one: Mapping[str, Any]) -> float:
    value: float = one["means"][one["better_single"]][OBJECTIVE]
    return value


def sizes(folds: tuple[Fold, ...]) -> dict[str, str]:
    """Topics in training and test."""
    return {fold.name: f"{len(fold.training)} + {len(fold.testing)}" for fold in folds}


def table(stored: Mapping[str, Any]) -> str:
    """NDCG@10 of every system as Markdown."""
    lines = []
    for name in encoders():
        there = {c: own[name] for c, own in stored["quality"].items() if name in own}
        if not there:
            continue
        lines += ["", f"| {name} | " + " | ".join(there) + " |", "|---|" + "--:|" * len(there)]
        first = next(iter(there.values()))
        for system in first["means"]:
            lines.append(f"| {system} | " + " | ".join(_cell(own, system) for own in there.values()) + " |")
    return "\n".join(lines)


def _cell(own: Mapping[str, Any], system: str) -> str:
    mark = ""
    row = own["against_better_single"].get(f"{system}, {OBJECTIVE}")
    if row is not None and row["p_t"] < 0.05:
        mark = "+" if row["difference"] > 0 else "-"
        mark *= 2 if row["p_t_holm"] < 0.05 else 1
    return f"{own['means'][system][OBJECTIVE]:.3f}{mark}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vectors_quality", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="judge, table; default: judge")
    parser.add_argument("--work", type=Path, help="keeps collections and knowledge bases here (default: nowhere)")
    parser.add_argument("--encoders", default="lsa,minilm", help="lsa, minilm, model2vec (default: %(default)s)")
    parser.add_argument("--collections", default=",".join(COLLECTIONS), help="default: %(default)s")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    path = RESULTS / "vectors_quality.json"
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"quality": {}}
    if options.parts == ["table"]:
        print(table(stored))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for collection in collections(options.work or Path(temporary), tuple(options.collections.split(","))):
            for name in options.encoders.split(","):
                found = judge(collection, name, encoders()[name])
                stored["quality"].setdefault(collection.name, {})[name] = found
                if not options.no_record:
                    figures = {"quality": stored["quality"], "held_out": held_out(stored["quality"])}
                    record("vectors_quality", figures, seed=SEED)


if __name__ == "__main__":
    main()
