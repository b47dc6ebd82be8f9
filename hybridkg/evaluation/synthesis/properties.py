"""Properties of an answer from its own text: short runs of rare words, and their rewording in a question."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from hybridkg.evaluation.synthesis.own_text import Passage, Word

MIN_WORDS, MAX_WORDS, MAX_PROPERTIES = 3, 8, 3
"""Words of a run, and runs of an answer."""

KEPT_MASS = 0.8
"""Share of a property's idf mass that its rewording keeps, and that a passage of an answer has."""


def best_runs(
    passages: Iterable[Passage], idf: Mapping[str, float], names: Sequence[Passage], count: int = MAX_PROPERTIES
) -> list[Passage]:
    """The runs of words with the highest mean idf, best first.

    A run has MIN_WORDS to MAX_WORDS words of one part of a sentence, begins and ends with a word that is no stop word,
    contains no name and is not part of one, and shares no term with a better run. A stop word has the idf 0. Of equal
    means the first run wins.

    Args:
        passages: own texts of the answer.
        idf: by term.
        names: those of the answer and of the anchors.
        count: maximum number of runs.

    >>> words = tuple(Word(text, text) for text in ("neural", "parsing", "trees", "forests"))
    >>> idf = {"neural": 1.0, "parsing": 2.0, "trees": 3.0, "forests": 4.0}
    >>> [" ".join(word.text for word in run) for run in best_runs([words], idf, [])]
    ['parsing trees forests']
    """
    forbidden = [tuple(word.text.lower() for word in name) for name in names if name]
    runs: list[tuple[float, int, Passage]] = []
    for passage in passages:
        for start, word in enumerate(passage):
            total, end = 0.0, start
            while word.term and end < len(passage) and end - start < MAX_WORDS:
                if end > start and passage[end].begins:
                    break
                total += idf.get(passage[end].term, 0.0)
                end += 1
                if end - start >= MIN_WORDS and passage[end - 1].term and total > 0:
                    runs.append((-total / (end - start), len(runs), passage[start:end]))
    best: list[Passage] = []
    taken: set[str] = set()
    for _, _, run in sorted(runs, key=lambda one: one[:2]):
        terms = {word.term for word in run if word.term}
        if taken & terms or len(terms) < 2 or _names(run, forbidden):
            continue
        best.append(run)
        taken |= terms
        if len(best) == count:
            break
    return best


def _names(run: Passage, forbidden: Sequence[tuple[str, ...]]) -> bool:
    words = tuple(word.text.lower() for word in run)
    return any(contains(words, name) or contains(name, words) for name in forbidden)


def contains(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words have `part` as a contiguous part.

    >>> contains(("a", "b", "c"), ("b", "c")), contains(("a", "b"), ("b", "a"))
    (True, False)
    """
    size, wanted = len(part), tuple(part)
    return any(tuple(words[at : at + size]) == wanted for at in range(len(words) - size + 1))


def reworded(run: Passage, idf: Mapping[str, float], drawn_by: random.Random) -> Passage:
    """The run without its stop words and some words of low idf, and in another order.

    At least two words and the share KEPT_MASS of the idf mass stay.

    >>> run = tuple(Word(text, "" if text == "of" else text) for text in ("parsing", "of", "trees"))
    >>> [word.text for word in reworded(run, {"parsing": 1.0, "trees": 1.0}, random.Random(1))]
    ['parsing', 'trees']
    """
    kept = list({word.term: word for word in run if word.term}.values())
    whole = rest = mass(kept, idf)
    for word in sorted(kept, key=lambda word: idf[word.term]):
        rest -= idf[word.term]
        if len(kept) == 2 or rest < KEPT_MASS * whole:
            break
        if drawn_by.random() < 0.5:
            kept.remove(word)
        else:
            rest += idf[word.term]
    turn = drawn_by.randrange(len(kept))
    return tuple(kept[turn:] + kept[:turn])


def mass(words: Iterable[Word], idf: Mapping[str, float]) -> float:
    """Sum of the idf of the distinct terms."""
    return sum(idf[term] for term in dict.fromkeys(word.term for word in words if word.term))
