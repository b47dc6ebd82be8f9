"""Judgements, as files hold them."""

from __future__ import annotations

import pytest

from hybridkg.errors import LoadError
from hybridkg.evaluation.qrels import Qrels, read_qrels


def test_blanks_and_tabs_part_the_columns_and_nothing_else_does(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_bytes("q1 0 <dbpedia:A> 2\nq1\tQ0\t<dbpedia:a\u00a0b>\t-1\r\n\n  q2   0\td +1\n".encode())
    assert read_qrels(path) == Qrels({"q1": {"<dbpedia:A>": 2, "<dbpedia:a\u00a0b>": -1}, "q2": {"d": 1}})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 0 d2", "3 columns instead of 4"),
        ("q1 Q0 d2 1 3.5 tag", "6 columns instead of 4"),
        ("q1 0 d2 high", "'high' is not a grade"),
        ("q1 0 d2 1.0", "'1.0' is not a grade"),
        ("q1 0 d2 nan", "'nan' is not a grade"),
        ("q1 0 d2 1_0", "'1_0' is not a grade"),
        ("q1 0 d2 \u0661", "is not a grade"),
        ("q1 0 d2 99999999999999999999", "is not a grade"),
        ("q1 0 d2 1000001", "is not a grade"),
        ("q1 7 d1 1", "the document 'd1' is judged twice for the topic 'q1'"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, line, message):
    path = tmp_path / "qrels.txt"
    path.write_text(f"q1 0 d1 1\n{line}\n", encoding="utf-8")
    with pytest.raises(LoadError) as caught:
        read_qrels(path)
    assert message in caught.value.message
    assert caught.value.place == f"{path}:2"


def test_relevant_documents_have_the_grade_asked_for():
    qrels = Qrels({"q": {"a": 2, "b": 1, "c": 0, "d": -1}})
    assert qrels.relevant("q") == ["a", "b"]
    assert qrels.relevant("q", 2) == ["a"]
    assert qrels.relevant("none") == []
