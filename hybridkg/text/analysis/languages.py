"""Languages: tags, Snowball stemmers, elisions and stop words."""

from __future__ import annotations

DEFAULT_LANGUAGE = "en"

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian",
    "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch",
    "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish",
}  # fmt: skip
"""Base language tag -> name of the Snowball algorithm."""

ELISIONS = {
    "french": frozenset(["l", "d", "j", "m", "n", "s", "t", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"]),
    "catalan": frozenset(["l", "d", "m", "n", "s", "t"]),
    "italian": frozenset([
        "l", "d", "un", "c", "s", "m", "t", "v", "n", "all", "dall", "dell", "nell", "sull", "coll", "gl", "agl",
        "dagl", "degl", "negl", "sugl", "quest", "quell",
    ]),
}  # fmt: skip
"""Words that lose their vowel before an apostrophe: "l'avion" is indexed as "avion"."""

ENGLISH_STOP_WORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
])  # fmt: skip


def stemmer_of(language: str) -> str:
    """The Snowball algorithm of a language tag: empty for a language without one, English without a tag.

    >>> stemmer_of("de-AT"), stemmer_of(""), stemmer_of("ja")
    ('german', 'english', '')
    """
    base = (language or DEFAULT_LANGUAGE).partition("-")[0].lower()
    return STEMMERS.get(base, "")
