"""Phrases and unordered windows, by positions.

`phrases_kernel.py` takes 4 ns a posting instead of 80 with numpy (two words of 400,000 postings each); the numpy
functions are its reference and give the same bytes: change both together.
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

KERNEL = LazyKernel("hybridkg.text.index.positions.phrases_kernel", background=True)

AnyPostings = FieldPostings | LanguagePostings

Word = tuple[int, int]
"""(position in the phrase, term number)."""


def pattern_postings(field: AnyPostings, words: Sequence[Word], window: int) -> Postings:
    """The entities with at least one word as a phrase (window 0), or in any order within `window` places."""
    return window_of(field, [term for _, term in words], window) if window else phrase_postings(field, words)


def pair_postings(field: AnyPostings, first: Word, second: Word, window: int) -> tuple[Postings, Postings]:
    """Two words as a phrase and in a window: both `pattern_postings` in one pass.

    Args:
        field: the postings.
        first: a word.
        second: another, or the same at another place of the phrase.
        window: places, at least 1.
    """
    if first[1] < 0 or second[1] < 0:
        return NO_POSTINGS, NO_POSTINGS
    kernel = KERNEL.for_work(_size(field, [first[1], second[1]])) if first[1] != second[1] else None
    if kernel is None:
        return phrase_numpy(field, [first, second]), window_numpy(field, [first[1], second[1]], window)
    return _pair(kernel, field, first, second, ordered=True, window=window)


def window_of(field: AnyPostings, terms: Sequence[int], width: int) -> Postings:
    """The entities with the terms within `width` places, tf the number of `windows`."""
    kernel = KERNEL.for_work(_size(field, terms)) if len(terms) == len(set(terms)) == 2 else None
    if kernel is None:
        return window_numpy(field, terms, width)
    return _pair(kernel, field, (0, terms[0]), (0, terms[1]), ordered=False, window=width)[1]


def phrase_postings(field: AnyPostings, words: Sequence[Word]) -> Postings:
    """The entities with a phrase of at least one word, tf the number of its occurrences."""
    if len(words) == 1:
        return field.postings(words[0][1])
    kernel = KERNEL.for_work(_size(field, [term for _, term in words]))
    if kernel is None:
        return phrase_numpy(field, words)
    if len(words) == 2:
        return _pair(kernel, field, *words, ordered=True, window=0)[0]
    return _phrase(kernel, field, words)


def window_numpy(field: AnyPostings, terms: Sequence[int], width: int) -> Postings:
    """The numpy reference of `window_of`."""
    counts = Counter(terms)
    lists = {term: field.postings(term) for term in counts}
    candidates = intersection([postings.ids for postings in lists.values()])
    if not len(candidates):
        return NO_POSTINGS
    places = [_places(field, term, lists[term], candidates) for term in counts]
    return window_postings(places, list(counts.values()), width)


def phrase_numpy(field: AnyPostings, words: Sequence[Word]) -> Postings:
    """The numpy reference of `phrase_postings` of two words or more."""
    lists = {term: field.postings(term) for _, term in words}
    candidates = intersection([postings.ids for postings in lists.values()])
    if not len(candidates):
        return NO_POSTINGS
    # A place is entity << 32 | position; the word at offset o of a phrase at p has place p + o. The rarest word comes
    # first, so that few places are looked up in the others.
    begins = np.zeros(0, np.uint64)
    for i, (offset, term) in enumerate(sorted(words, key=lambda word: field.occurrences(word[1]))):
        places = _places(field, term, lists[term], candidates)
        shift = np.uint64(offset)
        if i == 0:
            begins = places[(places & np.uint64(0xFFFF_FFFF)) >= shift] - shift
        else:
            at = np.searchsorted(places, begins + shift)
            at[at == len(places)] = 0
            begins = begins[places[at] == begins + shift] if len(places) else places
        if not len(begins):
            return NO_POSTINGS
    entities = (begins >> np.uint64(32)).astype(np.uint32)
    first = np.flatnonzero(np.concatenate(([True], entities[1:] != entities[:-1])))
    return Postings(entities[first], np.diff(first, append=len(entities)).astype(np.uint32))


def _places(field: AnyPostings, term: int, postings: Postings, candidates: NDArray[Any]) -> NDArray[Any]:
    """uint64[...], ascending: the places of a term in the candidates."""
    wanted = contains(postings.ids, candidates)
    tf = postings.tf.astype(np.int64)
    positions = field.positions(term)
    if not wanted.all():
        positions = positions[np.repeat(wanted, tf)]
    entities = np.repeat(postings.ids[wanted], tf[wanted]).astype(np.uint64)
    return (entities << np.uint64(32)) | positions.astype(np.uint64)


class _List(NamedTuple):
    """The kernel's form of a posting list: positions are bytes, `size` of them each."""

    ids: NDArray[np.uint32]
    tf: NDArray[np.uint32]
    positions: NDArray[np.uint8]
    size: int


def _size(field: AnyPostings, terms: Sequence[int]) -> int:
    """An estimate of the postings that will be read, by the stored occurrences."""
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
    """The phrase (if `ordered`) and the windows (if `window`) of two different words."""
    one, other = _list(field, first[1]), _list(field, second[1])
    room = min(len(one.ids), len(other.ids))
    if not room:
        return NO_POSTINGS, NO_POSTINGS
    out = [np.empty(room if wanted else 0, np.uint32) for wanted in (ordered, ordered, window, window)]
    counts = kernel.pairs(*one[:3], first[0], *other[:3], second[0], one.size, ordered, window, *out)
    return _trimmed(out[0], out[1], counts[0]), _trimmed(out[2], out[3], counts[1])


def _phrase(kernel: Any, field: AnyPostings, words: Sequence[Word]) -> Postings:
    """A phrase of three words or more: the beginnings of the words so far are joined with the next word."""
    (offset, term), *others = sorted(words, key=lambda word: field.occurrences(word[1]))
    begins = _list(field, term)
    for other_offset, other_term in others:
        other = _list(field, other_term)
        room = min(len(begins.ids), len(other.ids))
        ids, tf = np.empty(room, np.uint32), np.empty(room, np.uint32)
        places = np.empty(len(begins.positions) // begins.size, np.uint32)
        n, total = kernel.beginnings(*begins, offset, *other, other_offset, ids, tf, places)
        joined = _trimmed(ids, tf, n)
        if not len(joined.ids):
            return NO_POSTINGS
        begins, offset = _List(joined.ids, joined.tf, places[:total].view(np.uint8), 4), 0
    return Postings(begins.ids, begins.tf)


def _trimmed(ids: NDArray[np.uint32], tf: NDArray[np.uint32], n: int) -> Postings:
    """The first n postings.

    Raises:
        CorruptError: n is `phrases_kernel.WRONG`, so positions are missing.
    """
    if n > len(ids):
        raise CorruptError("the positions of the text index and its postings differ in size", hint="index again")
    return Postings(ids[:n].copy(), tf[:n].copy()) if n else NO_POSTINGS
