"""The measures of KILT: downstream answers and the pages of their provenance, evaluated together.

Downstream: accuracy (the stripped answer equals a gold one), EM and F1 (after lower case, without punctuation, articles
and extra blanks; the maximum over the gold answers). Retrieval, on the distinct pages of a guess in their order:
R-Precision (the share of the gold pages P of an output among the first |P| pages; the maximum over the outputs),
Recall@5 and success@5 (see `recall_at`, `success_at`). KILT-AC, KILT-EM and KILT-F1 are the downstream values where
R-Precision is 1, else 0. All are means over all gold records; a record without guess, answer or page has 0.
Source: facebookresearch/KILT, `kilt/eval_downstream.py` and `kilt/eval_retrieval.py`; where those raise an error (no
gold answer, too few pages), the value is that of the formula, or 0. tests/evaluation/test_kilt.py has a reference.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

KILT_MEASURES = ("rprec", "recall@5", "success@5", "accuracy", "em", "f1", "kilt-ac", "kilt-em", "kilt-f1")
"""Names of the measures, in the order of a report."""

UNNAMED = ""
"""A gold page without `wikipedia_id`: no guess finds it, so its set is never complete."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class KiltGold:
    """The gold standard of one record.

    Args:
        answers: distinct stripped answers; empty for a task without answers.
        evidence: for each output with a list of supporting pages, which may be empty, the distinct ones in their order;
            UNNAMED for those without an id.
    """

    answers: tuple[str, ...]
    evidence: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KiltGuess:
    """A system's guess for one record: an answer (may be empty), and pages, best first."""

    answer: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class KiltReport:
    """The measures of a system.

    Args:
        values: by measure, then gold record; an argument of `compare_values`.
        without_guess: gold records without a guess; they count as 0.
        not_judged: guesses without a gold record; they are ignored.
    """

    values: Mapping[str, Mapping[str, float]]
    without_guess: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    def means(self) -> dict[str, float]:
        """Mean over all gold records; 0 without any."""
        return {name: sum(of.values()) / len(of) if of else 0.0 for name, of in self.values.items()}


def evaluate_kilt(gold: Mapping[str, KiltGold], guess: Mapping[str, KiltGuess]) -> KiltReport:
    """All measures of all gold records.

    >>> gold = {"1": KiltGold(("Dover",), (("p1",),)), "2": KiltGold(("the Nile",), (("p2", "p3"),))}
    >>> guess = {"1": KiltGuess("Dover", ("p9",)), "2": KiltGuess("Nile", ("p3", "p2"))}
    >>> {name: round(mean, 2) for name, mean in evaluate_kilt(gold, guess).means().items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'rprec': 0.5, 'recall@5': 0.5, 'success@5': 0.5, 'accuracy': 0.5, 'em': 1.0, 'f1': 1.0,
     'kilt-ac': 0.0, 'kilt-em': 0.5, 'kilt-f1': 0.5}
    """
    nothing = KiltGuess("")
    records = {key: record_values(of, guess.get(key, nothing)) for key, of in gold.items()}
    return KiltReport(
        {name: {key: values[name] for key, values in records.items()} for name in KILT_MEASURES},
        tuple(key for key in gold if key not in guess),
        tuple(key for key in guess if key not in gold),
    )


def record_values(gold: KiltGold, guess: KiltGuess) -> dict[str, float]:
    answer = guess.answer.strip()
    gold_answers = gold.answers if answer else ()
    downstream = {
        "accuracy": float(answer in gold_answers),
        "em": float(any(normal(answer) == normal(right) for right in gold_answers)),
        "f1": max((token_f1(answer, right) for right in gold_answers), default=0.0),
    }
    precision = r_precision(gold.evidence, guess.pages)
    values = {
        "rprec": precision,
        "recall@5": recall_at(5, gold.evidence, guess.pages),
        "success@5": success_at(5, gold.evidence, guess.pages),
        **downstream,
    }
    for name, of in (("kilt-ac", "accuracy"), ("kilt-em", "em"), ("kilt-f1", "f1")):
        values[name] = downstream[of] if precision == 1 else 0.0
    return values


def normal(text: str) -> str:
    """The normalised answer that EM and F1 compare.

    >>> normal("The  U.S. of A.")
    'us of'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(guess: str, right: str) -> float:
    """F1 of the multisets of words; 0 without a common word.

    >>> round(token_f1("the river Nile", "Nile"), 4)
    0.6667
    """
    words, wanted = normal(guess).split(), normal(right).split()
    shared = sum((Counter(words) & Counter(wanted)).values())
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0


def r_precision(evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> float:
    """R-Precision: share of the R pages of an evidence set among the first R distinct pages; the maximum over the sets.

    UNNAMED pages do not count.

    >>> r_precision([["p1", "p2"], ["p9"]], ["p2", "p2", "p7"])
    0.5
    """
    distinct = list(dict.fromkeys(pages))
    named = [{*wanted} - {UNNAMED} for wanted in evidence]
    shares = [len(wanted & {*distinct[: len(wanted)]}) / len(wanted) for wanted in named if wanted]
    return max(shares, default=0.0)


def recall_at(k: int, evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> float:
    """Recall@k: share of the distinct evidence sets that are complete within the first k places; 0 without evidence.

    The guessed pages of a set share one place, at the position of the last of them; a page of no set has its own place,
    and a page of several sets belongs to the place of each. An empty set counts, and is never complete.

    Below, p2 has the first place, and the set of p1 and p3 the second.

    >>> recall_at(2, [["p1", "p3"]], ["p1", "p2", "p3"]), recall_at(2, [["p1", "p3"], []], ["p1", "p2", "p3"])
    (1.0, 0.5)
    """
    complete, sets = _complete_sets(k, evidence, pages)
    return complete / sets if sets else 0.0


def success_at(k: int, evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> float:
    """Success rate@k of KILT: 1 if an evidence set is complete within the first k places of `recall_at`, else 0.

    >>> success_at(2, [["p1", "p3"], ["p9"]], ["p1", "p2", "p3"]), success_at(1, [["p1", "p3"]], ["p1", "p2", "p3"])
    (1.0, 0.0)
    """
    complete, _ = _complete_sets(k, evidence, pages)
    return float(complete > 0)


def _complete_sets(k: int, evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> tuple[int, int]:
    """(number of complete sets among the first k places, number of distinct sets)."""
    sets = list(dict.fromkeys(frozenset(wanted) for wanted in evidence))
    last: dict[int, int] = {}
    others: list[int] = []
    distinct = list(dict.fromkeys(pages))
    for position, page in enumerate(distinct):
        inside = [i for i, wanted in enumerate(sets) if page in wanted]
        last |= dict.fromkeys(inside, position)
        if not inside:
            others.append(position)
    places = sorted([*((position, i) for i, position in last.items()), *((position, -1) for position in others)])
    guessed = set(distinct)
    return sum(i >= 0 and sets[i] <= guessed for _, i in places[:k]), len(sets)
