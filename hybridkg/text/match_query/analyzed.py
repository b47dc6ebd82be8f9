"""The analysis of a text as an index and its queries see it: each word, its term, and the term's df."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.text_index import FieldChoice, TermStatistics, TextIndex, TextQuery
from hybridkg.registry import did_you_mean
from hybridkg.text.match_query.clause_items import items_of
from hybridkg.text.match_query.items import ResolvedField
from hybridkg.text.match_query.query_string import OR, SHOULD, Clause, Part, parse_query_string
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms

MAX_DISTINCT_WORDS = 1024
"""The number of terms that one MATCH may have."""


class TextField(Protocol):
    """A field of a profile or of an index; `analyzer` is a name of ANALYZERS."""

    @property
    def name(self) -> str: ...

    @property
    def analyzer(self) -> str: ...


@dataclass(frozen=True)
class AnalyzedWord:
    """A word of a text.

    Args:
        word: as written.
        term: the indexed term; empty for a dropped word, which keeps its position.
        df: entities that have the term, by field; empty without an index.
        is_stop: whether it is a stop word, which a query searches in phrases, or where it has no other word.
    """

    word: str
    term: str
    df: Mapping[str, int] = field(default_factory=dict)
    is_stop: bool = False


@dataclass(frozen=True)
class TextAnalysis:
    """The analysis of a text by one analyzer.

    Args:
        fields: names of the fields with this analyzer.
        chain: name and version of its steps.
        stemmer: the stemmer of the language; empty where the language has none.
        words: the words in order; each takes one position.
        synonyms: the alternatives of words that have synonyms, `|` between them.
    """

    fields: tuple[str, ...]
    analyzer: str
    chain: str
    stemmer: str
    words: tuple[AnalyzedWord, ...]
    synonyms: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        words = [{"word": w.word, "term": w.term, "df": dict(w.df), "stop": w.is_stop} for w in self.words]
        return vars(self) | {"fields": list(self.fields), "words": words, "synonyms": list(self.synonyms)}


def analyzed(
    text: str,
    fields: Sequence[TextField],
    *,
    language: str = "",
    only: str = "",
    index: TextIndex | None = None,
    synonyms: Synonyms = NO_SYNONYMS,
) -> list[TextAnalysis]:
    """The analysis of a text by each analyzer, in the order of the fields.

    Args:
        text: plain words; operators of a query string are not read (see `as_query`).
        fields: those of the profile, or of the index.
        language: a language tag; empty for the default (English).
        only: the only field to analyse for; empty for all.
        index: counts df; None for no counts.
        synonyms: those of the index.

    Raises:
        UnknownNameError: `only` is no field; the message lists the fields.
        TextQueryError: the text has more than 1,024 distinct words.

    >>> from hybridkg.interfaces.text_index import IndexedField
    >>> (found,) = analyzed("The Models", [IndexedField("title", analyzer="stopped")])
    >>> [(word.word, word.term) for word in found.words]
    [('The', ''), ('Models', 'model')]
    """
    names = [field_.name for field_ in fields]
    if only and only not in names:
        raise UnknownNameError(
            f"no text field {only!r}; known: {', '.join(names) or 'none'}", hint=did_you_mean(only, names)
        )
    by_analyzer: dict[str, list[str]] = {}
    for field_ in fields:
        if only in ("", field_.name):
            by_analyzer.setdefault(field_.analyzer, []).append(field_.name)
    return [_analysis_by(name, tuple(names_), text, language, index, synonyms) for name, names_ in by_analyzer.items()]


def _analysis_by(
    name: str, fields: tuple[str, ...], text: str, language: str, index: TextIndex | None, synonyms: Synonyms
) -> TextAnalysis:
    analyzer = ANALYZERS.get(name)() if index is None else index.analyzer(name)
    stemmer = analyzer.stemmer(language)
    words: list[str] = []
    analyzed_words: dict[str, AnalyzedWord] = {}
    for raw, start, end in analyzer.spans(text):
        if start == end:
            continue  # a dropped word, which the server does not return
        word = text[start:end]
        words.append(word)
        if word in analyzed_words:
            continue
        if len(analyzed_words) == MAX_DISTINCT_WORDS:
            raise TextQueryError(f"more than {MAX_DISTINCT_WORDS:,} different words in one text")
        term = analyzer.term(raw, stemmer)
        df = {f: _df(index, word, language, f) for f in fields} if term and index is not None else {}
        analyzed_words[word] = AnalyzedWord(word, term, df, analyzer.is_stop_word(raw, stemmer))
    expanded: dict[str, None] = {}
    if synonyms.rules:
        on = ResolvedField(0, fields[0], 1, 0, analyzer, {})
        items = items_of(text, False, "", language, [on], synonyms)
        expanded = dict.fromkeys(item.written for _, item in items if item.written)
    return TextAnalysis(
        fields, name, analyzer.chain, stemmer, tuple(analyzed_words[word] for word in words), tuple(expanded)
    )


def _df(index: TextIndex, word: str, language: str, field_name: str) -> int:
    # Quotes keep the word from having synonyms.
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    query = TextQuery(f'"{quoted}"', language, fields=(FieldChoice(field_name),))
    return sum(term.df for term in index.terms(query))


def as_query(text: str, index: TextIndex, *, language: str = "", only: str = "") -> list[TermStatistics]:
    """The terms of a text that is read as a query string; empty where it has only plain words.

    Raises:
        TextQueryError: it is not a query string: an open quote, an operator without a term ...
    """
    if not any(map(_has_operators, parse_query_string(text))) and OR not in text.split():
        return []
    return index.terms(TextQuery(text, language, fields=(FieldChoice(only),) if only else ()))


def _has_operators(part: Part) -> bool:
    """Parentheses around plain words leave them plain."""
    if part.role != SHOULD or part.boost != 1:
        return True
    if isinstance(part, Clause):
        return part.phrase or bool(part.field) or part.expands
    return any(map(_has_operators, part.parts))
