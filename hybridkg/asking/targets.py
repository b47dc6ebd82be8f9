"""The class of the answers: the first noun of the question that names a class.

    P(c) = softmax(4 sim)

sim is 1 for a class that the words before the first preposition name, FAR for one that later words name, and otherwise
UNNAMED times its share of text: where no word names a class, the answers are what has most text.
"""

from __future__ import annotations

from collections.abc import Collection
from math import exp

from hybridkg.asking.base import AskedBase
from hybridkg.asking.slots import Target
from hybridkg.asking.words import Question, Word

SHARPNESS = 4.0
FAR = 0.35
UNNAMED = 0.5
BORDERS = frozenset((
    "by", "of", "from", "with", "in", "on", "at", "that", "who", "whose", "whom", "which", "where", "written",
    "published", "since", "to",
))  # fmt: skip
"""Words that end the noun phrase of the answers."""


def find_targets(question: Question, base: AskedBase, mentioned: Collection[int]) -> list[Target]:
    """The classes, most probable first.

    Args:
        question: the words.
        base: the classes and their words.
        mentioned: numbers of words in mentions of nodes, which name no class.
    """
    classes = base.schema.names
    similarity = {iri: UNNAMED * base.text_shares.get(iri, 0.0) for iri in classes}
    named: dict[str, Word] = {}
    is_near, is_empty = True, True
    for number, word in enumerate(question.words):
        if number in mentioned:
            continue
        if word.raw.casefold() in BORDERS and not is_empty:
            is_near = False
        for iri in classes:
            if word.stem and word.stem in base.lexicon.class_words[iri]:
                value = 1.0 if is_near else FAR
                if value > similarity[iri] and iri not in named:
                    similarity[iri], named[iri] = value, word
        is_empty = is_empty and word.is_stop
        if is_near and named:
            is_near = False
    return _targets(similarity, named, base)


def _targets(similarity: dict[str, float], named: dict[str, Word], base: AskedBase) -> list[Target]:
    weights = {iri: exp(SHARPNESS * value) for iri, value in similarity.items()}
    total = sum(weights.values())
    found = [
        Target(iri, base.lexicon.name(iri), weight / total, named[iri].text if iri in named else "")
        for iri, weight in weights.items()
    ]
    return sorted(found, key=lambda one: (-one.confidence, one.iri))
