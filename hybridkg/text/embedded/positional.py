"""Finds phrases, and words near each other, by their positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.text.embedded.languages import LanguagePostings
from hybridkg.text.embedded.postings import FieldPostings
from hybridkg.text.sets import NO_POSTINGS, contains, intersection
from hybridkg.text.windows import window_postings


def pattern_postings(
    field: FieldPostings | LanguagePostings, words: Sequence[tuple[int, int]], window: int
) -> Postings:
    """Entities with the words in the field: one after the other as given, or in any order within a window.

    Args:
        field: the postings.
        words: (position in the phrase, term number), at least one.
        window: places that the words may take, whatever their order; 0 for a phrase.
    """
    return window_of(field, [term for _, term in words], window) if window else phrase_postings(field, words)


def window_of(field: FieldPostings | LanguagePostings, terms: Sequence[int], width: int) -> Postings:
    """Entities with the terms within `width` places, tf the number of `windows`."""
    often = Counter(terms)
    lists = {term: field.postings(term) for term in often}
    candidates = intersection([postings.ids for postings in lists.values()])
    if not len(candidates):
        return NO_POSTINGS
    places = [_places(field, term, lists[term], candidates) for term in often]
    return window_postings(places, list(often.values()), width)


def phrase_postings(field: FieldPostings | LanguagePostings, words: Sequence[tuple[int, int]]) -> Postings:
    """Entities with the phrase in the field, tf the number of places where it begins.

    Args:
        field: the postings.
        words: (position in the phrase, term number), at least one.
    """
    if len(words) == 1:
        return field.postings(words[0][1])
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


def _places(
    field: FieldPostings | LanguagePostings, term: int, postings: Postings, candidates: np.ndarray
) -> np.ndarray:
    """uint64[...], ascending: where the term stands in the candidates."""
    kept = contains(postings.ids, candidates)
    tf = postings.tf.astype(np.int64)
    positions = field.positions(term)
    if not kept.all():
        positions = positions[np.repeat(kept, tf)]
    entities = np.repeat(postings.ids[kept], tf[kept]).astype(np.uint64)
    return (entities << np.uint64(32)) | positions.astype(np.uint64)
