"""Entity linker by names, which needs only the text index and the graph.

A mention is a sequence of words that is the whole name of an entity. As in TAGME (Ferragina and Scaiella, CIKM 2010),
with the graph in the place of Wikipedia, its confidence is a product:

    link probability  the entities of that name and the triples that point to them, divided by the number of entities
                      whose text has the words; its n-th root for n words, as a long name is rarely a coincidence
    disambiguation    the share of the entity in those triples, one added to each (commonness), times the score of its
                      text for the rest of the words (context)

The form is the best of 144 on the queries of benchmarks/linking.py, so its figures are optimistic; triples in the link
probability matter (F1 .55, .51 without them), the context hardly does there, where few names are shared.

Longer mentions take precedence over shorter ones, left over right, and none overlap.
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
"""Words of a text in which mentions are sought."""

MAX_MENTION_LENGTH = 6
"""In words."""

MAX_CANDIDATES = 50
"""Entities of one name that are compared: those whose text fits the whole text best."""

MIN_CONFIDENCE = 0.1
"""Minimum confidence of links, as the model would not use weaker ones (Hasibi et al. 2016)."""

CONTEXT_FREE = 0.3
"""Weight of a candidate whose text fits the context least; 1.3 for the one that fits best."""


@dataclass(frozen=True)
class Mention:
    """A mention in a text, and the most likely entity.

    Args:
        start: number of its first word, from 0.
        words: as in the text.
        link: the entity and the confidence.
        candidates: number of entities of that name.
    """

    start: int
    words: tuple[str, ...]
    link: EntityLink
    candidates: int


class NameLinker:
    """Linker of one state of a knowledge base; safe to use from many threads."""

    def __init__(self, text: TextIndex, names: NodeNames, graph: UriIndex):
        self._text, self._names, self._graph = text, names, graph

    def links(self, text: str, language: str = "", least: float = MIN_CONFIDENCE) -> tuple[EntityLink, ...]:
        """Entities that a text mentions, each once, in the order of their mentions.

        Args:
            text: plain words.
            language: its tag; empty for the default.
            least: minimum confidence.
        """
        return strongest(mention.link for mention in self.mentions(text, language, least))

    def mentions(self, text: str, language: str = "", least: float = MIN_CONFIDENCE) -> list[Mention]:
        """Mentions in a text, from left to right, without overlap; arguments as of `links`."""
        words = self._names.words(text)[:MAX_WORDS]
        covered = [False] * len(words)
        mentions: list[Mention] = []
        for length in range(min(MAX_MENTION_LENGTH, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                if any(covered[start : start + length]):
                    continue
                mention = self._mention(words, start, length, language)
                if mention is not None and mention.link.confidence >= least:
                    mentions.append(mention)
                    covered[start : start + length] = [True] * length
        return sorted(mentions, key=lambda mention: mention.start)

    def _mention(self, words: Sequence[str], start: int, length: int, language: str) -> Mention | None:
        """The mention in a window of words; None where they name no entity."""
        window = tuple(words[start : start + length])
        named = self._names.named(window, language)
        if not len(named.ids):
            return None
        ids = named.ids
        if len(ids) > MAX_CANDIDATES:
            fit = np.nan_to_num(self._fit(words, ids, language))
            ids = np.sort(ids[np.lexsort((ids, -fit))[:MAX_CANDIDATES]])
        nodes = self._names.nodes(ids)
        in_degrees = np.array([self._graph.in_degree(node) + 1.0 for node in nodes])
        weights = in_degrees
        if len(ids) > 1:
            fit = np.nan_to_num(self._fit([*words[:start], *words[start + length :]], ids, language))
            weights = in_degrees * (CONTEXT_FREE + fit / max(float(fit.max()), 1e-300))
        # A blank node makes the name ambiguous, but no link can lead to it.
        linkable = np.array([isinstance(node, NamedNode) for node in nodes])
        best = int(np.argmax(np.where(linkable, weights, -1.0)))
        node = nodes[best]
        if not isinstance(node, NamedNode):
            return None
        # A text that is only a name has the probability 1.
        probability = 1.0 if length == len(words) else min(1.0, float(in_degrees.sum()) / named.df) ** (1 / length)
        confidence = min(1.0, probability * float(weights[best] / weights.sum()))
        return Mention(start, window, EntityLink(node.value, confidence), len(ids))

    def _fit(self, words: Sequence[str], ids: Ids, language: str) -> np.ndarray:
        """float64[len(ids)]: scores of the words as plain text; NaN where an entity has none of them."""
        if not words:
            return np.zeros(len(ids))
        return self._text.score(TextQuery(" ".join(words), language, syntax=False), ids)
