"""The standard analyzers: words, folding, stop words, Snowball stemming.

English is folded before it is stemmed ("résumés" matches "resumes"); the stemmers of other languages need their
accents, so accents are folded last. Source of the stemmers: snowballstem.org, through PyStemmer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from hybridkg.text.analysis.folding import fold_accents, fold_case
from hybridkg.text.analysis.languages import ELISIONS, ENGLISH_STOP_WORDS, stemmer_of
from hybridkg.text.analysis.stop_word_lists import listed, stop_words
from hybridkg.text.analysis.words import split_words, word_spans

MAX_WORD_LENGTH = 255
"""Characters of a raw word that are read; a megabyte without a blank becomes a short term."""

VERSION = 2
"""Version of the steps of this file: an index of another one is rebuilt. 2: dots and commas inside numbers."""

_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def plain_number(word: str) -> str:
    """A number without its thousands separators; any other word unchanged.

    >>> plain_number("1,000.5"), plain_number("3,14")
    ('1000.5', '3,14')
    """
    return word.replace(",", "") if "," in word and _THOUSANDS.fullmatch(word) else word


class StandardAnalyzer:
    """Words, case folding, accent folding, stop words and stemming, in the order that suits the language.

    Args:
        name: its registered name.
        stem: whether words are stemmed.
        stop: whether words of the language's list are stop words.
        dropped: folded, unstemmed English words that are not indexed; they keep their position.
        fold: whether words are folded beyond their case; without it they are not stemmed either.

    >>> a = StandardAnalyzer("standard", stop=True)
    >>> [a.term(w, a.stemmer("en")) for w in a.words("Naïve Bayes' models")]
    ['naiv', 'bay', 'model']
    >>> [a.is_stop_word(w, a.stemmer("en")) for w in a.words("The state of it's art")]
    [True, False, True, True, False]
    """

    def __init__(
        self,
        name: str,
        *,
        stem: bool = True,
        stop: bool = False,
        dropped: frozenset[str] = frozenset(),
        fold: bool = True,
    ):
        self.name, self._stem, self._stop, self._dropped, self._fold = name, stem and fold, stop, dropped, fold
        self._local = threading.local()

    @cached_property
    def chain(self) -> str:
        if not self._stem:
            return f"{self.name}/{VERSION}"
        import Stemmer

        return f"{self.name}/{VERSION} snowball/{'.'.join(Stemmer.version().split('.')[:2])}"

    def stemmer(self, language: str) -> str:
        return stemmer_of(language)

    def words(self, text: str) -> list[str]:
        return split_words(text)

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        return word_spans(text)

    def term(self, word: str, stemmer: str) -> str:
        """The term of a raw word; empty for a dropped word and for marks without a letter."""
        word = word[:MAX_WORD_LENGTH]
        if word.isascii() and word.isalpha():  # nearly every word of a query
            word = word.lower()
            if stemmer == "english" and word in self._dropped:
                return ""
            if not self._stem or not stemmer:
                return word
            return str((self._local.__dict__.get(stemmer) or self._snowball(stemmer)).stemWord(word))
        if not self._fold:
            return word.lower() if any(map(str.isalnum, word)) else ""
        word = _unstemmed(word, stemmer)
        if stemmer == "english" and word in self._dropped:
            return ""
        if self._stem and stemmer:
            word = self._snowball(stemmer).stemWord(word)
        word = fold_accents(word)
        return word if any(map(str.isalnum, word)) else ""

    def is_stop_word(self, word: str, stemmer: str) -> bool:
        """Whether the language's list has a raw word."""
        if not self._stop or not stemmer:
            return False
        word = word[:MAX_WORD_LENGTH]
        if word.isascii() and word.isalpha():
            return word.lower() in stop_words(stemmer)
        whole, without_elision = listed(word, stemmer), listed(_unstemmed(word, stemmer), stemmer)
        return not stop_words(stemmer).isdisjoint((whole, without_elision))

    def _snowball(self, algorithm: str) -> Any:
        """The stemmer of this thread: PyStemmer's objects are not thread-safe."""
        stemmers: dict[str, Any] = self._local.__dict__
        if algorithm not in stemmers:
            import Stemmer

            # Callers cache the term of each word, so PyStemmer's own cache would only cost memory.
            stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return stemmers[algorithm]


def _unstemmed(word: str, stemmer: str) -> str:
    """A raw word as its stemmer takes it: case-folded, without elisions; English without accents and 's."""
    word = plain_number(fold_case(word))
    if stemmer == "english":
        return fold_accents(word).removesuffix("'s")
    if "'" in word and stemmer in ELISIONS:
        elided, _, rest = word.partition("'")
        return rest if elided in ELISIONS[stemmer] else word
    return word


def standard() -> StandardAnalyzer:
    """The default: folded and stemmed words, among them stop words, which are no plain words of a query."""
    return StandardAnalyzer("standard", stop=True)


def all_words() -> StandardAnalyzer:
    """`standard` without stop words: "the" counts as any other word."""
    return StandardAnalyzer("all_words")


def stopped() -> StandardAnalyzer:
    """`all_words` without 33 English function words, which no phrase finds either."""
    return StandardAnalyzer("stopped", dropped=ENGLISH_STOP_WORDS)


def unstemmed() -> StandardAnalyzer:
    """`standard` without stemming."""
    return StandardAnalyzer("unstemmed", stem=False, stop=True)


def plain() -> StandardAnalyzer:
    """Lower-case words without 33 English function words: Elasticsearch's `standard` with its English stop words,
    except for words with `_`, which Elasticsearch does not split.
    """
    return StandardAnalyzer("plain", stem=False, dropped=ENGLISH_STOP_WORDS, fold=False)
