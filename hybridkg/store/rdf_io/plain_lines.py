"""Canonical lines of N-Triples, which Oxigraph would write unchanged and which are loaded without a parser.

Recognising such a line costs 1 us, parsing and writing it again 5. The expression accepts a subset of the canonical
lines; every other line goes to the parser.
"""

from __future__ import annotations

import re

_CHARACTERS = rb"[A-Za-z0-9._~!$&'()*+,;=:@/?-]*+"
"""Characters of an IRI, RFC 3987, without `[`, `]` and `#`."""

_OTHERS = rb"(?:%[0-9A-Fa-f]{2}|[\xc3-\xdf][\x80-\xbf]|[\xe1-\xec][\x80-\xbf]{2})"
"""Percent-encoded bytes, and two ranges of `ucschar` in UTF-8: U+00C0 to U+07FF, U+1000 to U+CFFF."""

_PART = rb"%s(?>(?:%s%s)*)" % (_CHARACTERS, _OTHERS, _CHARACTERS)

_IRI = rb"<https?://[A-Za-z0-9.-]++(?>(?:/%s)?)(?>(?:#%s)?)>" % (_PART, _PART)

_AS_TEXT = rb"<http://www\.w3\.org/(?:2001/XMLSchema#string|1999/02/22-rdf-syntax-ns#)"
"""Datatypes that Oxigraph writes differently, or that a literal may not have."""

_LITERAL = rb'"[^"\\\x00-\x1f\x7f]*+"(?>(?:@[a-z]{2,3}(?>(?:-[a-z]{2})?)(?= )|\^\^(?!%s)%s)?)' % (_AS_TEXT, _IRI)

_LINES = re.compile(rb"(?>(?:%s %s (?:%s|%s) \.\n)*)" % (_IRI, _IRI, _IRI, _LITERAL))


def plain_end(text: bytes, start: int = 0) -> int:
    """The end of the canonical lines at the start of a text.

    Args:
        text: lines of N-Triples or N-Quads; a cut-off last line is not canonical.
        start: offset of the start of a line.

    >>> plain_end(b'<http://a/s> <http://a/p> "o"@en .\\n_:b <http://a/p> <http://a/o> .\\n')
    35
    """
    match = _LINES.match(text, start)
    end = start if match is None else match.end()
    try:
        text[start:end].decode()
    except UnicodeDecodeError as e:
        return text.rfind(b"\n", start, start + e.start) + 1 or start
    return end
