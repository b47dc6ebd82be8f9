"""The tokens of the package bm25s with its default settings, for figures that were published with it.

A text in lower case, its runs of at least two of Python's `\\w` (Unicode letters and digits, and `_`), without 33
English function words; nothing is folded or stemmed, in any language. `bm25f(k1=1.5)` over one such field is then the
default of bm25s, whose lengths are exact, and STaRK's BM25. Source: Lù, "BM25S: Orders of magnitude faster lexical
search via eager sparse scoring" (2024), and `bm25s.tokenize` of version 0.3; benchmarks/stark_bm25s.py compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybridkg.text.analysis.languages import ENGLISH_STOP_WORDS
from hybridkg.text.analysis.standard import MAX_WORD_LENGTH

_WORD = re.compile(r"\b\w\w+\b")


class Bm25sAnalyzer:
    """Lower-case words of two characters and more, without 33 English function words, which keep their positions.

    >>> a = Bm25sAnalyzer()
    >>> [a.term(word, "") for word in a.words("The Naïve_Bayes' 3.14 models, x")]
    ['', 'naïve_bayes', '14', 'models']
    """

    name = "bm25s"

    @property
    def chain(self) -> str:
        return "bm25s/1"

    def stemmer(self, language: str) -> str:
        """Empty: all languages are analysed alike."""
        del language
        return ""

    def words(self, text: str) -> list[str]:
        return _WORD.findall(text.lower())

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        lower = text.lower()
        if len(lower) == len(text):
            for match in _WORD.finditer(lower):
                yield match.group(), *match.span()
            return
        # "İ" is two characters in lower case.
        places = [place for place, character in enumerate(text) for _ in character.lower()]
        for match in _WORD.finditer(lower):
            start, end = match.span()
            yield match.group(), places[start], places[end - 1] + 1

    def term(self, word: str, stemmer: str) -> str:
        """The word, at most 255 characters of it; empty for a function word."""
        del stemmer
        return "" if word in ENGLISH_STOP_WORDS else word[:MAX_WORD_LENGTH]

    def is_stop_word(self, word: str, stemmer: str) -> bool:
        """False: function words are not indexed at all."""
        del word, stemmer
        return False
