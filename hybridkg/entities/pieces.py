"""Cuts the text of an entity into the pieces that get a vector each: chunks of one length, or fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hybridkg.config.settings import EncodingSettings
from hybridkg.entities.entity_text import Cut, Span, whole


def cutting(settings: EncodingSettings, token_starts: Callable[[str], list[int]] | None = None) -> Cut:
    """How texts are cut.

    Args:
        settings: what is encoded.
        token_starts: where the tokens of a text begin; None where chunks are measured in characters.
    """
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
    """Each field that has more than white space.

    >>> list(by_field("title\\nfirst line\\nsecond", [0, 6]))
    [(0, 5), (6, 23)]
    """
    for begin, behind in zip(fields, [*(begin - 1 for begin in fields[1:]), len(text)], strict=True):
        if text[begin:behind].strip():
            yield begin, behind


def chunks(text: str, marks: Sequence[int], size: int, overlap: int) -> Iterator[Span]:
    """Pieces of at most `size` units, which end behind a word where one ends behind the piece before.

    A piece begins at most `overlap` units before the end of the one before, where a word begins if one does. White
    space around a piece is no part of it. A text of no more units than that is one piece, as it is.

    Args:
        text: what is cut.
        marks: where its units begin, in characters, ascending, and where the last one ends.
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
        most = min(begin + size, last)
        shorter = () if most == last else range(most, max(begin, end), -1)
        end = next((at for at in shorter if _between_words(text, marks[at])), most)
        start, behind = _stripped(text, marks[begin], marks[end])
        if start < behind and behind > covered:  # otherwise it adds white space only
            yield start, behind
            covered = behind
        first = max(begin + 1, end - overlap)
        begin = next((at for at in range(first, min(end + 1, last)) if _between_words(text, marks[at])), first)


def _between_words(text: str, at: int) -> bool:
    return text[at - 1].isspace() or text[at].isspace()


def _stripped(text: str, begin: int, end: int) -> Span:
    """A piece without the white space around it; what is nothing else ends where it begins."""
    part = text[begin:end]
    begin += len(part) - len(part.lstrip())
    return begin, begin + len(part.strip())
