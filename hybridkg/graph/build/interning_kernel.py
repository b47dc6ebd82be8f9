"""The compiled interning of strings. Import it through `hybridkg.compute.kernels` only: importing it compiles it."""

from __future__ import annotations

from typing import Any

from numba import boolean, int64, njit, uint8, uint32, uint64, void

_ODD, _MIX = uint64(0x9E3779B97F4A7C15), uint64(0xBF58476D1CE4E5B9)

# Indexes are unsigned where it matters: numba checks signed ones for negative values at every access, and the compiler
# cannot combine eight loads into one (measured: 13 ns a byte of input instead of 3).


@njit(uint64(uint8[::1], int64), inline="always", nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def eight_bytes(text: Any, i: Any) -> Any:
    """Eight bytes as a number: one load."""
    at = uint64(i)
    return (
        uint64(text[at])
        | (uint64(text[at + uint64(1)]) << uint64(8))
        | (uint64(text[at + uint64(2)]) << uint64(16))
        | (uint64(text[at + uint64(3)]) << uint64(24))
        | (uint64(text[at + uint64(4)]) << uint64(32))
        | (uint64(text[at + uint64(5)]) << uint64(40))
        | (uint64(text[at + uint64(6)]) << uint64(48))
        | (uint64(text[at + uint64(7)]) << uint64(56))
    )


@njit(uint64(uint8[::1], int64, int64, uint64), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def hash_of(text: Any, begin: Any, end: Any, secret: Any) -> Any:
    """A keyed hash: two multiplications for each 8 bytes, so that nobody can construct collisions."""
    odd = secret | uint64(1)
    h = secret ^ (uint64(end - begin) * _ODD)
    i = begin
    while i + 8 <= end:
        h = (h ^ eight_bytes(text, i)) * odd
        h = (h ^ (h >> uint64(29))) * _MIX
        h ^= h >> uint64(32)
        i += 8
    word = uint64(0)
    while i < end:
        word = (word << uint64(8)) | uint64(text[uint64(i)])
        i += 1
    h = (h ^ word) * odd
    h = (h ^ (h >> uint64(29))) * _MIX
    return h ^ (h >> uint64(32))


@njit(boolean(uint8[::1], int64, uint8[::1], int64, int64), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def same(left: Any, i: Any, right: Any, j: Any, size: Any) -> Any:
    """Whether `size` bytes are the same."""
    k = 0
    while k + 8 <= size:
        if eight_bytes(left, i + k) != eight_bytes(right, j + k):
            return False
        k += 8
    while k < size:
        if left[uint64(i + k)] != right[uint64(j + k)]:
            return False
        k += 1
    return True


_INTERN = int64(
    uint8[::1], int64, int64, uint32, uint64, uint64[::1], uint64[::1], uint32[::1], int64[::1], uint8[::1], int64
)  # fmt: skip


@njit(_INTERN, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def intern(
    text: Any, begin: Any, end: Any, kind: Any, secret: Any,
    slots: Any, hashes: Any, kinds: Any, ends: Any, letters: Any, n: Any,
) -> Any:  # fmt: skip
    """The number of a string of a kind; a new string is added as number `n`. The tables must have room.

    A slot is the upper half of the hash and the number plus one; 0 is an empty slot.
    """
    h = hash_of(text, begin, end, secret ^ (uint64(kind) * _ODD))
    mask = uint64(len(slots) - 1)
    upper = h >> uint64(32) << uint64(32)
    size = end - begin
    place = h & mask
    while slots[place] != 0:
        slot = slots[place]
        if slot & uint64(0xFFFFFFFF00000000) == upper:
            number = int64(slot & uint64(0xFFFFFFFF)) - 1
            start = ends[number]
            alike = hashes[number] == h and kinds[number] == kind and ends[number + 1] - start == size
            if alike and same(letters, start, text, begin, size):
                return number
        place = (place + uint64(1)) & mask
    slots[place] = upper | uint64(n + 1)
    hashes[n] = h
    kinds[n] = kind
    start = ends[n]
    for i in range(size):
        letters[uint64(start + i)] = text[uint64(begin + i)]
    ends[n + 1] = start + size
    return n


@njit(void(uint64[::1], int64, uint64[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def rehash(hashes: Any, n: Any, slots: Any) -> None:
    """Fills the empty hash table with the first `n` strings."""
    mask = uint64(len(slots) - 1)
    for number in range(n):
        h = hashes[number]
        place = h & mask
        while slots[place] != 0:
            place = (place + uint64(1)) & mask
        slots[place] = (h >> uint64(32) << uint64(32)) | uint64(number + 1)
