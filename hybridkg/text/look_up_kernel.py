"""The compiled looking up of words. Import it through `hybridkg.text.kernels` only: importing it compiles it."""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint8, uint32

from hybridkg.text.lists_kernel import OPTIONS
from hybridkg.text.lists_kernel import readonly as _input


@njit(
    int64(
        _input(int64), _input(int64), int64, _input(uint32), _input(uint32), _input(uint32), _input(uint32),
        _input(uint8), _input(uint32), int64[:, ::1], int64[:, ::1], int64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def look_up(
    words: Any, fields: Any, n_fields: Any, postings: Any, tokens: Any, blocks: Any, set_offsets: Any,
    set_fields: Any, set_entities: Any, lists: Any, cf: Any, df: Any,
) -> Any:  # fmt: skip
    """What an index knows of some words.

    What it takes:
        words: int64[t], numbers of terms; -1 for one that the index lacks.
        fields: int64[f], numbers of fields.
        n_fields: of the index, at most 8.
        postings, tokens, blocks: `lists.*` of the segment.
        set_offsets, set_fields, set_entities: `terms.sets.*` of the segment.
        lists: int64[5, t * f], gets term, field, first block, 0 and postings of each list that is not empty.
        cf: int64[t, f], gets the occurrences.
        df: int64[t], gets the entities that have the word in any of the fields.

    Returns:
        How many lists there are.
    """
    mask, n = 0, 0
    for f in range(len(fields)):
        mask |= 1 << fields[f]
    for t in range(len(words)):
        df[t] = 0
        for f in range(len(fields)):
            cf[t, f] = 0
        if words[t] < 0:
            continue
        for f in range(len(fields)):
            own = words[t] * n_fields + fields[f]
            size = int64(postings[own + 1]) - int64(postings[own])
            cf[t, f] = int64(tokens[own + 1]) - int64(tokens[own])
            if size:
                lists[0, n], lists[1, n], lists[2, n], lists[3, n], lists[4, n] = t, f, blocks[own], 0, size
                n += 1
        for i in range(int64(set_offsets[words[t]]), int64(set_offsets[words[t] + 1])):
            if int64(set_fields[i]) & mask:
                df[t] += set_entities[i]
    return n
