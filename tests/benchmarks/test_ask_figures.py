"""The tables of docs/asking.md are those of the stored results."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.ask import handwritten, metaqa, report
from benchmarks.record import RESULTS

DOCS = (Path(__file__).parents[2] / "docs" / "asking.md").read_text(encoding="utf-8")


def test_the_tables_of_made_questions_and_the_comparisons_that_are_not_won_are_stored():
    data = json.loads((RESULTS / "ask.json").read_text())["data"]
    for text in (report.parts_table(data), report.rankings_table(data), report.losing_cells(data)):
        assert text in DOCS


def test_the_table_of_metaqa_is_stored():
    assert metaqa.table(json.loads((RESULTS / "ask_metaqa.json").read_text())) in DOCS


def test_the_table_of_the_handwritten_questions_is_stored():
    assert handwritten.table(json.loads((RESULTS / "ask_handwritten.json").read_text())["runs"]) in DOCS


def test_every_stored_failure_is_a_question_of_the_files():
    runs = json.loads((RESULTS / "ask_handwritten.json").read_text())["runs"]
    for by_weights in runs.values():
        for found in by_weights.values():
            for name, figures in found.items():
                asked = {one.ask for one in handwritten.read_handwritten(name)}
                assert {one["question"] for one in figures["failures"]} <= asked
