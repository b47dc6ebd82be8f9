"""What an index and its queries ask of an analyzer, and the analyzers by name.

A text becomes raw words, and each raw word becomes one term. The two steps are
apart so that folding and stemming happen once per distinct word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hybridkg.registry import Registry


class Analyzer(Protocol):
    """Turns text into terms; an index stores `chain`, and its queries use the same chain.

    Safe to use from many threads.
    """

    @property
    def chain(self) -> str:
        """Name and version of every step, such as `standard/2 snowball/3.1`; equal chains give equal terms."""

    def stemmer(self, language: str) -> str:
        """The key of everything that depends on the language: texts with equal keys are analysed alike.

        Args:
            language: a language tag such as `de-AT`; empty for the default (English).
        """

    def words(self, text: str) -> list[str]:
        """The raw words in order; each takes one position, an empty one too."""

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """(raw word, start, end) with character offsets; the same words as `words`, slower. Offsets of words that are
        read twice, whole and in parts, overlap.
        """

    def term(self, word: str, stemmer: str) -> str:
        """The term of a raw word; empty where it keeps its position but is not indexed (a stop word)."""


ANALYZERS = Registry(
    "analyzer",
    "hybridkg.analyzers",
    {
        "identifier": "hybridkg.text.analysis.identifier:IdentifierAnalyzer",
        "plain": "hybridkg.text.analysis.standard:plain",
        "standard": "hybridkg.text.analysis.standard:standard",
        "stopped": "hybridkg.text.analysis.standard:stopped",
        "unstemmed": "hybridkg.text.analysis.standard:unstemmed",
    },
)
"""Factories without arguments, each returning an Analyzer."""
