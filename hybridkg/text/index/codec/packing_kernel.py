"""The posting codec, compiled. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

`packing.py` documents the format; its numpy functions are the reference and give the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, njit, types, uint8, uint16, uint32, uint64, void
from numba.core import cgutils
from numba.extending import intrinsic

from hybridkg.text.index.codec.cursor_kernel import BLOCK, INLINE, NEVER, OPTIONS, lowest_bit
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT, FIELD_SETS

PART_SHIFT = 3
"""A class of maxima has 2 ** PART_SHIFT parts: `block_max_levels.PARTS`."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _bits(value: Any) -> Any:
    n = 0
    while value > 0:
        value >>= uint64(1)
        n += 1
    return n


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _rows(size: Any, width: Any) -> Any:
    return ((size + 3) // 4 * width + 31) // 32


@njit(int64(_input(int64), _input(uint32), _input(uint32), uint32[::1], uint32[::1], uint8[:, ::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def measure(df: Any, ids: Any, tf: Any, first: Any, at: Any, widths: Any) -> Any:
    """Fills `first`, `at` and `widths` of the blocks; returns their rows of four words."""
    block = rows = start = 0
    for i in range(len(df)):
        end = start + df[i]
        while start < end:
            stop = min(start + BLOCK, end)
            gaps = uint64(0)
            for j in range(start + 1, stop):
                gaps |= uint64(ids[j] - ids[j - 1] - 1)
            occurrences = uint64(0)
            for j in range(start, stop):
                occurrences |= uint64(tf[j] - 1)
            first[block], at[block] = ids[start], rows
            widths[block, 0], widths[block, 1] = _bits(gaps), _bits(occurrences)
            rows += _rows(stop - start, int64(widths[block, 0])) + _rows(stop - start, int64(widths[block, 1]))
            block += 1
            start = stop
    return rows


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _put(words: Any, row: Any, place: Any, width: Any, value: Any) -> None:
    bit = (place >> 2) * width
    word = (row + (bit >> 5)) * 4 + (place & 3)
    shifted = uint64(value) << uint64(bit & 31)
    words[word] |= uint32(shifted & uint64(0xFFFFFFFF))
    if shifted >> uint64(32):
        words[word + 4] |= uint32(shifted >> uint64(32))


@njit(void(_input(int64), _input(uint32), _input(uint32), _input(uint32), _input(uint8, 2), uint32[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def pack(df: Any, ids: Any, tf: Any, at: Any, widths: Any, words: Any) -> None:
    """Fills `words`, all 0 before, by the layout of `measure`."""
    block = start = 0
    for i in range(len(df)):
        end = start + df[i]
        while start < end:
            stop = min(start + BLOCK, end)
            gap_bits, tf_bits, row = int64(widths[block, 0]), int64(widths[block, 1]), int64(at[block])
            if gap_bits:
                for j in range(start + 1, stop):
                    _put(words, row, j - start, gap_bits, ids[j] - ids[j - 1] - 1)
            row += _rows(stop - start, gap_bits)
            if tf_bits:
                for j in range(start, stop):
                    _put(words, row, j - start, tf_bits, tf[j] - 1)
            block += 1
            start = stop


_NUMBER = ir.IntType(32)
_VECTOR = ir.VectorType(_NUMBER, 4)
_ONES = ir.Constant(_VECTOR, [1, 1, 1, 1])
_ZEROS = ir.Constant(_VECTOR, [0, 0, 0, 0])


def _lanes(builder: Any, first: Any, second: Any, places: list[int]) -> Any:
    """The vector of four of the eight numbers of two vectors."""
    return builder.shuffle_vector(first, second, ir.Constant(_VECTOR, places))


def _four(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), value, ir.Constant(_NUMBER, 0))
    return _lanes(builder, one, one, [0, 0, 0, 0])


def _pointer(builder: Any, array: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(array.data, [place]), _VECTOR.as_pointer())


def _row(builder: Any, source: Any, word: Any, shift: Any, mask: Any) -> Any:
    """1 + the four values of a row."""

    def loaded(place: Any) -> Any:
        vector = builder.load(_pointer(builder, source, place))
        vector.align = 4
        return vector

    low, high = loaded(word), loaded(builder.add(word, ir.Constant(ir.IntType(64), 4)))
    # Shifted by 31 - shift, then by 1: a shift by 32 is undefined.
    back = _four(builder, builder.sub(ir.Constant(_NUMBER, 31), shift))
    both = builder.or_(builder.lshr(low, _four(builder, shift)), builder.shl(builder.shl(high, back), _ONES))
    return builder.add(builder.and_(both, _four(builder, mask)), _ONES)


def _unpack_row(typing: Any, words: Any, word: Any, shift: Any, mask: Any, out: Any, place: Any) -> Any:
    del typing, word, shift, mask, place
    signature = types.void(words, types.uint64, types.uint32, types.uint32, out, types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, word, shift, mask, target, place = arguments
        source = context.make_array(signature.args[0])(context, builder, source)
        target = context.make_array(signature.args[4])(context, builder, target)
        stored = builder.store(_row(builder, source, word, shift, mask), _pointer(builder, target, place))
        stored.align = 4
        return context.get_dummy_value()

    return signature, generate


unpack_row: Any = intrinsic(_unpack_row)
"""out[place:place+4] = 1 + the four values of a row, in vector instructions, which LLVM would not generate itself."""


def _unpack_sums(
    typing: Any, words: Any, word: Any, width: Any, mask: Any, rows: Any, before: Any, out: Any, place: Any
) -> Any:
    del typing, word, width, mask, rows, before, place
    number = types.uint64
    signature = types.void(words, number, number, types.uint32, number, types.uint32, out, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, word, width, mask, rows, before, target, place = arguments
        source = context.make_array(signature.args[0])(context, builder, source)
        target = context.make_array(signature.args[6])(context, builder, target)

        def long(value: int) -> Any:
            return ir.Constant(ir.IntType(64), value)

        sums = cgutils.alloca_once_value(builder, _four(builder, before))  # type: ignore[no-untyped-call, unused-ignore]
        with cgutils.for_range(builder, rows, intp=ir.IntType(64)) as loop:
            bit = builder.mul(loop.index, width)
            own = builder.add(word, builder.shl(builder.lshr(bit, long(5)), long(2)))
            shift = builder.trunc(builder.and_(bit, long(31)), _NUMBER)
            vector = _row(builder, source, own, shift, mask)
            vector = builder.add(vector, _lanes(builder, vector, _ZEROS, [4, 0, 1, 2]))
            vector = builder.add(vector, _lanes(builder, vector, _ZEROS, [4, 4, 0, 1]))
            vector = builder.add(vector, builder.load(sums))
            stored = builder.store(
                vector, _pointer(builder, target, builder.add(place, builder.shl(loop.index, long(2))))
            )
            stored.align = 4
            builder.store(_lanes(builder, vector, vector, [3, 3, 3, 3]), sums)
        return context.get_dummy_value()

    return signature, generate


unpack_sums: Any = intrinsic(_unpack_sums)
"""out[place:], 4 * rows numbers: before + the prefix sums of 1 + value, in vector instructions."""


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _unpack_values(words: Any, row: Any, width: Any, size: Any, out: Any, at: Any) -> None:
    """1 + the values of a block to out[at:], and up to 3 beyond. Signed indices would take a fifth longer."""
    if width == uint64(0):
        for j in range(size):
            out[at + uint64(j)] = uint32(1)
        return
    mask = uint32((uint64(1) << width) - uint64(1))
    base = row * uint64(4)
    bit = uint64(0)
    for r in range((size + uint64(3)) >> uint64(2)):
        word = base + (bit >> uint64(5)) * uint64(4)
        unpack_row(words, word, uint32(bit & uint64(31)), mask, out, at + uint64(r) * uint64(4))
        bit += width


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def _unsigned_rows(size: Any, width: Any) -> Any:
    return (((size + uint64(3)) >> uint64(2)) * width + uint64(31)) >> uint64(5)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def unpack_ids(words: Any, first: Any, row: Any, widths: Any, block: Any, size: Any, ids: Any, at: Any) -> None:
    """The ids of one block to ids[at:], and up to 3 beyond."""
    width = uint64(widths[block, 0])
    mask = uint32((uint64(1) << width) - uint64(1))
    # The first id has no gap, which is stored as 0 and counts as 1.
    unpack_sums(
        words, row * uint64(4), width, mask, (size + uint64(3)) >> uint64(2), uint32(first - uint32(1)), ids, at
    )  # fmt: skip


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def unpack_block(
    words: Any, first: Any, row: Any, widths: Any, block: Any, size: Any, ids: Any, tf: Any, at: Any
) -> None:
    """The ids and tf of one block to ids[at:] and tf[at:], and up to 3 beyond."""
    unpack_ids(words, first, row, widths, block, size, ids, at)
    unpack_occurrences(words, row, widths, block, size, tf, at)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def unpack_occurrences(words: Any, row: Any, widths: Any, block: Any, size: Any, tf: Any, at: Any) -> None:
    """The tf of one block to tf[at:], and up to 3 beyond."""
    skipped = _unsigned_rows(size, uint64(widths[block, 0]))
    _unpack_values(words, row + skipped, uint64(widths[block, 1]), size, tf, at)


@njit(**INLINE)  # type: ignore[untyped-decorator, unused-ignore]
def occurrences_of(words: Any, row: Any, widths: Any, block: Any, size: Any, j: Any) -> Any:
    """The tf of posting j of a block, without unpacking the others."""
    width = uint64(widths[block, 1])
    if width == uint64(0):
        return uint32(1)
    bit = (j >> uint64(2)) * width
    word = (row + _unsigned_rows(size, uint64(widths[block, 0])) + (bit >> uint64(5))) * uint64(4) + (j & uint64(3))
    both = uint64(words[word]) | (uint64(words[word + uint64(4)]) << uint64(32))
    return uint32(((both >> (bit & uint64(31))) & ((uint64(1) << width) - uint64(1))) + uint64(1))


@njit(
    void(_input(uint32), _input(uint32), _input(uint32), _input(uint8, 2), _input(int64), uint32[::1], uint32[::1]),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]
def unpack(words: Any, first: Any, at: Any, widths: Any, sizes: Any, ids: Any, tf: Any) -> None:
    """The concatenated postings of blocks; each output has room for 3 more."""
    start = uint64(0)
    for b in range(uint64(len(first))):
        size = uint64(sizes[b])
        # The last row of a block may extend into the place of the next block, which is filled after it.
        unpack_block(words, first[b], uint64(at[b]), widths, b, size, ids, tf, start)
        start += size


SETS_WINDOW = 1 << 14
"""Entities whose sets of fields are in the cache at once."""


@njit(int64(_input(int64), _input(uint32), int64, int64[::1], uint64[::1], int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def count_sets(sizes: Any, ids: Any, n_fields: Any, per_term: Any, sets: Any, entities: Any) -> Any:
    """Counts the entities of each set of at most 8 fields, as `term_field_sets.count_numpy`; returns the sets."""
    counts = np.zeros(1 << n_fields, np.int64)
    of_entity = np.zeros(SETS_WINDOW, np.uint8)
    cursor, stop, end = np.zeros(n_fields, np.int64), np.zeros(n_fields, np.int64), np.zeros(n_fields, np.int64)
    n_sets = start = 0
    for term in range(len(per_term)):
        lists = 0
        for f in range(n_fields):
            cursor[f] = start
            start += sizes[term * n_fields + f]
            stop[f] = start
            if stop[f] > cursor[f]:
                lists += 1
                only = f
        if lists == 1:  # as most terms
            sets[n_sets], entities[n_sets], per_term[term] = uint64(1) << uint64(only), stop[only] - cursor[only], 1
            n_sets += 1
            continue
        while True:
            low = int64(NEVER)
            for f in range(n_fields):
                if cursor[f] < stop[f]:
                    low = min(low, int64(ids[cursor[f]]))
            if low == NEVER:
                break
            base = uint64(low)
            for f in range(n_fields):
                i, last, field = uint64(cursor[f]), uint64(stop[f]), uint8(1 << f)
                while i < last and uint64(ids[i]) < base + uint64(SETS_WINDOW):
                    of_entity[uint64(ids[i]) - base] |= field
                    i += uint64(1)
                end[f] = i
            for f in range(n_fields):  # the first posting of an entity counts it, and the others find 0
                for i in range(uint64(cursor[f]), uint64(end[f])):
                    entity = uint64(ids[i]) - base
                    counts[of_entity[entity]] += 1
                    of_entity[entity] = 0
                cursor[f] = end[f]
        counts[0] = 0
        for members in range(1 << n_fields):
            if counts[members]:
                sets[n_sets], entities[n_sets] = members, counts[members]
                counts[members] = 0
                per_term[term] += 1
                n_sets += 1
    return n_sets


WINDOW = 4096
"""Entities of which all x of a term are in the cache at once."""


@njit(
    int64(
        _input(int64), _input(uint32), _input(uint32), _input(uint32, 2), _input(uint32), _input(float64, 3),
        _input(int64), _input(float64, 3), uint64[::1], uint8[::1], float64[:, ::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def block_maxima(
    sizes: Any, ids: Any, tf: Any, lengths: Any, text_lengths: Any, numbers: Any, together: Any, shares: Any,
    members: Any, sets: Any, maxima: Any,
) -> Any:  # fmt: skip
    """Fills the members, sets and maxima of the blocks of a term, as `block_max_writer.block_maxima_numpy`.

    `shares` are the 1 / (base + slope * length) of each form, field and short length: a division takes 4 ns.
    """
    n_fields, n_forms, n_nodes = len(sizes), len(numbers), len(text_lengths)
    x, seen = np.zeros((n_forms, WINDOW)), np.zeros(WINDOW >> DOC_BLOCK_SHIFT, np.uint8)
    cursor, stop = np.zeros(n_fields, np.int64), np.zeros(n_fields, np.int64)
    start = blocks = 0
    for f in range(n_fields):
        cursor[f] = start
        start += sizes[f]
        stop[f] = start
    for low in range(0, n_nodes, WINDOW):
        is_empty = True
        for f in range(n_fields):
            begin = i = cursor[f]
            field = 1 << f % FIELD_SETS
            while i < stop[f] and ids[i] < low + WINDOW:
                entity = uint64(ids[i]) - uint64(low)
                seen[entity >> uint64(DOC_BLOCK_SHIFT)] |= uint8(
                    field | 1 << FIELD_SETS + int64(entity & uint64(DOC_BLOCK - 1))
                )
                i += 1
            cursor[f] = i
            if i == begin:
                continue
            is_empty = False
            for k in range(n_forms):
                coefficient, base, slope = numbers[k, 0, f], numbers[k, 1, f], numbers[k, 2, f]
                length = text_lengths if together[k] else lengths[f]
                own, of_short = x[k], shares[k, f]
                for j in range(uint64(begin), uint64(i)):
                    entity = uint64(ids[j])
                    tokens = uint64(length[entity])
                    if tokens < uint64(len(of_short)):
                        share = of_short[tokens]
                    else:
                        share = 1.0 / (base + slope * float64(tokens))
                    own[entity - uint64(low)] += coefficient * float64(tf[j]) * share
        if is_empty:
            continue
        first = low >> DOC_BLOCK_SHIFT
        for word in range(uint64(len(seen) >> 6)):
            bits = uint64(0)
            for j in range(uint64(64)):
                bits |= uint64(seen[(word << uint64(6)) + j] != 0) << j
            if bits:
                members[uint64(first >> 6) + word] = bits
            while bits:
                r = (word << uint64(6)) + lowest_bit(bits)
                bits &= bits - uint64(1)
                sets[blocks] = seen[r]
                seen[r] = 0
                for k in range(n_forms):
                    largest = 0.0
                    for d in range(r << uint64(DOC_BLOCK_SHIFT), (r + uint64(1)) << uint64(DOC_BLOCK_SHIFT)):
                        largest = x[k, d] if x[k, d] > largest else largest
                        x[k, d] = 0.0
                    maxima[k, blocks] = largest
                blocks += 1
    return blocks


@njit(int64(_input(float64), int64, float64, float64, uint16[::1], int64[::1], float64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def classes(maxima: Any, wanted: Any, mean: Any, scale: Any, out: Any, counts: Any, highest: Any) -> Any:
    """Fills the parts of classes of maxima, the counts of the classes and the highest of the maxima, as
    `block_max_levels.classes_numpy`.
    """
    n, last = uint64(len(maxima)), int32((len(counts) << PART_SHIFT) - 1)
    for j in range(n):  # int32, because the processor converts several at once
        out[j] = uint16(min(int32(maxima[j] / (maxima[j] + mean) * (scale * (1 << PART_SHIFT))), last))
    others = np.zeros(len(counts), np.int64)  # two tables, because equal classes follow one another
    for j in range(n >> uint64(1)):
        counts[out[uint64(2) * j] >> PART_SHIFT] += 1
        others[out[uint64(2) * j + uint64(1)] >> PART_SHIFT] += 1
    if n & uint64(1):
        counts[out[n - uint64(1)] >> PART_SHIFT] += 1
    for c in range(len(counts)):
        counts[c] += others[c]
    lowest, found = len(counts), 0
    while found < wanted:
        lowest -= 1
        found += counts[lowest]
    place, least = 0, lowest << PART_SHIFT
    for j in range(n):
        if out[j] >= least:
            highest[place] = maxima[j]
            place += 1
    return found


@njit(void(_input(float64), _input(uint16), _input(float64), float64, float64, int64, uint8[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def levels(maxima: Any, parts: Any, code: Any, mean: Any, scale: Any, halves: Any, out: Any) -> None:
    """Fills the levels of maxima, 0 before, as `block_max_levels.levels_numpy`.

    The level at the begin of the part of a class is mostly that of its maxima: 1.1 ns a maximum, and 3.6 with whole
    classes (2-core machine).
    """
    guess = np.zeros(256 << PART_SHIFT, np.int64)
    level = 0
    for part in range(len(guess)):
        share = part / (scale * (1 << PART_SHIFT))
        while level < len(code) - 1 and code[level] * (1.0 - share) < mean * share:
            level += 1
        guess[part] = level
    for j in range(uint64(len(maxima))):
        x, level = maxima[j], guess[uint64(parts[j])]
        while level > 0 and code[level - 1] >= x:
            level -= 1
        while code[level] < x:
            level += 1
        if halves:
            out[j >> uint64(1)] |= uint8(level << 4 * int64(j & uint64(1)))
        else:
            out[j] = level
