"""Learned confidence of mentions: the share of the mentions of some words that were a name of the query in training.

Mihalcea and Csomai (CIKM 2007) call the share "keyphraseness". In questions about films, "director" is the name of a
tag, and never the name that is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hybridkg.asking.mentions import Mentions, NameMention
from hybridkg.asking.words import Question


def link_key(question: Question, mention: NameMention) -> str:
    """The words of a mention without case."""
    return " ".join(word.raw.casefold() for word in question.words[mention.first : mention.behind])


def weighted(question: Question, mentions: Mentions, links: Mapping[str, float]) -> Mentions:
    """The mentions with confidences multiplied by the learned shares; words that are not in `links` keep theirs."""
    found = []
    for mention in mentions.found:
        share = links.get(link_key(question, mention), 1.0)
        choices = tuple(replace(node, confidence=node.confidence * share) for node in mention.choices)
        found.append(mention if share == 1.0 else replace(mention, choices=choices))
    return replace(mentions, found=tuple(found))
