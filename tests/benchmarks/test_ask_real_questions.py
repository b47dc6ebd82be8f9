"""benchmarks/ask/real_questions.py: what counts as a well-formed reading, and that a question that fails is counted."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ask.real_questions import is_well_formed, read_one, read_plans, read_questions, summary
from hybridkg import KnowledgeBase
from hybridkg.errors import QuerySyntaxError

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    kb = KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("real") / "films.kb"))
    with kb:
        yield kb


def test_a_reading_whose_queries_parse_is_well_formed(films):
    found = films.interpret("films by Ridley Scott after 1980")
    assert is_well_formed(found)
    with pytest.raises(QuerySyntaxError):
        is_well_formed(replace(found, strict="SELECT {"))


def test_every_question_is_counted_and_so_is_one_that_cannot_be_read(films):
    questions = ["films by Ridley Scott", "space travel", "?!"]
    found = summary(questions, [read_one(films, one, ["Alan Ford"] * (one == "space travel")) for one in questions])
    assert (found["questions"], found["well_formed"], found["failed"]) == (3, 0.66667, {"H001": 1})
    assert found["shares"] == {"constraint": 0.3333, "strict": 0.3333, "words alone": 0.3333}
    assert (found["names_in_plans"], found["names_seen"]) == (1, 0.0)
    assert found["targets_with_constraint"] == {"film": 1}


def test_questions_and_plans_are_read_from_their_files(tmp_path):
    with lzma.open(tmp_path / "qa.csv.xz", "wt", encoding="utf-8") as file:
        file.write('id,query,answer_ids\n1,"papers by ""Ann""",[2]\n')
    assert read_questions(tmp_path / "qa.csv.xz") == ['papers by "Ann"']
    plan = {"Metapath": "author -> paper", "Restriction": {"author": ["Ann"], "paper": ["solitons"]}}
    with lzma.open(tmp_path / "plans.jsonl.xz", "wt", encoding="utf-8") as file:
        for text in (str(plan), "no plan", "__import__('os').getcwd()"):
            said = [{"role": "user", "content": f"q {text[:3]}"}, {"role": "assistant", "content": text}]
            file.write(json.dumps({"conversations": said}) + "\n")
    assert read_plans(tmp_path / "plans.jsonl.xz") == {"q {'M": ["Ann"]}
