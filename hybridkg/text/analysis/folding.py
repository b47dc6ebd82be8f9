"""Folding of words: case, compatibility forms and, where the script allows it, accents.

Accents are dropped only where the word stays readable: after Latin and Greek letters, and the optional vowel points of
Arabic and Hebrew. Marks of other scripts (Devanagari vowels, Japanese voicing, Cyrillic breve) are part of the letter
and stay.
"""

from __future__ import annotations

import unicodedata

_LETTERS_WITHOUT_DECOMPOSITION = str.maketrans(
    {
        "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ħ": "h",
        "ı": "i", "ŋ": "n", "ĸ": "k", "ŧ": "t", "ƀ": "b", "ɓ": "b", "ɗ": "d", "ɖ": "d", "ƒ": "f", "ɣ": "g",
        "ɨ": "i", "ƙ": "k", "ŀ": "l", "ɛ": "e", "ɔ": "o", "ə": "e", "ʉ": "u", "ƴ": "y", "ƶ": "z", "’": "'",
    }
)  # fmt: skip

_LATIN_MARKS = range(0x0300, 0x0370)
_OPTIONAL_MARKS = frozenset((*range(0x0591, 0x05C8), 0x0640, *range(0x064B, 0x0653), 0x0670))
_GREEK = range(0x0370, 0x0400)
_LATIN_END = 0x0250


def fold_case(word: str) -> str:
    """Unicode case folding of the compatibility form, composed: "STRASSE" and "straße" become equal.

    >>> fold_case("STRASSE") == fold_case("straße"), fold_case("ﬁne")
    (True, 'fine')
    """
    if word.isascii():
        return word.lower()
    # Folding can undo the normal form and vice versa, hence twice (Unicode 3.13, D146).
    once = unicodedata.normalize("NFKC", word).casefold()
    return unicodedata.normalize("NFKC", once).casefold()


def fold_accents(word: str) -> str:
    """Drops the accents of Latin and Greek letters and optional vowel points from a case-folded word.

    >>> fold_accents("résumé"), fold_accents("smørrebrød"), fold_accents("й")
    ('resume', 'smorrebrod', 'й')
    """
    if word.isascii():
        return word
    chars: list[str] = []
    base_is_latin_or_greek = False
    for char in unicodedata.normalize("NFD", word):
        code = ord(char)
        if code in _LATIN_MARKS:
            if not base_is_latin_or_greek:
                chars.append(char)
        elif code not in _OPTIONAL_MARKS:
            chars.append(char)
            base_is_latin_or_greek = code < _LATIN_END or code in _GREEK
    return unicodedata.normalize("NFC", "".join(chars).translate(_LETTERS_WITHOUT_DECOMPOSITION))
