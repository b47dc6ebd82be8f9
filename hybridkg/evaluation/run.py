"""Runs: a system's rankings of documents by topic, and TREC files of them.

The order of a ranking is authoritative, not its scores. Files have scores that strictly decrease in float32, so that
trec_eval and `read_run` restore the order (evaluation.md, trap 6). Which scores were equal is lost; measures that read
ties warn of it (`lost_ties`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import ParameterError, StorageError
from hybridkg.evaluation import trec_eval
from hybridkg.evaluation.qrels import ORDER
from hybridkg.evaluation.text_lines import columns, decoded, numbered_lines, quoted, refuse

COLUMNS = ("topic", "Q0", "document", "rank", "score", "tag")


@dataclass(frozen=True)
class Run:
    """Rankings of (document, score) by topic, best first; `name` is the tag of the run.

    Raises:
        ParameterError: a topic has a document twice.

    >>> Run("mine", {"q1": (("d7", 2.5), ("d3", 2.5))}).documents("q1")
    ['d7', 'd3']
    """

    name: str
    rankings: Mapping[str, tuple[tuple[str, float], ...]]

    def __post_init__(self) -> None:
        for topic, ranking in self.rankings.items():
            if len({document for document, _ in ranking}) < len(ranking):
                twice, _ = Counter(document for document, _ in ranking).most_common(1)[0]
                raise ParameterError(f"the run {self.name!r} has the document {twice!r} twice for the topic {topic!r}")

    def __len__(self) -> int:
        return len(self.rankings)

    def documents(self, topic: str) -> list[str]:
        """The documents of a topic, best first; empty without an answer."""
        return [document for document, _ in self.rankings.get(topic, ())]


def read_run(path: Path) -> Run:
    """Reads lines `topic Q0 document rank score tag`, in trec_eval's order: by score, not by rank.

    The name is the tag of the first line.

    Raises:
        LoadError: with file and line: a wrong number of columns, a score that is no finite number, a repeated document
            of a topic, not text.
    """
    path = Path(path)
    scored: dict[str, dict[str, float]] = {}
    name, last_topic = "", b""
    of_topic: dict[str, float] = {}
    for number, line in numbered_lines(path, "a run"):
        raw_topic, _, raw_document, _, raw_score, tag = columns(path, number, line, COLUMNS, ORDER)
        try:
            score = float(raw_score)
        except ValueError:
            score = math.nan
        if not math.isfinite(score) or b"_" in raw_score:
            hint = f"a score is a finite number; each line is: {' '.join(COLUMNS)}"
            refuse(path, number, f"{quoted(raw_score)} is not a score", hint)
        if raw_topic != last_topic:
            last_topic = raw_topic
            of_topic = scored.setdefault(decoded(path, number, raw_topic), {})
        document = decoded(path, number, raw_document)
        if document in of_topic:
            message = f"the document {quoted(document)} appears twice for the topic {quoted(raw_topic)}"
            refuse(path, number, message, "a ranking has a document once; keep its best line")
        of_topic[document] = score
        name = name or decoded(path, number, tag)
    return Run(name, {topic: trec_eval.ranked(list(of_topic.items())) for topic, of_topic in scored.items()})


def write_run(run: Run, path: Path) -> None:
    """Writes a TREC run that preserves the rankings in trec_eval, with minimal changes of scores.

    Blanks in the name become "_".

    Raises:
        ParameterError: a topic or document is empty or contains a blank; nothing is written.
        StorageError: the file cannot be written.
    """
    tag = NO_WORD.sub("_", run.name) or "run"
    lines: list[str] = []
    for topic, ranking in run.rankings.items():
        texts = trec_eval.score_texts([score for _, score in ranking])
        _check_word(topic, "topic")
        for rank, ((document, _), text) in enumerate(zip(ranking, texts, strict=True), 1):
            _check_word(document, "document")
            lines.append(f"{topic} Q0 {document} {rank} {text} {tag}\n")
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as e:
        raise StorageError(f"cannot write the run {str(path)!r}: {e.strerror}") from e


NO_WORD = re.compile("[\0\t-\r \ud800-\udfff]|^$")
"""Column separators of trec_eval, characters that a text file cannot contain, and the empty text."""


def _check_word(identifier: str, kind: str) -> None:
    if NO_WORD.search(identifier):
        raise ParameterError(
            f"the {kind} {identifier!r} cannot be part of a run file",
            hint="blanks separate its columns: replace blanks by %20",
        )
