"""KILT: downstream answers and the pages they come from, judged together.

Downstream: accuracy (the answer, stripped, is exactly a gold one), EM and F1 (after lower case, without punctuation,
articles and extra blanks; the best over the gold answers). Retrieval, on the distinct pages of a guess in their
order: R-Precision (the share of the gold pages P of an output among the first |P| pages; the best over the outputs)
and Recall@5 (see `recall_at`). KILT-AC, KILT-EM and KILT-F1 count the downstream value only where R-Precision is 1.
All are means over all gold records; one without a guess, without an answer or without a page has 0 there.
Source: facebookresearch/KILT, `kilt/eval_downstream.py` and `kilt/eval_retrieval.py`; where those stop with an error
(no gold answer, fewer pages than they want), the value here is what the formula gives, or 0.
tests/evaluation/test_kilt.py restates them.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

KILT_MEASURES = ("rprec", "recall@5", "accuracy", "em", "f1", "kilt-ac", "kilt-em", "kilt-f1")
"""The names of the measures, in the order of a report."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class KiltGold:
    """What is right for one record.

    Args:
        answers: the gold answers, stripped, each once; none where the task has no answers.
        evidence: for each output the distinct pages that support it, in their order; outputs without pages are none.
    """

    answers: tuple[str, ...]
    evidence: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KiltGuess:
    """What a system says about one record: an answer (empty where it gives none), and pages, best first."""

    answer: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class KiltReport:
    """The measures of a system.

    Args:
        values: by the name of the measure, then record, in the order of the gold; to be given to `compare_values`.
        without_guess: records of the gold that have no guess; they count with 0.
        not_judged: guesses for records that are not in the gold; they play no part.
    """

    values: Mapping[str, Mapping[str, float]]
    without_guess: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    def means(self) -> dict[str, float]:
        """Mean over all gold records; 0 where there are none."""
        return {name: sum(of.values()) / len(of) if of else 0.0 for name, of in self.values.items()}


def evaluate_kilt(gold: Mapping[str, KiltGold], guess: Mapping[str, KiltGuess]) -> KiltReport:
    """Every measure of every gold record.

    >>> gold = {"1": KiltGold(("Dover",), (("p1",),)), "2": KiltGold(("the Nile",), (("p2", "p3"),))}
    >>> guess = {"1": KiltGuess("Dover", ("p9",)), "2": KiltGuess("Nile", ("p3", "p2"))}
    >>> {name: round(mean, 2) for name, mean in evaluate_kilt(gold, guess).means().items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'rprec': 0.5, 'recall@5': 0.5, 'accuracy': 0.5, 'em': 1.0, 'f1': 1.0,
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
    """The measures of one record, by name."""
    answer = guess.answer.strip()
    told = gold.answers if answer else ()
    downstream = {
        "accuracy": float(answer in told),
        "em": float(any(normal(answer) == normal(right) for right in told)),
        "f1": max((token_f1(answer, right) for right in told), default=0.0),
    }
    precision = r_precision(gold.evidence, guess.pages)
    found = {"rprec": precision, "recall@5": recall_at(5, gold.evidence, guess.pages), **downstream}
    for name, of in (("kilt-ac", "accuracy"), ("kilt-em", "em"), ("kilt-f1", "f1")):
        found[name] = downstream[of] if precision == 1 else 0.0
    return found


def normal(text: str) -> str:
    """An answer as EM and F1 compare it.

    >>> normal("The  U.S. of A.")
    'us of'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(guess: str, right: str) -> float:
    """Harmonic mean of the precision and recall of the words, each as often as it is there; 0 where none is shared.

    >>> round(token_f1("the river Nile", "Nile"), 4)
    0.6667
    """
    words, wanted = normal(guess).split(), normal(right).split()
    shared = sum((Counter(words) & Counter(wanted)).values())
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0


def r_precision(evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> float:
    """The best over the evidence sets of: the share of its R pages that is among the first R distinct pages.

    >>> r_precision([["p1", "p2"], ["p9"]], ["p2", "p2", "p7"])
    0.5
    """
    distinct = list(dict.fromkeys(pages))
    shares = [len({*wanted} & {*distinct[: len({*wanted})]}) / len({*wanted}) for wanted in evidence if wanted]
    return max(shares, default=0.0)


def recall_at(k: int, evidence: Iterable[Sequence[str]], pages: Iterable[str]) -> float:
    """The share of the distinct evidence sets that are complete within the first k places.

    Places are not pages: all pages of one set that are guessed share one place, where the last of them stands; a
    page of no set has a place of its own, and a page of several sets gives one to each.

    Returns:
        0 where there is no evidence.

    The pages p1 and p3 are one place, the second: p2 first, then the set.

    >>> recall_at(2, [["p1", "p3"]], ["p1", "p2", "p3"])
    1.0
    """
    sets = list(dict.fromkeys(frozenset(wanted) for wanted in evidence if wanted))
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
    complete = sum(i >= 0 and sets[i] <= guessed for _, i in places[:k])
    return complete / len(sets) if sets else 0.0
