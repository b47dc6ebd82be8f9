"""The words of a README: Markdown, reStructuredText and HTML without their marks, roughly, for search and snippets.

Every pattern is limited to one line or one bounded span, so that no input makes it slow.
"""

from __future__ import annotations

import re

MAX_LENGTH = 200_000
"""Characters of a description; the longest one in common packages is a change log of about this size."""

_PATTERNS = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"<!--[^<>]{0,2000}-->", " "),
        (r"^[ \t]*\.\. (?:\|[^|\n]{1,80}\| )?(?:image|figure|raw|contents)::.*\n(?:[ \t]+:.*\n)*", ""),
        (r"^[ \t]*\.\. _[^\n]{1,200}:[^\n]*$", ""),
        (r"^[ \t]*\[[^\]\n]{1,100}\]:[ \t]+\S+.*$", ""),
        (r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,100}\])", ""),
        (r"\[([^\]\n]{0,300})\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,100}\])", r"\1"),
        (r"`([^`<>\n]{1,200})[ \t]+<[^`<>\n]{1,500}>`__?", r"\1"),
        (r"</?[A-Za-z][^<>]{0,1000}>", " "),
        (r":[a-z:]{2,20}:`([^`\n]{1,200})`", r"\1"),
        (r"^[ \t]*[-=~*#^\"'+`]{3,}[ \t]*$", ""),
        (r"^[ \t]*#{1,6}[ \t]+", ""),
        (r"\*\*|``|`", ""),
        (r"[ \t]+$", ""),
        (r"\n{3,}", "\n\n"),
    )
)


def plain(text: str) -> str:
    """A description without badges, link targets, tags and underlines.

    >>> plain("# Lark\\n[![build](https://x/b.svg)](https://x)\\nA **parsing** [toolkit](https://y)")
    'Lark\\n\\nA parsing toolkit'
    """
    text = text[:MAX_LENGTH].replace("\r\n", "\n")
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text.strip()


def clean(text: str) -> str:
    """Text that RDF can hold: no lone surrogates (bytes that were not UTF-8), no control characters."""
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", " ", text)
