"""The features of a question that learned models read: its words, and pairs of neighbours, with names left out.

A name stands as NAME, so that the order of the words around it counts and the name does not. Training chooses a way by
accuracy on held-out questions (learning.py): all words tell questions of a fixed form apart, and in questions with much
text only those near a name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from hybridkg.asking.mentions import NameMention
from hybridkg.asking.targets import head_words
from hybridkg.asking.words import Question, stems_of

WINDOW = 4
"""Words on each side of a mention."""

NAME = "_"

MAX_LENGTH = 16
"""Words of a question that are counted; longer ones have much text, whose length says nothing about their form."""


def route_features(question: Question, mention: NameMention, way: str) -> tuple[str, ...]:
    """The features of the route from a mention, by one of ROUTE_FEATURES."""
    before, after = question.window(mention.first, mention.behind, WINDOW)
    if way == "whole":
        before, after = question.words[: mention.first], question.words[mention.behind :]
    left, right = stems_of(before), stems_of(after)
    if way == "window":
        return (*left, *right)
    return with_pairs((*left, NAME, *right)) if way != "whole" else with_length((*left, NAME, *right))


def class_features(question: Question, mentioned: Collection[int], way: str) -> tuple[str, ...]:
    """The features of the class of the answers, by one of CLASS_FEATURES.

    Args:
        question: the words.
        mentioned: numbers of the words that are names.
        way: of CLASS_FEATURES.
    """
    if way == "head":
        return head_words(question, mentioned)
    words: list[str] = []
    for number, stem in enumerate(stems_of(question.words)):
        if number not in mentioned:
            words.append(stem)
        elif words[-1:] != [NAME]:
            words.append(NAME)
    return with_length(words)


def with_length(words: Sequence[str]) -> tuple[str, ...]:
    """Words, pairs of neighbours, and the number of words: a form that is the beginning of another is the shorter one.

    >>> with_length(["films", "by", "_"])
    ('films', 'by', '_', 'films by', 'by _', '3 words')
    """
    return (*with_pairs(words), f"{min(len(words), MAX_LENGTH)} words")


def with_pairs(words: Sequence[str]) -> tuple[str, ...]:
    """Words, and pairs of neighbours.

    >>> with_pairs(["films", "by", "_"])
    ('films', 'by', '_', 'films by', 'by _')
    """
    return (*words, *(f"{one} {other}" for one, other in pairwise(words)))
