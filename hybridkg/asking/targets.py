"""The class of the answers: the first noun of the question that names a class.

    P(c) = softmax(4 sim + .5 log-odds)

sim is 1 for a class that the head of the question names, which is the words before the first preposition, FAR for one
that later words name, and otherwise UNNAMED times its share of text: where no word names a class, the answers are what
has most text. The log-odds of the words come from training questions (learning.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import exp

from hybridkg.asking.base import AskedBase
from hybridkg.asking.slots import Target
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.asking.words import Question, QuestionWord

SHARPNESS = 4.0
FAR = 0.35
UNNAMED = 0.5
UNASKED = 2.0
"""Log-odds by which a class that no training question asks for is below the least probable of the others, so that a
question which names it is still understood."""

MAX_HEAD = 8
"""Words of the head."""

MAX_REQUEST = 12
"""Words of a request before the head."""

BORDERS = frozenset((
    "by", "of", "from", "with", "in", "on", "at", "that", "who", "whose", "whom", "which", "where", "written",
    "published", "since", "to", "for", "about", "without", "lacking",
))  # fmt: skip
"""Words that end the noun phrase of the answers."""

REQUESTS = frozenset((
    "show", "find", "list", "give", "get", "me", "my", "please", "can", "could", "you", "are", "is", "there",
    "do", "does", "i", "we", "would", "like", "want", "need", "needs", "looking", "look", "for", "search", "searching",
    "tell", "read", "see", "know", "name", "identify", "recommend", "suggest", "what", "which", "who", "that", "whose",
    "any", "some", "all", "a", "an", "the",
))  # fmt: skip
"""Words of a request that are not what it is about."""

VERBS = frozenset(("show", "find", "give", "know", "identify", "recommend", "looking", "want", "need", "needs"))
"""Words of a request before which nothing is an answer, whatever else it says."""


def head_of(question: Question, mentioned: Collection[int]) -> tuple[int, int]:
    """The words first..behind of the noun phrase of the answers: behind the request, up to the first preposition."""
    words = [word.raw.casefold() for word in question.words]
    first = 0
    for at, word in enumerate(words[:MAX_REQUEST]):
        if at in mentioned:
            break
        if word in VERBS:
            first = at + 1
    while first < len(words) - 1 and first not in mentioned and words[first] in REQUESTS | {"about", "to"}:
        first += 1
    behind = first
    while behind < len(words) and behind - first < MAX_HEAD:
        if words[behind] in BORDERS or behind in mentioned:
            break
        behind += 1
    return first, behind


def head_words(question: Question, mentioned: Collection[int]) -> tuple[str, ...]:
    """The stems of the head."""
    first, behind = head_of(question, mentioned)
    return tuple(word.stem for word in question.words[first:behind] if word.stem and not word.is_stop)


def find_targets(
    question: Question,
    base: AskedBase,
    mentioned: Collection[int],
    weights: QuestionWeights = DEFAULT_WEIGHTS,
    learned: Mapping[str, float] | None = None,
) -> list[Target]:
    """The classes, most probable first.

    Args:
        question: the words.
        base: the classes and their words.
        mentioned: numbers of words in mentions of nodes, which name no class.
        weights: with a model of classes, if it was learned.
        learned: scores of the classes by that model.
    """
    classes = base.schema.names
    similarity = {iri: UNNAMED * base.text_shares.get(iri, 0.0) for iri in classes}
    named: dict[str, QuestionWord] = {}
    first, behind = head_of(question, mentioned)
    has_head = False
    for number, word in enumerate(question.words[first:], first):
        value = 1.0 if number < behind else 0.0 if has_head else FAR
        if number in mentioned or not value:
            continue
        for iri in classes:
            if word.stem in base.lexicon.class_words[iri] and iri not in named:
                similarity[iri], named[iri] = max(similarity[iri], value), word
                has_head = has_head or number < behind
    scores = {iri: SHARPNESS * value for iri, value in similarity.items()}
    if weights.classes is not None and learned is not None:
        unseen = max(weights.classes.unseen, min(learned.values(), default=0.0) - UNASKED)
        scores = {iri: score + weights.learned * learned.get(iri, unseen) for iri, score in scores.items()}
    total = sum(map(exp, scores.values()))
    found = [
        Target(iri, base.lexicon.name(iri), exp(score) / total, named[iri].text if iri in named else "")
        for iri, score in scores.items()
    ]
    return sorted(found, key=lambda one: (-one.confidence, one.iri))
