"""Reads the questions of STaRK: `stark_qa.csv` and the `split/*.index` files beside it.

A folder holds `stark_qa/stark_qa.csv` (columns id, query, answer_ids) and `split/train.index`, `val.index`,
`test.index` with one question id on each line; each file may be packed. The answers are a Python list as text, and
are read as what they are: whole numbers between brackets, never evaluated.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import LoadError, ParameterError
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse
from hybridkg.evaluation.topics import Topics
from hybridkg.rdf.input_file import COMPRESSIONS, CONVERT, InputFile
from hybridkg.registry import did_you_mean

COLUMNS = ["id", "query", "answer_ids"]

ANSWERS = re.compile(r"\[ *[0-9]{1,18} *(?:, *[0-9]{1,18} *)*\]")
IDENTIFIER = re.compile(r"[0-9]{1,18}")

MAX_LINE_LENGTH = 1 << 17
"""Bytes of a line of the CSV file, and about the most that Python's csv takes for one value."""

MAX_TEXT = 1 << 28
"""Bytes of a CSV file after unpacking; the largest of the three has 3 million."""


@dataclass(frozen=True)
class StarkQuestions:
    """The questions of one knowledge base.

    Args:
        texts: by question id, in the order of the file.
        answers: node ids by question id, in the order of the file.
        splits: question ids by the name of the split, in the order of its file.
    """

    texts: Mapping[str, str]
    answers: Mapping[str, tuple[int, ...]]
    splits: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.texts)

    def topics(self, split: str | None = None) -> Topics:
        """The texts of a split, or of all questions.

        Raises:
            ParameterError: no such split.
        """
        return Topics({question: self.texts[question] for question in self._chosen(split)})

    def qrels(self, split: str | None = None) -> Qrels:
        """The answers of a split, or of all questions, with grade 1; documents are node ids as text.

        Raises:
            ParameterError: no such split.
        """
        return Qrels({q: dict.fromkeys(map(str, self.answers[q]), 1) for q in self._chosen(split)})

    def _chosen(self, split: str | None) -> tuple[str, ...]:
        if split is None:
            return tuple(self.texts)
        if split not in self.splits:
            known = list(self.splits)
            listed = ", ".join(known) or "none"
            raise ParameterError(f"no split {split!r}; known: {listed}", hint=did_you_mean(split, known))
        return self.splits[split]


SPLITS = ("train", "val", "test", "test-0.1")
"""The last is a tenth of test, which not every copy has."""


def question_files(folder: Path) -> dict[str, Path]:
    """The files of a folder that are there: "questions", the splits by name, and "human", what people have asked."""
    folder = Path(folder)
    asked = folder / "stark_qa"
    places = {
        "questions": _find(asked, "stark_qa.csv"),
        "human": _find(asked, "stark_qa_human_generated_eval.csv"),
        **{name: _find(folder / "split", f"{name}.index") for name in SPLITS},
    }
    return {name: path for name, path in places.items() if path.exists()}


def read_stark(folder: Path) -> StarkQuestions:
    """Reads the folder of one knowledge base: the questions and every split that is there.

    Raises:
        LoadError: with file and line: what `read_stark_questions` and `read_stark_split` refuse, or a split that
            names a question that is not there.
    """
    folder = Path(folder)
    texts, answers = read_stark_questions(_find(folder / "stark_qa", "stark_qa.csv"))
    splits: dict[str, tuple[str, ...]] = {}
    for name in SPLITS:
        path = _find(folder / "split", f"{name}.index")
        if name == "test-0.1" and not path.exists():
            continue
        splits[name] = read_stark_split(path)
        if missing := next((q for q in splits[name] if q not in texts), None):
            raise LoadError(f"the split names a question {missing!r} that is not there", place=str(path))
    return StarkQuestions(texts, answers, splits)


def read_stark_questions(path: Path) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """(texts, answers) by question id, from `stark_qa.csv`.

    Raises:
        LoadError: with file and line: other columns, an id or answers that are no whole numbers, a question that
            was there before, no text, not CSV, not UTF-8.
    """
    path = Path(path)
    texts: dict[str, str] = {}
    answers: dict[str, tuple[int, ...]] = {}
    rows = csv.reader(_lines(path), strict=True)
    try:
        if next(rows, None) != COLUMNS:
            refuse(path, 1, "these are not the questions of STaRK", f"the first line is: {','.join(COLUMNS)}")
        for row in rows:
            number = rows.line_num
            if len(row) != len(COLUMNS):
                refuse(path, number, f"{len(row)} columns instead of {len(COLUMNS)}", ",".join(COLUMNS))
            question, text, listed = row
            if IDENTIFIER.fullmatch(question) is None:
                refuse(path, number, f"{quoted(question)} is not the id of a question", "an id is a whole number")
            if question in texts:
                refuse(path, number, f"the question {quoted(question)} was there before")
            if not text.strip():
                refuse(path, number, f"the question {quoted(question)} has no text")
            texts[question], answers[question] = text, _answers(path, number, listed)
    except csv.Error as e:
        refuse(path, rows.line_num, f"not a CSV file: {e}")
    return texts, answers


def _answers(path: Path, number: int, listed: str) -> tuple[int, ...]:
    """The node ids of a list such as `[12, 7]`, each once."""
    if ANSWERS.fullmatch(listed) is None:
        refuse(path, number, f"{quoted(listed)} is not a list of answers", "for example [601168, 947318]")
    return tuple(dict.fromkeys(int(x) for x in listed[1:-1].split(",")))


def read_stark_split(path: Path) -> tuple[str, ...]:
    """Question ids, one on each line.

    Raises:
        LoadError: with file and line: a line that is no whole number, an id that was there before.
    """
    path = Path(path)
    found: dict[str, None] = {}
    for number, line in numbered_lines(path, "a split of STaRK"):
        question = decoded(path, number, line)
        if IDENTIFIER.fullmatch(question) is None:
            refuse(path, number, f"{quoted(question)} is not the id of a question", "each line is one whole number")
        if question in found:
            refuse(path, number, f"the question {quoted(question)} was there before")
        found[question] = None
    return tuple(found)


def _find(folder: Path, name: str) -> Path:
    """The file, packed or not; its plain name where there is none, for the message."""
    for packed in ("", *COMPRESSIONS):
        if (path := folder / (name + packed)).exists():
            return path
    return folder / name


def _lines(path: Path) -> Iterator[str]:
    """The lines of a CSV file, in which a line of a file is not always a record."""
    total = 0
    with InputFile(path) as file:
        for number, line in enumerate(file.lines(MAX_LINE_LENGTH), 1):
            total += len(line)
            if len(line) > MAX_LINE_LENGTH or total > MAX_TEXT:
                what = (
                    f"a line of more than {MAX_LINE_LENGTH:,} bytes" if len(line) > MAX_LINE_LENGTH else "too much text"
                )
                refuse(path, number, what, "these are not the questions of STaRK")
            try:
                yield line.decode()
            except UnicodeDecodeError:
                refuse(path, number, "the text is not UTF-8", CONVERT)
