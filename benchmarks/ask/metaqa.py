"""Questions of MetaQA, whose names are not marked, as queries (docs/asking.md#metaqa).

    hybridkg dataset metaqa --from ../shared/data --out /tmp/metaqa
    python -m benchmarks.ask.metaqa --data /tmp/metaqa [--train 2000] [--most 2000] [--seed 1] [--split test]

The official training questions are absent, so `--train` questions of each number of hops are drawn from dev, and the
models are learned from them. With `--split dev` the other questions of dev are graded. At most `--most` questions of
each number of hops are drawn.

`exec`: the nodes that satisfy all constraints equal the published answers. `path_exec`: they equal the answers of the
published path of relations in this graph. `ceiling` is the share of questions whose path gives exactly the published
answers, `reached` the share whose path gives at least these: films of one title are one node, and lines of the graph
are missing. `type`, `anchor` and `path` are the parts of a reading.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.asking.base import AskedBase
from hybridkg.asking.learning import Example, learn
from hybridkg.asking.slots import Step
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.datasets.metaqa import HOPS, NS, class_of, steps_of
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb.asking import interpreted
from hybridkg.kb.snapshot import snapshot_of

MEASURES = ("exec", "path_exec", "ceiling", "reached", "type", "anchor", "path")


@dataclass(frozen=True)
class Asked:
    """A question: its topic and text, IRI of its entity, its type, IRIs of the published answers."""

    topic: str
    text: str
    entity: str
    kind: str
    answers: frozenset[str]

    @property
    def hops(self) -> str:
        """The number of steps."""
        return self.topic.split("-")[1]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The published path, from the entity to the answers."""
        classes = map(class_of, self.kind.split("_to_")[1:])
        return tuple(
            Step(predicate, inverse, NS + target)
            for (predicate, inverse), target in zip(steps_of(self.kind), classes, strict=True)
        )

    @property
    def example(self) -> Example:
        """The question for training: its route leads from the answers to the entity."""
        route = tuple((step.predicate, not step.inverse) for step in reversed(self.steps))
        return Example(self.text, self.steps[-1].target, [(self.entity, (route,))])


def read_questions(folder: Path, split: str) -> list[Asked]:
    """The questions of a split, in the order of the files."""
    topics = read_topics(folder / "topics.tsv").texts
    asked = []
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            if data["topic"].startswith(split + "-"):
                text = topics[data["topic"]]
                asked.append(Asked(data["topic"], text, data["entity"], data["type"], frozenset(data["answers"])))
    return asked


def drawn(questions: Sequence[Asked], number: int, seed: int) -> list[Asked]:
    """A seeded sample of a number of questions of each number of hops."""
    chosen = []
    for hops in HOPS:
        some = [one for one in questions if one.hops == hops]
        chosen += random.Random(f"{seed} {hops}").sample(some, min(number, len(some)))
    return chosen


def graded(kb: KnowledgeBase, base: AskedBase, asked: Asked, weights: QuestionWeights) -> dict[str, float]:
    """MEASURES of a question, and CPU seconds of its interpretation and of the query of all constraints."""
    start = time.process_time()
    reading = interpreted(kb, asked.text, limit=100, weights=weights)
    read = time.process_time()
    found = frozenset(str(row["x"]) for row in kb.query(reading.pattern)) if reading.pattern else frozenset[str]()
    done = time.process_time()
    by_path = frozenset(node.value for node in base.nodes(base.reach(asked.entity, asked.steps).tolist()))
    return {
        "exec": float(found == asked.answers),
        "path_exec": float(found == by_path),
        "ceiling": float(by_path == asked.answers),
        "reached": float(by_path >= asked.answers),
        "type": float(reading.target is not None and reading.target.iri == asked.steps[-1].target),
        "anchor": float([one.iri for one in reading.anchors] == [asked.entity]),
        "path": float([one.steps for one in reading.paths] == [asked.steps]),
        "interpret_s": read - start,
        "answer_s": done - read,
    }


def means(grades: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means of MEASURES, and medians of milliseconds of CPU time."""
    found = {name: round(mean(one[name] for one in grades), 3) for name in MEASURES}
    times = {f"{name}_cpu_ms_median": round(1000 * median(one[f"{name}_s"] for one in grades), 1)
             for name in ("interpret", "answer")}  # fmt: skip
    return {"questions": len(grades), **found, **times}


TARGETS = {"1": 0.90, "2": 0.70, "3": 0.45}
"""Figures of `exec` to reach."""


def table(stored: dict[str, Any]) -> str:
    """The table of docs/asking.md; in brackets without learning, bold where `exec` misses its target."""
    columns = ("exec", "path_exec", "type", "anchor", "path")
    lines = [f"| hops | questions | target | {' | '.join(columns)} | ceiling | reached |", "|" + "--:|" * 10]
    for hops, found in stored["learned"].items():
        plain = stored["not_learned"][hops]
        cells = [f"{found[one]:.3f} ({plain[one]:.3f})" for one in columns]
        if found["exec"] < TARGETS[hops]:
            cells[0] = f"**{cells[0]}**"
        cells += [f"{found['ceiling']:.3f}", f"{found['reached']:.3f}"]
        lines.append(f"| {hops} | {found['questions']:,} | {TARGETS[hops]:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Learns, grades and records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--train", type=int, default=2000, help="questions of each number of hops to learn from")
    parser.add_argument("--most", type=int, default=2000, help="questions of each number of hops that are graded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--split", choices=["dev", "test"], default="test")
    parser.add_argument("--failures", type=Path, help="writes the questions whose answers are not those of their path")
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    dev = read_questions(given.data, "dev")
    train = drawn(dev, given.train, given.seed)
    others = {one.topic for one in train}
    pool = dev if given.split == "dev" else read_questions(given.data, "test")
    chosen = drawn([one for one in pool if one.topic not in others], given.most, given.seed)
    figures: dict[str, Any] = {"train": len(train), "split": given.split}
    failures = []
    with KnowledgeBase.open(given.data / "kb") as kb:
        base = snapshot_of(kb).asked
        weights = learn((one.example for one in train), base)
        figures["features"] = {"routes": weights.route_features, "classes": weights.class_features}
        for name, some in (("not_learned", DEFAULT_WEIGHTS), ("learned", weights)):
            by_hops: dict[str, Any] = {}
            for hops in HOPS:
                asked = [one for one in chosen if one.hops == hops]
                grades = [graded(kb, base, one, some) for one in asked]
                by_hops[hops] = means(grades)
                if name == "learned":
                    failures += [
                        f"{hops} {one.kind}\t{one.text}"
                        for one, grade in zip(asked, grades, strict=True)
                        if not grade["path_exec"]
                    ]
            figures[name] = by_hops
    if given.failures:
        given.failures.write_text("\n".join([*failures, ""]), encoding="utf-8")
    if given.no_record:
        print(json.dumps(figures, indent=1))
    else:
        record("ask_metaqa", figures, seed=given.seed)


if __name__ == "__main__":
    main()
