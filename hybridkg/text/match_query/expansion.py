"""Term expansion of prefixes and fuzzy words: the terms of the index that become alternatives of one item.

The index has stems. A prefix is folded and not stemmed, and expands to the terms that begin with it and to its own
stem, so that `modelling*` matches models as `modelling` does. A fuzzy word is stemmed, and expands to the terms near
its stem.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.match_query.items import Item, Pattern, Patterns, ResolvedField
from hybridkg.text.match_query.query_string import Clause
from hybridkg.text.match_query.vocabulary import Expansion, IndexVocabulary

MAX_ALTERNATIVES = 256
"""Terms of one prefix or fuzzy word; the best are taken, and the answer says so."""

NO_LANGUAGE = "zxx"
"""The language tag of text in no language (ISO 639-2): words are folded, not stemmed."""


def expanded(
    clause: Clause, language: str, on: Sequence[ResolvedField], vocabulary: IndexVocabulary | None
) -> Item | None:
    """A prefix or fuzzy word as one item; None where the analyzer of every field drops it.

    Fields with the same analyzer share the alternatives: the best terms over all of them. A field that is restricted to
    one language counts with all of its languages. `language` selects the stemmer of fields without a language of their
    own.

    Raises:
        TextQueryError: there is no vocabulary.
    """
    if vocabulary is None:
        raise TextQueryError(
            "prefixes and fuzzy words need the terms of the index, which this text index cannot list",
            hint="write the words out",
            span=clause.span,
        )
    by_analyzer: dict[tuple[int, str], list[int]] = {}
    for place, field in enumerate(on):
        if clause.field in ("", field.name):
            stemmer = field.analyzer.stemmer(field.language or language)
            by_analyzer.setdefault((id(field.analyzer), stemmer), []).append(place)
    patterns: list[Patterns] = [()] * len(on)
    total = 0
    for (_, stemmer), places in by_analyzer.items():
        numbers = list(dict.fromkeys(on[place].number for place in places))
        matches = _alternatives(clause, stemmer, on[places[0]].analyzer, numbers, vocabulary)
        total = max(total, matches.total)
        alternatives = tuple(Pattern(((0, term),)) for term in matches.terms)
        for place in places:
            patterns[place] = alternatives
    item = Item(tuple(patterns), written(clause), total)
    return item if any(item.places) else None


def written(clause: Clause) -> str:
    """A prefix, fuzzy word or window in query syntax.

    >>> written(Clause("neur", prefix=True)), written(Clause("rule based", phrase=True, near=3))
    ('neur*', '"rule based"~3')
    """
    if clause.near is not None:
        return f'"{clause.text}"~{clause.near}'
    return f"{clause.text}*" if clause.prefix else f"{clause.text}~{clause.edits}"


def _alternatives(
    clause: Clause, stemmer: str, analyzer: Analyzer, fields: Sequence[int], vocabulary: IndexVocabulary
) -> Expansion:
    """At least one term: where the index has none, a term that matches nothing."""
    # An analyzer that reads a word in parts and as a whole returns the whole last.
    word = next((word for word in reversed(analyzer.words(clause.text)) if word), "")
    stem = analyzer.term(word, stemmer) if word else ""
    if clause.edits is not None:
        if not stem:
            return Expansion()
        near = vocabulary.near(stem, clause.edits, fields, MAX_ALTERNATIVES)
        return near if near.terms else Expansion((stem,))
    prefix = analyzer.term(word, analyzer.stemmer(NO_LANGUAGE)) if word else ""
    if not prefix:
        return Expansion()
    matches = vocabulary.beginning_with(prefix, fields, MAX_ALTERNATIVES)
    if stem and not stem.startswith(prefix) and vocabulary.has(stem, fields):
        return Expansion((stem, *matches.terms)[:MAX_ALTERNATIVES], matches.total + 1)
    return matches if matches.terms else Expansion((prefix,))
