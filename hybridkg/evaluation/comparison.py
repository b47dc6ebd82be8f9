"""Comparison of runs with a baseline by topic: means, differences, intervals, corrected p-values, wins and losses.

Every comparison draws from the same seed, so its figures do not depend on the other runs; only Holm's correction counts
all comparisons, those of categories included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ParameterError
from hybridkg.evaluation.eval_report import ALL, UNCATEGORISED, EvalReport
from hybridkg.evaluation.measures import Measure, evaluate
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.significance import (
    CONFIDENCE,
    MAX_PERMUTATIONS,
    PERMUTATIONS,
    RESAMPLES,
    bootstrap_interval,
    holm,
    paired_test,
)

TIE = 1e-9
"""Maximum difference that counts as rounding, and so as a tie."""

PerTopic = Mapping[str, float]


@dataclass(frozen=True)
class RunComparison:
    """One run against the baseline, by one measure, on one group of topics.

    Args:
        group: a category, or ALL.
        topics: number of topics in the group.
        baseline_mean, mean: means of the two runs.
        difference: mean of the topics' differences.
        low, high: BCa bootstrap confidence interval of the difference.
        effect: difference over the standard deviation of the topics' differences (Cohen's d of pairs); 0 if they are
            all equal.
        p: two-sided, of the paired test.
        holm_p: p corrected for all comparisons of the report.
        permutations: swaps of the randomisation test; 0 for the t-test.
        exact: whether the test counted all swaps (or drew none).
        wins, ties, losses: number of topics where the run is better, equal, worse.
    """

    measure: str
    group: str
    baseline: str
    run: str
    topics: int
    baseline_mean: float
    mean: float
    difference: float
    low: float
    high: float
    effect: float
    p: float
    holm_p: float
    permutations: int
    exact: bool
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class TopicDifference:
    """One topic of a comparison; difference = value - baseline_value; category is ALL without categories."""

    measure: str
    run: str
    topic: str
    category: str
    baseline_value: float
    value: float
    difference: float


@dataclass(frozen=True)
class ComparisonReport:
    """The result of `compare`, with its method.

    Args:
        runs: names of the runs compared with the baseline.
        test: name of the paired test.
        permutations: requested swaps of the randomisation test.
        seed: of all random draws.
        confidence, resamples: of the intervals.
        comparisons: by measure, then by group (all topics first), then by run.
        per_topic: by measure, then by run; the largest gain first.
        without_answer: number of topics that a run does not answer, if any; they count as 0.
        not_judged: number of answered topics of a run that are not judged, if any; they are ignored.
    """

    baseline: str
    runs: tuple[str, ...]
    test: str
    permutations: int
    seed: int
    confidence: float
    resamples: int
    comparisons: tuple[RunComparison, ...]
    per_topic: tuple[TopicDifference, ...]
    without_answer: Mapping[str, int] = field(default_factory=dict)
    not_judged: Mapping[str, int] = field(default_factory=dict)

    def to_json(self, *, per_topic: bool = False) -> dict[str, Any]:
        values = {name: value for name, value in asdict(self).items() if name != "per_topic"}
        return values | ({"per_topic": [asdict(row) for row in self.per_topic]} if per_topic else {})

    def method(self) -> str:
        """One sentence on the test, the correction and the intervals."""
        count = len(self.comparisons)
        draws = "" if self.test == "t" else f", {self._draws()}"
        return (
            f"{paired_test(self.test).title}, two-sided{draws}; Holm over {count} "
            f"comparison{'' if count == 1 else 's'}; {self.confidence:.0%} BCa bootstrap intervals, "
            f"{self.resamples:,} resamples; seed {self.seed}"
        )

    def _draws(self) -> str:
        drawn = [c for c in self.comparisons if not c.exact]
        if not drawn:
            return "all permutations counted"
        some = "" if len(drawn) == len(self.comparisons) else " (all counted where few topics differ)"
        return f"{self.permutations:,} permutations drawn{some}"


def compare(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Sequence[Measure],
    *,
    categories: Mapping[str, str] | None = None,
    test: str = "randomisation",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> ComparisonReport:
    """Compares runs with the first of them, on the topics of the qrels.

    Args:
        qrels: the judgements.
        runs: at least two, by displayed name; the first is the baseline.
        measures: at least one.
        categories: by topic; each is compared separately as well.
        test: "randomisation" or "t".
        permutations: swaps to draw for the randomisation test.
        seed: of all random draws, at least 0.

    Raises:
        ParameterError: fewer than two runs, no measure, no topic, no such test, or a number out of range.
        MissingExtraError: the t-test without scipy.

    >>> from hybridkg.evaluation.measures import parse_measure
    >>> qrels = Qrels({"q1": {"d1": 1}, "q2": {"d2": 1}})
    >>> runs = {"old": Run("old", {}), "new": Run("new", {"q1": (("d1", 1.0),)})}
    >>> new = compare(qrels, runs, [parse_measure("mrr")]).comparisons[0]
    >>> new.difference, new.wins, new.ties, new.p
    (0.5, 1, 1, 1.0)
    """
    values = {name: evaluate(qrels, run, measures) for name, run in runs.items()}
    report = compare_values(values, categories=categories, test=test, permutations=permutations, seed=seed)
    without = {name: sum(topic not in run.rankings for topic in qrels.grades) for name, run in runs.items()}
    not_judged = {name: sum(topic not in qrels.grades for topic in run.rankings) for name, run in runs.items()}
    return replace(report, without_answer=_above_zero(without), not_judged=_above_zero(not_judged))


def compare_evaluated(
    report: EvalReport, *, test: str = "randomisation", permutations: int = PERMUTATIONS, seed: int = 0
) -> ComparisonReport:
    """The comparison of an EvalReport's runs with the first; ParameterError as `compare`, or for repeated runs."""
    names = [run.name for run in report.runs]
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), ""):
        raise ParameterError(f"the run {twice!r} is given twice", hint="there is no difference to itself")
    values = {run.name: run.values for run in report.runs}
    compared = compare_values(
        values, categories=report.categories or None, test=test, permutations=permutations, seed=seed
    )
    without = {run.name: len(run.unanswered) for run in report.runs}
    not_judged = {run.name: len(run.unjudged) for run in report.runs}
    return replace(compared, without_answer=_above_zero(without), not_judged=_above_zero(not_judged))


