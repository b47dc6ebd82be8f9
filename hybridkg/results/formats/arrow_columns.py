"""Columns of a result as Arrow arrays: from the texts of distinct cells, without an object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.operators.columns import Column, NumberColumn
from hybridkg.rdf.term_texts import BLANK_KIND, BLANK_TAG, IRI_TAG, UNBOUND_KIND, TermTexts
from hybridkg.rdf.terms import XSD_STRING, Term, double
from hybridkg.results.numbers import INTEGERS

MAX_SHARE = 0.5
"""Distinct texts among the cells up to which strings are a dictionary: with one code of 4 bytes a cell and at most half
of the texts it is smaller than plain strings of 8 bytes on average, and a group or a join reads the codes."""

MAX_ARRAY_BYTES = 1 << 30
"""Bytes of text in one array; Arrow's type string holds up to 2^31 - 1."""

DIGITS = np.isin(np.arange(256), np.frombuffer(b"0123456789-", np.uint8))

Typed = Callable[[Sequence[Term | None]], Any]
"""Makes the array of terms with the narrowest type that holds them (arrow.py)."""


def column_array(pa: Any, column: Column, typed: Typed) -> Any:
    """The Array or ChunkedArray of a column that has cells."""
    if isinstance(column, NumberColumn) and column.literal is double:
        return pa.array(column.numbers)
    distinct, place = column.each()
    texts = distinct.texts()
    if texts is None:
        texts = TermTexts.of(distinct.cells())
    if texts is not None:
        tags = [texts.tags[kind] for kind in texts.present if kind != UNBOUND_KIND]
        if any(tag in (IRI_TAG, BLANK_TAG, XSD_STRING.value) or tag.startswith("@") for tag in tags):
            return _strings(pa, texts, place)
        if tags and all(tag in INTEGERS for tag in tags) and (whole := _integers(pa, texts)) is not None:
            return whole.take(pa.array(place))
    values = typed(distinct.cells())
    return encoded(pa, values, place) if pa.types.is_string(values.type) else values.take(pa.array(place))


def _strings(pa: Any, texts: TermTexts, place: NDArray[np.intp]) -> Any:
    """Strings of texts that are all given as they are but for blank nodes, at some places of them."""
    if BLANK_KIND in texts.present:
        kinds = texts.kinds.tolist()
        whole = pa.array(
            [
                None if kind == UNBOUND_KIND else f"_:{text}" if kind == BLANK_KIND else text
                for kind, text in zip(kinds, texts.strings(), strict=True)
            ],
            pa.large_string(),
        )
    else:
        whole = _large_strings(pa, texts)
    return encoded(pa, whole, place)


def _large_strings(pa: Any, texts: TermTexts) -> Any:
    """The texts as a LargeStringArray over the same memory, null for unbound."""
    is_bound = texts.kinds != UNBOUND_KIND
    valid = None if is_bound.all() else pa.py_buffer(np.packbits(is_bound, bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(texts.offsets)), pa.py_buffer(np.ascontiguousarray(texts.data))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def _integers(pa: Any, texts: TermTexts) -> Any | None:
    """Integers as int64, null for unbound; None where one is not written in digits, or is too large."""
    if not DIGITS[texts.data].all():
        return None
    try:
        return _large_strings(pa, texts).cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def encoded(pa: Any, distinct: Any, place: NDArray[np.intp]) -> Any:
    """Strings at some places of an array of strings: a DictionaryArray where they repeat (MAX_SHARE), its values in the
    order in which they come first; else a StringArray, or several.
    """
    whole = distinct.dictionary_encode()
    codes = whole.indices.fill_null(-1).to_numpy()[place]
    is_bound = codes >= 0
    all_bound = bool(is_bound.all())
    n_bound = len(codes) if all_bound else int(is_bound.sum())
    if not n_bound or len(whole.dictionary) > MAX_SHARE * n_bound:
        return _plain_strings(pa, distinct, place)
    first = np.full(len(whole.dictionary) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal places, numpy keeps the last; -1 is the last
    order = np.argsort(first[:-1], kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    indices = pa.array(rank[codes], mask=None if all_bound else ~is_bound)
    return pa.DictionaryArray.from_arrays(indices, whole.dictionary.take(pa.array(order)).cast(pa.string()))


def _plain_strings(pa: Any, distinct: Any, place: NDArray[np.intp]) -> Any:
    offsets = np.frombuffer(distinct.buffers()[1], np.int64 if pa.types.is_large_string(distinct.type) else np.int32)
    lengths = np.diff(offsets[: len(distinct) + 1].astype(np.int64))
    ends = np.cumsum(lengths[place])
    bounds = [0, *np.searchsorted(ends, np.arange(MAX_ARRAY_BYTES, ends[-1], MAX_ARRAY_BYTES)).tolist(), len(place)]
    parts = [
        distinct.take(pa.array(place[first:end])).cast(pa.string()) for first, end in pairwise(bounds) if first < end
    ]
    return parts[0] if len(parts) == 1 else pa.chunked_array(parts)
