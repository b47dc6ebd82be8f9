"""Draws and questions from the real data in STaRK's form, with their processor time and the time on the clock.

    python -m benchmarks.stark_data.synthesis --out /tmp/stark-data [--only acl]

OUT is the folder that `python -m benchmarks.stark_data` made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from benchmarks.stark_data.__main__ import DATA
from hybridkg.evaluation.synthesis.output import files_of
from hybridkg.evaluation.synthesis.sampler import TemplateSampler
from hybridkg.evaluation.synthesis.synthesise import synthesise
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.evaluation.synthesis.templates import TemplateSet
from hybridkg.kb import KnowledgeBase


def measure(path: Path, templates: TemplateSet, n: int, seed: int) -> dict[str, Any]:
    """Seconds for n draws and n questions, and what became of them."""
    with KnowledgeBase.open(path) as kb:
        draw, left = random.Random(seed), list(templates.templates.values())
        sampler, drawn = TemplateSampler(kb), 0
        start = time.process_time()
        while left and drawn < n:
            template = draw.choice(left)
            if sampler.draw(template, draw) is None:
                left.remove(template)
            else:
                drawn += 1
        draw_s = time.process_time() - start
        start, begun = time.process_time(), time.perf_counter()
        made = synthesise(kb, templates, n, seed=seed)
        made_s, elapsed_s = time.process_time() - start, time.perf_counter() - begun
    report = json.loads(files_of(made)["report.json"])
    return {
        "draws": drawn,
        "draws_cpu_s": round(draw_s, 1),
        "questions": report["questions"],
        "questions_cpu_s": round(made_s, 1),
        "questions_s": round(elapsed_s, 1),
        "with_properties": sum(bool(question.asked) for question in made.questions),
        "mean_answers": round(sum(len(q.answers) for q in made.questions) / len(made.questions), 2),
        "mean_candidates": round(sum(q.candidates for q in made.questions) / len(made.questions), 1),
        "verified_golds": report["verified_golds"],
        "not_drawn": report["not_drawn"],
        "refused": report["refused"],
    }


def main() -> None:
    """Measures and records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=list(DATA))
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    forms = {
        name: found["form"] for name, found in json.loads((RESULTS / "stark_data.json").read_text())["data"].items()
    }
    stored = RESULTS / "stark_synthesis.json"
    figures: dict[str, Any] = json.loads(stored.read_text())["data"] if stored.exists() else {}
    for name in given.only or list(DATA):
        templates = load_templates(f"stark-{forms[name]}")
        figures[name] = measure(given.out / name / "made" / "kb", templates, given.n, given.seed)
    data = {name: figures[name] for name in DATA if name in figures}
    record("stark_synthesis", {"load_average": os.getloadavg()[0], "data": data}, seed=given.seed)


if __name__ == "__main__":
    main()
