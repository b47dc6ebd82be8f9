"""The measures of STaRK: hit@k, recall@k and MRR over the list of all candidates of a question.

Candidates without a predicted score get the minimum score minus 1, so an answer without a prediction has a rank. STaRK
leaves the order of ties to its sort; here it is the ascending order of ids (as numbers if all candidates are whole
numbers, or IRIs that differ in a whole number at their end). Predictions outside the candidates are ignored; a question
without any other prediction has 0.
Source: snap-stanford/stark, `stark_qa/evaluator.py`. The reference implementation is in tests/evaluation/test_stark.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from hybridkg.errors import ParameterError
from hybridkg.evaluation.measures import Measure, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.text_lines import columns, decoded, numbered_lines

STARK_TABLE = ("hit@1", "hit@5", "recall@20", "mrr")
"""The measures in the tables of the papers."""

STARK_SET = (
    *(f"hit@{k}" for k in (1, 3, 5, 10, 20, 50)),
    *(f"recall@{k}" for k in (5, 10, 20, 50, 100)),
    "mrr",
)
"""The measures of STaRK's evaluator, without map, rprecision, ndcg and precision."""

_NAME = re.compile(r"(hit|recall)@([1-9][0-9]{0,6})|mrr")


@dataclass(frozen=True)
class AnswerCandidates:
    """The possible answers, with their position in the order of ids.

    Raises:
        ParameterError: a candidate appears twice.

    >>> AnswerCandidates(["10", "9", "100"]).place
    {'9': 0, '10': 1, '100': 2}
    """

    ids: Sequence[str]
    place: dict[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        start = self.ids[0].rfind("/") + 1 if self.ids else 0
        prefix = self.ids[0][:start] if self.ids else ""
        numbers = all(x.startswith(prefix) and x[start:].isascii() and x[start:].isdigit() for x in self.ids)
        order = sorted(self.ids, key=lambda x: _as_number(x[start:])) if numbers else sorted(self.ids)
        object.__setattr__(self, "place", {x: i for i, x in enumerate(order)})
        if len(self.place) < len(order):
            twice = next(a for a, b in pairwise(order) if a == b)
            raise ParameterError(f"the candidate {twice!r} appears twice")

    def __len__(self) -> int:
        return len(self.ids)


def _as_number(identifier: str) -> tuple[int, str, str]:
    digits = identifier.lstrip("0")  # length before digits orders numbers of any size
    return len(digits), digits, identifier


@dataclass(frozen=True)
class StarkMeasure:
    """A measure of STaRK over candidates; `name` is "hit@k", "recall@k" or "mrr", else a ParameterError is raised.

    >>> run = Run("r", {"q": (("3", 0.9),)})
    >>> StarkMeasure("mrr", AnswerCandidates(["1", "2", "3", "4"])).per_topic(Qrels({"q": {"2": 1}}), run)
    {'q': 0.3333333333333333}
    """

    name: str
    candidates: AnswerCandidates = field(repr=False)
    reads_ties: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ParameterError(
                f"no measure {self.name!r} of STaRK; known: hit@k, recall@k, mrr", hint=f"such as {STARK_TABLE[1]}"
            )

    @property
    def about(self) -> str:
        kind, _, cutoff = self.name.partition("@")
        what = {
            "mrr": "1 / rank of the first answer",
            "hit": f"1 where an answer is among the first {cutoff}, else 0",
            "recall": f"share of the answers among the first {cutoff}",
        }[kind]
        return f"{what}, as STaRK has it: over all {len(self.candidates):,} candidates"

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        """Value of every topic of the qrels, in their order; a grade of 1 or more is an answer."""
        values = {}
        for topic in qrels.grades:
            answers = qrels.relevant(topic)
            values[topic] = self._value(answer_ranks(answers, run.rankings.get(topic, ()), self.candidates), answers)
        return values

    def _value(self, ranks: list[int], answers: Sequence[str]) -> float:
        if not ranks:
            return 0.0
        if self.name == "mrr":
            return 1 / min(ranks)
        kind, _, cutoff = self.name.partition("@")
        inside = sum(rank <= int(cutoff) for rank in ranks)
        return float(inside > 0) if kind == "hit" else inside / len(answers)


def answer_ranks(
    answers: Iterable[str], ranking: Sequence[tuple[str, float]], candidates: AnswerCandidates
) -> list[int]:
    """Ranks, from 1, of those answers that are candidates; empty if no candidate was predicted.

    The list of all candidates, perhaps a million, is not built.

    Raises:
        ParameterError: a score is NaN.
    """
    place = candidates.place
    predicted = [(-score, place[x], x) for x, score in ranking if x in place]
    if any(math.isnan(score) for score, _, _ in predicted):
        raise ParameterError("a score is not a number, so it has no place in a ranking")
    if not predicted:
        return []
    ranks = {x: rank for rank, (_, _, x) in enumerate(sorted(predicted), 1)}
    of_answers = []
    for answer in answers:
        if answer in ranks:
            of_answers.append(ranks[answer])
        elif answer in place:
            before = sum(other < place[answer] for _, other, _ in predicted)
            of_answers.append(len(predicted) + place[answer] - before + 1)
    return of_answers


def read_candidates(path: Path) -> list[str]:
    """The candidates in a file; LoadError if it cannot be read, or a line has more than one."""
    candidates = []
    for number, line in numbered_lines(path, "a list of candidates"):
        (candidate,) = columns(path, number, line, ("candidate",))
        candidates.append(decoded(path, number, candidate))
    return candidates


def measure_over(name: str, candidates: AnswerCandidates | None) -> Measure:
    """The measure of a name: STaRK's if there are candidates.

    Raises:
        UnknownNameError, ParameterError: no such measure.

    >>> measure_over("Hit@1", AnswerCandidates(["1", "2"])).name, measure_over("nDCG@10", None).name
    ('hit@1', 'ndcg@10')
    """
    return parse_measure(name) if candidates is None else StarkMeasure(name.strip().lower(), candidates)


def stark_measures(candidates: Iterable[str | int], names: Sequence[str] = STARK_TABLE) -> tuple[StarkMeasure, ...]:
    """Measures of STaRK over the same candidates.

    >>> [m.name for m in stark_measures(range(5))]
    ['hit@1', 'hit@5', 'recall@20', 'mrr']
    """
    shared = AnswerCandidates([str(x) for x in candidates])
    return tuple(StarkMeasure(name, shared) for name in names)
