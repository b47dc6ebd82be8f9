"""Shows what an index and its queries see of a text: each word, its term, and how common the term is."""

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
from hybridkg.text.match_query.query_string import SHOULD, Clause, Part, parse_query_string
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms

MAX_DISTINCT_WORDS = 1024
"""As many as a MATCH may have terms: a text with more could not be asked for anyway."""


class TextField(Protocol):
    """A field of a profile or of an index."""

    @property
    def name(self) -> str:
        """Its name in ON."""

    @property
    def analyzer(self) -> str:
        """A name of ANALYZERS."""


@dataclass(frozen=True)
class AnalyzedWord:
    """One word of a text.

    Args:
        word: as it is written.
        term: what is indexed and looked up; empty for a stop word, which keeps its position.
        df: entities that have the term, by field; empty where there is no index.
    """

    word: str
    term: str
    df: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TextAnalysis:
    """What fields with the same analyzer see of a text.

    Args:
        fields: their names.
        analyzer: its registered name.
        chain: name and version of its steps.
        stemmer: what the language tag chose; empty where the language has none.
        words: the words in order; each takes one position.
        synonyms: what a query looks for in place of words that have synonyms: the alternatives, `|` between them.
    """

    fields: tuple[str, ...]
    analyzer: str
    chain: str
    stemmer: str
    words: tuple[AnalyzedWord, ...]
    synonyms: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "fields": list(self.fields),
            "analyzer": self.analyzer,
            "chain": self.chain,
            "stemmer": self.stemmer,
            "words": [{"word": w.word, "term": w.term, "df": dict(w.df)} for w in self.words],
            "synonyms": list(self.synonyms),
        }


def analyzed(
    text: str,
    fields: Sequence[TextField],
    *,
    language: str = "",
    only: str = "",
    index: TextIndex | None = None,
    synonyms: Synonyms = NO_SYNONYMS,
) -> list[TextAnalysis]:
    """What each field sees of a text, fields with the same analyzer together, in the fields' order.

    Args:
        text: plain words; a query string's operators are not read (see `as_query`).
        fields: those of the profile, or of the index.
        language: a language tag; empty for the default (English).
        only: the one field to look at; empty for all.
        index: where to count; without it there are no counts.
        synonyms: those of the index.

    Raises:
        UnknownNameError: there is no field `only`; the message lists those that are.
        TextQueryError: the text has more than 1,024 different words.

    >>> from hybridkg.interfaces.text_index import IndexedField
    >>> (found,) = analyzed("The Models", [IndexedField("title", analyzer="stopped")])
    >>> [(word.word, word.term) for word in found.words]
    [('The', ''), ('Models', 'model')]
    """
    names = [known.name for known in fields]
    if only and only not in names:
        raise UnknownNameError(
            f"no text field {only!r}; known: {', '.join(names) or 'none'}", hint=did_you_mean(only, names)
        )
    by_analyzer: dict[str, list[str]] = {}
    for known in fields:
        if only in ("", known.name):
            by_analyzer.setdefault(known.analyzer, []).append(known.name)
    return [_seen_by(name, tuple(of), text, language, index, synonyms) for name, of in by_analyzer.items()]


def _seen_by(
    name: str, fields: tuple[str, ...], text: str, language: str, index: TextIndex | None, synonyms: Synonyms
) -> TextAnalysis:
    analyzer = ANALYZERS.get(name)() if index is None else index.analyzer(name)
    stemmer = analyzer.stemmer(language)
    words: list[str] = []
    known: dict[str, AnalyzedWord] = {}
    for raw, start, end in analyzer.spans(text):
        if start == end:
            continue  # where a server has dropped a word, it does not tell which
        word = text[start:end]
        words.append(word)
        if word in known:
            continue
        if len(known) == MAX_DISTINCT_WORDS:
            raise TextQueryError(f"more than {MAX_DISTINCT_WORDS:,} different words in one text")
        term = analyzer.term(raw, stemmer)
        df = {f: _df(index, word, language, f) for f in fields} if term and index is not None else {}
        known[word] = AnalyzedWord(word, term, df)
    expanded: dict[str, None] = {}
    if synonyms.rules:
        on = ResolvedField(0, fields[0], 1, 0, analyzer, {})
        items = items_of(text, False, "", language, [on], synonyms)
        expanded = dict.fromkeys(item.written for _, item in items if item.written)
    return TextAnalysis(fields, name, analyzer.chain, stemmer, tuple(known[word] for word in words), tuple(expanded))


def _df(index: TextIndex, word: str, language: str, field_name: str) -> int:
    # In quotes it has no synonyms.
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    query = TextQuery(f'"{quoted}"', language, fields=(FieldChoice(field_name),))
    return sum(term.df for term in index.terms(query))


def as_query(text: str, index: TextIndex, *, language: str = "", only: str = "") -> list[TermStatistics]:
    """What MATCH looks for in a text that it reads as a query string, where that differs from plain words.

    Raises:
        TextQueryError: it is not a query string: an open quote, an operator without a term ...
    """
    if not any(map(_has_operators, parse_query_string(text))):
        return []
    return index.terms(TextQuery(text, language, fields=(FieldChoice(only),) if only else ()))


def _has_operators(part: Part) -> bool:
    """Whether a part is anything but plain words, which parentheses around them leave plain."""
    if part.role != SHOULD or part.boost != 1:
        return True
    if isinstance(part, Clause):
        return part.phrase or bool(part.field) or part.expands
    return any(map(_has_operators, part.parts))
