"""How deep an endpoint's answer nests, before Oxigraph's readers see it: 100,000 triple terms inside each other end the
process (pyoxigraph 0.5.13, a stack that overflows), in JSON, N-Triples and Turtle.
"""

from __future__ import annotations

import numpy as np

from hybridkg.errors import EndpointError
from hybridkg.store.rdf_io.nesting_guard import MAX_DEPTH, OPEN

PER_TERM = 2
"""Braces that one triple term opens in SPARQL Results JSON: its own, and that of its value."""

AROUND = 16
"""Brackets around a term in JSON, and then some."""

SLICE = 512
"""Bytes that the reader of a graph is given at once where there are many triple terms."""

_BRACKETS = b"{}[]"
_OTHERS = bytes(byte for byte in range(256) if byte not in _BRACKETS)


def _too_deep(url: str) -> EndpointError:
    return EndpointError(f"{url} sent an answer that is malformed, or ends too early: it nests too deep")


class JsonDepth:
    """Follows the brackets of JSON through its pieces, outside of strings.

    Args:
        url: of the endpoint, for the error.
    """

    def __init__(self, url: str):
        self._url, self._depth, self._in_string, self._rest = url, 0, False, b""

    def saw(self, piece: bytes) -> None:
        """One more piece.

        Raises:
            EndpointError: it nests too deep.

        >>> depth = JsonDepth("http://e/")
        >>> for piece in (b'{"a\\\\', b'"}}}}}": [{', b'"b": 1}]}'):
        ...     depth.saw(piece)
        >>> depth._depth
        0
        """
        text = (self._rest + piece).replace(b"\\\\", b"  ") if b"\\" in piece or self._rest else piece
        self._rest = b"\\" if text.endswith(b"\\") else b""  # what it escapes is still to come
        text = text.removesuffix(b"\\").replace(b'\\"', b"")
        parts = text.split(b'"')
        outside = b"".join(parts[self._in_string :: 2]).translate(None, _OTHERS)
        self._in_string ^= len(parts) % 2 == 0
        if not outside:
            return
        codes = np.frombuffer(outside, np.uint8)
        depths = np.where((codes == ord("{")) | (codes == ord("[")), 1, -1).cumsum()
        if self._depth + int(depths.max()) > AROUND + PER_TERM * MAX_DEPTH:
            raise _too_deep(self._url)
        self._depth += int(depths[-1])


class GraphDepth:
    """Counts the triple terms that one statement of a graph begins.

    Args:
        url: of the endpoint, for the error.
    """

    def __init__(self, url: str):
        self._url, self._opened, self._tail = url, 0, b""

    def saw(self, piece: bytes) -> None:
        """One more piece, of at most SLICE bytes where it has many; a literal may hold the sign as well.

        Raises:
            EndpointError: one statement has too many of them.
        """
        self._opened += piece.count(OPEN) + (self._tail + piece[:2]).count(OPEN)
        self._tail = piece[-2:]
        if self._opened > MAX_DEPTH + SLICE // len(OPEN):
            raise _too_deep(self._url)

    def understood(self) -> None:
        """A statement has been read."""
        self._opened = 0
