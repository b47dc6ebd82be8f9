"""Warnings about equal scores that a run file does not have, for measures that read them (W201).

A written run has scores that fall strictly, because trec_eval would put equal scores in an order of its own. The order
survives, and with it every measure of ranks; which scores were equal does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from hybridkg.errors import EvaluationWarning
from hybridkg.evaluation.measures import Measure, tied_measures
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.trec_eval import separated


def lost_ties(name: str, run: Run, measures: Iterable[Measure], path: Path | None = None) -> list[EvaluationWarning]:
    """A warning if a measure reads equal scores, and the run looks as if a writer had separated some; else none.

    >>> from hybridkg.evaluation.measures import parse_measure
    >>> run = Run("r", {"q": (("a", 2.0), ("b", 1.9999999), ("c", 1.0))})  # a writer has made 1.9999999 of 2.0
    >>> lost_ties("r", run, [parse_measure("mtrr")])[0].message
    "1 score of the run 'r' is the next 32-bit number below ... for trec_eval: mtrr may miss ties"
    >>> lost_ties("r", run, [parse_measure("ndcg@10")])
    []
    """
    tied = tied_measures(measures)
    if not tied:
        return []
    count = sum(separated([score for _, score in ranking]) for ranking in run.rankings.values())
    if not count:
        return []
    some = "1 score of the run {} is" if count == 1 else f"{count:,} scores of the run {{}} are"
    return [
        EvaluationWarning(
            f"{some.format(repr(name))} the next 32-bit number below the score before, as in files that separate equal "
            f"scores for trec_eval: {_listed(tied)} may miss ties",
            hint="measure by the scores of the system itself: in an experiment, or over a file with its equal scores",
            place=str(path or ""),
        )
    ]


def separated_ties(name: str, run: Run, measures: Iterable[Measure], path: Path) -> list[EvaluationWarning]:
    """A warning if a measure reads equal scores, and the file at `path` separates some of the run; else none."""
    tied = tied_measures(measures)
    if not tied:
        return []
    count = sum(_equal([score for _, score in ranking]) for ranking in run.rankings.values())
    if not count:
        return []
    return [
        EvaluationWarning(
            f"the run of {name!r} has {count:,} score{'' if count == 1 else 's'} equal to the one before, and its file "
            f"separates them for trec_eval: {_listed(tied)} of the file may differ from the figures here",
            hint=f"the figures here are those of the exact scores, in {path.with_suffix('.scores').name} beside it",
            place=str(path),
        )
    ]


def _equal(scores: Sequence[float]) -> int:
    return sum(after == before for before, after in pairwise(scores))


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["mtrr", "tmhits@5", "mrr"])
    'mtrr, tmhits@5 and mrr'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
