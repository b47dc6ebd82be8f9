"""The outcome of an experiment: figures, comparisons, verdicts; as values, DataFrames and plots."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.errors import EvaluationWarning
from hybridkg.evaluation.comparison import ComparisonReport, compare_evaluated
from hybridkg.evaluation.eval_report import ALL, EvalReport, run_scores
from hybridkg.evaluation.experiment.answers import Told, Took
from hybridkg.evaluation.experiment.comparability import COMPARABLE, obstacles
from hybridkg.evaluation.experiment.spec import ExperimentSpec, PublishedFigure, SystemSpec
from hybridkg.evaluation.lost_ties import lost_ties, separated_ties
from hybridkg.evaluation.measures import Measure, evaluate, mean
from hybridkg.evaluation.measures.stark import AnswerCandidates, measure_over
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.extras import needs_extra

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SystemRun:
    """The rankings of one system.

    Args:
        key: hash of everything that they depend on; empty for a run that the caller passed.
        told: details of each answer by topic.
        kept: whether it comes from the result folder.
        learned: by fold, the learned model; empty for systems that learn nothing.
        took: total time; None for a run that the caller passed.
        file: the run in the result folder; None without one.
    """

    spec: SystemSpec
    run: Run
    key: str
    told: Mapping[str, Told]
    kept: bool
    learned: Mapping[str, Any] = field(default_factory=dict)
    took: Took | None = None
    file: Path | None = None

    def latency(self) -> tuple[float, float, float] | None:
        """(median, 90th, 95th percentile) of the milliseconds of a topic; None without measurements."""
        ms = sorted(told.ms for told in self.told.values() if told.ms is not None)
        if not ms:
            return None
        p90, p95 = (ms[min(len(ms) - 1, int(share * len(ms)))] for share in (0.9, 0.95))
        return statistics.median(ms), p90, p95

    def parts(self) -> dict[str, float]:
        """Mean of each grade of the readings of questions; empty for systems that read none."""
        graded = [told.parts for told in self.told.values() if told.parts]
        return {name: statistics.fmean(one[name] for one in graded) for name in (graded[0] if graded else ())}

    def inexact(self) -> int:
        """Number of topics whose ranking is approximate."""
        return sum(not told.exact for told in self.told.values())

    def jobs(self) -> int:
        """Maximum number of topics that ran in parallel."""
        return max((told.jobs for told in self.told.values()), default=1)


@dataclass(frozen=True)
class Verdict:
    """A published figure next to ours.

    Args:
        found: ours; None where the system was not run.
        verdict: `OK`, `close` or `off`; with published data `comparable: OK` ..., or what differs, such as `other data,
            other model`; `not run`.
    """

    system: str
    expected: PublishedFigure
    found: float | None
    verdict: str


NOT_RUN = "not run"


@dataclass(frozen=True)
class SkippedSystem:
    """An optional system that could not be run, and why."""

    spec: SystemSpec
    reason: str


@dataclass(frozen=True)
class ExperimentOutcome:
    """The evaluated runs of an experiment.

    Args:
        categories: by topic; empty for none.
        runs: by system, in the order of the experiment.
        candidates: for the measures of STaRK; None for those of trec_eval.
        surroundings: versions, hashes and knowledge bases, as JSON values.
        skipped: the optional systems that could not be run.
    """

    spec: ExperimentSpec
    topics: Topics
    qrels: Qrels
    measures: Sequence[Measure]
    categories: Mapping[str, str]
    runs: Mapping[str, SystemRun]
    candidates: AnswerCandidates | None = None
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    skipped: Mapping[str, SkippedSystem] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return self.spec.baseline or next(iter(self.runs))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the measures, without duplicates."""
        return tuple(dict.fromkeys(measure.name for measure in self.measures))

    @cached_property
    def judged(self) -> Qrels:
        """The judgements of the experiment's topics."""
        return Qrels({topic: own for topic, own in self.qrels.grades.items() if topic in self.topics.texts})

    @cached_property
    def values(self) -> dict[str, dict[str, dict[str, float]]]:
        """Value of a measure by system, measure and topic."""
        return {
            name: {measure: dict(own) for measure, own in evaluate(self.judged, one.run, self.measures).items()}
            for name, one in self.runs.items()
        }

    def means(self) -> dict[str, dict[str, float]]:
        """Mean over all judged topics, by system and measure."""
        topics = list(self.judged.grades)
        return {name: {m: mean(own, topics) for m, own in values.items()} for name, values in self.values.items()}

    @cached_property
    def report(self) -> EvalReport:
        scores = tuple(run_scores(name, self.judged, one.run, self.values[name]) for name, one in self.runs.items())
        return EvalReport(self.names, tuple(self.judged.grades), scores, self.categories, tuple(self.warnings()))

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The measures that are compared, without judged@k: pool depth is no quality and weakens Holm's correction."""
        return tuple(name for name in self.names if "judged" not in name)

    @property
    def main(self) -> str:
        """The measure of plots, categories and topics."""
        return next(iter(self.compared), self.names[0])

    @cached_property
    def comparison(self) -> ComparisonReport | None:
        """All systems against the baseline, over all topics, as categories have little power; None for one."""
        if len(self.runs) < 2 or not self.compared:
            return None
        order = [self.baseline, *(name for name in self.runs if name != self.baseline)]
        scores = {one.name: one for one in self.report.runs}
        runs = [
            replace(scores[name], values={measure: self.values[name][measure] for measure in self.compared})
            for name in order
        ]
        spec = self.spec
        return compare_evaluated(
            EvalReport(self.compared, self.report.topics, tuple(runs), {}),
            test=spec.test,
            permutations=spec.permutations,
            seed=spec.seed,
        )

    def notes(self) -> list[str]:
        """Caveats of the figures, a line each."""
        count, judged = len(self.topics), len(self.judged)
        notes = []
        if judged < count:
            notes.append(f"{count - judged:,} of {count:,} topics are not judged, and left out")
        if left := len(self.qrels) - judged:
            notes.append(f"{left:,} judged topics have no text, and are left out (hybridkg eval would count them as 0)")
        if self.candidates is None and (deeper := [name for name in self.names if _cutoff(name) > self.spec.depth]):
            notes.append(f"rankings end before {', '.join(deeper)} would: depth is {self.spec.depth:,}")
        notes += [note for run in self.report.runs if (note := replace(run, unjudged=()).note())]
        for name, one in self.runs.items():
            if count := one.inexact():
                notes.append(f"{name}: {count:,} topics were answered by an approximate index, which may miss results")
            if (jobs := one.jobs()) > 1:
                notes.append(f"{name}: up to {jobs} topics ran in parallel, so that each took longer than alone")
        return [*notes, *(f"{name} was not run: {one.reason}" for name, one in self.skipped.items())]

    def warnings(self) -> list[EvaluationWarning]:
        """Equal scores that a run file has lost, or does not have: of runs made elsewhere, and of our own files."""
        warnings = []
        for name, one in self.runs.items():
            if one.spec.kind == "run":
                warnings += lost_ties(name, one.run, self.measures, one.spec.value)
            if one.file is not None:
                warnings += separated_ties(name, one.run, self.measures, one.file)
        return warnings

    def verdicts(self) -> list[Verdict]:
        """Every expected figure next to ours."""
        verdicts, groups = [], {ALL: list(self.judged.grades), **self.report.groups()}
        for name, one in self.runs.items():
            for expected in one.spec.expected:
                measure = measure_over(expected.measure, self.candidates)
                own = self.values[name].get(measure.name) or evaluate(self.judged, one.run, [measure])[measure.name]
                value = mean(own, groups[expected.category])
                verdicts.append(Verdict(name, expected, value, self._verdict(one.spec, expected, value)))
        for name, left in self.skipped.items():
            verdicts += [Verdict(name, expected, None, NOT_RUN) for expected in left.spec.expected]
        return verdicts

    def _verdict(self, system: SystemSpec, expected: PublishedFigure, value: float) -> str:
        if not self.spec.published:
            return expected.verdict(value)
        data = self.spec.published[system.published or next(iter(self.spec.published))]
        different = obstacles(system, data, self.surroundings, str(system.kb or self.spec.kb))
        return ", ".join(different) or f"{COMPARABLE}: {expected.verdict(value)}"

    def to_dataframe(self) -> pd.DataFrame:
        """A row for each system, a column for each measure: means over the judged topics."""
        with needs_extra("eval", "a DataFrame"):
            import pandas as pd

        return pd.DataFrame.from_dict(self.means(), orient="index", columns=list(self.names))

    def per_topic(self) -> pd.DataFrame:
        """A row for each system and judged topic: system, category, qid, and a column for each measure."""
        with needs_extra("eval", "a DataFrame"):
            import pandas as pd

        rows = [
            {
                "system": name,
                "category": self.categories.get(topic, ALL),
                "qid": topic,
                **{measure: own[topic] for measure, own in values.items()},
            }
            for name, values in self.values.items()
            for topic in self.judged.grades
        ]
        return pd.DataFrame(rows)

    def comparisons(self) -> pd.DataFrame:
        """A row for each comparison with the baseline: means, difference, interval, p, Holm's p, wins, losses."""
        with needs_extra("eval", "a DataFrame"):
            import pandas as pd

        return pd.DataFrame([] if self.comparison is None else [vars(row) for row in self.comparison.comparisons])

    def to_json(self) -> dict[str, Any]:
        comparison = self.comparison
        return {
            "experiment": self.spec.name,
            "title": self.spec.title,
            "baseline": self.baseline,
            "notes": self.notes(),
            **self.report.to_json(per_topic=True),
            "surroundings": self.surroundings,
            "comparison": None if comparison is None else comparison.to_json(),
            "expected": [
                {
                    "system": one.system,
                    "category": one.expected.category,
                    "measure": one.expected.measure,
                    "expected": one.expected.value,
                    "tolerance": one.expected.tolerance,
                    "found": one.found,
                    "verdict": one.verdict,
                }
                for one in self.verdicts()
            ],
            "latency_ms": {name: one.latency() for name, one in self.runs.items()},
            "took": {name: None if one.took is None else asdict(one.took) for name, one in self.runs.items()},
            "jobs": {name: one.jobs() for name, one in self.runs.items()},
            "readings": {name: parts for name, one in self.runs.items() if (parts := one.parts())},
            "not_run": {name: one.reason for name, one in self.skipped.items()},
            "inexact_topics": {name: one.inexact() for name, one in self.runs.items()},
        }

    def machine(self) -> tuple[str, str]:
        """Platform and number of cores."""
        return str(self.surroundings["platform"]), f"{self.surroundings['cores']} cores"

    def plot_differences(self, system: str, measure: str | None = None) -> Figure:
        """Gains and losses of a system against the baseline, topic by topic, the largest gain first."""
        from hybridkg.evaluation.experiment.plots import differences

        return differences(self, system, measure or self.main)

    def plot_categories(self, measure: str | None = None) -> Figure:
        from hybridkg.evaluation.experiment.plots import categories

        return categories(self, measure or self.main)


def _cutoff(measure: str) -> int:
    match = re.search(r"@([0-9]+)", measure)
    return int(match[1]) if match else 0
