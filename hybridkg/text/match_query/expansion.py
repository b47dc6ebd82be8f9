"""Which terms of an index a prefix or a fuzzy word stands for: they become alternatives of one item.

The index holds stems. A prefix is folded and not stemmed, and stands for the
terms that begin with it; beside them for its own stem, so that `modelling*`
finds models as `modelling` does. A fuzzy word is stemmed, and stands for the
terms near its stem.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.match_query.items import Item, Pattern, Patterns, ResolvedField
from hybridkg.text.match_query.query_string import Clause
from hybridkg.text.match_query.vocabulary import IndexVocabulary, TermsFound

MAX_ALTERNATIVES = 256
"""Terms that one prefix or fuzzy word may stand for; the best of them are taken, and the user is told."""

NO_LANGUAGE = "zxx"
"""The language tag of what is in no language (ISO 639-2): words are folded, not stemmed."""


def expanded(
    clause: Clause, language: str, on: Sequence[ResolvedField], vocabulary: IndexVocabulary | None
) -> Item | None:
    """A prefix or fuzzy word as one item; None where it is a stop word in every field.

    Fields with the same analyzer share the alternatives: the best terms of all of them together. A field that is
    asked in one language counts with all of its languages there.

    Args:
        clause: has `expands`.
        language: tag of the text's language, which selects the stemmer of fields that are not asked in one language.
        on: the ON fields.
        vocabulary: the terms of the index; None where it cannot tell them.

    Raises:
        TextQueryError: there is no vocabulary.
    """
    if vocabulary is None:
        raise TextQueryError(
            "prefixes and fuzzy words need the terms of the index, which this text index cannot tell",
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
        found = _alternatives(clause, stemmer, on[places[0]].analyzer, numbers, vocabulary)
        total = max(total, found.total)
        alternatives = tuple(Pattern(((0, term),)) for term in found.terms)
        for place in places:
            patterns[place] = alternatives
    item = Item(tuple(patterns), written(clause), total)
    return item if any(item.places) else None


def written(clause: Clause) -> str:
    """A prefix, fuzzy word or words near each other, as one writes them.

    >>> written(Clause("neur", prefix=True)), written(Clause("rule based", phrase=True, near=3))
    ('neur*', '"rule based"~3')
    """
    if clause.near is not None:
        return f'"{clause.text}"~{clause.near}'
    return f"{clause.text}*" if clause.prefix else f"{clause.text}~{clause.edits}"


def _alternatives(
    clause: Clause, stemmer: str, analyzer: Analyzer, fields: Sequence[int], vocabulary: IndexVocabulary
) -> TermsFound:
    """Never without a term: where the index has none, one that it does not have, so that nothing matches."""
    # An analyzer that reads a word in parts and as a whole gives the whole last.
    word = next((word for word in reversed(analyzer.words(clause.text)) if word), "")
    stem = analyzer.term(word, stemmer) if word else ""
    if clause.edits is not None:
        if not stem:
            return TermsFound()
        near = vocabulary.near(stem, clause.edits, fields, MAX_ALTERNATIVES)
        return near if near.terms else TermsFound((stem,))
    prefix = analyzer.term(word, analyzer.stemmer(NO_LANGUAGE)) if word else ""
    if not prefix:
        return TermsFound()
    found = vocabulary.beginning_with(prefix, fields, MAX_ALTERNATIVES)
    if stem and not stem.startswith(prefix) and vocabulary.has(stem, fields):
        return TermsFound((stem, *found.terms)[:MAX_ALTERNATIVES], found.total + 1)
    return found if found.terms else TermsFound((prefix,))
