"""Chunking: the text of an entity in pieces that get a vector each, chunks of one length or fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hybridkg.config.settings import EncodingSettings
from hybridkg.entities.entity_text import Cut, Span, whole


def cutting(settings: EncodingSettings, token_starts: Callable[[str], list[int]] | None = None) -> Cut:
    """The function that cuts texts into pieces; without `token_starts` (text -> starts), chunks count characters."""
    if settings.what == "entity":
        return whole
    if settings.what == "fields":
        return by_field

    def cut(text: str, fields: Sequence[int]) -> Iterator[Span]:
        del fields
        end = len(text.rstrip())
        if token_starts is None:
            return chunks(text, range(end + 1), settings.chunk, settings.overlap)
        marks = [start for start in token_starts(text) if start < end]
        return chunks(text, [*marks, end], settings.chunk, settings.overlap)

    return cut


def by_field(text: str, fields: Sequence[int]) -> Iterator[Span]:
    """Spans of the fields that are not blank.

    >>> list(by_field("title\\nfirst line\\nsecond", [0, 6]))
    [(0, 5), (6, 23)]
    """
    for begin, end in zip(fields, [*(begin - 1 for begin in fields[1:]), len(text)], strict=True):
        if text[begin:end].strip():
            yield begin, end


def chunks(text: str, marks: Sequence[int], size: int, overlap: int) -> Iterator[Span]:
    """Overlapping pieces of at most `size` units, which end at a word boundary if there is one after the last piece.

    A piece begins at most `overlap` units before the end of the last one, at the start of a word if there is one.
    White space around a piece is no part of it. A text of at most `size` units is one piece, unchanged.

    Args:
        text: the text.
        marks: starts of its units, in characters, ascending, and the end of the last one.
        size: units, above `overlap`.
        overlap: units, at least 0.

    >>> list(chunks("one two three", range(14), 9, 4))
    [(0, 7), (4, 13)]
    """
    last, begin, end, covered = len(marks) - 1, 0, 0, 0
    if last <= size:
        yield 0, len(text)
        return
    while end < last:
        limit = min(begin + size, last)
        shorter = () if limit == last else range(limit, max(begin, end), -1)
        end = next((at for at in shorter if _between_words(text, marks[at])), limit)
        start, stop = _stripped(text, marks[begin], marks[end])
        if start < stop and stop > covered:  # otherwise it adds white space only
            yield start, stop
            covered = stop
        first = max(begin + 1, end - overlap)
        begin = next((at for at in range(first, min(end + 1, last)) if _between_words(text, marks[at])), first)


def _between_words(text: str, at: int) -> bool:
    return text[at - 1].isspace() or text[at].isspace()


def _stripped(text: str, begin: int, end: int) -> Span:
    """A piece without the white space around it; a blank piece ends where it begins."""
    part = text[begin:end]
    begin += len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())
