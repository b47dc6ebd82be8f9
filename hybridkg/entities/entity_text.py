"""Entities as running text: the values of their fields, one line each, in the order of the profile; or pieces of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import TypeAlias

from hybridkg.interfaces.text_engine import ExtractedText

AT_ONCE = 1_024
"""Pieces of a batch."""

Span: TypeAlias = tuple[int, int]
"""Where a piece of a text begins and ends, in characters."""

Cut: TypeAlias = Callable[[str, Sequence[int]], Iterable[Span]]
"""The pieces of a text, given where its fields begin."""


@dataclass(frozen=True)
class PieceBatch:
    """Some pieces.

    Args:
        ids: of their entities, ascending.
        texts: of the pieces.
        spans: of the pieces in the texts of their entities.
    """

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


def verbalised(found: ExtractedText, fields: int, cut: Cut = whole) -> Iterator[PieceBatch]:
    """Every entity with its text, or the pieces of that, batch by batch; one may have its pieces in several batches.

    Args:
        found: the text of a knowledge base.
        fields: how many fields it has.
        cut: makes pieces of the text of an entity.

    Returns:
        At most AT_ONCE pieces at a time; entities without any value are left out.
    """
    batch = PieceBatch()
    for entity, text, begins in _texts(found, fields):
        for begin, end in cut(text, begins):
            batch.ids.append(entity)
            batch.texts.append(text[begin:end])
            batch.spans.append((begin, end))
            if len(batch.ids) == AT_ONCE:
                yield batch
                batch = PieceBatch()
    if batch.ids:
        yield batch


def _texts(found: ExtractedText, fields: int) -> Iterator[tuple[int, str, list[int]]]:
    """(id, text, where in it each field begins that the entity has), ascending."""
    streams = [_placed(found, position) for position in range(fields)]
    for entity, values in groupby(merge(*streams, key=lambda one: one[:2]), key=lambda one: one[0]):
        begins, parts, length = [], [], 0
        for _, _, own in values:
            begins.append(length)
            parts.append("\n".join(own))
            length += len(parts[-1]) + 1
        yield entity, "\n".join(parts), begins


def _placed(found: ExtractedText, position: int) -> Iterator[tuple[int, int, list[str]]]:
    for entity, values in found.stream(position):
        yield entity, position, [text for text, _ in values]
