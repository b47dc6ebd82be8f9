"""The Analyzer protocol and the registry of analyzers.

A text becomes raw words, and each raw word becomes one term. The steps are separate so that folding and stemming happen
once per distinct word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hybridkg.registry import Registry


class Analyzer(Protocol):
    """Turns text into terms; an index and its queries use the same `chain`. Safe to use from many threads."""

    @property
    def chain(self) -> str:
        """Name and version of every step, such as `standard/2 snowball/3.1`; equal chains give equal terms."""

    def stemmer(self, language: str) -> str:
        """The key of all language-dependent steps for a tag such as `de-AT`, or "" for the default (English).

        Texts with equal keys are analysed alike.
        """

    def words(self, text: str) -> list[str]:
        """The raw words in order; each takes one position, an empty one too."""

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """(raw word, start, end) with character offsets: the words of `words`, more slowly. The offsets of a word that
        is read as a whole and in parts overlap.
        """

    def term(self, word: str, stemmer: str) -> str:
        """The term of a raw word; empty for a dropped word, which keeps its position but is not indexed."""

    def is_stop_word(self, word: str, stemmer: str) -> bool:
        """Whether a raw word is a stop word: it is indexed as all others are, and phrases find it, but it is no plain
        word of a query (docs/language.md, "Stop words").
        """


ANALYZERS = Registry(
    "analyzer",
    "hybridkg.analyzers",
    {
        "all_words": "hybridkg.text.analysis.standard:all_words",
        "bm25s": "hybridkg.text.analysis.bm25s:Bm25sAnalyzer",
        "identifier": "hybridkg.text.analysis.identifier:IdentifierAnalyzer",
        "plain": "hybridkg.text.analysis.standard:plain",
        "standard": "hybridkg.text.analysis.standard:standard",
        "stopped": "hybridkg.text.analysis.standard:stopped",
        "unstemmed": "hybridkg.text.analysis.standard:unstemmed",
    },
)
"""Factories without arguments, each returning an Analyzer."""