def compare_values(
    values: Mapping[str, Mapping[str, PerTopic]],
    *,
    categories: Mapping[str, str] | None = None,
    test: str = "randomisation",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> ComparisonReport:
    """The comparison of values by run, measure and topic.

    Raises:
        ParameterError: as `compare`, or a run has other measures or topics than the first.
    """
    if len(values) < 2:
        raise ParameterError("a comparison needs two runs or more", hint="the first run is the baseline")
    _check_numbers(permutations, seed)
    baseline, *others = values
    groups = _groups(values[baseline], categories)
    for run in others:
        _check_same(values[baseline], values[run], run)
    compared = []
    per_topic: list[TopicDifference] = []
    for measure, base in values[baseline].items():
        for group, topics in groups:
            for run in others:
                one = _Pair(measure, group, baseline, run, topics, base, values[run][measure])
                compared.append(one.comparison(test, permutations, seed))
        for run in others:
            per_topic += _topic_rows(measure, run, base, values[run][measure], categories)
    corrected = holm([one.p for one in compared])
    return ComparisonReport(
        baseline=baseline,
        runs=tuple(others),
        test=test,
        permutations=permutations,
        seed=seed,
        confidence=CONFIDENCE,
        resamples=RESAMPLES,
        comparisons=tuple(replace(one, holm_p=p) for one, p in zip(compared, corrected, strict=True)),
        per_topic=tuple(per_topic),
    )


@dataclass(frozen=True)
class _Pair:
    measure: str
    group: str
    baseline: str
    run: str
    topics: Sequence[str]
    base_values: PerTopic
    values: PerTopic

    def comparison(self, test: str, permutations: int, seed: int) -> RunComparison:
        """The comparison before Holm's correction."""
        base = np.array([self.base_values[topic] for topic in self.topics])
        mine = np.array([self.values[topic] for topic in self.topics])
        differences = mine - base
        differences[np.abs(differences) <= TIE] = 0.0
        result = paired_test(test).run(differences, permutations, seed)
        low, high = bootstrap_interval(differences, seed=seed)
        wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
        return RunComparison(
            measure=self.measure,
            group=self.group,
            baseline=self.baseline,
            run=self.run,
            topics=len(base),
            baseline_mean=math.fsum(base) / len(base),
            mean=math.fsum(mine) / len(base),
            difference=math.fsum(differences) / len(base),
            low=low,
            high=high,
            effect=_effect(differences),
            p=result.p,
            holm_p=result.p,
            permutations=result.permutations,
            exact=result.exact,
            wins=wins,
            ties=len(base) - wins - losses,
            losses=losses,
        )


def _effect(differences: NDArray[np.float64]) -> float:
    """Cohen's d of pairs: mean over sample standard deviation; 0 without variance.

    >>> _effect(np.array([1.0, 2.0, 3.0])), _effect(np.array([0.5, 0.5]))
    (2.0, 0.0)
    """
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return float(np.mean(differences)) / spread if spread > TIE else 0.0


def _topic_rows(
    measure: str, run: str, base: PerTopic, values: PerTopic, categories: Mapping[str, str] | None
) -> Iterable[TopicDifference]:
    rows = []
    for topic, baseline_value in base.items():
        difference = values[topic] - baseline_value
        difference = difference if abs(difference) > TIE else 0.0
        category = ALL if categories is None else categories.get(topic, UNCATEGORISED)
        rows.append(TopicDifference(measure, run, topic, category, baseline_value, values[topic], difference))
    return sorted(rows, key=lambda row: (-row.difference, row.topic))


def _groups(measures: Mapping[str, PerTopic], categories: Mapping[str, str] | None) -> list[tuple[str, list[str]]]:
    """(group, topics): all topics, then each category in the order of its first topic."""
    first = next(iter(measures.values()), None)
    if first is None:
        raise ParameterError("a comparison needs a measure", hint="for example ndcg@10")
    if not first:
        raise ParameterError("no topic to compare the runs on")
    groups: dict[str, list[str]] = {}
    for topic in first if categories is not None else ():
        groups.setdefault((categories or {}).get(topic, UNCATEGORISED), []).append(topic)
    return [(ALL, list(first)), *groups.items()]


def _check_numbers(permutations: int, seed: int) -> None:
    if not 1 <= permutations <= MAX_PERMUTATIONS:
        raise ParameterError(f"permutations must be between 1 and {MAX_PERMUTATIONS:,}, not {permutations}")
    if seed < 0:
        raise ParameterError(f"a seed is a whole number from 0, not {seed}")


def _check_same(base: Mapping[str, PerTopic], other: Mapping[str, PerTopic], run: str) -> None:
    if list(base) != list(other) or any(base[m].keys() != other[m].keys() for m in base):
        raise ParameterError(f"the run {run!r} has other measures or topics than the first one")


def _above_zero(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
