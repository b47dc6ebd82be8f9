"""The stop-word lists of the languages that have a stemmer: `stop_words/<Snowball algorithm>.txt`.

A file has a comment that names its source, then words in lower case, with their accents.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hybridkg.text.analysis.folding import fold_accents, fold_case


def listed(word: str, stemmer: str) -> str:
    """A word in the form of the lists: case-folded, in English and Greek without accents.

    Elsewhere accents make another word: in French "maïs" is corn and "mais" is but.

    >>> listed("Maïs", "french"), listed("Τοῦ", "greek")
    ('maïs', 'του')
    """
    folded = fold_case(word)
    return fold_accents(folded) if stemmer in ("english", "greek") else folded


@cache
def stop_words(stemmer: str) -> frozenset[str]:
    """The stop words of a language, each as `listed`; empty for a language without a stemmer.

    Args:
        stemmer: a Snowball algorithm, as of `stemmer_of`.

    >>> "the" in stop_words("english"), "will" in stop_words("english"), "für" in stop_words("german")
    (True, False, True)
    >>> len(stop_words("english")), len(stop_words(""))
    (174, 0)
    """
    if not stemmer:
        return frozenset()
    text = (files("hybridkg.text.analysis") / "stop_words" / f"{stemmer}.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(listed(word, stemmer) for line in lines for word in line.split())
