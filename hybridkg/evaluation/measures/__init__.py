"""Measures of a run, by name: `ndcg@10`, `map@100(rel=2)`, `condensed-ndcg@10`. A new one is one file and one line.

A name has the measure, `@k` for the cut-off, arguments in brackets, and the prefix `condensed-` to remove unjudged
documents first. A measure has a value for every topic of the qrels (trec_eval -c): 0 for a topic that the run does not
answer or that has no relevant document. Topics without judgements are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from hybridkg.errors import ParameterError, UnknownNameError
from hybridkg.evaluation.measures.lists import JudgedLists
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.registry import Registry, did_you_mean

MEASURES = Registry(
    "measure",
    "hybridkg.measures",
    {
        "grag_mrr": "hybridkg.evaluation.measures.grag:MeanReciprocalRankOfAll",
        "hit": "hybridkg.evaluation.measures.first_relevant:HitAtK",
        "judged": "hybridkg.evaluation.measures.judged:Judged",
        "map": "hybridkg.evaluation.measures.precision:AveragePrecision",
        "mhits": "hybridkg.evaluation.measures.grag:MeanHits",
        "mhits_ceiling": "hybridkg.evaluation.measures.grag:MeanHitsCeiling",
        "mrr": "hybridkg.evaluation.measures.first_relevant:ReciprocalRank",
        "mtrr": "hybridkg.evaluation.measures.grag:MeanTiedReciprocalRank",
        "ndcg": "hybridkg.evaluation.measures.ndcg:Ndcg",
        "p": "hybridkg.evaluation.measures.precision:Precision",
        "recall": "hybridkg.evaluation.measures.precision:Recall",
        "rprec": "hybridkg.evaluation.measures.precision:RPrecision",
        "tmhits": "hybridkg.evaluation.measures.grag:TiedMeanHits",
    },
    extra="eval",
)
"""MeasureFamily classes by name."""

DEFAULT_MEASURES = ("ndcg@10", "ndcg@100", "map@100", "judged@10", "condensed-ndcg@10")
"""NDCG@10 with the measures that show how complete the judgements are (evaluation.md, trap 5)."""

CONDENSED = "condensed-"
MAX_K = 1_000_000
NAME = re.compile(r"([a-z][a-z0-9_-]*)(?:@([^()]*))?(?:\(([^()]*)\))?")


@runtime_checkable
class Measure(Protocol):
    """A measure: a number for each topic, from 0 to 1 unless documented otherwise."""

    @property
    def name(self) -> str:
        """The canonical name: `parse_measure(m.name)` equals m."""

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        """Value of every topic of the qrels, in their order."""


class MeasureFamily(Protocol):
    """A factory of measures that differ in cut-off and arguments."""

    cutoff: ClassVar[str]
    """"required", "optional" or "none"."""
    arguments: ClassVar[tuple[str, ...]]
    """Names of the integer arguments in brackets."""
    about: ClassVar[str]
    """The definition in a report; `{first}` becomes "the first k" or "the whole ranking"."""
    reads_ties: ClassVar[bool] = False
    """Whether the value depends on which scores are equal."""

    def __call__(self, name: str, k: int | None, **arguments: int) -> Measure:
        """The measure; `name` is the canonical name."""


@dataclass(frozen=True)
class Condensed:
    """A measure of the condensed list, from which unjudged documents are removed.

    It overestimates a run with many unjudged documents, as the full list underestimates it.
    Source: Sakai, "Alternatives to Bpref" (SIGIR 2007).
    """

    name: str
    inner: Measure

    def per_topic(self, qrels: Qrels, run: Run) -> dict[str, float]:
        return self.of(JudgedLists(qrels, run))

    def of(self, lists: JudgedLists) -> dict[str, float]:
        """The values from judged lists that measures share."""
        return _value(self.inner, lists.condensed)


def parse_measure(text: str) -> Measure:
    """The measure of a name, in any case of letters.

    Raises:
        UnknownNameError: no such measure; the message lists the valid ones.
        ParameterError: a cut-off or argument that is missing, out of place, or no whole number.

    >>> parse_measure("nDCG@010").name
    'ndcg@10'
    """
    wanted = text.strip().lower()
    if wanted.startswith(CONDENSED):
        inner = parse_measure(wanted.removeprefix(CONDENSED))
        if isinstance(inner, Condensed):
            return inner
        return Condensed(CONDENSED + inner.name, inner)
    match = NAME.fullmatch(wanted)
    if match is None or match[1] not in MEASURES.names():
        raise _unknown(text, match[1] if match else wanted)
    base, cutoff, bracket = match.groups()
    family: MeasureFamily = MEASURES.get(base)
    k = _cutoff(text, base, cutoff, family.cutoff)
    arguments = _arguments(text, base, bracket, family.arguments)
    written = ",".join(f"{name}={value}" for name, value in arguments.items())
    name = base + (f"@{k}" if k is not None else "") + (f"({written})" if written else "")
    return family(name, k, **arguments)


def describe(measure: Measure) -> str:
    """The definition of a measure, in a line for a report; empty without `about`.

    >>> describe(parse_measure("p@5(rel=2)"))
    'share of the first 5 that is relevant; relevant: a grade of at least 2'
    """
    if isinstance(measure, Condensed):
        return f"{measure.inner.name} of what is left of a ranking without the documents that were not judged"
    k, rel = getattr(measure, "k", None), getattr(measure, "rel", 1)
    first = "the whole ranking" if k is None else f"the first {k:,}"
    about = str(getattr(measure, "about", "")).format(first=first)
    return f"{about}; relevant: a grade of at least {rel}" if rel > 1 else about


def tied_measures(measures: Iterable[Measure]) -> list[str]:
    """Names of the measures whose values depend on which scores are equal.

    >>> tied_measures([parse_measure(name) for name in ("ndcg@10", "mtrr", "condensed-tmhits@5")])
    ['mtrr', 'condensed-tmhits@5']
    """
    return [m.name for m in measures if getattr(m.inner if isinstance(m, Condensed) else m, "reads_ties", False)]


def evaluate(qrels: Qrels, run: Run, measures: Iterable[Measure]) -> dict[str, dict[str, float]]:
    """Value of each topic, by name of the measure.

    >>> qrels = Qrels({"q1": {"d1": 1}, "q2": {"d9": 1}})
    >>> evaluate(qrels, Run("r", {"q1": (("d5", 2.0), ("d1", 1.0))}), [parse_measure("mrr")])
    {'mrr': {'q1': 0.5, 'q2': 0.0}}
    """
    lists = JudgedLists(qrels, run)
    return {measure.name: _value(measure, lists) for measure in measures}


def mean(values: Mapping[str, float], topics: Sequence[str] | None = None) -> float:
    """Mean over topics, by default all; ParameterError if there is none.

    >>> mean({"q1": 0.5, "q2": 0.0})
    0.25
    """
    chosen = list(values.values()) if topics is None else [values[topic] for topic in topics]
    if not chosen:
        raise ParameterError("no topic to take a mean of")
    return sum(chosen) / len(chosen)


def _value(measure: Measure, lists: JudgedLists) -> dict[str, float]:
    """The values from lists shared by measures, for a measure with `of`; else from qrels and run."""
    of: Callable[[JudgedLists], dict[str, float]] | None = getattr(measure, "of", None)
    return measure.per_topic(lists.qrels, lists.run) if of is None else of(lists)


def _unknown(text: str, base: str) -> UnknownNameError:
    near = did_you_mean(base, MEASURES.names())
    examples = f"for example {', '.join(DEFAULT_MEASURES[1:])} or map@100(rel=2)"
    return UnknownNameError(
        f"no measure {text!r}; known: {', '.join(MEASURES.names())}", hint=f"{near}\n{examples}" if near else examples
    )


def _cutoff(text: str, base: str, written: str | None, kind: str) -> int | None:
    if written is None:
        if kind == "required":
            raise ParameterError(f"the measure {text!r} needs a cut-off", hint=f"for example {base}@10")
        return None
    if kind == "none":
        raise ParameterError(f"the measure {base!r} has no cut-off", hint=f"write {base}")
    return _whole(text, "cut-off", written, 1)


def _arguments(text: str, base: str, written: str | None, known: tuple[str, ...]) -> dict[str, int]:
    arguments: dict[str, int] = {}
    for item in written.split(",") if written and written.strip() else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        if name not in known:
            listed = f"known: {', '.join(known)}" if known else "it takes none"
            hint = f"for example {text.split('(', maxsplit=1)[0]}({known[0]}=2)" if known else ""
            raise ParameterError(f"the measure {base!r} has no argument {name!r}; {listed}", hint=hint)
        if not equals or name in arguments:
            problem = "has no value" if not equals else "appears twice"
            raise ParameterError(f"the argument {name!r} of {text!r} {problem}", hint=f"for example {name}=2")
        arguments[name] = _whole(text, f"argument {name!r}", value, 1)
    return {name: arguments[name] for name in known if name in arguments}


def _whole(text: str, what: str, written: str, least: int) -> int:
    if re.fullmatch(r"[0-9]{1,9}", written) and least <= int(written) <= MAX_K:
        return int(written)
    raise ParameterError(
        f"the {what} of {text!r} is not a whole number from {least} to {MAX_K:,}: {written!r}",
    )
