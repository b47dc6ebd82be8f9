"""Qrels: judgements of documents, as grades by topic.

A grade of 1 or more is relevant, 0 and less is not relevant; a document without a grade is unjudged. trec_eval reads a
negative grade as "in the pool, not judged"; here it is a judgement, not relevant. The difference affects only judged@k
and condensed lists, not the measures of trec_eval.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridkg.evaluation.text_lines import columns, decoded, numbered_lines, quoted, refuse

ORDER = "the judgements come first, then the runs"
COLUMNS = ("topic", "iteration", "document", "grade")

GRADE = re.compile(rb"[+-]?[0-9]{1,10}")
MAX_GRADE = 1_000_000
"""Maximum absolute grade; a larger number is probably a score in the wrong column."""


@dataclass(frozen=True)
class Qrels:
    """Grades by topic and document, in the order of the file.

    >>> Qrels({"q1": {"d1": 2, "d2": 0}}).relevant("q1")
    ['d1']
    """

    grades: Mapping[str, Mapping[str, int]]

    def __len__(self) -> int:
        return len(self.grades)

    def relevant(self, topic: str, level: int = 1) -> list[str]:
        """The documents of a topic with at least this grade; empty for an unjudged topic."""
        return [document for document, grade in self.grades.get(topic, {}).items() if grade >= level]


def read_qrels(path: Path) -> Qrels:
    """Reads lines `topic iteration document grade`, separated by blanks or tabs; the second column is ignored.

    Raises:
        LoadError: with file and line: a wrong number of columns, a grade that is no whole number, a repeated document
            of a topic, not text.
    """
    path = Path(path)
    grades: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(path, "a file of judgements"):
        raw_topic, _, raw_document, raw_grade = columns(path, number, line, COLUMNS, ORDER)
        if GRADE.fullmatch(raw_grade) is None or abs(grade := int(raw_grade)) > MAX_GRADE:
            hint = f"a grade is a whole number up to {MAX_GRADE:,}; each line is: {' '.join(COLUMNS)}"
            refuse(path, number, f"{quoted(raw_grade)} is not a grade", hint)
        topic, document = decoded(path, number, raw_topic), decoded(path, number, raw_document)
        of_topic = grades.setdefault(topic, {})
        if document in of_topic:
            message = f"the document {quoted(document)} is judged twice for the topic {quoted(topic)}"
            refuse(path, number, message, "keep one of the two lines")
        of_topic[document] = grade
    return Qrels(grades)
