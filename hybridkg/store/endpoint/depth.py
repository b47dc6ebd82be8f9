"""Bounded nesting depth of an endpoint's responses, checked before Oxigraph's readers see them.

100,000 nested triple terms end the process (pyoxigraph 0.5.13, stack overflow), in JSON, N-Triples and Turtle.
"""

from __future__ import annotations

import numpy as np

from hybridkg.errors import EndpointError
from hybridkg.store.rdf_io.nesting_guard import MAX_DEPTH, OPEN

PER_TERM = 2
"""Braces that a triple term opens in SPARQL Results JSON: its own, and that of its value."""

AROUND = 16
"""Upper bound of the brackets around a term in JSON."""

SLICE = 512
"""Bytes of a piece for the reader of a graph with many triple terms."""

_BRACKETS = b"{}[]"
_OTHERS = bytes(byte for byte in range(256) if byte not in _BRACKETS)


def _too_deep(url: str) -> EndpointError:
    return EndpointError(f"{url} sent an answer that is malformed, or ends too early: it nests too deep")


class JsonDepth:
    """Depth of the brackets of a JSON text outside strings, piece by piece; `url` is for the error."""

    def __init__(self, url: str):
        self._url, self._depth, self._in_string, self._rest = url, 0, False, b""

    def feed(self, piece: bytes) -> None:
        """Reads one more piece.

        Raises:
            EndpointError: the text nests too deep.

        >>> depth = JsonDepth("http://e/")
        >>> for piece in (b'{"a\\\\', b'"}}}}}": [{', b'"b": 1}]}'):
        ...     depth.feed(piece)
        >>> depth._depth
        0
        """
        text = (self._rest + piece).replace(b"\\\\", b"  ") if b"\\" in piece or self._rest else piece
        self._rest = b"\\" if text.endswith(b"\\") else b""  # the escaped character is in the next piece
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
    """Number of triple terms in one statement of a graph; `url` is for the error."""

    def __init__(self, url: str):
        self._url, self._opened, self._tail = url, 0, b""

    def feed(self, piece: bytes) -> None:
        """Reads at most SLICE bytes; `<<(` in a literal counts, too. Raises EndpointError: too many triple terms."""
        self._opened += piece.count(OPEN) + (self._tail + piece[:2]).count(OPEN)
        self._tail = piece[-2:]
        if self._opened > MAX_DEPTH + SLICE // len(OPEN):
            raise _too_deep(self._url)

    def end_statement(self) -> None:
        """Resets the count after a statement."""
        self._opened = 0
