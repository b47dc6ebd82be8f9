"""Entity texts for encoders: the values of the fields, one line each, in profile order, whole or in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import TypeAlias

from hybridkg.interfaces.text_engine import ExtractedText

AT_ONCE = 1_024
"""Maximum number of pieces of a batch."""

Span: TypeAlias = tuple[int, int]
"""Start and end of a piece of a text, in characters."""

Cut: TypeAlias = Callable[[str, Sequence[int]], Iterable[Span]]
"""Function from a text and the starts of its fields to the spans of its pieces."""


@dataclass(frozen=True)
class PieceBatch:
    """Pieces, their spans in the texts of their entities, and the ids of these, ascending."""

    ids: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


def whole(text: str, fields: Sequence[int]) -> list[Span]:
    """A text as one piece.

    >>> whole("a text", [0])
    [(0, 6)]
    """
    del fields
    return [(0, len(text))]


def verbalised(texts: ExtractedText, fields: Sequence[int], cut: Cut = whole) -> Iterator[PieceBatch]:
    """The text of every entity in pieces, batch by batch; the pieces of an entity may be in several batches.

    Args:
        texts: the text of a knowledge base.
        fields: positions of the fields that are read, ascending.
        cut: function from a text to its pieces.

    Returns:
        At most AT_ONCE pieces at a time; entities without a value are left out.
    """
    batch = PieceBatch()
    for entity, text, begins in _texts(texts, fields):
        for begin, end in cut(text, begins):
            batch.ids.append(entity)
            batch.texts.append(text[begin:end])
            batch.spans.append((begin, end))
            if len(batch.ids) == AT_ONCE:
                yield batch
                batch = PieceBatch()
    if batch.ids:
        yield batch


def _texts(extracted: ExtractedText, fields: Sequence[int]) -> Iterator[tuple[int, str, list[int]]]:
    """(id, text, starts of the entity's fields in it), ascending."""
    streams = [_placed(extracted, position) for position in fields]
    for entity, values in groupby(merge(*streams, key=lambda one: one[:2]), key=lambda one: one[0]):
        begins, parts, length = [], [], 0
        for _, _, own in values:
            begins.append(length)
            parts.append("\n".join(own))
            length += len(parts[-1]) + 1
        yield entity, "\n".join(parts), begins


def _placed(extracted: ExtractedText, position: int) -> Iterator[tuple[int, int, list[str]]]:
    for entity, values in extracted.stream(position):
        yield entity, position, [text for text, _ in values]
