"""The anchors of a question: the nodes that it names, without an interpretation of the rest."""

from __future__ import annotations

from hybridkg.asking.base import AskedBase
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.nested_quotations import read_quoted
from hybridkg.rdf.terms import NamedNode

MAX_ANCHORS = 8
"""Nodes of one question, those with the highest confidence."""

MIN_CONFIDENCE = 0.3
"""Confidence of a link below which a name is not taken for that of a node, as in `ask`."""


def named_nodes(text: str, base: AskedBase) -> tuple[NamedNode, ...]:
    """The best node of each mention, most certain first, at most MAX_ANCHORS.

    Raises:
        QueryLimitError: the question is too long.
    """
    question = read_quoted(text, base.names)
    best = [mention.choices[0] for mention in find_mentions(question, base).found]
    sure = sorted((one for one in best if one.confidence >= MIN_CONFIDENCE), key=lambda one: (-one.confidence, one.iri))
    return tuple(NamedNode(iri) for iri in list(dict.fromkeys(one.iri for one in sure))[:MAX_ANCHORS])
