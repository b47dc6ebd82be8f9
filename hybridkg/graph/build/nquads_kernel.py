"""The compiled reader of N-Quads. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

Oxigraph's N-Quads: one space between terms, blank node labels up to the next space, escapes in strings and IRIs.
tests/graph/build/test_nquads_reader.py compares it with its reference implementation (nquads_reader.py).
"""

from __future__ import annotations

from typing import Any

from numba import boolean, int64, njit, uint8, uint32, uint64, void

from hybridkg.graph.build.interning_kernel import eight_bytes, intern, rehash, same

__all__ = ["BROKEN", "DONE", "FULL", "cut", "intern", "rehash"]

INTEGER, DECIMAL, DOUBLE, BOOLEAN = 3, 4, 5, 6
"""Kinds of literals without quotes, as in nquads_reader.py."""

DONE, FULL, BROKEN = 0, 1, 2
"""The status of `cut`: the text is read; an array has no room for one more line; the text is malformed."""

_QUOTE, _BACKSLASH, _SPACE, _AT, _CARET = 0x22, 0x5C, 0x20, 0x40, 0x5E
_LESS, _GREATER, _DOT, _NEWLINE, _UNDERSCORE, _TAB = 0x3C, 0x3E, 0x2E, 0x0A, 0x5F, 0x09


_ONES, _TOPS = uint64(0x0101010101010101), uint64(0x8080808080808080)


