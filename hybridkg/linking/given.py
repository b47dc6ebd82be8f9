"""Explicit links of a query, as text or as Python values."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hybridkg.errors import Span, TextQueryError
from hybridkg.interfaces.links import EntityLink
from hybridkg.rdf.terms import Literal, NamedNode

MAX_LINKS = 200
"""Maximum number of distinct nodes that one text is linked to; linkers find three in a query on average."""

_LINK = re.compile(r"\s*(?:<(?P<iri>[^<>\s]*)>(?:\s+(?P<confidence>[^\s<>,]+))?\s*(?:,|(?=<|$)))")


def parse_links(text: str) -> tuple[EntityLink, ...]:
    """Links as text: IRIs in angle brackets, each with an optional confidence (default 1), optionally with commas.

    Raises:
        TextQueryError: other text, an invalid IRI, a confidence outside (0, 1], or more than MAX_LINKS; the span counts
            in the text.

    >>> parse_links("<http://e/a> 0.8 <http://e/b>")
    (EntityLink(node='http://e/a', confidence=0.8), EntityLink(node='http://e/b', confidence=1.0))
    """
    links: list[EntityLink] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _LINK.match(text, at, end)
        if not match:
            raise TextQueryError(
                f"no link begins with {text[at:end].strip()[:40]!r}",
                hint="write <iri>, or <iri> 0.8, one after the other; or the name of a file: @links.tsv",
                span=Span(at, end),
            )
        try:
            links.append(EntityLink(match["iri"], confidence_of(match["confidence"] or "1")))
        except TextQueryError as e:
            e.span = Span(match.start(), match.end())
            raise
        at = match.end()
    return strongest(links)


def links_from(values: Iterable[object]) -> tuple[EntityLink, ...]:
    """Links from Python values: EntityLink, IRI (NamedNode or str with or without brackets), or (IRI, confidence).

    Raises:
        TextQueryError: another value.

    >>> links_from(["http://e/a", ("<http://e/b>", 0.5)])
    (EntityLink(node='http://e/a', confidence=1.0), EntityLink(node='http://e/b', confidence=0.5))
    """
    return strongest(map(_link_from, values))


def _link_from(value: object) -> EntityLink:
    match value:
        case EntityLink():
            return value
        case NamedNode() | str():
            return EntityLink(_iri(value))
        case (NamedNode() | str() as node, int() | float() as confidence) if not isinstance(confidence, bool):
            return EntityLink(_iri(node), float(confidence))
        case (NamedNode() | str() as node, Literal() as written):
            return EntityLink(_iri(node), confidence_of(written.value))
    raise TextQueryError(f"{value!r} is not a link", hint="pass IRIs, or pairs (IRI, confidence)")


def _iri(node: NamedNode | str) -> str:
    if isinstance(node, NamedNode):
        return node.value
    return node[1:-1] if node.startswith("<") and node.endswith(">") else node


def confidence_of(written: str) -> float:
    """The number of a confidence, whose range EntityLink checks; raises TextQueryError unless it is a number."""
    try:
        return float(written)
    except ValueError:
        raise TextQueryError(f"the confidence {written[:40]!r} is not a number") from None


def strongest(links: Iterable[EntityLink]) -> tuple[EntityLink, ...]:
    """Each node once, with its highest confidence, in the order of first mention.

    Raises:
        TextQueryError: more than MAX_LINKS nodes.

    >>> strongest([EntityLink("x:a", 0.2), EntityLink("x:b", 0.3), EntityLink("x:a", 0.5)])
    (EntityLink(node='x:a', confidence=0.5), EntityLink(node='x:b', confidence=0.3))
    """
    best: dict[str, EntityLink] = {}
    for link in links:
        previous = best.setdefault(link.node, link)
        if link.confidence > previous.confidence:
            best[link.node] = link
        if len(best) > MAX_LINKS:
            raise TextQueryError(f"more than {MAX_LINKS} links of one text", hint="keep those of highest confidence")
    return tuple(best.values())
