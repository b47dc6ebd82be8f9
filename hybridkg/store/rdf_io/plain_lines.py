"""Lines of N-Triples that are just as Oxigraph would write them: they can be loaded as they are.

Making objects of a statement and writing it again costs 5 us, finding out that it needs neither 1. What is taken for
plain here is a part of what the parser would give back unchanged; any other line goes to the parser.
"""

from __future__ import annotations

import re

_CHARACTERS = rb"[A-Za-z0-9._~!$&'()*+,;=:@/?-]*+"
"""Of an IRI, RFC 3987, without `[`, `]` and `#`."""

_OTHERS = rb"(?:%[0-9A-Fa-f]{2}|[\xc3-\xdf][\x80-\xbf]|[\xe1-\xec][\x80-\xbf]{2})"
"""Bytes in hexadecimal digits, and two ranges of `ucschar` in UTF-8: U+00C0 to U+07FF, U+1000 to U+CFFF."""

_PART = rb"%s(?:%s%s)*+" % (_CHARACTERS, _OTHERS, _CHARACTERS)

_IRI = rb"<https?://[A-Za-z0-9.-]++(?:/%s)?+(?:#%s)?+>" % (_PART, _PART)

_AS_TEXT = rb"<http://www\.w3\.org/(?:2001/XMLSchema#string|1999/02/22-rdf-syntax-ns#)"
"""Datatypes that are written another way, or are none."""

_LITERAL = rb'"[^"\\\x00-\x1f\x7f]*+"(?:@[a-z]{2,3}(?:-[a-z]{2})?+(?= )|\^\^(?!%s)%s)?+' % (_AS_TEXT, _IRI)

_LINES = re.compile(rb"(?:%s %s (?:%s|%s) \.\n)*+" % (_IRI, _IRI, _IRI, _LITERAL))


def plain_end(text: bytes, start: int = 0) -> int:
    """Where the first line begins that is not plain; the end of the text where all are.

    Args:
        text: lines of N-Triples or N-Quads; the last may be cut off, and is then not plain.
        start: where a line begins.

    >>> plain_end(b'<http://a/s> <http://a/p> "o"@en .\\n_:b <http://a/p> <http://a/o> .\\n')
    35
    """
    found = _LINES.match(text, start)
    end = start if found is None else found.end()
    try:
        text[start:end].decode()
    except UnicodeDecodeError as e:
        return text.rfind(b"\n", start, start + e.start) + 1 or start
    return end