@njit(int64(uint8[::1], int64, int64, uint8), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _until(text: Any, i: Any, size: Any, mark: Any) -> Any:
    """The place i of the next unescaped `mark`; -i - 1 after a backslash, -size - 2 without a mark."""
    escaped = False
    marks, backslashes = uint64(mark) * _ONES, uint64(_BACKSLASH) * _ONES
    while i < size:
        while i + 8 <= size:
            word = eight_bytes(text, i)
            a, b = word ^ marks, word ^ backslashes
            if (((a - _ONES) & ~a) | ((b - _ONES) & ~b)) & _TOPS:  # one of the bytes of a or b is zero
                break
            i += 8
        stop = min(i + 8, size)
        while i < stop:
            byte = text[uint64(i)]
            if byte == mark:
                return -i - 1 if escaped else i
            if byte == _BACKSLASH:
                escaped = True
                i += 1
            i += 1
    return -size - 2


@njit(int64(uint8), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _digit(byte: Any) -> Any:
    if 0x30 <= byte <= 0x39:
        return int64(byte) - 0x30
    if 0x41 <= byte <= 0x46:
        return int64(byte) - 0x37
    if 0x61 <= byte <= 0x66:
        return int64(byte) - 0x57
    return int64(-1)


@njit(int64(uint8[::1], int64, int64, uint8[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def unescape(text: Any, begin: Any, end: Any, out: Any) -> Any:
    """Writes a string unescaped; returns its length, or -1 for an invalid escape."""
    n = 0
    i = begin
    while i < end:
        byte = text[i]
        if byte != _BACKSLASH:
            out[n] = byte
            n += 1
            i += 1
            continue
        if i + 1 >= end:
            return int64(-1)
        letter = text[i + 1]
        i += 2
        if letter in (0x75, 0x55):
            digits = 4 if letter == 0x75 else 8
            if i + digits > end:
                return int64(-1)
            code = int64(0)
            for j in range(digits):
                digit = _digit(text[i + j])
                if digit < 0:
                    return int64(-1)
                code = code * 16 + digit
            i += digits
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                return int64(-1)
            if code < 0x80:
                out[n] = uint8(code)
                n += 1
            elif code < 0x800:
                out[n], out[n + 1] = uint8(0xC0 | (code >> 6)), uint8(0x80 | (code & 63))
                n += 2
            elif code < 0x10000:
                out[n], out[n + 1] = uint8(0xE0 | (code >> 12)), uint8(0x80 | ((code >> 6) & 63))
                out[n + 2] = uint8(0x80 | (code & 63))
                n += 3
            else:
                out[n], out[n + 1] = uint8(0xF0 | (code >> 18)), uint8(0x80 | ((code >> 12) & 63))
                out[n + 2], out[n + 3] = uint8(0x80 | ((code >> 6) & 63)), uint8(0x80 | (code & 63))
                n += 4
            continue
        if letter == 0x74:
            out[n] = 0x09
        elif letter == 0x6E:
            out[n] = 0x0A
        elif letter == 0x72:
            out[n] = 0x0D
        elif letter == 0x62:
            out[n] = 0x08
        elif letter == 0x66:
            out[n] = 0x0C
        elif letter in (0x22, 0x27, 0x5C):
            out[n] = letter
        else:
            return int64(-1)
        n += 1
    return int64(n)


@njit(void(uint8[::1], int64, int64, int64[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _triple_term(text: Any, i: Any, size: Any, found: Any) -> None:
    """Skips a triple term `<<( ... )>>`, nested ones included."""
    depth = 0
    while i < size:
        byte = text[i]
        if byte == _LESS and i + 1 < size and text[i + 1] == _LESS:
            depth += 1
            i += 2
        elif byte == _GREATER and i + 1 < size and text[i + 1] == _GREATER:
            depth -= 1
            i += 2
            if depth == 0:
                found[0], found[7] = 5, i
                return
        elif byte == _LESS:
            end = _until(text, i + 1, size, _GREATER)
            if end < -size - 1:
                return
            i = (-end - 1 if end < 0 else end) + 1
        elif byte == _QUOTE:
            end = _until(text, i + 1, size, _QUOTE)
            if end < -size - 1:
                return
            i = (-end - 1 if end < 0 else end) + 1
            if i + 1 < size and text[i] == _CARET:
                i += 2
        else:
            i += 1


@njit(void(uint8[::1], int64, int64, int64[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _bare(text: Any, i: Any, size: Any, found: Any) -> None:
    """A number or boolean without quotes, as in SPARQL TSV."""
    end = i
    kind = INTEGER
    while end < size and text[uint64(end)] > _SPACE:
        byte = text[uint64(end)]
        if byte in (0x65, 0x45):
            kind = DOUBLE
        elif byte == _DOT and kind == INTEGER:
            kind = DECIMAL
        end += 1
    if text[i] in (0x74, 0x66):
        kind = BOOLEAN
    elif not (0x30 <= text[i] <= 0x39 or text[i] in (0x2B, 0x2D, _DOT)):
        return
    found[0], found[1], found[2], found[4], found[7] = 6, i, end, kind, end


@njit(void(uint8[::1], int64, int64, int64[::1]), nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _token(text: Any, i: Any, size: Any, found: Any) -> None:
    """The term that begins at `i`.

    `found` gets: its type (0 blank node, 1 IRI, 2 string, 3 string with a language, 4 string with a datatype, 5 omitted
    term, 6 literal without quotes, -1 none); the begin and end of its text, and whether that has escapes; the begin
    (of a literal without quotes: its kind) and end of its language or datatype, and whether that has escapes; the
    place after the term.
    """
    found[0] = -1
    found[3] = found[6] = 0
    if i >= size:
        found[7] = size
        return
    first = text[i]
    if first == _LESS and i + 1 < size and text[i + 1] == _LESS:
        _triple_term(text, i, size, found)
    elif first == _LESS:
        end = _until(text, i + 1, size, _GREATER)
        if end < -size - 1:
            return
        found[3] = 1 if end < 0 else 0
        end = -end - 1 if end < 0 else end
        found[0], found[1], found[2], found[7] = 1, i + 1, end, end + 1
    elif first == _UNDERSCORE:
        end = i + 2
        while end < size and text[uint64(end)] > _SPACE:
            end += 1
        if i + 2 < end:
            found[0], found[1], found[2], found[7] = 0, i + 2, end, end
    elif first == _QUOTE:
        end = _until(text, i + 1, size, _QUOTE)
        if end < -size - 1:
            return
        found[3] = 1 if end < 0 else 0
        end = -end - 1 if end < 0 else end
        found[1], found[2], found[7] = i + 1, end, end + 1
        after = text[end + 1] if end + 1 < size else _SPACE
        if after == _AT:
            stop = end + 2
            kind = 3
            while stop < size and text[stop] > _SPACE:
                if text[stop] == 0x2D and text[stop - 1] == 0x2D:
                    kind = 5  # a base direction
                stop += 1
            found[0], found[4], found[5], found[7] = kind, end + 1, stop, stop
        elif after == _CARET:
            if end + 3 < size and text[end + 2] == _CARET and text[end + 3] == _LESS:
                stop = _until(text, end + 4, size, _GREATER)
                if stop < -size - 1:
                    return
                found[6] = 1 if stop < 0 else 0
                stop = -stop - 1 if stop < 0 else stop
                found[0], found[4], found[5], found[7] = 4, end + 4, stop, stop + 1
        else:
            found[0] = 2
    else:
        _bare(text, i, size, found)


_INTERN_TOKEN = int64(
    uint8[::1], int64[::1], uint8[::1], uint32, uint64,
    uint64[::1], uint64[::1], uint32[::1], int64[::1], uint8[::1], int64,
)  # fmt: skip


@njit(_INTERN_TOKEN, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _intern_token(
    text: Any, token: Any, scratch: Any, kind: Any, secret: Any,
    slots: Any, hashes: Any, kinds: Any, ends: Any, letters: Any, n: Any,
) -> Any:  # fmt: skip
    """The number of a token's text; -1 for an invalid escape."""
    if token[3]:
        size = unescape(text, token[1], token[2], scratch)
        if size < 0:
            return int64(-1)
        return intern(scratch, 0, size, kind, secret, slots, hashes, kinds, ends, letters, n)
    return intern(text, token[1], token[2], kind, secret, slots, hashes, kinds, ends, letters, n)


_CUT = int64(
    uint8[::1], int64[::1], boolean, int64, uint64, uint8[::1], int64[::1],
    uint64[::1], uint64[::1], uint32[::1], int64[::1], uint8[::1],
    uint64[::1], uint64[::1], uint32[::1], int64[::1], uint8[::1],
    uint64[::1], uint64[::1], uint32[::1], int64[::1], uint8[::1],
    uint8[::1], uint32[:, ::1],
)  # fmt: skip


@njit(_CUT, nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def cut(
    text: Any, at: Any, every_graph: Any, rows_of: Any, secret: Any, scratch: Any, found: Any,
    t_slots: Any, t_hashes: Any, t_kinds: Any, t_ends: Any, t_letters: Any,
    p_slots: Any, p_hashes: Any, p_kinds: Any, p_ends: Any, p_letters: Any,
    k_slots: Any, k_hashes: Any, k_kinds: Any, k_ends: Any, k_letters: Any,
    omitted: Any, triples: Any,
) -> Any:  # fmt: skip
    """Reads lines until the text ends or an array is full, and interns their terms, predicates and kinds.

    `at`: the place in the text, and the numbers of terms, predicates, kinds, triples and lines. With `rows_of`, the
    number of a predicate, a line is a subject, a tab and an object. `found` has room for three tokens of eight numbers,
    `scratch` for the text. Named graphs are skipped unless `every_graph`.
    """
    i, n_terms, n_predicates, n_kinds, n_triples, n_lines = at[0], at[1], at[2], at[3], at[4], at[5]
    size = len(text)
    s, p, o = found[:8], found[8:16], found[16:24]
    status = DONE
    before, before_size, before_kind, before_number = int64(0), int64(-1), int64(-1), int64(-1)
    while i < size:
        if text[i] == _NEWLINE:
            i += 1
            continue
        _token(text, i, size, s)
        mine = True
        if rows_of >= 0:
            _token(text, s[7] + 1 if s[0] >= 0 else size, size, o)
            i_next = o[7]
            if not 0 <= s[0] <= 1 or o[0] < 0 or text[s[7]] != _TAB or (i_next < size and text[i_next] != _NEWLINE):
                status = BROKEN
                break
        else:
            _token(text, s[7] + 1 if s[0] >= 0 else size, size, p)
            _token(text, p[7] + 1 if p[0] == 1 else size, size, o)
            i_next = o[7]
            if (
                not 0 <= s[0] <= 1 or p[0] != 1 or not 0 <= o[0] < 6 or i_next >= size
                or text[s[7]] != _SPACE or text[p[7]] != _SPACE or text[i_next] != _SPACE
            ):  # fmt: skip
                status = BROKEN
                break
            i_next += 1
            if i_next < size and text[i_next] != _DOT:
                mine = every_graph
                if text[i_next] == _LESS:
                    end = _until(text, i_next + 1, size, _GREATER)
                    if end < -size - 1:
                        status = BROKEN
                        break
                    i_next = (-end - 1 if end < 0 else end) + 1
                else:
                    while i_next < size and text[i_next] > _SPACE:
                        i_next += 1
                i_next += 1
            if i_next >= size or text[i_next] != _DOT or (i_next + 1 < size and text[i_next + 1] != _NEWLINE):
                status = BROKEN
                break
            i_next += 1
        if mine:
            room = i_next - i
            if (
                n_triples >= len(triples)
                or n_terms + 2 >= len(t_hashes)
                or 2 * (n_terms + 2) > len(t_slots)
                or t_ends[n_terms] + room > len(t_letters)
                or n_predicates + 1 >= len(p_hashes)
                or 2 * (n_predicates + 1) > len(p_slots)
                or p_ends[n_predicates] + room > len(p_letters)
                or n_kinds + 1 >= len(k_hashes)
                or 2 * (n_kinds + 1) > len(k_slots)
                or k_ends[n_kinds] + room > len(k_letters)
            ):
                status = FULL
                break
            predicate = rows_of
            if rows_of < 0:
                predicate = _intern_token(
                    text, p, scratch, uint32(0), secret, p_slots, p_hashes, p_kinds, p_ends, p_letters, n_predicates
                )
                if predicate < 0:
                    status = BROKEN
                    break
                n_predicates += 1 if predicate == n_predicates else 0
            if o[0] == 5:
                omitted[predicate] = 1
            else:
                kind = o[0] if o[0] < 6 else o[4]
                if 2 < o[0] < 6:
                    begin, end = o[4], o[5]
                    if o[6]:
                        end = unescape(text, begin, end, scratch)
                        begin = 0
                        if end < 0:
                            status = BROKEN
                            break
                        kind = intern(
                            scratch,
                            begin,
                            end,
                            uint32(0),
                            secret,
                            k_slots,
                            k_hashes,
                            k_kinds,
                            k_ends,
                            k_letters,
                            n_kinds,
                        )
                    else:
                        kind = intern(
                            text, begin, end, uint32(0), secret, k_slots, k_hashes, k_kinds, k_ends, k_letters, n_kinds
                        )
                    n_kinds += 1 if kind == n_kinds else 0
                subject = before_number
                if s[0] != before_kind or s[2] - s[1] != before_size or not same(text, before, text, s[1], before_size):
                    subject = _intern_token(
                        text, s, scratch, uint32(s[0]), secret, t_slots, t_hashes, t_kinds, t_ends, t_letters, n_terms
                    )
                    if subject < 0:
                        status = BROKEN
                        break
                    n_terms += 1 if subject == n_terms else 0
                    before, before_size, before_kind, before_number = s[1], s[2] - s[1], s[0], subject
                target = _intern_token(
                    text, o, scratch, uint32(kind), secret, t_slots, t_hashes, t_kinds, t_ends, t_letters, n_terms
                )
                if target < 0:
                    status = BROKEN
                    break
                n_terms += 1 if target == n_terms else 0
                triples[n_triples, 0] = subject
                triples[n_triples, 1] = predicate
                triples[n_triples, 2] = target
                n_triples += 1
        n_lines += 1
        i = i_next + 1
    at[0], at[1], at[2], at[3], at[4], at[5] = i, n_terms, n_predicates, n_kinds, n_triples, n_lines
    return status
