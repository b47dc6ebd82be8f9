"""The words of a text, and the terms that the index has for them."""

from __future__ import annotations

from hybridkg.kb.snapshot import Snapshot


def words_by_term(text: str, snapshot: Snapshot, language: str = "") -> dict[str, str]:
    """The first word of the text for each term that any field of the index makes of one, in the order of the text."""
    words: dict[str, str] = {}
    if snapshot.text is None or snapshot.profile is None:
        return words
    for name in dict.fromkeys(field.analyzer for field in snapshot.profile.fields):
        analyzer = snapshot.text.analyzer(name)
        stemmer = analyzer.stemmer(language)
        for raw, start, end in analyzer.spans(text):
            if start < end:
                words.setdefault(analyzer.term(raw, stemmer), text[start:end])
    words.pop("", None)
    return words
