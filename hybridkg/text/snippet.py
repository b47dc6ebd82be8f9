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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.text_index import speaks
from hybridkg.text.analysis.languages import ENGLISH_STOP_WORDS
from hybridkg.text.items import Item, OnField, Pattern
from hybridkg.text.windows import windows

WIDTH = 200
"""Characters of a passage, marks and ellipses not counted."""

MARK, CUT = "**", "…"

_IDF_UNIT = 1_000_000
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


@dataclass(frozen=True)
class _Token:
    term: str
    start: int
    end: int


@dataclass(frozen=True)
class _Hit:
    """An occurrence of an item: its tokens from `first` to `last`, and which of them are its words."""

    first: int
    last: int
    item: int
    words: tuple[int, ...]


def best_passage(fields: Sequence[OnField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]) -> str:
    """The best passage among the texts of one entity.

    Args:
        fields: the ON fields; texts of other fields are not looked at.
        idf_of: the items that score, with their idf.
        texts: (field, text, language tag or ""); the first of equally good passages wins.

    Returns:
        About 200 characters, `**` around matching words, `…` where the text goes on; empty without a match.
    """
    found = max(_passages(fields, idf_of, texts), key=lambda one: one[1], default=None)
    return "" if found is None else found[2].shown


def field_passages(
    fields: Sequence[OnField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]
) -> list[Passage]:
    """The best passage in each of the fields where something matches, in the order of the fields; else as above."""
    best: dict[int, tuple[tuple[int, int], Passage]] = {}
    for i, worth, passage in _passages(fields, idf_of, texts):
        if i not in best or worth > best[i][0]:
            best[i] = worth, passage
    return [best[i][1] for i in sorted(best)]


def _passages(
    fields: Sequence[OnField], idf_of: Mapping[Item, float], texts: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[int, tuple[int, int], Passage]]:
    """(ON field, worth, passage) of every text in which something matches, in the order of the texts."""
    idf_of = {item: idf for item, idf in idf_of.items() if not _says_nothing(item)} or idf_of
    values = [max(1, round(idf * _IDF_UNIT)) for idf in idf_of.values()]
    seen: Counter[str] = Counter()
    for name, text, language in texts:
        for i, field in enumerate(fields):
            if name != field.name or (field.language and not speaks(language.lower(), field.language)):
                continue
            tokens = _tokens(field.analyzer, text, language)
            hits = _hits(tokens, [(n, pattern) for n, item in enumerate(idf_of) for pattern in item.places[i]])
            if hits:
                worth, first, last = _best_window(tokens, hits, values)
                yield i, worth, _marked(text, tokens, hits, first, last, (name, seen[name]))
        seen[name] += 1


def _says_nothing(item: Item) -> bool:
    """Whether an item is an English stop word: it scores like any term, but a passage full of them shows nothing."""
    return all(pattern.is_word and pattern.words[0][1] in ENGLISH_STOP_WORDS for pattern in item.patterns())


def _tokens(analyzer: Analyzer, text: str, language: str) -> list[_Token]:
    stemmer = analyzer.stemmer(language)
    known: dict[str, str] = {}
    tokens = []
    for word, start, end in analyzer.spans(text):
        term = known.get(word)
        if term is None:
            term = known[word] = analyzer.term(word, stemmer)
        tokens.append(_Token(term, start, end))
    return tokens


def _hits(tokens: Sequence[_Token], patterns: Sequence[tuple[int, Pattern]]) -> list[_Hit]:
    """Every occurrence of every pattern, given as (item, pattern), by first token."""
    starting: dict[str, list[tuple[int, Pattern]]] = {}
    hits = []
    enumerated = [(at, token.term) for at, token in enumerate(tokens)]
    for number, pattern in patterns:
        if pattern.window:
            found = windows(enumerated, Counter(term for _, term in pattern.words), pattern.window)
            hits += [_Hit(places[0], places[-1], number, places) for places in found]
        else:
            starting.setdefault(pattern.words[0][1], []).append((number, pattern))
    for at, token in enumerate(tokens):
        for number, pattern in starting.get(token.term, ()):
            last = at + pattern.words[-1][0]
            if last < len(tokens) and all(tokens[at + offset].term == term for offset, term in pattern.words):
                hits.append(_Hit(at, last, number, tuple(at + offset for offset, _ in pattern.words)))
    # By characters: some analyzers give an identifier as a whole behind all its parts.
    return sorted(hits, key=lambda hit: (tokens[hit.first].start, hit.first, hit.item))


def _best_window(
    tokens: Sequence[_Token], hits: Sequence[_Hit], values: Sequence[int]
) -> tuple[tuple[int, int], int, int]:
    """((worth, hits), first hit, last hit) of the best window, by two pointers over the hits."""
    inside: Counter[int] = Counter()
    best, best_first, best_last = (0, 0), 0, 0
    worth, end = 0, 0
    for first, hit in enumerate(hits):
        if end == first:
            worth, end = worth + values[hit.item], end + 1
            inside[hit.item] += 1
        while end < len(hits) and tokens[hits[end].last].end - tokens[hit.first].start <= WIDTH:
            entering = hits[end].item
            worth += values[entering] if not inside[entering] else 0
            inside[entering] += 1
            end += 1
        if (worth, end - first) > best:
            best, best_first, best_last = (worth, end - first), first, end - 1
        inside[hit.item] -= 1
        worth -= values[hit.item] if not inside[hit.item] else 0
    return best, best_first, best_last


def _marked(
    text: str, tokens: Sequence[_Token], hits: Sequence[_Hit], first: int, last: int, place: tuple[str, int]
) -> Passage:
    """The window around the hits first..last, widened to WIDTH at word boundaries."""
    core_start, core_end = (
        tokens[hits[first].first].start,
        max(tokens[h.last].end for h in hits[first : last + 1]),
    )
    core_end = min(core_end, core_start + WIDTH)
    start = max(0, core_start - (WIDTH - (core_end - core_start)) // 2)
    end = min(len(text), start + WIDTH)
    start = max(0, end - WIDTH)
    token_starts = sorted(token.start for token in tokens)
    token_ends = sorted(token.end for token in tokens)
    if start > 0:
        start = min(core_start, token_starts[bisect_left(token_starts, start)])
    if end < len(text):
        whole_words = bisect_right(token_ends, end)
        last_end = token_ends[whole_words - 1] if whole_words else 0
        end = len(text) if whole_words == len(tokens) else max(core_end, last_end)
        end = min(end, start + WIDTH)
    marked = {word for hit in hits for word in hit.words if tokens[word].start < end and tokens[word].end > start}
    pieces, marks, at = [], [], start
    for word in sorted(marked, key=lambda word: (tokens[word].start, -tokens[word].end)):
        from_, to = max(at, tokens[word].start), min(end, tokens[word].end)
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
