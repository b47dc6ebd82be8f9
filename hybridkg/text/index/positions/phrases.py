"""Finds phrases, and words near each other, by their positions.

A process that keeps asking does it with `positional_kernel.py`, in 4 ns a posting instead of 80 (two words of 400,000
postings each); the numpy functions are its reference and give the same bytes: change both together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.id_sets import NO_POSTINGS, contains, intersection
from hybridkg.text.index.language_view import LanguagePostings
from hybridkg.text.index.positions.windows import window_postings
from hybridkg.text.index.postings import FieldPostings

KERNEL = LazyKernel("hybridkg.text.index.positions.phrases_kernel")

AnyPostings = FieldPostings | LanguagePostings

Word = tuple[int, int]
"""(position in the phrase, term number)."""


def pattern_postings(field: AnyPostings, words: Sequence[Word], window: int) -> Postings:
    """Entities with the words in the field: one after the other as given, or in any order within a window.

    Args:
        field: the postings.
        words: at least one.
        window: places that the words may take, whatever their order; 0 for a phrase.
    """
    return window_of(field, [term for _, term in words], window) if window else phrase_postings(field, words)


def pair_postings(field: AnyPostings, first: Word, second: Word, window: int) -> tuple[Postings, Postings]:
    """Two words as a phrase and near each other: what `pattern_postings` finds of each, in one pass.

    Args:
        field: the postings.
        first: a word.
        second: another, or the same at another place of the phrase.
        window: places that the words may take, whatever their order; at least 1.

    Returns:
        (entities with the phrase, entities with a window).
    """
    if first[1] < 0 or second[1] < 0:
        return NO_POSTINGS, NO_POSTINGS
    kernel = KERNEL.for_work(_size(field, [first[1], second[1]])) if first[1] != second[1] else None
    if kernel is None:
        return phrase_numpy(field, [first, second]), window_numpy(field, [first[1], second[1]], window)
    return _pair(kernel, field, first, second, ordered=True, window=window)


def window_of(field: AnyPostings, terms: Sequence[int], width: int) -> Postings:
    """Entities with the terms within `width` places, tf the number of `windows`."""
    kernel = KERNEL.for_work(_size(field, terms)) if len(terms) == len(set(terms)) == 2 else None
    if kernel is None:
        return window_numpy(field, terms, width)
    return _pair(kernel, field, (0, terms[0]), (0, terms[1]), ordered=False, window=width)[1]


def phrase_postings(field: AnyPostings, words: Sequence[Word]) -> Postings:
    """Entities with the phrase in the field, tf the number of places where it begins.

    Args:
        field: the postings.
        words: at least one.
    """
    if len(words) == 1:
        return field.postings(words[0][1])
    kernel = KERNEL.for_work(_size(field, [term for _, term in words]))
    if kernel is None:
        return phrase_numpy(field, words)
    if len(words) == 2:
        return _pair(kernel, field, *words, ordered=True, window=0)[0]
    return _phrase(kernel, field, words)


def window_numpy(field: AnyPostings, terms: Sequence[int], width: int) -> Postings:
    """`window_of` without the kernel."""
    often = Counter(terms)
    lists = {term: field.postings(term) for term in often}
    candidates = intersection([postings.ids for postings in lists.values()])
    if not len(candidates):
        return NO_POSTINGS
    places = [_places(field, term, lists[term], candidates) for term in often]
    return window_postings(places, list(often.values()), width)


def phrase_numpy(field: AnyPostings, words: Sequence[Word]) -> Postings:
    """`phrase_postings` of two words or more without the kernel."""
    lists = {term: field.postings(term) for _, term in words}
    candidates = intersection([postings.ids for postings in lists.values()])
    if not len(candidates):
        return NO_POSTINGS
    # A place is entity << 32 | position; a word at offset o of a phrase at p stands at place p + o.
    # Rarest word first, so that later ones are looked up by few places.
    begins = np.zeros(0, np.uint64)
    for i, (offset, term) in enumerate(sorted(words, key=lambda word: field.occurrences(word[1]))):
        places = _places(field, term, lists[term], candidates)
        shift = np.uint64(offset)
        if i == 0:
            begins = places[(places & np.uint64(0xFFFF_FFFF)) >= shift] - shift
        else:
            found = np.searchsorted(places, begins + shift)
            found[found == len(places)] = 0
            begins = begins[places[found] == begins + shift] if len(places) else places
        if not len(begins):
            return NO_POSTINGS
    entities = (begins >> np.uint64(32)).astype(np.uint32)
    first = np.flatnonzero(np.concatenate(([True], entities[1:] != entities[:-1])))
    return Postings(entities[first], np.diff(first, append=len(entities)).astype(np.uint32))


def _places(field: AnyPostings, term: int, postings: Postings, candidates: NDArray[Any]) -> NDArray[Any]:
    """uint64[...], ascending: where the term stands in the candidates."""
    kept = contains(postings.ids, candidates)
    tf = postings.tf.astype(np.int64)
    positions = field.positions(term)
    if not kept.all():
        positions = positions[np.repeat(kept, tf)]
    entities = np.repeat(postings.ids[kept], tf[kept]).astype(np.uint64)
    return (entities << np.uint64(32)) | positions.astype(np.uint64)


class _List(NamedTuple):
    """The occurrences of a word, as the kernel takes them: positions are bytes, `size` of them each."""

    ids: NDArray[np.uint32]
    tf: NDArray[np.uint32]
    positions: NDArray[np.uint8]
    size: int


def _size(field: AnyPostings, terms: Sequence[int]) -> int:
    """About as many postings as will be read; occurrences are known without reading any."""
    return sum(field.occurrences(term) for term in terms)


def _list(field: AnyPostings, term: int) -> _List:
    postings, positions = field.postings(term), field.positions(term)
    if positions.itemsize > 4:
        positions = positions.astype(np.uint32)
    positions = np.ascontiguousarray(positions, positions.dtype.newbyteorder("<"))
    ids, tf = (np.ascontiguousarray(part, np.uint32) for part in (postings.ids, postings.tf))
    return _List(ids, tf, positions.view(np.uint8), positions.itemsize)


def _pair(
    kernel: Any, field: AnyPostings, first: Word, second: Word, *, ordered: bool, window: int
) -> tuple[Postings, Postings]:
    """The phrase and the windows of two different words; what is not wanted is left empty."""
    one, other = _list(field, first[1]), _list(field, second[1])
    room = min(len(one.ids), len(other.ids))
    if not room:
        return NO_POSTINGS, NO_POSTINGS
    found = [np.empty(room if wanted else 0, np.uint32) for wanted in (ordered, ordered, window, window)]
    counts = kernel.pairs(*one[:3], first[0], *other[:3], second[0], one.size, ordered, window, *found)
    return _kept(found[0], found[1], counts[0]), _kept(found[2], found[3], counts[1])


def _phrase(kernel: Any, field: AnyPostings, words: Sequence[Word]) -> Postings:
    """A phrase of three words or more: where the words so far begin is a list of occurrences for the next one."""
    (offset, term), *others = sorted(words, key=lambda word: field.occurrences(word[1]))
    begins = _list(field, term)
    for other_offset, other_term in others:
        other = _list(field, other_term)
        room = min(len(begins.ids), len(other.ids))
        ids, tf = np.empty(room, np.uint32), np.empty(room, np.uint32)
        places = np.empty(len(begins.positions) // begins.size, np.uint32)
        n, total = kernel.beginnings(*begins, offset, *other, other_offset, ids, tf, places)
        found = _kept(ids, tf, n)
        if not len(found.ids):
            return NO_POSTINGS
        begins, offset = _List(found.ids, found.tf, places[:total].view(np.uint8), 4), 0
    return Postings(begins.ids, begins.tf)


def _kept(ids: NDArray[np.uint32], tf: NDArray[np.uint32], n: int) -> Postings:
    """The n that were filled, without the room that was left.

    Raises:
        CorruptError: the kernel saw that positions are missing.
    """
    if n > len(ids):
        raise CorruptError("the positions of the text index and its postings differ in size", hint="index again")
    return Postings(ids[:n].copy(), tf[:n].copy()) if n else NO_POSTINGS
