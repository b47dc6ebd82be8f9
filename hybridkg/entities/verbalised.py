"""Entities as running text: the values of their fields, one line each, in the order of the profile."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby

from hybridkg.interfaces.text_engine import ExtractedText

AT_ONCE = 1_024
"""Entities of a batch."""


def verbalised(found: ExtractedText, fields: int) -> Iterator[tuple[list[int], list[str]]]:
    """Every entity with its text, batch by batch.

    Args:
        found: the text of a knowledge base.
        fields: how many fields it has.

    Returns:
        (ids, ascending; their texts) of at most AT_ONCE entities each; those without any value are left out.
    """
    streams = [_placed(found, position) for position in range(fields)]
    ids: list[int] = []
    texts: list[str] = []
    for entity, values in groupby(merge(*streams, key=lambda one: one[:2]), key=lambda one: one[0]):
        ids.append(entity)
        texts.append("\n".join(text for _, _, own in values for text in own))
        if len(ids) == AT_ONCE:
            yield ids, texts
            ids, texts = [], []
    if ids:
        yield ids, texts


def _placed(found: ExtractedText, position: int) -> Iterator[tuple[int, int, list[str]]]:
    for entity, values in found.stream(position):
        yield entity, position, [text for text, _ in values]
