"""The specification of an experiment: collection, systems, measures and expected figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.ranking import DEPTH
from hybridkg.evaluation.significance import PERMUTATIONS

if TYPE_CHECKING:
    from hybridkg.evaluation.experiment.comparability import PublishedData

CLOSE = 3
"""Multiple of the tolerance within which a figure is close to the expected one."""

TOLERANCE = 0.01
"""Default tolerance of an expected figure: the difference between engines on a good baseline."""

ROUNDING = 1e-9
"""Maximum rounding error of two equal decimals."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+()=,-]{0,99}")
"""Names of systems, which also become names of files."""

TEXT = "text"
"""The query parameter with the text of a topic."""


@dataclass(frozen=True)
class PublishedFigure:
    """A published figure of a measure.

    Args:
        tolerance: maximum absolute difference of an equal figure.
        category: of its topics; ALL for all topics.

    >>> PublishedFigure("ndcg@10", 0.4605, 0.01).verdict(0.4631), PublishedFigure("ndcg@10", 0.4605, 0.01).verdict(0.43)
    ('OK', 'off')
    """

    measure: str
    value: float
    tolerance: float = TOLERANCE
    category: str = ALL

    def verdict(self, found: float) -> str:
        """`OK` within the tolerance, `close` within three, else `off`."""
        away = abs(found - self.value) - ROUNDING
        if away <= self.tolerance:
            return "OK"
        return "close" if away <= CLOSE * self.tolerance else "off"


@dataclass(frozen=True)
class SystemSpec:
    """The specification of a system.

    Args:
        name: unique in the experiment; also the name of its run.
        kind: a name of SYSTEM_KINDS.
        value: depends on the kind: the text of a query, the path of a run, settings of `tune`.
        params: values of the query's parameters, the same for every topic.
        kb: None for the knowledge base of the experiment.
        strategy: a name of STRATEGIES; None for the planner's choice.
        expected: published figures.
        about: a sentence for the report.
        source: name of the query in errors.
        hidden: True for a system that only trains others and is left out of the report.
        optional: True for a system that is left out, with the reason, where its knowledge base, model, package, server
            or run is missing.
        published: name of the data of the expected figures; empty for the first of the experiment.
        model: the model of the expected figures; empty for none.
        seconds: published seconds of one topic.
    """

    name: str
    kind: str
    value: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    kb: Path | None = None
    strategy: str | None = None
    expected: tuple[PublishedFigure, ...] = ()
    about: str = ""
    source: str = ""
    hidden: bool = False
    optional: bool = False
    published: str = ""
    model: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class ExperimentSpec:
    """The specification of an experiment; paths are absolute or relative to the current folder.

    Args:
        systems: at least one, in the order of the report.
        topics, qrels: files.
        title: of the report.
        about: a paragraph for the report.
        kb: knowledge base of the systems that name none.
        by: "prefix", a file of categories, or empty for none.
        folds: file of folds for systems that learn.
        values: by parameter, a file of lines `topic<TAB>value` with the value of each topic.
        measures: names; the first is plotted. Empty: DEFAULT_MEASURES, or those of STaRK's tables.
        candidates: file of possible answers; then the measures are STaRK's.
        baseline: system that the others are compared with; empty for the first.
        test, permutations, seed: of the comparison.
        depth: maximum rows of a topic.
        tolerance: of expected figures that name none.
        published: by name, the data of expected figures; empty where they are those of the experiment.
    """

    name: str
    systems: tuple[SystemSpec, ...]
    topics: Path
    qrels: Path
    title: str = ""
    about: str = ""
    kb: Path | None = None
    by: str = ""
    folds: Path | None = None
    values: Mapping[str, Path] = field(default_factory=dict)
    measures: tuple[str, ...] = ()
    candidates: Path | None = None
    baseline: str = ""
    test: str = "randomisation"
    permutations: int = PERMUTATIONS
    seed: int = 0
    depth: int = DEPTH
    tolerance: float = TOLERANCE
    published: Mapping[str, PublishedData] = field(default_factory=dict)
