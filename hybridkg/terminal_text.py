"""Text that is shown to people: what a terminal would take as a command, or that turns the reading direction, is not.

Data, names of files, answers of servers and texts of queries come from strangers. An escape sequence among them could
move the cursor, hide what was printed, set the title, or on some terminals type. Every such character becomes one
visible character, so that a caret below a line still points to where it did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TextIO

COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Controls but tab and line end, in both ranges that have some; marks of direction; lines and paragraphs of Unicode,
which would end a line of ours; halves of a character, which are none."""


PASSWORD = re.compile(r"(:/{1,2}[^\s/@:'\"<>]*):([^\s/'\"<>]+)@")
"""Of an address, `scheme://user:password@host`; as the path of a file it has lost a slash."""


def without_passwords(text: str) -> str:
    """The text with a star for each character of a password in an address, so that nothing moves.

    >>> without_passwords("no file 'http://me:secret@host/x'")
    "no file 'http://me:******@host/x'"
    """
    return PASSWORD.sub(lambda found: f"{found[1]}:{'*' * len(found[2])}@", text) if ":/" in text else text


def printable(text: str) -> str:
    """The text with one replacement character for each of those.

    >>> printable("a\\x1b[31mb") == "a\\ufffd[31mb"
    True
    """
    return COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text)


def printable_json(text: str) -> str:
    """JSON that says the same with each of those as an escape; they can only stand inside of strings.

    >>> printable_json('["a\\x9b"]')
    '["a\\\\u009b"]'
    """
    return COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ForPeople:
    """A stream on which everything that is written is made printable: a terminal that is shown a format of machines.

    Args:
        out: where it goes.
    """

    def __init__(self, out: TextIO):
        self._out = out

    def write(self, text: str) -> int:
        """Writes what can be shown of a text; the number of its characters."""
        return self._out.write(printable(text))


def for_whom(out: TextIO) -> TextIO | ForPeople:
    """The stream as it is for a file or a pipe, which get every byte; ForPeople for a terminal."""
    return ForPeople(out) if out.isatty() else out


def count_lines(counts: Mapping[str, Any], indent: str = "") -> list[str]:
    """Figures line by line, whole numbers in groups of three digits; those of a mapping are indented below its name.

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
