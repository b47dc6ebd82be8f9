"""Chooses the passage of a text that shows best why it matches, and marks the matching words.

The best window of WIDTH characters is the one with the largest sum of idf over
the distinct query terms and phrases in it; then the one with more hits, then
the earliest. Stop words count only where the query has no other word. Words
are analysed as the index analyses them, so stemmed matches are marked. Time is
linear in the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.text_index import speaks
from hybridkg.text.analysis.languages import ENGLISH_STOP_WORDS
from hybridkg.text.index.positions.windows import windows
from hybridkg.text.match_query.items import Item, Pattern, ResolvedField

WIDTH = 200
"""Characters of a passage, marks and ellipses not counted."""

MARK, CUT = "**", "…"

_IDF_UNIT = 1_000_000
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


MAX_CACHED_WORD_LENGTH = 100
"""Characters of such a word."""

MAX_TERMS = 50_000
"""Words whose terms a text index remembers for its passages."""


@dataclass(frozen=True)
class _Tokens:
    """The words of a text in order: terms, and where they begin and end."""

    terms: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True)
class _Hit:
    """An occurrence of an item: its tokens from `first` to `last`, and which of them are its words."""

    first: int
    last: int
    item: int
    words: tuple[int, ...]


class _TermOf(dict[str, str]):
    """The terms of words, each worked out once."""

    def __init__(self, analyzer: Analyzer, stemmer: str):
        super().__init__()
        self._analyzer, self._stemmer = analyzer, stemmer

    def __missing__(self, word: str) -> str:
        term = self._analyzer.term(word, self._stemmer)
        if len(word) <= MAX_CACHED_WORD_LENGTH:
            if len(self) >= MAX_TERMS:
                self.clear()
            self[word] = term
        return term


class KnownTerms:
    """The terms of words that passages have met, by analyzer and language; safe to use from many threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _TermOf] = {}

    def of(self, analyzer: Analyzer, stemmer: str) -> _TermOf:
        """Gives the term of each word by index."""
        key = analyzer.chain, stemmer
        found = self._known.get(key)
        return self._known.setdefault(key, _TermOf(analyzer, stemmer)) if found is None else found


class PassageFinder:
    """Finds the passages of one query in the texts of any number of entities; safe to use from many threads.

    Args:
        fields: the ON fields; texts of other fields are not looked at.
        idf_of: the items that score, with their idf.
        known: the terms of words.
    """

    def __init__(self, fields: Sequence[ResolvedField], idf_of: Mapping[Item, float], known: KnownTerms | None = None):
        self._fields, self._known = fields, known or KnownTerms()
        kept = {item: idf for item, idf in idf_of.items() if not _says_nothing(item)} or idf_of
        self._values = [max(1, round(idf * _IDF_UNIT)) for idf in kept.values()]
        self._looked_for = [
            _LookedFor.of([(n, pattern) for n, item in enumerate(kept) for pattern in item.places[i]])
            for i in range(len(fields))
        ]

    def best(self, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage among the texts of one entity.

        Args:
            texts: (field, text, language tag or ""); the first of equally good passages wins.

        Returns:
            About 200 characters, `**` around matching words, `…` where the text goes on; empty without a match.
        """
        found = max(self._passages(texts), key=lambda one: one[1], default=None)
        return "" if found is None else found[2]().shown

    def of_fields(self, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage in each of the fields where something matches, in the order of the fields; else as above."""
        best: dict[int, tuple[tuple[int, int], Callable[[], Passage]]] = {}
        for i, worth, passage in self._passages(texts):
            if i not in best or worth > best[i][0]:
                best[i] = worth, passage
        return [best[i][1]() for i in sorted(best)]

    def _passages(
        self, texts: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int, tuple[int, int], Callable[[], Passage]]]:
        """(ON field, worth, passage when called) of every text in which something matches, in their order."""
        seen: Counter[str] = Counter()
        for name, text, language in texts:
            for i, field in enumerate(self._fields):
                if name != field.name or (field.language and not speaks(language.lower(), field.language)):
                    continue
                tokens = self._tokens(field.analyzer, text, language)
                hits = _hits(tokens, self._looked_for[i])
                if hits:
                    worth, first, last = _best_window(tokens, hits, self._values)
                    yield i, worth, partial(_marked, text, tokens, hits, first, last, (name, seen[name]))
            seen[name] += 1

    def _tokens(self, analyzer: Analyzer, text: str, language: str) -> _Tokens:
        spans = list(analyzer.spans(text))
        if not spans:
            return _Tokens((), (), ())
        words, starts, ends = zip(*spans, strict=True)
        term_of = self._known.of(analyzer, analyzer.stemmer(language))
        return _Tokens(list(map(term_of.__getitem__, words)), starts, ends)


def best_passage(
    fields: Sequence[ResolvedField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]
) -> str:
    """As PassageFinder.best, for one entity."""
    return PassageFinder(fields, idf_of).best(texts)


def field_passages(
    fields: Sequence[ResolvedField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]
) -> list[Passage]:
    """As PassageFinder.of_fields, for one entity."""
    return PassageFinder(fields, idf_of).of_fields(texts)


