"""Text that is shown to people: what a terminal would take as a command, or that turns the reading direction, is not.

Data, names of files, answers of servers and texts of queries come from strangers. An escape sequence among them could
move the cursor, hide what was printed, set the title, or on some terminals type. Every such character becomes one
visible character, so that a caret below a line still points to where it did.
"""

from __future__ import annotations

import re

COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
"""Controls but tab and line end, in both ranges that have some; marks of direction; lines and paragraphs of Unicode,
which would end a line of ours; halves of a character, which are none."""


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
