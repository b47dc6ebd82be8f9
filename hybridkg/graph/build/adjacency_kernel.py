"""The compiled builder of adjacency. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

adjacency.py has the reference implementation (tests/graph/build/test_projection_build.py).
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint32, uint64, void
from numba.core.types import Array


def _input(dtype: Any, dimensions: int = 1) -> Any:
    return Array(dtype, dimensions, "C", readonly=True)


_SCATTER = void(_input(uint32, 2), int64, _input(uint32), _input(uint32), int64[::1], uint64[::1])


@njit(_SCATTER, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def scatter(triples: Any, first: Any, ids: Any, predicates: Any, cursors: Any, pairs: Any) -> None:
    """Writes the pair of each triple of a run to the range of its predicate; the subject is the upper half."""
    for i in range(len(triples)):
        predicate = predicates[triples[i, 1]]
        subject, target = ids[first + int64(triples[i, 0])], ids[first + int64(triples[i, 2])]
        pairs[cursors[predicate]] = (uint64(subject) << uint64(32)) | uint64(target)
        cursors[predicate] += 1


_EMIT = void(
    _input(uint64), _input(int64), int64[::1], uint32[::1], uint64[::1], uint32[::1], int64[:, ::1]
)  # fmt: skip


@njit(_EMIT, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def emit(pairs: Any, bounds: Any, state: Any, keys: Any, offsets: Any, targets: Any, sizes: Any) -> None:
    """Splits sorted pairs into keys, offsets and targets, by predicate, until an array is full or all are done.

    `state`: the predicate, the next pair, the previous pair or -1, and the keys, offsets and targets written by this
    call. `sizes`: targets and keys of each predicate.
    """
    predicate, i, before = state[0], state[1], state[2]
    n_keys = n_offsets = n_targets = int64(0)
    while predicate < len(bounds) - 1:
        end = bounds[predicate + 1]
        while i < end and n_targets < len(targets) and n_offsets + 1 < len(offsets):
            if before < 0 or pairs[i] != pairs[before]:
                key = uint32(pairs[i] >> uint64(32))
                if before < 0 or key != uint32(pairs[before] >> uint64(32)):
                    keys[n_keys] = key
                    offsets[n_offsets] = sizes[predicate, 0]
                    n_keys += 1
                    n_offsets += 1
                    sizes[predicate, 1] += 1
                targets[n_targets] = uint32(pairs[i] & uint64(0xFFFFFFFF))
                n_targets += 1
                sizes[predicate, 0] += 1
            before = i
            i += 1
        if i < end or n_offsets == len(offsets):
            break
        offsets[n_offsets] = sizes[predicate, 0]
        n_offsets += 1
        predicate += 1
        before = -1
    state[0], state[1], state[2], state[3], state[4], state[5] = predicate, i, before, n_keys, n_offsets, n_targets
