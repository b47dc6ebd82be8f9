"""Two models of whole questions, learned from questions with known queries: shapes, and mentions that are anchors.

A shape is the class of the answers with the classes and routes of all anchors. Its prior is added to a reading, because
the model of a route (paths.py) knows one anchor only: that two drugs are asked about together speaks for a protein.

Of the names that a question has by chance, such as those among asked properties, a naive Bayes model of the words on
both sides, the class, the quotation marks and the confidence of the link tells anchors.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridkg.asking.mentions import NameMention, NodeChoice
from hybridkg.asking.weights import Route, written_route
from hybridkg.asking.words import Question

ANCHOR, OTHER = "anchor", "other"
"""Outcomes of the model of mentions."""

NEAR = 3
"""Words on each side of a mention."""


def shape_of(target: str, anchors: Iterable[tuple[str, Route]]) -> str:
    """The shape of a question, from the class of its answers, and class and route of each anchor.

    >>> shape_of("x:Paper", [("x:Person", ((("x:wrote", True),),))])
    '<x:Paper> from <x:Person> ^<x:wrote>'
    """
    return " from ".join([f"<{target}>", *sorted(f"<{kind}> {written_route(route)}" for kind, route in anchors)])


def mention_features(question: Question, mention: NameMention, node: NodeChoice) -> tuple[str, ...]:
    """Features of a node that a mention may name, for the model of mentions."""
    before, after = question.window(mention.first, mention.behind, NEAR)
    words = question.words[mention.first : mention.behind]
    said = [word.stem or word.raw.casefold() for word in (*before, *after)]
    return (
        *(f"before {stem}" for stem in said[: len(before)]),
        *(f"after {stem}" for stem in said[len(before) :]),
        *(f"next {said[len(before) - 1]}" for _ in before[-1:]),
        f"class {node.kind}",
        f"words {min(len(words), 5)}",
        f"confidence {min(9, int(10 * node.confidence))}",
        f"is exact {mention.is_exact}",
        f"is quoted {mention.first in question.in_quotes}",
        f"is written as a name {words[0].text[:1].isupper()}",
        f"ends the question {mention.behind == len(question.words)}",
    )
