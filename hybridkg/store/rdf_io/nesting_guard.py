"""Bounded nesting depth of triple terms `<<( s p <<( ... )>> )>>` in Turtle, TriG, N-Triples and N-Quads.

pyoxigraph 0.5.13 ends the process (stack overflow) on a depth of 100,000. Collections and property lists are on its
heap, so they need no bound. Counting `<<(` costs next to nothing; only a file with more than MAX_DEPTH of them is read
a second time, token by token.
"""

from __future__ import annotations

import re
from pathlib import Path

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import InputFile

MAX_DEPTH = 100

OPEN, CLOSE = b"<<(", b")>>"

MAX_TOKEN_LENGTH = 16 << 20
"""Bytes of a literal in a file with many triple terms."""

TOKEN = re.compile(
    rb'''
      """(?> (?: [^"\\]++ | \\. | "(?!"") )* ) """
    | \'\'\'(?> (?: [^'\\]++ | \\. | '(?!'') )* ) \'\'\'
    | "(?!"") [^"\\\n]*+ (?> (?: \\. [^"\\\n]*+ )* ) "
    | '(?!'') [^'\\\n]*+ (?> (?: \\. [^'\\\n]*+ )* ) '
    | \#[^\n]*+ \n
    | <<\( | \)>>
    | <[^<>"{}|^`\\\x00-\x20]*+ >
    | \\.
    | (?P<cut> ["'] .* | \#[^\n]* | <[^<>\s]* | \)>? | \\ ) \Z
    ''',
    re.VERBOSE | re.DOTALL,
)
"""Tokens that may contain the bytes of a bracket, the brackets, and a token that the end of the block cuts off."""


class NestingGuard:
    """A watcher that raises LoadError before the parser sees triple terms nested too deeply."""

    def __init__(self, path: Path):
        self._path, self._opened, self._tail, self._done = path, 0, b"", False

    def __call__(self, block: bytes) -> None:
        """Counts the opening brackets of one more block."""
        if self._done:
            return
        self._opened += block.count(OPEN) + (self._tail + block[:2]).count(OPEN)
        self._tail = block[-2:]
        if self._opened > MAX_DEPTH:
            check_nesting(self._path)
            self._done = True


def check_nesting(path: Path) -> None:
    """Checks the triple terms of a file. Raises LoadError: they are nested more than MAX_DEPTH deep."""
    depth, line, rest = 0, 1, b""
    with InputFile(path) as file:
        while block := file.block():
            data, used = rest + block, 0
            for token in TOKEN.finditer(data):
                if token["cut"] is not None:
                    used = token.start()
                    break
                used = token.end()
                depth = max(0, depth + (token[0] == OPEN) - (token[0] == CLOSE))
                if depth > MAX_DEPTH:
                    line += data[: token.start()].count(b"\n")
                    raise LoadError(f"triple terms nested more than {MAX_DEPTH} deep", place=f"{path}:{line}")
            else:
                used = len(data)
            line += data[:used].count(b"\n")
            rest = data[used:]
            if len(rest) > MAX_TOKEN_LENGTH:
                raise LoadError(
                    f"a literal of more than {MAX_TOKEN_LENGTH >> 20} MB in a file with triple terms",
                    place=f"{path}:{line}",
                )
