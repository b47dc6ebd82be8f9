"""The questions of STaRK: `stark_qa/stark_qa.csv` and the `split/*.index` files.

The CSV file has the columns id, query and answer_ids, in any order and beside others, which are ignored (the
human-written questions have `answer_ids_source`); `split/train.index`, `val.index`, `test.index` have one question id
on each line; each file may be packed. The answers, a Python list as text, are parsed as whole numbers, never evaluated.
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

COLUMNS = ("id", "query", "answer_ids")

ANSWERS = re.compile(r"\[ *[0-9]{1,18} *(?:, *[0-9]{1,18} *)*\]")
IDENTIFIER = re.compile(r"[0-9]{1,18}")

MAX_LINE_LENGTH = 1 << 17
"""Maximum bytes of a line of the CSV file, about the maximum of a value in Python's csv."""

MAX_TEXT = 1 << 28
"""Maximum bytes of an unpacked CSV file; the largest of the three has 3 million."""


HUMAN_QUESTIONS = {"amazon": (81, 81), "mag": (84, 84), "prime": (109, 98)}
"""Human-written questions of the first release, 274 in all, and of the current one, 263, by knowledge base."""


def human_release(kb: str, count: int) -> str:
    """A clause on the release that has this number of human-written questions.

    >>> human_release("prime", 98), human_release("mag", 84)
    ('this is the current release (the first has 109)', 'both releases have as many')
    >>> human_release("amazon", 5)
    'no release has as many (the first has 81, the current one 81)'
    """
    first, current = HUMAN_QUESTIONS[kb]
    if count == first == current:
        return "both releases have as many"
    if count == current:
        return f"this is the current release (the first has {first})"
    if count == first:
        return f"this is the first release (the current one has {current})"
    return f"no release has as many (the first has {first}, the current one {current})"


@dataclass(frozen=True)
class StarkQuestions:
    """The questions of one knowledge base: texts and answers (node ids) by question id, question ids by split."""

    texts: Mapping[str, str]
    answers: Mapping[str, tuple[int, ...]]
    splits: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.texts)

    def topics(self, split: str | None = None) -> Topics:
        """The texts of a split, or of all questions; ParameterError if there is no such split."""
        return Topics({question: self.texts[question] for question in self._chosen(split)})

    def qrels(self, split: str | None = None) -> Qrels:
        """The answers, with grade 1, of a split or of all questions; ParameterError if there is no such split."""
        return Qrels({q: dict.fromkeys(map(str, self.answers[q]), 1) for q in self._chosen(split)})

    def _chosen(self, split: str | None) -> tuple[str, ...]:
        if split is None:
            return tuple(self.texts)
        if split not in self.splits:
            names = list(self.splits)
            listed = ", ".join(names) or "none"
            raise ParameterError(f"no split {split!r}; known: {listed}", hint=did_you_mean(split, names))
        return self.splits[split]


TENTH = "test-0.1"
SPLITS = ("train", "val", "test", TENTH)
"""The splits; where the file of test-0.1 is missing, it is the first tenth of test, as in STaRK's `get_idx_split`."""


def question_files(folder: Path) -> dict[str, Path]:
    """The existing files of a folder: "questions", the splits by name, and "human", human-written questions."""
    folder = Path(folder)
    questions = folder / "stark_qa"
    places = {
        "questions": _find(questions, "stark_qa.csv"),
        "human": _find(questions, "stark_qa_human_generated_eval.csv"),
        **{name: _find(folder / "split", f"{name}.index") for name in SPLITS},
    }
    return {name: path for name, path in places.items() if path.exists()}


def read_stark(folder: Path) -> StarkQuestions:
    """The questions and splits of a folder; LoadError for an invalid file, or a split with an unknown question."""
    folder = Path(folder)
    texts, answers = read_stark_questions(_find(folder / "stark_qa", "stark_qa.csv"))
    splits: dict[str, tuple[str, ...]] = {}
    for name in SPLITS:
        path = _find(folder / "split", f"{name}.index")
        if name == TENTH and not path.exists():
            if tenth := splits["test"][: len(splits["test"]) // 10]:
                splits[TENTH] = tenth
            continue
        splits[name] = read_stark_split(path)
        if missing := next((q for q in splits[name] if q not in texts), None):
            raise LoadError(f"the split names a question {missing!r} that is not there", place=str(path))
    return StarkQuestions(texts, answers, splits)


def read_stark_questions(path: Path) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """(texts, answers) by question id, from `stark_qa.csv`.

    Raises:
        LoadError: with file and line: a missing column, an id or answers that are no whole numbers, a repeated
            question, no text, not CSV, not UTF-8.
    """
    path = Path(path)
    texts: dict[str, str] = {}
    answers: dict[str, tuple[int, ...]] = {}
    rows = csv.reader(_lines(path), strict=True)
    try:
        head = next(rows, [])
        if any(head.count(name) != 1 for name in COLUMNS):
            hint = f"the first line names the columns {', '.join(COLUMNS)}, each once"
            refuse(path, 1, "these are not the questions of STaRK", hint)
        places = [head.index(name) for name in COLUMNS]
        for row in rows:
            number = rows.line_num
            if len(row) != len(head):
                refuse(path, number, f"{len(row)} columns instead of {len(head)}", ",".join(head))
            question, text, listed = (row[place] for place in places)
            if IDENTIFIER.fullmatch(question) is None:
                refuse(path, number, f"{quoted(question)} is not the id of a question", "an id is a whole number")
            if question in texts:
                refuse(path, number, f"the question {quoted(question)} is repeated")
            if not text.strip():
                refuse(path, number, f"the question {quoted(question)} has no text")
            texts[question], answers[question] = text, _answers(path, number, listed)
    except csv.Error as e:
        refuse(path, rows.line_num, f"not a CSV file: {e}")
    return texts, answers


def _answers(path: Path, number: int, listed: str) -> tuple[int, ...]:
    """The distinct node ids of a list such as `[12, 7]`."""
    if ANSWERS.fullmatch(listed) is None:
        refuse(path, number, f"{quoted(listed)} is not a list of answers", "for example [601168, 947318]")
    return tuple(dict.fromkeys(int(x) for x in listed[1:-1].split(",")))


def read_stark_split(path: Path) -> tuple[str, ...]:
    """Question ids, one on each line; LoadError, with the line, if one is no whole number or repeated."""
    path = Path(path)
    questions: dict[str, None] = {}
    for number, line in numbered_lines(path, "a split of STaRK"):
        question = decoded(path, number, line)
        if IDENTIFIER.fullmatch(question) is None:
            refuse(path, number, f"{quoted(question)} is not the id of a question", "each line is one whole number")
        if question in questions:
            refuse(path, number, f"the question {quoted(question)} is repeated")
        questions[question] = None
    return tuple(questions)


def _find(folder: Path, name: str) -> Path:
    """The path of the file, packed or not; the plain path if there is none."""
    for packed in ("", *COMPRESSIONS):
        if (path := folder / (name + packed)).exists():
            return path
    return folder / name


def _lines(path: Path) -> Iterator[str]:
    """The lines of a CSV file; a record may span several."""
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
