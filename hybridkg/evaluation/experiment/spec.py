"""What an experiment is, as data: collections, systems, measures, and what is expected of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybridkg.evaluation.eval_report import ALL
from hybridkg.evaluation.ranking import DEPTH
from hybridkg.evaluation.significance import PERMUTATIONS

CLOSE = 3
"""Tolerances within which a figure is still close to the expected one."""

TOLERANCE = 0.01
"""Of an expected figure by default: what another engine's run of a good baseline differs by (ranking.md, 1.1)."""

ROUNDING = 1e-9
"""What two equal decimals may differ by."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+()=,-]{0,99}")
"""Of a system: it becomes the name of a file."""

TEXT = "text"
"""The parameter that gets the text of a topic."""


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that others have published.

    Args:
        measure: its name.
        value: the figure.
        tolerance: what may be between it and ours.
        category: whose topics it is about; ALL for all of them.

    >>> Expected("ndcg@10", 0.4605, 0.01).verdict(0.4631), Expected("ndcg@10", 0.4605, 0.01).verdict(0.43)
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
    """One system.

    Args:
        name: unique in the experiment; also of its run.
        kind: a name of SYSTEM_KINDS.
        value: what the kind takes: the text of a query, the path of a run, settings of `tune`.
        params: values of the query's variables, the same for every topic.
        kb: knowledge base; None for that of the experiment.
        strategy: a name of STRATEGIES; None for the planner's choice.
        expected: published figures.
        about: a sentence for the report.
        source: what to call the query in errors.
        hidden: whether it only serves others that learn from it, and has no place in the report.
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


@dataclass(frozen=True)
class ExperimentSpec:
    """A whole experiment; paths are absolute or relative to the current folder.

    Args:
        name: of the experiment.
        systems: at least one, in the order of the report.
        topics, qrels: files.
        title: of the report.
        about: a paragraph for the report.
        kb: knowledge base of the systems that name none.
        by: "prefix", a file of categories, or empty for none.
        folds: for systems of the kind `tune`.
        values: by parameter, a file of lines `topic<TAB>value`: values that differ from topic to topic.
        measures: by name; the first is the one that is plotted. Empty: DEFAULT_MEASURES, or those of STaRK's tables.
        candidates: file of what may be an answer; then the measures are STaRK's, over all of it.
        baseline: name of the system that the others are compared with; empty for the first.
        test, permutations, seed: of the comparison.
        depth: rows for each topic, at most.
        tolerance: of expected figures that name none.
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
