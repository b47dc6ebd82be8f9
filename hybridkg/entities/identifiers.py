"""Identifier splitting: words of a name written without blanks, and decoding of its percent escapes.

The local names of IRIs (labels.py) and the analyzer `identifier` (text/analysis/identifier.py) share these rules, so
both find the same words.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_ASCII_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
_HUMP = (
    r"(?<=[\p{Ll}\p{M}])(?=[\p{Lu}\p{Lt}])|(?<=\p{Nd})(?=\p{Lu}\p{Ll})"
    r"|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s(?!\p{Ll}))"
)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


@cache
def _hump() -> Any:
    import regex

    return regex.compile(_HUMP)


def humps(name: str) -> list[str]:
    """Words of a name in camelCase: split before a capital after a small letter, and before the last capital of an
    acronym that a word follows; the plural of an acronym stays whole, and so does `3D`.

    >>> humps("birthPlaceOf"), humps("HTTPServer"), humps("listOfURLs"), humps("Area51Map")
    (['birth', 'Place', 'Of'], ['HTTP', 'Server'], ['list', 'Of', 'URLs'], ['Area51', 'Map'])
    """
    if name.islower():
        return [name]
    if name.isascii():
        return _ASCII_HUMP.split(name)
    return _hump().split(name)  # type: ignore[no-any-return]


def percent_decoded(text: str) -> tuple[str, list[int]]:
    """A text with its percent escapes decoded as UTF-8, and the offsets of its characters in the original.

    Invalid UTF-8 becomes a blank.

    Returns:
        The text, and int[len(text) + 1] ascending: offsets in the original, the last one its end.

    >>> percent_decoded("a%C3%A9b")
    ('aéb', [0, 1, 7, 8])
    """
    decoded: list[str] = []
    starts: list[int] = []
    at = 0
    for escape in _ESCAPES.finditer(text):
        decoded.append(text[at : escape.start()])
        starts.extend(range(at, escape.start()))
        offset, at = escape.start(), escape.end()
        for character in bytes.fromhex(escape.group().replace("%", "")).decode("utf-8", "surrogateescape"):
            stray = "\udc80" <= character <= "\udcff"
            decoded.append(" " if stray else character)
            starts.append(offset)
            offset += 3 * (1 if stray else len(character.encode("utf-8")))
    decoded.append(text[at:])
    starts.extend(range(at, len(text) + 1))
    return "".join(decoded), starts
