"""The evaluation report of several runs: values in total, by category and by topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hybridkg.errors import EvaluationWarning, LoadError
from hybridkg.evaluation.lost_ties import lost_ties
from hybridkg.evaluation.measures import Measure, evaluate, mean
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run

ALL = "all"
"""The name of all categories, and of all topics."""

FILE_ENDING = re.compile(r"(?<=.)(\.(run|trec|treceval|txt))?(\.(gz|bz2|xz))?$", re.IGNORECASE)
"""File name endings that are not part of the run's name."""

UNCATEGORISED = "(none)"
"""The category of topics that a file of categories omits."""


@dataclass(frozen=True)
class RunScores:
    """The values of one run.

    Args:
        name: unique in the report.
        values: by measure, then topic of the qrels.
        unanswered: topics of the qrels without an answer; they count 0.
        unjudged: topics of the run that are not in the qrels; they are ignored.
        foreign: a document of the run if none of its documents is judged; else empty.
    """

    name: str
    values: Mapping[str, Mapping[str, float]]
    unanswered: tuple[str, ...]
    unjudged: tuple[str, ...]
    foreign: str = ""

    def note(self) -> str:
        """Caveats of the values, in a line; empty without one."""
        parts = []
        if self.unanswered:
            parts.append(f"{_topics(len(self.unanswered))} without an answer, counted as 0")
        if self.unjudged:
            parts.append(f"{_topics(len(self.unjudged))} of the run not judged, left out")
        if self.foreign:
            parts.append(f"no document judged, such as {self.foreign!r}: are the ids those of the judgements?")
        return f"{self.name}: {'; '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class ReportRow:
    """Values of a run, by default over ALL categories and topics."""

    run: str
    category: str
    topic: str
    topics: int
    values: tuple[float, ...]

    def label(self) -> str:
        """The name of the run in its total; else the category or topic, indented."""
        part = self.category if self.topic == ALL else self.topic
        return self.run if part == ALL else f"  {part}"


@dataclass(frozen=True)
class EvalReport:
    """Several runs under the same judgements.

    Args:
        topics: those of the qrels.
        categories: by topic; empty for none.
        warnings: about figures that may be wrong.
    """

    measures: tuple[str, ...]
    topics: tuple[str, ...]
    runs: tuple[RunScores, ...]
    categories: Mapping[str, str]
    warnings: tuple[EvaluationWarning, ...] = ()

    def groups(self) -> dict[str, list[str]]:
        """Topics by category, in the order of the qrels."""
        groups: dict[str, list[str]] = {}
        for topic in self.topics if self.categories else ():
            groups.setdefault(self.categories.get(topic, UNCATEGORISED), []).append(topic)
        return groups

    def rows(self, *, per_topic: bool = False) -> Iterator[ReportRow]:
        """For each run the total, then its categories, then with `per_topic` its topics."""
        groups = self.groups()
        for run in self.runs:
            yield ReportRow(run.name, ALL, ALL, len(self.topics), self._means(run, self.topics))
            for category, topics in groups.items():
                yield ReportRow(run.name, category, ALL, len(topics), self._means(run, topics))
            for topic in self.topics if per_topic else ():
                category = self.categories.get(topic, UNCATEGORISED) if self.categories else ALL
                yield ReportRow(run.name, category, topic, 1, self._means(run, [topic]))

    def to_json(self, *, per_topic: bool = False) -> dict[str, Any]:
        return {
            "measures": list(self.measures),
            "topics": len(self.topics),
            "runs": [self._run_json(run, per_topic) for run in self.runs],
            "warnings": [warning.to_json() for warning in self.warnings],
        }

    def _run_json(self, run: RunScores, per_topic: bool) -> dict[str, Any]:
        values: dict[str, Any] = {
            "run": run.name,
            "topics_without_answer": len(run.unanswered),
            "topics_not_judged": len(run.unjudged),
            ALL: self._named(run, self.topics),
        }
        if self.categories:
            values["categories"] = {
                category: {"topics": len(topics), **self._named(run, topics)}
                for category, topics in self.groups().items()
            }
        if per_topic:
            values["per_topic"] = {topic: self._named(run, [topic]) for topic in self.topics}
        return values

    def _named(self, run: RunScores, topics: Sequence[str]) -> dict[str, float]:
        return dict(zip(self.measures, self._means(run, topics), strict=True))

    def _means(self, run: RunScores, topics: Sequence[str]) -> tuple[float, ...]:
        return tuple(mean(run.values[measure], topics) for measure in self.measures)


def eval_report(
    qrels: Qrels,
    runs: Sequence[tuple[Path, Run]],
    measures: Sequence[Measure],
    categories: Mapping[str, str] | None = None,
) -> EvalReport:
    """Evaluates runs, each with its file, which names runs with equal tags; LoadError if no topic of one is judged."""
    names = _names([(path, run.name) for path, run in runs])
    scores, warnings = [], []
    for name, (path, run) in zip(names, runs, strict=True):
        own = run_scores(name, qrels, run, evaluate(qrels, run, measures))
        if len(own.unanswered) == len(qrels):
            some = f"the run has topics such as {next(iter(run.rankings), '')!r}"
            raise LoadError(
                "no topic of the run is judged",
                hint=f"{some}, the judgements such as {next(iter(qrels.grades), '')!r}",
                place=str(path),
            )
        scores.append(own)
        warnings += lost_ties(name, run, measures, path)
    shown = tuple(dict.fromkeys(measure.name for measure in measures))
    return EvalReport(shown, tuple(qrels.grades), tuple(scores), categories or {}, tuple(warnings))


def run_scores(name: str, qrels: Qrels, run: Run, values: Mapping[str, Mapping[str, float]]) -> RunScores:
    unanswered = tuple(topic for topic in qrels.grades if not run.rankings.get(topic))
    unjudged = tuple(topic for topic in run.rankings if topic not in qrels.grades)
    pairs = ((topic, document) for topic, ranking in run.rankings.items() for document, _ in ranking)
    first = next(pairs, None)
    judged = first is None or any(document in qrels.grades.get(topic, {}) for topic, document in chain([first], pairs))
    return RunScores(name, values, unanswered, unjudged, "" if judged or first is None else first[1])


def _names(runs: Sequence[tuple[Path, str]]) -> list[str]:
    """The tag of each run, or its file name, or its path: the first that is unique."""
    candidates = [
        tuple(_printable(name) for name in (tag, FILE_ENDING.sub("", path.name), str(path))) for path, tag in runs
    ]
    columns = list(zip(*candidates, strict=True))
    return [
        next((own for own, column in zip(names, columns, strict=True) if column.count(own) == 1), names[-1])
        for names in candidates
    ]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _topics(count: int) -> str:
    return f"{count:,} topic{'' if count == 1 else 's'}"