def _says_nothing(item: Item) -> bool:
    """Whether an item is an English stop word: it scores like any term, but a passage full of them shows nothing."""
    return all(pattern.is_word and pattern.words[0][1] in ENGLISH_STOP_WORDS for pattern in item.patterns())


@dataclass(frozen=True)
class _LookedFor:
    """The patterns of one field, each with the number of its item.

    Args:
        starting: those of words at exact places, by their first term.
        near: those of words near each other.
        near_terms: the terms of these.
    """

    starting: Mapping[str, Sequence[tuple[int, Pattern]]]
    near: Sequence[tuple[int, Pattern]]
    near_terms: frozenset[str]

    @classmethod
    def of(cls, patterns: Sequence[tuple[int, Pattern]]) -> _LookedFor:
        """Sorts the patterns, given as (item, pattern)."""
        starting: dict[str, list[tuple[int, Pattern]]] = {}
        for number, pattern in patterns:
            if not pattern.window:
                starting.setdefault(pattern.words[0][1], []).append((number, pattern))
        near = [one for one in patterns if one[1].window]
        return cls(starting, near, frozenset(term for _, pattern in near for _, term in pattern.words))


def _hits(tokens: _Tokens, looked_for: _LookedFor) -> list[_Hit]:
    """Every occurrence of every pattern, by first token."""
    terms, starts, hits = tokens.terms, tokens.starts, []
    if looked_for.near:
        events = [(at, term) for at, term in enumerate(terms) if term in looked_for.near_terms]
        for number, pattern in looked_for.near:
            found = windows(events, Counter(term for _, term in pattern.words), pattern.window)
            hits += [_Hit(places[0], places[-1], number, places) for places in found]
    starting = looked_for.starting
    for at in [at for at, term in enumerate(terms) if term in starting]:
        for number, pattern in starting[terms[at]]:
            last = at + pattern.words[-1][0]
            if last < len(terms) and all(terms[at + offset] == term for offset, term in pattern.words):
                hits.append(_Hit(at, last, number, tuple(at + offset for offset, _ in pattern.words)))
    # By characters: some analyzers give an identifier as a whole behind all its parts.
    return sorted(hits, key=lambda hit: (starts[hit.first], hit.first, hit.item))


def _best_window(tokens: _Tokens, hits: Sequence[_Hit], values: Sequence[int]) -> tuple[tuple[int, int], int, int]:
    """((worth, hits), first hit, last hit) of the best window, by two pointers over the hits."""
    inside: Counter[int] = Counter()
    best, best_first, best_last = (0, 0), 0, 0
    worth, end = 0, 0
    for first, hit in enumerate(hits):
        if end == first:
            worth, end = worth + values[hit.item], end + 1
            inside[hit.item] += 1
        while end < len(hits) and tokens.ends[hits[end].last] - tokens.starts[hit.first] <= WIDTH:
            entering = hits[end].item
            worth += values[entering] if not inside[entering] else 0
            inside[entering] += 1
            end += 1
        if (worth, end - first) > best:
            best, best_first, best_last = (worth, end - first), first, end - 1
        inside[hit.item] -= 1
        worth -= values[hit.item] if not inside[hit.item] else 0
    return best, best_first, best_last


def _marked(text: str, tokens: _Tokens, hits: Sequence[_Hit], first: int, last: int, place: tuple[str, int]) -> Passage:
    """The window around the hits first..last, widened to WIDTH at word boundaries."""
    core_start, core_end = (
        tokens.starts[hits[first].first],
        max(tokens.ends[h.last] for h in hits[first : last + 1]),
    )
    core_end = min(core_end, core_start + WIDTH)
    start = max(0, core_start - (WIDTH - (core_end - core_start)) // 2)
    end = min(len(text), start + WIDTH)
    start = max(0, end - WIDTH)
    token_starts = sorted(tokens.starts)
    token_ends = sorted(tokens.ends)
    if start > 0:
        start = min(core_start, token_starts[bisect_left(token_starts, start)])
    if end < len(text):
        whole_words = bisect_right(token_ends, end)
        last_end = token_ends[whole_words - 1] if whole_words else 0
        end = len(text) if whole_words == len(token_ends) else max(core_end, last_end)
        end = min(end, start + WIDTH)
    marked = {word for hit in hits for word in hit.words if tokens.starts[word] < end and tokens.ends[word] > start}
    pieces, marks, at = [], [], start
    for word in sorted(marked, key=lambda word: (tokens.starts[word], -tokens.ends[word])):
        from_, to = max(at, tokens.starts[word]), min(end, tokens.ends[word])
        if from_ >= to:
            continue  # a part of an identifier, or analyzers of other engines whose tokens overlap
        pieces += [text[at:from_], MARK, text[from_:to], MARK]
        marks.append((from_, to))
        at = to
    pieces.append(text[at:end])
    shown = " ".join("".join(pieces).translate(_CONTROLS).split())
    before, after = text[:start].strip(), text[end:].strip()
    shown = f"{CUT if before else ''}{shown}{CUT if after else ''}"
    return Passage(*place, start, end, tuple(marks), shown)
