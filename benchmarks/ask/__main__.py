"""Grades readings and answers of questions that `synthesise` made from real data in STaRK's form.

    python -m benchmarks.ask --out /tmp/stark-data [--only acl] [--n 1000 | --questions /tmp/made] [--most 200]

OUT is the folder that `python -m benchmarks.stark_data` made; a knowledge base without vectors gets those of `lsa`.
Only the questions of one split are graded, all or the first `--most`; phrasings of `test` are in no other split. The
parts are graded twice: with the weights of the specification, and with models learned from the questions of the split
`train`. Rankings are those of the learned weights, and of baselines that know the class of the answers.

Parts: `type` of the answers, `anchor_f1`, `path` (all paths equal those of the gold query), and `exec` (the nodes that
satisfy all constraints equal the answers of the gold query, before its properties are verified).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.ask.grading import MEASURES, SYSTEMS, Graded, Grader, learned
from benchmarks.ask.questions import read_gold
from benchmarks.record import RESULTS, record
from benchmarks.stark_data.__main__ import DATA
from hybridkg import KnowledgeBase
from hybridkg.datasets.stark.layout import find_files, read_layout
from hybridkg.evaluation.gold_queries import PARTS
from hybridkg.evaluation.significance import randomisation_test
from hybridkg.evaluation.synthesis.synthesise import synthesise
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.kb.snapshot import snapshot_of

BASELINES = ("text", "vectors", "fusion")


def graded(
    folder: Path, n: int, seed: int, most: int | None, split: str, failures: list[str], stored: Path | None = None
) -> dict[str, Any]:
    """The figures of one knowledge base."""
    form = read_layout(find_files(folder / "skb", folder)).kb
    path = folder / "made" / "kb"
    with KnowledgeBase.open(path) as kb:
        if snapshot_of(kb).vectors is None:
            kb.index(encoder="lsa")
    templates = load_templates(f"stark-{form}")
    with KnowledgeBase.open(path) as kb:
        made = read_gold(stored) if stored else synthesise(kb, templates, n, seed=seed).questions
        chosen = [question for question in made if question.split == split][:most]
        plain = [Grader(kb, templates).graded(question, rankings=False) for question in chosen]
        examples = [question for question in made if question.split == "train"]
        grader = Grader(kb, templates, learned(kb, examples))
        grades = []
        for question in chosen:
            one = grader.graded(question)
            grades.append(one)
            if one.parts["exec"] < 1:
                failures.append(f"{one.template}\t{one.parts}\t{question.text}")
        about = {"form": form, "nodes": kb.stats()["entities"], "encoder": "lsa"}
    counts = {
        "wanted": len(made) if stored else n,
        "seed": seed,
        "split": split,
        "questions": len(grades),
        "trained_on": len(examples),
    }
    return {**about, **counts, "parts_not_learned": parts_of(plain), **figures(grades)}


def figures(grades: Sequence[Graded]) -> dict[str, Any]:
    """Means, tests against each baseline, and means by template."""
    by_template: dict[str, Any] = {}
    for template in sorted({one.template for one in grades}):
        some = [one for one in grades if one.template == template]
        by_template[template] = {"questions": len(some), **parts_of(some)}
    return {
        "parts": parts_of(grades),
        "rankings": {
            system: {name: round(mean(one.rankings[system][name] for one in grades), 3) for name in MEASURES}
            for system in SYSTEMS
        },
        "against": tests(grades),
        "by_template": by_template,
        "interpret_cpu_ms_median": round(1000 * median(one.interpret_cpu_s for one in grades), 1),
        "answer_cpu_ms_median": round(1000 * median(one.answer_cpu_s for one in grades), 1),
    }


def parts_of(grades: Sequence[Graded]) -> dict[str, float]:
    """Means of PARTS."""
    return {name: round(mean(one.parts[name] for one in grades), 3) for name in PARTS}


def tests(grades: Sequence[Graded]) -> dict[str, dict[str, Any]]:
    """Difference of `ask` to each baseline with the p of a randomisation test, by Holm over all of these."""
    found = {}
    for system in BASELINES:
        for name in MEASURES:
            gains = np.array([one.rankings["ask"][name] - one.rankings[system][name] for one in grades])
            found[system, name] = float(gains.mean()), randomisation_test(gains, seed=1).p
    ordered = sorted(found, key=lambda key: found[key][1])
    holm: dict[tuple[str, str], float] = {}
    least = 0.0
    for place, key in enumerate(ordered):
        least = max(least, min(1.0, found[key][1] * (len(ordered) - place)))
        holm[key] = least
    return {
        f"{system} {name}": {"gain": round(gain, 3), "p_holm": float(f"{holm[system, name]:.2g}")}
        for (system, name), (gain, _) in found.items()
    }


def main() -> None:
    """Grades and records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=list(DATA))
    parser.add_argument("--n", type=int, default=1000, help="questions that are made, of all splits")
    parser.add_argument("--most", type=int, help="questions that are graded; default: all of the split")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=Path, help="folder of questions that `hybridkg synthesise` wrote")
    parser.add_argument("--split", default="test")
    parser.add_argument("--failures", type=Path, help="writes the questions whose pattern is wrong")
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    stored = RESULTS / "ask.json"
    found: dict[str, Any] = json.loads(stored.read_text())["data"] if stored.exists() else {}
    failures: list[str] = []
    for name in given.only or list(DATA):
        made = None if given.questions is None else given.questions / name / "gold.jsonl"
        found[name] = graded(given.out / name, given.n, given.seed, given.most, given.split, failures, made)
        if given.no_record:
            print(name, json.dumps(found[name], indent=1))
    if given.failures:
        given.failures.write_text("\n".join(failures) + "\n")
    if not given.no_record:
        record("ask", {"data": {name: found[name] for name in DATA if name in found}})


if __name__ == "__main__":
    main()
