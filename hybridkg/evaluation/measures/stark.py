"""The measures of STaRK over the list of all candidates of a question: hit, recall, precision, MRR, MAP, NDCG.

Candidates without a predicted score get the minimum score minus 1, so an answer without a prediction has a rank. STaRK
leaves the order of ties to its sort; here it is the ascending order of ids (as numbers if all candidates are whole
numbers, or IRIs that differ in a whole number at their end). Predictions and answers outside the candidates are
ignored; a question without any other prediction has 0. Recall divides by all answers, also where they are more than k;
precision divides by k, also where there are fewer candidates. Relevance is binary. In NDCG every candidate has its own
rank, too, where torchmetrics, which STaRK calls, gives ties their mean discount.
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
    "map",
    "rprecision",
)
"""The measures that STaRK's eval.py prints."""

_NAME = re.compile(r"(hit|recall|precision|ndcg)@([1-9][0-9]{0,6})|mrr|map|rprecision")
KNOWN = "hit@k, recall@k, precision@k, ndcg@k, mrr, map, rprecision"


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
    """A measure of STaRK over candidates; `name` is one of KNOWN, else a ParameterError is raised.

    >>> run = Run("r", {"q": (("3", 0.9),)})
    >>> StarkMeasure("mrr", AnswerCandidates(["1", "2", "3", "4"])).per_topic(Qrels({"q": {"2": 1}}), run)
    {'q': 0.3333333333333333}

    With 3 predicted, the list is 3, 1, 2, 4. The answers 3 and 2 have the ranks 1 and 3: (1/1 + 2/3) / 2.

    >>> StarkMeasure("map", AnswerCandidates(["1", "2", "3", "4"])).per_topic(Qrels({"q": {"2": 1, "3": 1}}), run)
    {'q': 0.8333333333333333}
    """

    name: str
    candidates: AnswerCandidates = field(repr=False)
    reads_ties: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ParameterError(f"no measure {self.name!r} of STaRK; known: {KNOWN}", hint=f"such as {STARK_TABLE[1]}")

    @property
    def about(self) -> str:
        kind, _, cutoff = self.name.partition("@")
        what = {
            "mrr": "1 / rank of the first answer",
            "map": "mean over the answers of the precision at the rank of each",
            "rprecision": "share of the first R that is an answer, where R answers are",
            "hit": f"1 where an answer is among the first {cutoff}, else 0",
            "recall": f"share of the answers among the first {cutoff}",
            "precision": f"share of the first {cutoff} that is an answer",
            "ndcg": f"discounted gain of the first {cutoff} over the best possible; the discount is log2(rank + 1)",
        }[kind]
        return f"{what}, as STaRK has it: over all {len(self.candidates):,} candidates"

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        """Value of every topic of the qrels, in their order; a grade of 1 or more is an answer."""
        return {
            topic: self._value(answer_ranks(qrels.relevant(topic), run.rankings.get(topic, ()), self.candidates))
            for topic in qrels.grades
        }

    def _value(self, ranks: list[int]) -> float:
        if not ranks:
            return 0.0
        kind, _, cutoff = self.name.partition("@")
        k = int(cutoff) if cutoff else len(ranks)
        inside = sum(rank <= k for rank in ranks)
        match kind:
            case "mrr":
                return 1 / min(ranks)
            case "map":
                return sum(number / rank for number, rank in enumerate(sorted(ranks), 1)) / len(ranks)
            case "hit":
                return float(inside > 0)
            case "ndcg":
                best = sum(map(_discounted, range(1, min(k, len(ranks)) + 1)))
                return sum(_discounted(rank) for rank in sorted(ranks) if rank <= k) / best
            case "precision":
                return inside / k
        return inside / len(ranks)  # recall; rprecision, whose k is the number of answers


def _discounted(rank: int) -> float:
    return 1 / math.log2(rank + 1)


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
