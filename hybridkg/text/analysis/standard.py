"""The analyzers that come with hybridkg: words, folding, optional stop words, Snowball stemming.

English folds accents before it stems ("résumés" meets "resumes"); the stemmers
of other languages need their accents, so there folding comes last. Source of
the stemmers: snowballstem.org, through PyStemmer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from hybridkg.text.analysis.folding import fold_accents, fold_case
from hybridkg.text.analysis.languages import ELISIONS, ENGLISH_STOP_WORDS, stemmer_of
from hybridkg.text.analysis.words import split_words, word_spans

MAX_WORD_LENGTH = 255
"""Characters of a raw word that count; the rest is cut off, so a megabyte without a blank is a short term."""


VERSION = 2
"""Of the steps of this file: an index of another version is built again. 2: dots and commas inside numbers."""

_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def plain_number(word: str) -> str:
    """A number without the commas between its thousands; any other word as it is.

    >>> plain_number("1,000.5"), plain_number("3,14")
    ('1000.5', '3,14')
    """
    return word.replace(",", "") if "," in word and _THOUSANDS.fullmatch(word) else word


class StandardAnalyzer:
    """Words, case folding, accent folding, stop words, stemming, in the order that suits the language.

    Args:
        name: the name it is registered by.
        stem: whether words are stemmed.
        stop_words: folded, unstemmed English words that are not indexed; they keep their position.
        fold: whether words lose more than their case; without it they are not stemmed either.

    >>> a = StandardAnalyzer("standard")
    >>> [a.term(w, a.stemmer("en")) for w in a.words("Naïve Bayes' models")]
    ['naiv', 'bay', 'model']
    """

    def __init__(self, name: str, *, stem: bool = True, stop_words: frozenset[str] = frozenset(), fold: bool = True):
        self.name, self._stem, self._stop_words, self._fold = name, stem and fold, stop_words, fold
        self._own = threading.local()

    @cached_property
    def chain(self) -> str:
        """Name and version of every step."""
        if not self._stem:
            return f"{self.name}/{VERSION}"
        import Stemmer

        return f"{self.name}/{VERSION} snowball/{'.'.join(Stemmer.version().split('.')[:2])}"

    def stemmer(self, language: str) -> str:
        """The Snowball algorithm of a language tag: the key of everything that depends on the language."""
        return stemmer_of(language)

    def words(self, text: str) -> list[str]:
        """The raw words in order."""
        return split_words(text)

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The raw words with their character offsets."""
        return word_spans(text)

    def term(self, word: str, stemmer: str) -> str:
        """The term of one raw word; empty for a stop word and for marks without a letter."""
        word = word[:MAX_WORD_LENGTH]
        if word.isascii() and word.isalpha():  # nearly every word of a query: there is nothing to fold but case
            word = word.lower()
            if stemmer == "english" and word in self._stop_words:
                return ""
            if not self._stem or not stemmer:
                return word
            return str((self._own.__dict__.get(stemmer) or self._snowball(stemmer)).stemWord(word))
        if not self._fold:
            return word.lower() if any(map(str.isalnum, word)) else ""
        word = plain_number(fold_case(word))
        if stemmer == "english":
            word = fold_accents(word).removesuffix("'s")
            if word in self._stop_words:
                return ""
        elif "'" in word and stemmer in ELISIONS:
            elided, _, rest = word.partition("'")
            word = rest if elided in ELISIONS[stemmer] else word
        if self._stem and stemmer:
            word = self._snowball(stemmer).stemWord(word)
        word = fold_accents(word)
        return word if any(map(str.isalnum, word)) else ""

    def _snowball(self, algorithm: str) -> Any:
        """A stemmer of this thread: PyStemmer's objects must not be shared between threads."""
        known: dict[str, Any] = self._own.__dict__
        if algorithm not in known:
            import Stemmer

            # Callers remember the term of each word, so PyStemmer's own cache would only cost memory.
            known[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return known[algorithm]


def standard() -> StandardAnalyzer:
    """Folded and stemmed words, no stop words: the default."""
    return StandardAnalyzer("standard")


def stopped() -> StandardAnalyzer:
    """`standard` without 33 English function words."""
    return StandardAnalyzer("stopped", stop_words=ENGLISH_STOP_WORDS)


def unstemmed() -> StandardAnalyzer:
    """Folded words as they are."""
    return StandardAnalyzer("unstemmed", stem=False)


def plain() -> StandardAnalyzer:
    """Words in lower case without 33 English function words, and nothing else: Elasticsearch's `standard` with its
    English stop words, up to words with `_`, which it keeps in one piece.
    """
    return StandardAnalyzer("plain", stem=False, stop_words=ENGLISH_STOP_WORDS, fold=False)
