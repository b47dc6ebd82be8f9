"""Questions about a knowledge base in STaRK's form: anchors of the templates, drawn backwards from an answer.

They have no textual part. `hybridkg synthesise` makes better ones from the knowledge base; these are what `hybridkg
dataset stark` needs to make it.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

from benchmarks.stark_walks import Arrays, walk_of
from hybridkg.datasets.stark.documents import KINDS
from hybridkg.datasets.stark.layout import StarkLayout
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.evaluation.synthesis.templates import REQUEST, fill

MAX_ANSWERS = 20
ATTEMPTS = 50
"""Drawn answers of one question, before its template is left out."""

SPLITS = ("train", "val", "test")


def write_questions(layout: StarkLayout, arrays: Arrays, expressed: list[str], count: int, seed: int, qa: Path) -> int:
    """Writes QA/stark_qa and QA/split; returns the number of questions, at most `count`."""
    draw = random.Random(seed)
    templates = load_templates(f"stark-{layout.kb}")
    names = {number: name_of(attributes) for number, attributes in layout.nodes()}
    lines: dict[str, str] = {}
    splits: dict[str, list[int]] = {split: [] for split in SPLITS}
    left = list(expressed)
    for position in range(count):
        if not left:
            break
        template, split = templates.templates[left[position % len(left)]], SPLITS[position % 3]
        drawn = draw_anchors(layout, arrays, template.name, draw)
        if drawn is None:  # its answers are too many
            left.remove(template.name)
            continue
        anchors, answers = drawn
        role = draw.choice(templates.roles)
        request = fill(draw.choice(template.phrasings.of(split)), {a: names[node] for a, node in anchors.items()})
        text = fill(draw.choice(role.frames_of(split, with_properties=False)), {REQUEST: request})
        if text not in lines:
            splits[split].append(len(lines))
            lines[text] = str(sorted(answers))
    for part in ("stark_qa", "split"):
        (qa / part).mkdir(parents=True)
    with (qa / "stark_qa" / "stark_qa.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "query", "answer_ids"])
        writer.writerows([number, text, answers] for number, (text, answers) in enumerate(lines.items()))
    for split, ids in splits.items():
        (qa / "split" / f"{split}.index").write_text("".join(f"{number}\n" for number in ids))
    return len(lines)


def name_of(attributes: dict[str, object]) -> str:
    """The name of a node, whatever its type."""
    keys = ("title", "DisplayName", "name", "brand_name", "category_name", "color_name")
    return str(next((attributes[key] for key in keys if attributes.get(key) not in (None, -1)), ""))


def draw_anchors(
    layout: StarkLayout, arrays: Arrays, name: str, draw: random.Random, most: int = MAX_ANSWERS
) -> tuple[dict[str, int], set[int]] | None:
    """Anchors and at most `most` answers of a template; None if none are found."""
    walk = walk_of(name)
    assert set(KINDS[layout.kb].candidates or {walk.answers}) == {walk.answers}
    nodes = arrays.possible(name)
    for _ in range(ATTEMPTS if nodes else 0):
        gold = draw.choice(nodes)
        anchors: dict[str, int] = {}
        for anchor in walk.anchors:
            found = sorted(arrays.anchors(name, anchor, gold) - set(anchors.values()))
            if not found:
                break
            anchors[anchor] = draw.choice(found)
        else:
            answers = arrays.answers(name, anchors)
            if len(answers) <= most:
                assert gold in answers
                return anchors, answers
    return None
