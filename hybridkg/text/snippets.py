"""Snippets: the passage of a text that shows best why it matches, with the matching words marked.

The best window of WIDTH characters has the largest sum of idf over its distinct query terms and phrases; ties go to the
window with more hits, then to the earliest. Stop words count only where the query has no other word. Words are analysed
as the index analyses them, so stemmed matches are marked. Time is linear in the text.
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
from hybridkg.text.index.positions.windows import windows
from hybridkg.text.match_query.items import Item, Pattern, ResolvedField

WIDTH = 200
"""Characters of a passage without marks and ellipses."""

MARK, CUT = "**", "…"

_IDF_UNIT = 1_000_000
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")

MAX_CACHED_WORD_LENGTH = 100
MAX_TERMS = 50_000
"""Words of one analyzer and language whose terms are cached."""


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a text in order: terms and character offsets."""

    terms: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True)
class _Hit:
    """An occurrence of an item: its first and last token, and the tokens that are its words."""

    first: int
    last: int
    item: int
    words: tuple[int, ...]


class _TermOf(dict[str, str]):
    """A cache from words to terms."""

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
    """A cache of the terms of words by analyzer and language. Safe to use from many threads."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, str], _TermOf] = {}

    def of(self, analyzer: Analyzer, stemmer: str) -> _TermOf:
        key = analyzer.chain, stemmer
        terms = self._terms.get(key)
        return self._terms.setdefault(key, _TermOf(analyzer, stemmer)) if terms is None else terms


class PassageFinder:
    """Finds the snippets of one query in the texts of any number of entities. Safe to use from many threads.

    Texts of other than the ON fields are ignored; `idf_of` has the scoring items.
    """

    def __init__(self, fields: Sequence[ResolvedField], idf_of: Mapping[Item, float], known: KnownTerms | None = None):
        self._fields, self._terms = fields, known or KnownTerms()
        self._values = [max(1, round(idf * _IDF_UNIT)) for idf in idf_of.values()]
        self._patterns = [
            _PatternTable.of([(n, pattern) for n, item in enumerate(idf_of) for pattern in item.places[i]])
            for i in range(len(fields))
        ]

    def best(self, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage among the texts, (field, text, language tag or "") each, of one entity; of equals the first.

        About 200 characters, `**` around matching words, `…` at a cut; empty without a match.
        """
        best = max(self._passages(texts), key=lambda candidate: candidate[1], default=None)
        return "" if best is None else best[2]().shown

    def of_fields(self, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each matching field, in the order of the ON fields."""
        best: dict[int, tuple[tuple[int, int], Callable[[], Passage]]] = {}
        for i, quality, passage in self._passages(texts):
            if i not in best or quality > best[i][0]:
                best[i] = quality, passage
        return [best[i][1]() for i in sorted(best)]

    def _passages(
        self, texts: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int, tuple[int, int], Callable[[], Passage]]]:
        """(ON field, quality, function that makes the passage) of every matching text, in order."""
        seen: Counter[str] = Counter()
        for name, text, language in texts:
            for i, field in enumerate(self._fields):
                if name != field.name or (field.language and not speaks(language.lower(), field.language)):
                    continue
                tokens = self._tokens(field.analyzer, text, language)
                hits = _hits(tokens, self._patterns[i])
                if hits:
                    quality, first, last = _best_window(tokens, hits, self._values)
                    yield i, quality, partial(_marked, text, tokens, hits, first, last, (name, seen[name]))
            seen[name] += 1

    def _tokens(self, analyzer: Analyzer, text: str, language: str) -> _Tokens:
        spans = list(analyzer.spans(text))
        if not spans:
            return _Tokens((), (), ())
        words, starts, ends = zip(*spans, strict=True)
        term_of = self._terms.of(analyzer, analyzer.stemmer(language))
        return _Tokens(list(map(term_of.__getitem__, words)), starts, ends)


@dataclass(frozen=True)
class _PatternTable:
    """The patterns of one field, each with its item's number: words and phrases by first term, and windows."""

    starting: Mapping[str, Sequence[tuple[int, Pattern]]]
    near: Sequence[tuple[int, Pattern]]
    near_terms: frozenset[str]

    @classmethod
    def of(cls, patterns: Sequence[tuple[int, Pattern]]) -> _PatternTable:
        starting: dict[str, list[tuple[int, Pattern]]] = {}
        for number, pattern in patterns:
            if not pattern.window:
                starting.setdefault(pattern.words[0][1], []).append((number, pattern))
        near = [one for one in patterns if one[1].window]
        return cls(starting, near, frozenset(term for _, pattern in near for _, term in pattern.words))


def _hits(tokens: _Tokens, table: _PatternTable) -> list[_Hit]:
    """Every occurrence of every pattern, by first token."""
    terms, starts, hits = tokens.terms, tokens.starts, []
    if table.near:
        events = [(at, term) for at, term in enumerate(terms) if term in table.near_terms]
        for number, pattern in table.near:
            places = windows(events, Counter(term for _, term in pattern.words), pattern.window)
            hits += [_Hit(offsets[0], offsets[-1], number, offsets) for offsets in places]
    by_first_term = table.starting
    for at in [at for at, term in enumerate(terms) if term in by_first_term]:
        for number, pattern in by_first_term[terms[at]]:
            last = at + pattern.words[-1][0]
            if last < len(terms) and all(terms[at + offset] == term for offset, term in pattern.words):
                hits.append(_Hit(at, last, number, tuple(at + offset for offset, _ in pattern.words)))
    # Ordered by characters: some analyzers return a whole identifier after all its parts.
    return sorted(hits, key=lambda hit: (starts[hit.first], hit.first, hit.item))


def _best_window(tokens: _Tokens, hits: Sequence[_Hit], values: Sequence[int]) -> tuple[tuple[int, int], int, int]:
    """((quality, hits), first hit, last hit) of the best window, by two pointers over the hits."""
    inside: Counter[int] = Counter()
    best, best_first, best_last = (0, 0), 0, 0
    quality, end = 0, 0
    for first, hit in enumerate(hits):
        if end == first:
            quality, end = quality + values[hit.item], end + 1
            inside[hit.item] += 1
        while end < len(hits) and tokens.ends[hits[end].last] - tokens.starts[hit.first] <= WIDTH:
            entering = hits[end].item
            quality += values[entering] if not inside[entering] else 0
            inside[entering] += 1
            end += 1
        if (quality, end - first) > best:
            best, best_first, best_last = (quality, end - first), first, end - 1
        inside[hit.item] -= 1
        quality -= values[hit.item] if not inside[hit.item] else 0
    return best, best_first, best_last


def _marked(text: str, tokens: _Tokens, hits: Sequence[_Hit], first: int, last: int, place: tuple[str, int]) -> Passage:
    """The window around the hits first..last, widened to WIDTH at word boundaries."""
    core_start, core_end = tokens.starts[hits[first].first], max(tokens.ends[h.last] for h in hits[first : last + 1])
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
            continue  # tokens overlap: parts of an identifier, or analyzers of other engines
        pieces += [text[at:from_], MARK, text[from_:to], MARK]
        marks.append((from_, to))
        at = to
    pieces.append(text[at:end])
    shown = " ".join("".join(pieces).translate(_CONTROLS).split())
    before, after = text[:start].strip(), text[end:].strip()
    shown = f"{CUT if before else ''}{shown}{CUT if after else ''}"
    return Passage(*place, start, end, tuple(marks), shown)
