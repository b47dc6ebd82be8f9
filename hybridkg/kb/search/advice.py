"""Advice where a search found nothing: near words of the index, and the count without the conditions."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from hybridkg.interfaces.text_index import TextQuery
from hybridkg.kb.other_languages import languages_with, tagged
from hybridkg.kb.search.queries import SearchQueries
from hybridkg.kb.search.query_words import words_by_term
from hybridkg.rdf.terms import Literal
from hybridkg.text.analysis.folding import fold_accents, fold_case
from hybridkg.text.match_query.query_string import as_plain_words

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

MAX_WORDS = 10
"""Words of a text that are looked up."""

MIN_LENGTH = 3
"""Characters of a word below which everything is near it."""

_NEAR = "SELECT ?passage { ?entity MATCH QUERY $word AS ?score SNIPPET ?passage } RANK BY ?score LIMIT 20"
_MARKED = re.compile(r"\*\*([^*]+)\*\*")


def advice_for(queries: SearchQueries, base: SearchedBase) -> tuple[str, ...]:
    """Sentences without a full stop; empty where nothing helps."""
    lines = []
    if queries.near and (found := base.count(queries.count())):
        verb = "entity matches" if found == 1 else "entities match"
        return (f"{found:,} {verb} the words; no vector is near them, so search without similarity",)
    if queries.has_conditions:
        found = base.count(queries.unrestricted_count())
        if found:
            lines.append(
                f"{found:,} {'entity matches' if found == 1 else 'entities match'} the words without "
                f"{_conditions(queries)}"
            )
    if not lines and not queries.query_string:
        unknown = _unknown_words(queries, base)
        lines += [_about_unknown(word, queries.language, base) for word in unknown]
        if not unknown:
            lines.append("hybridkg analyze KB TEXT shows which words are searched for")
    return tuple(lines)


def advice_about_words(queries: SearchQueries, base: SearchedBase) -> tuple[str, ...]:
    """A sentence for each word that no text has, where other words have found something."""
    if queries.query_string:
        return ()
    found = ((word, _in_other_language(word, queries.language, base)) for word in _unknown_words(queries, base))
    return tuple(line or f"no text has {word!r}" for word, line in found)


def _conditions(queries: SearchQueries) -> str:
    kinds = ["the type"] * bool(queries.types.classes) + ["the conditions"] * bool(queries.conditions.elements)
    return " and ".join(kinds)


def _unknown_words(queries: SearchQueries, base: SearchedBase) -> list[str]:
    """Words of the text that no text of the index has, in their order."""
    index = base.snapshot.text
    words = words_by_term(queries.text, base.snapshot, queries.language)
    if index is None:
        return []
    terms = index.terms(TextQuery(queries.text, queries.language, syntax=False))
    found = {term.term for term in terms if term.df}
    absent = {term.term for term in terms if not term.df}  # a stop word beside other words is not looked up
    unknown = dict.fromkeys(word for term, word in words.items() if term in absent)
    known = {word for term, word in words.items() if term in found}
    return [word for word in unknown if word not in known][:MAX_WORDS]


def _about_unknown(word: str, language: str, base: SearchedBase) -> str:
    """`no text has 'word'; did you mean ...?`, or that the word is one of another language, stemmed by its rules."""
    if line := _in_other_language(word, language, base):
        return line
    near = _nearest(word, base)
    if _folded(near) == _folded(word):
        return f"{word!r} is in texts of another language: search with that language, as --language does"
    return f"no text has {word!r}" + (f"; did you mean {near!r}?" if near else "")


def _in_other_language(word: str, language: str, base: SearchedBase) -> str:
    """The languages that a word has to be searched in; empty where a language is given, or no other has the word."""
    index = base.snapshot.text
    languages = languages_with(TextQuery(word, syntax=False), index) if index is not None and not language else ()
    if not languages:
        return ""
    remedy = f'add --language {languages[0]} (in Python: language="{languages[0]}")'
    return f"{word!r} is in texts tagged {tagged(languages)}: {remedy}"


def _folded(word: str) -> str:
    return fold_accents(fold_case(word))


def _nearest(word: str, base: SearchedBase) -> str:
    """The nearest word of the texts, as they write it, in lower case; empty for none."""
    if len(word) < MIN_LENGTH:
        return ""
    best: dict[str, tuple[float, int]] = {}
    for edits in (1, 2):
        result = base.query(_NEAR, {"word": f"{as_plain_words(word)}~{edits}"}, name="near words")
        for (passage,) in (row[:1] for row in result.cells):
            for marked in _MARKED.findall(passage.value if isinstance(passage, Literal) else ""):
                found = marked.lower()
                ratio, n = best.get(found, (SequenceMatcher(None, word.lower(), found).ratio(), 0))
                best[found] = ratio, n + 1
        if best:
            return min(best, key=lambda found: (-best[found][0], -best[found][1], found))
    return ""
