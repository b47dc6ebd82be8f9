"""Writes real data in STaRK's form, counts which templates it expresses, and compares all answers with walks.

    python -m benchmarks.stark_data --from ../shared/data --out /tmp/stark-data [--only cacm --only attack] [--seed 1]

OUT/NAME has skb and qa, as `hybridkg dataset stark` takes them, and made, what it makes of them. The same sources and
the same seed give the same skb and qa.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rdflib

from benchmarks.record import RESULTS, record
from benchmarks.stark_data import acl, attack, hetionet
from benchmarks.stark_data.acl import write_acl
from benchmarks.stark_data.attack import write_attack
from benchmarks.stark_data.cacm import write_cacm
from benchmarks.stark_data.hetionet import write_hetionet
from benchmarks.stark_data.questions import draw_anchors, write_questions
from benchmarks.stark_walks import Arrays
from hybridkg.datasets.stark.documents import BASE
from hybridkg.datasets.stark.layout import StarkLayout, find_files, read_layout

DATA: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "attack": (write_attack, attack.SOURCE),
    "cacm": (write_cacm, ""),
    "acl": (write_acl, acl.SOURCE),
    "hetionet": (write_hetionet, hetionet.SOURCE),
}
"""Writer, and source below the data folder."""


def write_data(name: str, data: Path, folder: Path, *, seed: int = 1, questions: int = 300) -> dict[str, Any]:
    """Writes FOLDER/skb and FOLDER/qa; returns counts of nodes, edges, templates and questions."""
    write, source = DATA[name]
    write(data / source, folder)
    layout = read_layout(find_files(folder / "skb", folder))
    arrays = Arrays(layout)
    templates = {template: arrays.count(template) for template in templates_of(layout)}
    expressed = [template for template, counts in templates.items() if counts["answers"]]
    return {
        "form": layout.kb,
        "nodes": len(layout.node_types),
        "edges": len(layout.edge_types),
        "node_types": _counts(layout.node_types, layout.node_names),
        "edge_types": _counts(layout.edge_types, layout.edge_names),
        "templates": templates,
        "not_expressed": [template for template, counts in templates.items() if not counts["answers"]],
        "questions": write_questions(layout, arrays, expressed, questions, seed, folder / "qa"),
    }


def templates_of(layout: StarkLayout) -> list[str]:
    """Names of the templates of a knowledge base."""
    from hybridkg.evaluation.synthesis.template_reader import load_templates

    return list(load_templates(f"stark-{layout.kb}").templates)


def _counts(types: np.ndarray, names: Any) -> dict[str, int]:
    return {name: int((types == number).sum()) for number, name in names.items()}


def compare(folder: Path, expressed: list[str], seed: int, anchors_of_each: int) -> dict[str, int]:
    """Answers of the knowledge base FOLDER/made for drawn anchors, compared with walks over the edge arrays."""
    from hybridkg.evaluation.synthesis.template_reader import load_templates
    from hybridkg.kb import KnowledgeBase

    layout = read_layout(find_files(folder / "skb", folder))
    arrays, draw = Arrays(layout), random.Random(seed)
    counts = {"compared": 0, "equal": 0, "answers": 0}
    with KnowledgeBase.open(folder / "made" / "kb") as kb:
        for name in expressed:
            template = load_templates(f"stark-{layout.kb}").templates[name]
            prepared = kb.prepare(template.text, name=name)
            for _ in range(anchors_of_each):
                drawn = draw_anchors(layout, arrays, name, draw, most=len(layout.node_types))
                assert drawn is not None, name
                anchors, answers = drawn
                iris = {anchor: rdflib.URIRef(f"{BASE}{layout.kb}/{node}") for anchor, node in anchors.items()}
                found = {int(str(row["x"]).rpartition("/")[2]) for row in prepared.query(iris)}
                counts["compared"] += 1
                counts["equal"] += found == answers
                counts["answers"] += len(answers)
    return counts


def main() -> None:
    """Writes, converts, compares, records."""
    from hybridkg.datasets.stark.making import make_stark

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="data", type=Path, required=True, help="the data folder")
    parser.add_argument("--out", type=Path, required=True, help="a folder; OUT/NAME is made anew")
    parser.add_argument("--only", action="append", choices=list(DATA), help="this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--anchors", type=int, default=20, help="drawn anchors of each template to compare")
    given = parser.parse_args()
    stored = RESULTS / "stark_data.json"
    figures: dict[str, Any] = json.loads(stored.read_text())["data"] if stored.exists() else {}
    for name in given.only or list(DATA):
        folder = given.out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.thread_time()
        found = write_data(name, given.data, folder, seed=given.seed)
        found["write_and_count_s"] = round(time.thread_time() - start, 1)
        found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        make_stark(folder / "skb", folder / "qa", folder / "made")
        expressed = [template for template, counts in found["templates"].items() if counts["answers"]]
        found["walks"] = compare(folder, expressed, given.seed, given.anchors)
        figures[name] = found
        print(name, found["nodes"], found["edges"], found["walks"])
    record("stark_data", {"data": {name: figures[name] for name in DATA if name in figures}}, seed=given.seed)


if __name__ == "__main__":
    main()
