"""The identifier analyzer, for names without blanks such as `dbo:birthPlace` or `GPT-4`.

An identifier is indexed by its parts and, where it has several, as a whole: `birthPlace` matches "birth place" and
"birthplace". The wholes follow all parts of a text, so that the parts keep consecutive positions and phrases match
across identifiers.

Parts end at camelCase humps (entities/identifiers.py), between letters and digits, and at `_` and hyphens. Percent
escapes are decoded. Words are folded, not stemmed: identifiers are no prose.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from hybridkg.entities.identifiers import humps, percent_decoded
from hybridkg.text.analysis.folding import fold_accents, fold_case
from hybridkg.text.analysis.standard import MAX_WORD_LENGTH, plain_number
from hybridkg.text.analysis.words import INSIDE, LETTERS, LONE

MAX_WHOLE_LENGTH = 100
"""Characters of an identifier that is indexed as a whole; a longer one is a hyphenated sentence, or data."""

_JOINTS = "_\u2010\u2011-"
_UNIT = rf"(?V1){LETTERS}(?:(?:{INSIDE}|[{_JOINTS}]+){LETTERS})*|{LONE}"
_BOUNDARY = rf"(?V1)[{_JOINTS}]+|(?<=[\p{{L}}\p{{M}}])(?=\p{{Nd}})|(?<=\p{{Nd}})(?=\p{{L}})"
_WITHOUT_JOINTS = str.maketrans("", "", _JOINTS)

GAP = ""
"""An empty word before each whole, so that no phrase runs into it."""


@cache
def _patterns() -> tuple[Any, Any]:
    import regex

    return regex.compile(_UNIT), regex.compile(_BOUNDARY)


class IdentifierAnalyzer:
    """The parts of identifiers, then their wholes.

    >>> a = IdentifierAnalyzer()
    >>> [a.term(word, "") for word in a.words("dbo:birthPlace, HTTPServer2")]
    ['dbo', 'birth', 'place', 'http', 'server', '2', '', 'birthplace', '', 'httpserver2']
    """

    name = "identifier"

    @property
    def chain(self) -> str:
        return "identifier/1"

    def stemmer(self, language: str) -> str:
        """Empty: identifiers have no language."""
        del language
        return ""

    def words(self, text: str) -> list[str]:
        """The parts in order, then the identifiers of several parts, each after a gap."""
        return [word for word, _, _ in self.spans(text)]

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The words with their character offsets; a gap is empty and stands at the end of the text."""
        end = len(text)
        text, starts = percent_decoded(text) if "%" in text else (text, range(len(text) + 1))
        units, boundary = _patterns()
        wholes: list[tuple[str, int, int]] = []
        for match in units.finditer(text):
            unit, at = match.group(), match.start()
            parts = 0
            for piece, offset in _pieces(unit, boundary):
                for part in humps(piece):
                    parts += 1
                    yield part.replace("’", "'"), starts[at + offset], starts[at + offset + len(part)]
                    offset += len(part)  # noqa: PLW2901 - the humps of a piece follow each other
            if parts > 1 and len(unit) <= MAX_WHOLE_LENGTH:
                wholes.append((unit.replace("’", "'"), starts[at], starts[match.end()]))
        for whole in wholes:
            yield GAP, end, end
            yield whole

    def term(self, word: str, stemmer: str) -> str:
        """The folded word without the marks that join its parts."""
        del stemmer
        word = word[:MAX_WORD_LENGTH].translate(_WITHOUT_JOINTS)
        word = fold_accents(plain_number(fold_case(word)))
        return word if any(map(str.isalnum, word)) else ""

    def is_stop_word(self, word: str, stemmer: str) -> bool:
        """False: the words of identifiers are few, and all of them name."""
        del word, stemmer
        return False


def _pieces(unit: str, boundary: Any) -> Iterator[tuple[str, int]]:
    """The pieces between boundaries with their offsets."""
    if unit.isalpha():
        yield unit, 0
        return
    at = 0
    for match in boundary.finditer(unit):
        yield unit[at : match.start()], at
        at = match.end()
    yield unit[at:], at
