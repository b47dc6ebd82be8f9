"""Safe text for terminals, without control characters and changes of the reading direction.

Data, file names, responses of servers and texts of queries are untrusted: an escape sequence could move the cursor,
hide output, set the title, or on some terminals type. Each such character becomes one visible character, so that a
caret below a line stays in place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import wrap
from typing import Any, TextIO

COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Controls except tab and line end, in both ranges; marks of direction; line and paragraph separators; surrogates."""
PASSWORD = re.compile(r"(:/{1,2}[^\s/@:'\"<>]*):([^\s/'\"<>]+)@")
"""Password of an address, `scheme://user:password@host`; one that is a Path has lost a slash."""


def without_passwords(text: str) -> str:
    """The text with a star for each character of a password in an address.

    >>> without_passwords("no file 'http://me:secret@host/x'")
    "no file 'http://me:******@host/x'"
    """
    return PASSWORD.sub(lambda match: f"{match[1]}:{'*' * len(match[2])}@", text) if ":/" in text else text


def printable(text: str) -> str:
    """The text with a replacement character for each of COMMANDS.

    >>> printable("a\\x1b[31mb") == "a\\ufffd[31mb"
    True
    """
    return COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text)


def printable_json(text: str) -> str:
    """Equivalent JSON with each of COMMANDS as an escape; they occur in strings only.

    >>> printable_json('["a\\x9b"]')
    '["a\\\\u009b"]'
    """
    return COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class ForPeople:
    """A stream that makes everything printable, for machine-readable formats on a terminal."""

    def __init__(self, out: TextIO):
        self._out = out

    def write(self, text: str) -> int:
        """Writes the printable form of a text; returns its length."""
        return self._out.write(printable(text))


def for_whom(out: TextIO) -> TextIO | ForPeople:
    """The stream itself for a file or a pipe, which get every byte; ForPeople for a terminal."""
    return ForPeople(out) if out.isatty() else out


def count_lines(counts: Mapping[str, Any], indent: str = "") -> list[str]:
    """Figures, one a line, whole numbers in groups of three digits; a mapping is indented below its name.

    >>> count_lines({"triples": 1234, "index": {"text_bytes": 2}})
    ['triples: 1,234', 'index:', '  text bytes: 2']
    """
    lines: list[str] = []
    for name, value in counts.items():
        label = f"{indent}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            lines += [f"{label}:", *count_lines(value, indent + "  ")]
        elif isinstance(value, float):
            lines.append(f"{label}: {value:,.2f}")
        elif isinstance(value, int) and not isinstance(value, bool):
            lines.append(f"{label}: {value:,}")
        elif isinstance(value, list):
            lines.append(f"{label}: {', '.join(map(str, value)) or 'none'}")
        else:
            lines.append(f"{label}: {value}")
    return lines


_CARET_LINE = re.compile(r"( *\| )([ \t]*)(\^+)")
_HEAD = re.compile(r"(?:error|warning)\[")
_UNBROKEN: dict[str, Any] = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}

MIN_CONTEXT = 10
"""Characters of the line that stay visible before a caret."""


def fitted(text: str, width: int) -> str:
    """A rendered error for a narrow terminal: its message is wrapped at words, its quoted line cut around the caret.

    >>> print(fitted("1 | 0123456789012345678901234567890123456789\\n  | " + " " * 30 + "^^", 30))
    1 | 45678901234567890123456789
      |                 ^^
    """
    head, *rest = text.split("\n")
    lines = [*wrap(head, max(width, 2 * MIN_CONTEXT), **_UNBROKEN), *rest] if _HEAD.match(head) else [head, *rest]
    for i in range(1, len(lines)):
        match = _CARET_LINE.fullmatch(lines[i])
        if match is None or len(lines[i - 1]) <= width:
            continue
        margin, room = len(match[1]), max(width - len(match[1]), 2 * MIN_CONTEXT)
        quoted, caret = lines[i - 1][margin:], len(match[2])
        start = 0 if caret + len(match[3]) <= room else max(0, min(caret - MIN_CONTEXT, len(quoted) - room))
        lines[i - 1] = lines[i - 1][:margin] + quoted[start : start + room]
        lines[i] = match[1] + match[2][start:] + match[3][: room - caret + start]
    return "\n".join(lines)


def preformatted(text: str) -> str:
    """HTML of a text in columns for a notebook, escaped; its exports set `pre` in a proportional face by default.

    >>> preformatted("a < b")
    '<pre style="font-family: monospace; line-height: 1.25">a &lt; b</pre>'
    """
    from html import escape

    return f'<pre style="font-family: monospace; line-height: 1.25">{escape(text)}</pre>'
