"""QLever's text queries and QALD's kinds of hybrid questions, on the small graph of examples/people.ttl."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase

EXAMPLES = Path(__file__).parents[2] / "examples"
PATHS = sorted([*EXAMPLES.glob("qlever/*.hq"), *EXAMPLES.glob("qald/*.hq")])
PEOPLE = "http://example.org/people/"

FIRST = {
    "qlever/01": (4, {"scientist": "Einstein", "sentence": "s03"}),
    "qlever/02": (2, {"scientist": "Einstein"}),
    "qlever/03": (1, {"scientist": "Einstein", "sentence": "s03"}),
    "qlever/04": (4, {"scientist": "Perlman"}),
    "qlever/05": (7, {"scientist": "Perlman", "sentence": "s19"}),
    "qlever/06": (9, {"scientist": "Perlman", "woman": "Perlman", "sentence": "s19"}),
    "qlever/07": (6, {"scientist": "Lovelace", "woman": "Lovelace", "first": "s12", "second": "s12"}),
    "qlever/08": (5, {"scientist": "Lovelace"}),
    "qlever/09": (5, {"scientist": "Lovelace", "sentence": "s05"}),
    "qlever/10": (4, {"scientist": "Lovelace", "sentence": "s05"}),
    "qlever/11": (1, {"sentence": "s06"}),
    "qlever/12": (1, {"scientist": "Hermann"}),
    "qlever/13": (1, {"scientist": "Hermann", "sentence": "s08"}),
    "qlever/14": (3, {"scientist": "IreneCurie", "name": "Irène Joliot-Curie"}),
    "qald/01": (1, {"place": "Warsaw"}),
    "qald/02": (1, {"person": "Puccini"}),
    "qald/03": (1, {"person": "WilliamHerschel", "country": "Germany"}),
    "qald/04": (1, {"person": "Puccini"}),
    "qald/05": (2, {"machine": "AnalyticalEngine"}),
    "qald/06": (1, {"child": "IreneCurie"}),
    "qald/07": (1, {"person": "Lovelace", "machine": "AnalyticalEngine"}),
    "qald/08": (2, {"person": "WilliamHerschel"}),
    "qald/09": (3, {"person": "Lovelace"}),
    "qald/10": True,
    "qald/11": (1, {"number": "3"}),
    "qald/12": (1, {"machine": "AnalyticalEngine"}),
    "qald/13": True,
    "qald/14": (1, {"parts": "25000"}),
    "qald/15": (1, {"person": "WilliamHerschel"}),
    "qald/16": (1, {"name": "Caroline Herschel"}),
    "qald/17": (1, {"year": "2008"}),
    "qald/18": True,
    "qald/19": (1, {"currency": "euro"}),
}
"""Number of rows and what the first one has (short names for IRIs); or the answer to an ASK."""


def key(path: Path) -> str:
    return f"{path.parent.name}/{path.name[:2]}"


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> KnowledgeBase:
    kb = KnowledgeBase.create(tmp_path_factory.mktemp("people") / "kb")
    kb.load(EXAMPLES / "people.ttl", text=EXAMPLES / "people.jsonl", index=True)
    return kb


def test_each_query_has_an_expected_answer_and_each_answer_a_query():
    assert [key(path) for path in PATHS] == sorted(FIRST)


@pytest.mark.parametrize("path", PATHS, ids=key)
def test_a_query_gives_its_expected_first_answer_exactly(people, path):
    result = people.query(path.read_text("utf-8"))
    expected = FIRST[key(path)]
    assert result.exact
    if isinstance(expected, bool):
        assert result.boolean is expected
        return
    rows = list(result)
    count, first = expected
    assert len(rows) == count
    assert {name: str(rows[0][name]).removeprefix(PEOPLE) for name in first} == first


@pytest.mark.parametrize("path", PATHS, ids=key)
def test_the_reference_strategy_gives_the_same_rows(people, path):
    text = path.read_text("utf-8")
    chosen, reference = people.query(text), people.query(text, strategy="reference")
    assert chosen.boolean == reference.boolean
    rows, others = ([row.to_python() for row in result] for result in (chosen, reference))
    assert [{k: v for k, v in row.items() if not isinstance(v, float)} for row in rows] == [
        {k: v for k, v in row.items() if not isinstance(v, float)} for row in others
    ]


@pytest.mark.parametrize("path", PATHS, ids=key)
def test_a_file_states_its_question_and_what_it_corresponds_to(path):
    question, source = path.read_text("utf-8").splitlines()[:2]
    assert re.fullmatch(r"# [A-Z].*[.?]", question)
    assert re.match(r"# QLever: [\w-]+[.,] ." if path.parent.name == "qlever" else r"# QALD kind( \(2017\))?: ", source)


@pytest.mark.needs_shared
def test_each_text_query_of_qlever_has_one_file(shared_data):
    text = (shared_data / "qlever-e2e" / "scientists_queries.yaml").read_text("utf-8")
    theirs = re.findall(r"^  - query ?: ?(\S+)\n    type: text$", text, re.MULTILINE)
    ours = [re.findall(r"^# QLever: ([\w-]+)", path.read_text("utf-8"), re.M)[0] for path in EXAMPLES.glob("qlever/*")]
    assert len(theirs) == 14
    assert sorted(ours) == sorted(theirs)
